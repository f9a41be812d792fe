/** Routes that list, show, wake, stop, restart and remove daemons. */
import { resumeDaemonBody } from "../../api/bodies/sessions.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { newRunId } from "../../run/agent/daemon-spec.ts";
import * as directory from "../../session/daemon/directory.ts";
import type { NamedRequest } from "../../session/named-request.ts";
import { readJson } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow, numberedPage, pageBefore, wantedPage } from "../page.ts";
import type { Handler } from "../routes.ts";
import { changes, noBody, requestName, sessionOf, shownNow, shows } from "../sessions/object.ts";

/** `GET /daemons`: the tenant's, the newest first. */
export async function listDaemons(context: RequestContext): Promise<Response> {
  return jsonNow(await directory.listDaemons(context, wantedPage(context)));
}

/** `GET /daemons/:id`: the summary with the snapshot. */
export const getDaemon = shows("daemon", () => null);

/** `GET /daemons/:id/wakes`: the newest first. */
export const listDaemonWakes = shows("wakes", pageBefore, numberedPage);

/** `DELETE /daemons/:id`: stops the daemon and removes all its data. */
export const deleteDaemon: Handler = async (context, { id = "" }) => {
  const session = sessionOf(context, id);
  // An ordinary session is not a daemon.
  await session.ask("stop", { request: null });
  await session.ask("remove", null);
  return new Response(null, { status: 204 });
};

/** `POST /daemons/:id/wake`: wakes the daemon as soon as it is idle. */
export const wakeDaemon = changes("wake", noBody, (_, request) => ({ request }));

/** `POST /daemons/:id/stop`: stops the daemon; repeating this changes nothing. */
export const stopDaemon = changes("stop", noBody, (_, request) => ({ request }));

const restarted = (_: unknown, request: NamedRequest) => ({ run_id: newRunId(), request });

/** `POST /daemons/:id/resume`: starts the same daemon again, in the same session. */
export const resumeDaemon = changes("restart", noBody, restarted);

/** `POST /daemons/resume {persist_path}`: the daemon that last had this path. */
export const resumeDaemonAt: Handler = async (context) => {
  const body = await readJson(context.request, resumeDaemonBody);
  const { persist_path } = body;
  const id = await directory.daemonAt(context, persist_path);
  if (id === null) throw new CallNotFound({ what: "daemon with the persist_path", id: persist_path });
  const input = restarted(body, await requestName(context, body));
  return shownNow(context, await sessionOf(context, id).ask("restart", input));
};
