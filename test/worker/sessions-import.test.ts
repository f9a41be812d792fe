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

it("what a run was in the middle of is told to be interrupted, but for the answers that there are", async () => {
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
  expect(await texts(`/sessions/${id}`)).toEqual(["go", "", interrupted, "B", "meanwhile"]);
});

it("what only a summary tells stands before the messages", async () => {
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
