/**
 * The floors of sessions. `rawDoPlus` is the least that keeps what a session promises: a Durable Object that has a row for
 * each run, stores each record before it acts on it, keeps the result, has an alarm that would find a run whose process
 * died, spends from a budget lease that another object grants, and runs its tool in an isolate of Worker Loader, since that
 * is where Hull runs the code of skills. It asks for whole answers of the model, which costs it less than a stream. The
 * others keep less: `rawDo` stores messages and passes the model's stream on, `bareLoop` is the loop in a bare Worker.
 */

const LOOP = (provider: string): string => `
const HEADERS = { "content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01" };
const TOOLS = [{ name: "step", description: "Steps.",
  input_schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } }];
const call = async (messages, model) => {
  const answer = await fetch("${provider}/v1/messages", { method: "POST", headers: HEADERS,
    body: JSON.stringify({ model, max_tokens: 4096, messages, tools: TOOLS }) });
  return answer.json();
};
const STEP = { compatibilityDate: "2026-10-20", mainModule: "m.js", globalOutbound: null, modules: { "m.js":
  'import { WorkerEntrypoint } from "cloudflare:workers";' +
  'export default class extends WorkerEntrypoint { call({ n }) { return "step " + n; } }' } };
const textOf = (content) => content.map(({ text }) => text).join("");
/** @param store keeps a record before what it says is done */
async function loop({ prompt, model }, { LOADER }, messages, store, spend = () => {}) {
  const say = (message) => { messages.push(message); store("message", message); };
  say({ role: "user", content: [{ type: "text", text: prompt }] });
  for (let round = 0; ; round++) {
    await spend();
    store("model_call_started", { round });
    const { content, usage } = await call(messages, model);
    store("model_call_settled", { round, usage });
    say({ role: "assistant", content });
    const calls = content.filter(({ type }) => type === "tool_use");
    if (calls.length === 0) return textOf(content);
    store("tools_started", calls.map(({ id }) => id));
    const step = LOADER.get("step", () => STEP).getEntrypoint();
    say({ role: "user", content: await Promise.all(calls.map(async ({ id, input }) =>
      ({ type: "tool_result", tool_use_id: id, content: await step.call(input) }))) });
  }
}`;

/** `POST /ID/new` creates the session, `POST /ID` runs in it. */
export const rawDoPlus = (provider: string): string => `
import { DurableObject } from "cloudflare:workers";
${LOOP(provider)}
const LEASE = 100;
const WATCH_MS = 15000;
let left = 0;
export class Bare extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.bindings = env;
    this.storage = ctx.storage;
    this.sql = ctx.storage.sql;
  }
  create() {
    this.storage.transactionSync(() => this.sql.exec(
      "CREATE TABLE session (id TEXT PRIMARY KEY, created_at INTEGER NOT NULL) WITHOUT ROWID;" +
      "CREATE TABLE run (id TEXT PRIMARY KEY, status TEXT NOT NULL, created_at INTEGER NOT NULL, settled_at INTEGER, result TEXT);" +
      "CREATE TABLE record (seq INTEGER PRIMARY KEY, type TEXT NOT NULL, data TEXT NOT NULL);" +
      "INSERT INTO session VALUES ('session', " + Date.now() + ")"));
    this.messages = [];
    return new Response("{}");
  }
  /** As the ledger: takes a part of the budget away for an isolate to spend. */
  lease() {
    this.sql.exec("CREATE TABLE IF NOT EXISTS ledger (spent INTEGER NOT NULL)");
    this.sql.exec("INSERT INTO ledger VALUES (?)", LEASE);
    return new Response("{}");
  }
  async spend() {
    if (left <= 0) {
      const { OBJECTS } = this.bindings;
      await OBJECTS.get(OBJECTS.idFromName("ledger")).fetch("http://ledger/ledger/lease");
      left = LEASE;
    }
    left -= 1;
  }
  async fetch(request) {
    if (request.url.endsWith("/lease")) return this.lease();
    if (request.url.endsWith("/new")) return this.create();
    const store = (type, data) =>
      this.sql.exec("INSERT INTO record (type, data) VALUES (?, ?)", type, JSON.stringify(data));
    this.messages ??= this.sql.exec("SELECT data FROM record WHERE type = 'message' ORDER BY seq").toArray()
      .map(({ data }) => JSON.parse(data));
    const asked = await request.json();
    const id = crypto.randomUUID();
    const begun = Date.now();
    this.sql.exec("INSERT INTO run (id, status, created_at) VALUES (?, 'running', ?)", id, begun);
    this.storage.setAlarm(begun + WATCH_MS);
    const text = await loop(asked, this.bindings, this.messages, store, () => this.spend());
    const result = JSON.stringify({ id, text, duration_ms: Date.now() - begun });
    this.sql.exec("UPDATE run SET status = 'ended', settled_at = ?, result = ? WHERE id = ?", Date.now(), result, id);
    this.storage.deleteAlarm();
    return new Response(result, { headers: { "content-type": "application/json" } });
  }
  alarm() {}
}
export default {
  fetch(request, { OBJECTS }) {
    const [, id] = new URL(request.url).pathname.split("/");
    return OBJECTS.get(OBJECTS.idFromName(id)).fetch(request);
  },
};`;

/** `POST /ID/new` creates the session, `POST /ID` stores the prompt and passes the model's stream on. */
export const rawDo = (provider: string): string => `
import { DurableObject } from "cloudflare:workers";
${LOOP(provider)}
export class Bare extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
  }
  async fetch(request) {
    if (request.url.endsWith("/new")) {
      this.sql.exec("CREATE TABLE message (n INTEGER PRIMARY KEY, data TEXT NOT NULL)");
      return new Response("{}");
    }
    const { prompt, model } = await request.json();
    const said = { role: "user", content: [{ type: "text", text: prompt }] };
    this.sql.exec("INSERT INTO message (data) VALUES (?)", JSON.stringify(said));
    const { body } = await fetch("${provider}/v1/messages", { method: "POST", headers: HEADERS,
      body: JSON.stringify({ model, max_tokens: 4096, stream: true, messages: [said] }) });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }
}
export default {
  fetch(request, { OBJECTS }) {
    const [, id] = new URL(request.url).pathname.split("/");
    return OBJECTS.get(OBJECTS.idFromName(id)).fetch(request);
  },
};`;

export const bareLoop = (provider: string): string => `
${LOOP(provider)}
export default {
  async fetch(request, env) {
    return Response.json({ text: await loop(await request.json(), env, [], () => {}) });
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
