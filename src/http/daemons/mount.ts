/** Where everything of a daemon is served. */
import type { App } from "../context.ts";
import { type Handler, mount } from "../routes.ts";
import {
  deleteDaemon,
  getDaemon,
  getDaemons,
  postRestart,
  postRestartAt,
  postStop,
  postWake,
} from "./daemons.ts";
import { postEvent } from "./events.ts";
import { postDaemon } from "./spawn.ts";

const ROUTES: { [path: string]: { [method in "GET" | "POST" | "DELETE"]?: Handler } } = {
  "/daemons": { GET: getDaemons, POST: postDaemon },
  "/daemons/resume": { POST: postRestartAt },
  "/daemons/:id": { GET: getDaemon, DELETE: deleteDaemon },
  "/daemons/:id/wake": { POST: postWake },
  "/daemons/:id/stop": { POST: postStop },
  "/daemons/:id/resume": { POST: postRestart },
};

export function mountDaemons(app: App): void {
  for (const [path, methods] of Object.entries(ROUTES)) mount(app, path, { scope: "invoke", methods });
  // Its handler asks for the key, or for a signature in its place.
  mount(app, "/daemons/:id/events", { scope: "open", methods: { POST: postEvent } });
}
