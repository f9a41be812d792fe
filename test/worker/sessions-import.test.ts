/** Sessions that are taken elsewhere: exported and imported transcripts, cassettes. */
import { expect, it } from "vitest";
import { ASK, asking, type Body, codeOf, get, post, run, session, texts, until } from "./session-client.ts";

interface Transcript {
  summary?: string;
  messages: Body[];
}

it("an exported transcript begins another session, once", async () => {
  const path = await session();
  await run(path, "the first question");
  await post(`${path}/compact`, { keep_last: 0, summary: "they met" });
  await run(path, "another question");
  const transcript = await get<Transcript>(`${path}/transcript?view=raw`);
  const body = { id: "imported", transcript };
  const made = await post("/sessions", body);
  expect([made.status, (await made.json<Body>()).summary]).toEqual([201, transcript.summary]);
  expect(await texts("/sessions/imported")).toContain("another question");
  expect((await post("/sessions", body)).status).toBe(200);
  const other = { id: "imported", transcript: { ...transcript, messages: [] } };
  expect(await codeOf(await post("/sessions", other))).toEqual([409, "session_exists"]);
  const system = { ...transcript, messages: [{ role: "system", content: "Be kind." }] };
  const refused = await post("/sessions", { transcript: system });
  expect(await codeOf(refused)).toEqual([400, "invalid_request"]);
  await run("/sessions/imported", "go on");
  expect(await texts("/sessions/imported")).toContain("go on");
});

it.each<[string, (path: string) => Promise<unknown>]>([
  ["compacted", (path) => post(`${path}/compact`, { keep_first: 2, keep_last: 2, summary: "they talked" })],
  [
    "compacted by its runs",
    (path) => run(path, "on", { auto_compact: true, compact_threshold: 1, compact_keep_last: 1 }),
  ],
  ["trimmed", (path) => post(`${path}/trim`, { keep_last: 3 })],
  ["not shortened", async () => {}],
])("the model gets the same after an import as before: %s", async (_, shorten) => {
  const path = await session();
  for (const prompt of ["one", "two", "three"]) await run(path, prompt, { mock: [{ text: `${prompt}!` }] });
  await shorten(path);
  const transcript = await get<Transcript & { visible_messages?: Body[] }>(`${path}/transcript?view=raw`);
  const { id } = await (await post("/sessions", { transcript })).json<{ id: string }>();
  const told = async (at: string): Promise<unknown> => {
    const { mock_calls } = await (await run(at, "and?", { mock: [{ text: "yes" }] })).json<{
      mock_calls: Body[];
    }>();
    return mock_calls[0]?.messages;
  };
  const before = await told(path);
  expect(await told(`/sessions/${id}`)).toEqual(before);
  const answer = await post("/llm/call", {
    prompt: "and?",
    options: { provider: "mock", mock: [{ text: "yes" }], transcript },
  });
  const call = await answer.json<{ mock_calls: Body[]; transcript: typeof transcript }>();
  expect(call.mock_calls[0]?.messages).toEqual(before);
  // Nothing is lost, and the transcript of the answer continues in the same way.
  expect(JSON.stringify(call.transcript.messages)).toContain("one!");
  expect(call.transcript.visible_messages?.length).toBe(
    transcript.visible_messages === undefined ? undefined : transcript.visible_messages.length + 2,
  );
});

it("a call and a run continue from a transcript's summary, and from what a run left", async () => {
  const told = async (path: string, transcript: Body, more: Body = {}) => {
    const options = { provider: "mock", mock: [{ text: "ok" }], transcript, ...more };
    const answer = await (await post(path, { prompt: "go", options })).json<{
      mock_calls: Body[];
      transcript: Body;
    }>();
    return { messages: answer.mock_calls.at(-1)?.messages, transcript: answer.transcript };
  };
  const base = { _type: "transcript", version: 2, id: "t", events: [], assets: [], summary: "they met" };
  const summarised = { ...base, messages: [{ role: "user", content: "and then?" }] };
  const first = "[Older messages were compacted: this replaces them]\nthey met";
  for (const path of ["/llm/call", "/runs"]) {
    const { messages, transcript } = await told(path, summarised);
    expect(messages).toMatchObject([{ content: first }, { content: "and then?" }, { content: "go" }]);
    const next = await told(path, transcript);
    expect(next.messages).toMatchObject([{ content: first }, {}, {}, { content: "ok" }, { content: "go" }]);
  }
  const long = {
    ...base,
    summary: undefined,
    messages: Array.from({ length: 9 }, (_, n) => ({ role: "user", content: `n${n}` })),
  };
  const short = { auto_compact: true, compact_threshold: 1, compact_keep_last: 1 };
  const run1 = await told("/runs", long, short);
  const run2 = await told("/runs", run1.transcript, { auto_compact: false });
  expect(run1.messages).toHaveLength(2);
  expect(run2.messages).toMatchObject([...Object(run1.messages), { content: "ok" }, { content: "go" }]);
});

it("the open calls of a run appear as interrupted, except those that have answers", async () => {
  const path = await session();
  const calls = ["a", "b"].map((q) => ({ name: "ask", arguments: { q } }));
  const waiting = await run(path, "go", { tools: [ASK], mock: [{ tool_calls: calls }] });
  const { awaiting } = await waiting.json<{ awaiting: { tool_call_id: string }[] }>();
  const [, { tool_call_id } = { tool_call_id: "" }] = awaiting;
  expect((await post(`${path}/tool-results`, { tool_call_id, content: "B" })).status).toBe(200);
  await post(`${path}/messages`, { content: "meanwhile" });
  const transcript = await get<Transcript>(`${path}/transcript?view=raw`);
  expect(transcript.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  const { id } = await (await post("/sessions", { transcript })).json<{ id: string }>();
  const interrupted = expect.stringContaining("interrupted");
  const told = await modelRead(`/sessions/${id}/runs`, {});
  expect(told).toEqual(["go", "", interrupted, "B", "meanwhile", "on"]);
  // The conversation holds what was said, and no more.
  expect(await texts(`/sessions/${id}`)).toEqual(["go", "", "B", "meanwhile", "on", "ok"]);
});

/** The texts that the model of a call or run reads. */
async function modelRead(path: string, options: object): Promise<unknown[]> {
  const format = path.endsWith("runs") ? { tool_format: "native" } : {};
  const answer = await post(path, {
    prompt: "on",
    options: { provider: "mock", mock: [{ text: "ok" }], ...format, ...options },
  });
  const { mock_calls } = await answer.json<{ mock_calls: { messages: Body[] }[] }>();
  return (mock_calls[0]?.messages ?? []).map(({ content }) => content);
}

const ON = { role: "user", content: "on" };
const OPEN = {
  role: "assistant",
  content: "",
  tool_calls: ["a", "b"].map((id) => ({ id, name: "ask", arguments: {} })),
};

it.each<[string, (path: string) => Promise<unknown[]>]>([
  [
    "injected",
    async (path) => {
      expect((await post(`${path}/inject`, { message: OPEN })).status).toBe(200);
      return modelRead(`${path}/runs`, {});
    },
  ],
  ["given to a run", () => modelRead("/runs", { messages: [OPEN, ON] })],
  ["given to a call", () => modelRead("/llm/call", { messages: [OPEN, ON] })],
])("calls without results appear as interrupted: %s", async (_, read) => {
  const interrupted = expect.stringContaining("interrupted");
  expect(await read(await session())).toEqual(["", interrupted, interrupted, "on"]);
});

it.each<[string, (messages: Body[]) => Promise<unknown[]>]>([
  [
    "imported",
    async (messages) => {
      const transcript = await (await post("/transcripts/from_messages", { messages })).json();
      const { id } = await (await post("/sessions", { transcript })).json<{ id: string }>();
      return modelRead(`/sessions/${id}/runs`, {});
    },
  ],
  ["given to a run", (messages) => modelRead("/runs", { messages: [...messages, ON] })],
  ["given to a call", (messages) => modelRead("/llm/call", { messages: [...messages, ON] })],
])("the model does not read results without calls: %s", async (_, read) => {
  const result = (tool_call_id: string, content: string) => ({ role: "tool", tool_call_id, content });
  const [a = {}, ,] = OPEN.tool_calls;
  const asked = { ...OPEN, tool_calls: [a] };
  const cut = [result("gone", "cut off"), { role: "user", content: "look" }, asked];
  const rest = [
    result("a", "A"),
    result("b", "no call"),
    { role: "user", content: "go" },
    result("c", "late"),
  ];
  expect(await read([...cut, ...rest])).toEqual(["look", "", "A", "go", "on"]);
});

it("results are injected after their calls, and no others", async () => {
  const path = await session();
  const inject = (message: object): Promise<Response> => post(`${path}/inject`, { message });
  const result = (tool_call_id: string) => ({ role: "tool", tool_call_id, content: `of ${tool_call_id}` });
  const refused = async (message: object): Promise<void> => {
    const answer = await inject(message);
    const problem = await answer.json<Body>();
    expect([answer.status, problem]).toMatchObject([
      422,
      { errors: [{ path: "message.tool_call_id", message: expect.stringContaining('"a"') }] },
    ]);
  };
  await refused(result("a"));
  await inject(OPEN);
  for (const id of ["b", "a"]) expect((await inject(result(id))).status).toBe(200);
  await refused({ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "x" }] });
  const { data } = await get<{ data: Body[] }>(`${path}/messages`);
  expect(data.slice(1)).toMatchObject(["b", "a"].map((id) => ({ tool_call_id: id, name: "ask" })));
  expect(await modelRead(`${path}/runs`, {})).toEqual(["", "of a", "of b", "on"]);
  await refused(result("a"));
});

it("a session that takes no message says so, whatever the message", async () => {
  const path = await session();
  const message = { role: "tool", tool_call_id: "gone", content: "x" };
  const inject = async () => codeOf(await post(`${path}/inject`, { message }));
  await run(path, "go", { tools: [ASK], mock: asking });
  expect(await inject()).toEqual([409, "run_in_progress"]);
  await post(`${path}/close`);
  expect(await inject()).toEqual([409, "session_not_active"]);
});

it("text that only a summary has comes before the messages", async () => {
  const from = {
    transcript: {
      _type: "transcript",
      version: 2,
      id: "t",
      events: [],
      assets: [],
      messages: [],
      summary: "they met",
    },
  };
  const forked = await (
    await post("/transcripts/fork", { ...from, retain_messages: false })
  ).json<Transcript>();
  for (const messages of [[], [{ role: "user", content: "and then?" }]]) {
    const made = await post("/sessions", { transcript: { ...forked, messages } });
    const { id } = await made.json<{ id: string }>();
    const [first, ...rest] = await texts(`/sessions/${id}`);
    expect(first).toBe("[Older messages were compacted: this replaces them]\nthey met");
    expect(rest).toEqual(messages.map(({ content }) => content));
    const again = await get<Transcript>(`/sessions/${id}/transcript?view=raw`);
    const copy = await (await post("/sessions", { transcript: again })).json<{ id: string }>();
    expect(await texts(`/sessions/${copy.id}`)).toEqual([first, ...rest]);
  }
});

it("a cassette answers another session as this one was answered", async () => {
  const path = await session();
  const options = { tools: [ASK], mock: asking };
  const { run_id } = await (await run(path, "go", options)).json<{ run_id: string }>();
  const waiting = await get<{ awaiting: { tool_call_id: string }[] }>(`${path}/runs/${run_id}`);
  const tool_call_id = waiting.awaiting[0]?.tool_call_id;
  await post(`${path}/tool-results`, { tool_call_id, content: "Ann" });
  const done = await until(`${path}/runs/${run_id}`, "done");
  const cassette = await get<{ mocks: Body[]; tool_results: Body[] }>(`${path}/cassette`);
  expect(cassette.mocks).toHaveLength(2);
  expect(cassette.tool_results).toEqual([
    {
      run_id,
      tool_call_id,
      name: "ask",
      arguments: { q: "name?" },
      status: "ok",
      content: "Ann",
      arguments_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  ]);
  const again = await session();
  const replayed = await run(again, "go", { tools: [ASK], mock: cassette.mocks });
  const second = (await replayed.json<{ run_id: string }>()).run_id;
  const open = await get<{ awaiting: { tool_call_id: string }[] }>(`${again}/runs/${second}`);
  const answer = { tool_call_id: open.awaiting[0]?.tool_call_id, content: cassette.tool_results[0]?.content };
  await post(`${again}/tool-results`, answer);
  const ended = await until(`${again}/runs/${second}`, "done");
  expect(JSON.stringify(ended.result)).toContain(`"text":${JSON.stringify(textOf(done))}`);
});

const textOf = ({ result }: Body): unknown =>
  typeof result === "object" && result !== null && "text" in result ? result.text : undefined;
