/** The Worker's entry: HTTP goes to the app, Durable Object classes are re-exported for the runtime. */
import type { Bindings } from "./env.ts";
import { createApp } from "./http/app.ts";

export { HandlerOutbound } from "./http/handler-outbound.ts";
export { FileIndexObject } from "./session/file-index-object.ts";
export { LedgerObject } from "./session/ledger-object.ts";
export { MockObject } from "./session/mock-object.ts";
export { RunnerObject } from "./session/runner-object.ts";
export { SessionObject } from "./session/session-object.ts";

const app = createApp();

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),
  scheduled: async (_, env, ctx) => {
    const { sweepAll } = await import("./http/sweep.ts");
    await sweepAll(env, (work) => ctx.waitUntil(work), Date.now());
  },
} satisfies ExportedHandler<Bindings>;
