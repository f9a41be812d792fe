/** The Worker's entry: HTTP goes to the app, Durable Object classes are re-exported for the runtime. */
import * as z from "zod/mini";
import en from "zod/v4/locales/en.js";
import type { Bindings } from "./env.ts";
import { createApp } from "./http/app.ts";

export { ExecutionObject } from "./session/execution-object.ts";
export { LedgerObject } from "./session/ledger-object.ts";
export { RunnerObject } from "./session/runner-object.ts";
export { SessionObject } from "./session/session-object.ts";

/** Words for what a schema refuses; zod/mini has none of its own. */
z.config(en());

const app = createApp();

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),
} satisfies ExportedHandler<Bindings>;
