/** Sessions that are larger than what fits into memory: their documents are made while they are sent. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { historyOf } from "../../src/llm/history.ts";
import { emptyTranscript } from "../../src/llm/transcript.ts";
import { renderFull, renderVisible } from "../../src/llm/transcript-operations/view.ts";
import { sessionObject } from "../../src/run/session-client.ts";
import { ConversationStore } from "../../src/session/conversation/store.ts";
import {
  ASK,
  asking,
  type Body,
  client,
  get,
  post,
  run,
  send,
  session,
  texts,
  until,
} from "./session-client.ts";
import { inWorld } from "./session-world.ts";

const stub = (path: string) =>
  sessionObject({ env: client.env, tenant: "default" }, path.replace("/sessions/", ""));
const inject = (path: string, content: string, role = "user") =>
  post(`${path}/inject`, { message: { role, content } });
const trimmed = (path: string) => post(`${path}/trim`, { keep_last: 0 });
const textOf = async (path: string): Promise<string> => (await client.stream(path)).text();
/** Ids are made anew for each answer. */
const withoutIds = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, inner) => (key === "id" && typeof inner === "string" ? "" : inner)));
/** The same documents, made at once. */
const whole = (path: string) =>
  runInDurableObject(
    stub(path),
    (_, { storage }) =>
      historyOf(
        { ...emptyTranscript(""), metadata: {}, state: "active" },
        new ConversationStore(storage).records(),
        () => "",
      ).transcript,
  );

/** Client tools, a compaction, states, feedback, messages that are kept in several rows, and perhaps a reset in between. */
async function eventful(reset: boolean): Promise<string> {
  const path = await session();
  await inject(path, "before");
  await post(`${path}/compact`, { keep_last: 0, summary: "they met" });
  if (reset) await post(`${path}/reset`);
  await inject(path, 'a text that quotes {"type":"session_reset"}');
  await inject(path, "long ".repeat(100_000));
  const { run_id } = await (await run(path, "go", { tools: [ASK], mock: asking })).json<{ run_id: string }>();
  const { awaiting } = await get<{ awaiting: { tool_call_id: string }[] }>(`${path}/runs/${run_id}`);
  await post(`${path}/tool-results`, { tool_call_id: awaiting[0]?.tool_call_id, content: "Ann" });
  await until(`${path}/runs/${run_id}`, "done");
  await post(`${path}/archive`);
  await post(`${path}/resume`);
  await post(`${path}/compact`, { keep_last: 1, summary: "and talked" });
  return path;
}

it.each([false, true])(
  "a large session's transcript equals one made at once (after a reset: %s)",
  async (reset) => {
    const path = await eventful(reset);
    const made = await whole(path);
    expect(made.messages.length).toBeGreaterThan(5);
    expect(made.summary).toBe(reset ? "and talked" : "they met\n\nand talked");
    const { visible_messages, ...raw } = await get<Body>(`${path}/transcript?view=raw`);
    expect(withoutIds(raw)).toEqual(withoutIds(made));
    const { data } = await get<{ data: Body[] }>(`${path}/messages`);
    expect(visible_messages).toEqual(data);
    expect(await textOf(`${path}/transcript`)).toBe(renderVisible(made.events));
    expect(await textOf(`${path}/transcript?view=full`)).toBe(renderFull(made.events));
    const empty = await session();
    expect(await get(`${empty}/transcript?view=raw`)).toMatchObject({ messages: [], events: [], assets: [] });
    expect([await textOf(`${empty}/transcript`), await get(`${empty}/cassette`)]).toEqual([
      "",
      { session_id: empty.replace("/sessions/", ""), mocks: [], tool_results: [] },
    ]);
  },
);

it("a transcript of many MB arrives complete, and shows one moment whatever is added meanwhile", async () => {
  const path = await session();
  const megabyte = "0123456789abcdef".repeat(65_536);
  for (let n = 0; n < 8; n += 1) {
    await inject(path, `${n} ${megabyte}`);
    await trimmed(path);
  }
  const response = await client.stream(`${path}/transcript?view=raw`);
  await inject(path, "came later");
  const transcript = await response.json<{ messages: Body[]; events: Body[] }>();
  expect(transcript.messages.map(({ content }) => String(content).split(" ")[0])).toEqual(
    Array.from({ length: 8 }, (_, n) => `${n}`),
  );
  expect(transcript.messages.every(({ content }) => String(content).length > 1024 * 1024)).toBe(true);
  expect(transcript.events.filter(({ kind }) => kind === "message")).toHaveLength(8);
  expect((await textOf(`${path}/transcript`)).split("\n")).toHaveLength(9);
});

it("a transcript shows one moment also if the beginning of a run cannot be read", async () => {
  const text = "x".repeat(300_000);
  await inWorld({ replies: ["hi"] }, async (world) => {
    const messages = [{ role: "user" as const, content: [{ type: "text" as const, text }] }];
    const imported = { messages, summary: null };
    await world.ask("open", { metadata: {}, request_hash: null, imported });
    await world.run("r1", "go");
    await world.over();
    const first = world.store.runs.find("r1")?.first_record ?? 0;
    world.storage.sql.exec("UPDATE records SET data = x'7b' WHERE id >> 16 = ?", first);
    await world.revive();
    const caller = { tenant: "t", id: world.id, request_id: "r", mock_scope: "" };
    const document = await world.conversation.document(caller, "raw");
    const [begun, whole] = document.tee();
    await begun.getReader().read();
    await world.run("r2", "again");
    const told: { messages: object[]; events: { kind: string }[] } = await new Response(whole).json();
    const events = told.events.filter(({ kind }) => kind === "message");
    expect([told.messages.length, events.length]).toEqual([1, 1]);
  });
});

it("a transcript breaks off if the session is removed while it is read", async () => {
  const path = await session();
  for (let n = 0; n < 8; n += 1) await inject(path, "x".repeat(1024 * 1024));
  const response = await client.stream(`${path}/transcript?view=raw`);
  const reader = response.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  expect((await send("DELETE", path)).status).toBe(204);
  const rest = async (): Promise<void> => {
    while ((await reader?.read())?.done === false);
  };
  await expect(rest()).rejects.toThrow();
});

it("a run with too much text has the last part in its result, and everything in the transcript", async () => {
  const path = await session();
  const megabyte = "0123456789abcdef".repeat(65_536);
  const rounds = 9;
  const call = { tool_calls: [{ name: "ask", arguments: { q: "more?" } }] };
  const mock = [...Array.from({ length: rounds }, () => call), { text: "at last" }];
  const loops = { tool_format: "native", loop_detect_warn: 0, loop_detect_block: 0, loop_detect_skip: 0 };
  const begun = await run(path, "go", { tools: [ASK], mock, ...loops });
  const { run_id } = await begun.json<{ run_id: string }>();
  const at = `${path}/runs/${run_id}`;
  const calls = new Set<string>();
  while (calls.size < rounds) {
    await until(at, "awaiting_tool");
    const { awaiting } = await get<{ awaiting?: { tool_call_id: string }[] }>(at);
    const { tool_call_id = "" } = awaiting?.[0] ?? {};
    if (tool_call_id === "" || calls.has(tool_call_id)) continue;
    calls.add(tool_call_id);
    await post(`${path}/tool-results`, { tool_call_id, content: `${calls.size} ${megabyte}` });
  }
  await until(at, "done");
  const { result } = await get<{ result: { transcript: { messages: Body[] } } }>(at);
  expect(result).toMatchObject({ status: "done", text: "at last", transcript_truncated: true });
  const said = ({ messages }: { messages: Body[] }) => messages.filter(({ role }) => role === "tool").length;
  expect(said(result.transcript)).toBeGreaterThan(2);
  expect(said(result.transcript)).toBeLessThan(rounds);
  expect(said(await get(`${path}/transcript?view=raw`))).toBe(rounds);
});

it.each([false, true])(
  "a run's result holds only what followed its prompt (evicted: %s)",
  async (evicted) => {
    const path = await session();
    await inject(path, "before");
    await post(`${path}/feedback`, { kind: "hint", content: "be brief" });
    const { run_id } = await (await run(path, "go", { tools: [ASK], mock: asking })).json<{
      run_id: string;
    }>();
    const at = `${path}/runs/${run_id}`;
    const { awaiting } = await get<{ awaiting: { tool_call_id: string }[] }>(at);
    if (evicted) await evictDurableObject(stub(path));
    await post(`${path}/tool-results`, { tool_call_id: awaiting[0]?.tool_call_id, content: "Ann" });
    const { result } = await until<{ status: string; result: { transcript: { messages: Body[] } } }>(
      at,
      "done",
    );
    expect(result.transcript.messages.map(({ content }) => content)).toEqual(["go", "", "Ann", "thanks"]);
    const hint = '<hull_feedback kind="hint">be brief</hull_feedback>';
    expect(await texts(path)).toEqual(["before", "go", hint, "", "Ann", "thanks"]);
  },
);

it("a run's memo for its later attempts, and the answer to a repeated request, may exceed one row", async () => {
  const path = await session();
  // A row has at most 2 MB.
  const long = "0123456789abcdef".repeat(140_000);
  const key = { "idempotency-key": "long" };
  await inject(path, "before");
  const compacted = () => post(`${path}/compact`, { keep_last: 0, summary: long }, key);
  const answers = [await compacted(), await compacted()];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const [first, second] = await Promise.all(answers.map((answer) => answer.json<Body>()));
  expect(first?.summary === long && second?.summary === long).toBe(true);

  // The mocks that are left are kept for later attempts.
  const mock = [{ tool_calls: [{ name: "ask", arguments: { q: "name?" } }] }, { text: long }];
  const { run_id } = await (await run(path, "go", { tools: [ASK], mock })).json<{ run_id: string }>();
  const { awaiting } = await get<{ awaiting: { tool_call_id: string }[] }>(`${path}/runs/${run_id}`);
  await evictDurableObject(stub(path));
  await post(`${path}/tool-results`, { tool_call_id: awaiting[0]?.tool_call_id, content: "Ann" });
  const { result } = await until<{ status: string; result: Body }>(`${path}/runs/${run_id}`, "done");
  expect(result.text === long).toBe(true);

  const options = { session_id: path.replace("/sessions/", ""), provider: "mock", mock: [{ text: "fine" }] };
  const called = async () => post("/llm/call", { prompt: "and now?", options }, key);
  for (const answer of [await called(), await called()]) {
    expect([answer.status, (await answer.json<Body>()).text]).toEqual([200, "fine"]);
  }
  expect((await texts(path)).filter((text) => text === "and now?")).toHaveLength(1);
});
