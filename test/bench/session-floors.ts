/**
 * The floors of sessions: a Durable Object that appends each message to its SQLite and calls the provider, the same loop in
 * a bare Worker, and a Worker that passes a stream on. The tool of the loop is the emptiest call of an isolate that Worker
 * Loader allows, since that is where Hull runs the code of skills.
 */

const LOOP = (provider: string): string => `
const call = async (messages, model) => {
  const answer = await fetch("${provider}/v1/messages", { method: "POST",
    body: JSON.stringify({ model, max_tokens: 4096, messages, tools: [{ name: "step", description: "Steps.",
      input_schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } }] }),
    headers: { "content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01" } });
  return answer.json();
};
const STEP = { compatibilityDate: "2026-10-20", mainModule: "m.js", globalOutbound: null, modules: { "m.js":
  'import { WorkerEntrypoint } from "cloudflare:workers";' +
  'export default class extends WorkerEntrypoint { call({ n }) { return "step " + n; } }' } };
async function loop(request, { LOADER }, messages, add) {
  const { prompt, model } = await request.json();
  add({ role: "user", content: [{ type: "text", text: prompt }] });
  for (;;) {
    const { content } = await call(messages, model);
    add({ role: "assistant", content });
    const calls = content.filter(({ type }) => type === "tool_use");
    if (calls.length === 0) return new Response(content.map(({ text }) => text).join(""));
    const step = LOADER.get("step", () => STEP).getEntrypoint();
    add({ role: "user", content: await Promise.all(calls.map(async ({ id, input }) =>
      ({ type: "tool_result", tool_use_id: id, content: await step.call(input) }))) });
  }
}`;

export const bareObject = (provider: string): string => `
import { DurableObject } from "cloudflare:workers";
${LOOP(provider)}
export class Bare extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.bindings = env;
    this.sql = ctx.storage.sql;
    this.sql.exec("CREATE TABLE IF NOT EXISTS message (n INTEGER PRIMARY KEY, data TEXT NOT NULL)");
    this.messages = this.sql.exec("SELECT data FROM message ORDER BY n").toArray().map(({ data }) => JSON.parse(data));
  }
  fetch(request) {
    if (request.method === "GET") return new Response("open");
    return loop(request, this.bindings, this.messages, (message) => {
      this.messages.push(message);
      this.sql.exec("INSERT INTO message (data) VALUES (?)", JSON.stringify(message));
    });
  }
}
export default {
  fetch: (request, { OBJECTS }) => OBJECTS.get(OBJECTS.idFromName(new URL(request.url).pathname)).fetch(request),
};`;

export const bareLoop = (provider: string): string => `
${LOOP(provider)}
export default {
  fetch(request, env) {
    const messages = [];
    return loop(request, env, messages, (message) => messages.push(message));
  },
};`;

export const piping = (provider: string): string => `
export default {
  async fetch() {
    const body = JSON.stringify({ model: "tokens", max_tokens: 4096, stream: true,
      messages: [{ role: "user", content: [{ type: "text", text: "stream" }] }] });
    const answer = await fetch("${provider}/v1/messages", { method: "POST", body,
      headers: { "content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01" } });
    return new Response(answer.body, { headers: { "content-type": "text/event-stream" } });
  },
};`;
