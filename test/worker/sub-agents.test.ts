/** Sub-agents: as a route, and as a tool that a model calls. */
import { describe, expect, it } from "vitest";
import { dataOf, readEvents } from "../support/sse.ts";
import { ASK, type Body, client, codeOf, get, post, run, session, texts } from "./session-client.ts";

const MOCK = { provider: "mock" };
const subAgent = async (options: Body = {}, more: Body = {}): Promise<Body> => {
  const response = await post("/sub-agents", { task: "Look.", options: { ...MOCK, ...options }, ...more });
  return response.json<Body>();
};
const said = (text: string) => ({ mock: [{ text }] });
const DELEGATE = (...tasks: Body[]) => ({
  tool_calls: tasks.map((args) => ({ name: "sub_agent", arguments: args })),
});

describe("POST /sub-agents", () => {
  it("answers an envelope", async () => {
    const envelope = await subAgent(said("All is well."));
    expect(envelope).toMatchObject({
      ok: true,
      status: "done",
      summary: "All is well.",
      artifacts: [],
      evidence_added: 0,
      budget_exceeded: false,
      session_id: expect.stringMatching(/^task_/),
    });
    expect(envelope.tokens_used).toBeGreaterThan(0);
    expect(await get(`/tasks/${envelope.session_id}`)).toMatchObject({ mode: "sub_agent", result: envelope });
  });

  it("says when its budget was exceeded, and gives data that fits its schema or says why not", async () => {
    const long = await subAgent({ ...said("one two three four five six seven"), token_budget: 8 });
    expect(long).toMatchObject({ ok: true, budget_exceeded: true, status: "budget_exhausted" });
    const returns = { schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } };
    expect(await subAgent({ ...said('{"n": 3}'), returns })).toMatchObject({ ok: true, data: { n: 3 } });
    const wrong = await subAgent({ ...said('{"n": "three"}'), returns });
    expect(wrong).toMatchObject({ ok: false, error: { category: "schema_validation" } });
    expect(wrong).not.toHaveProperty("data");
  });

  it("is not ok where a tool was refused, even if it went on", async () => {
    const mock = [{ tool_calls: [{ name: "ask", arguments: { q: "?" } }] }, { text: "Without it, then." }];
    const envelope = await subAgent({ tools: [ASK], allowed_tools: ["look"], mock });
    expect(envelope).toMatchObject({
      ok: false,
      status: "done",
      summary: "Without it, then.",
      error: { category: "permission_denied", tool: "ask" },
    });
  });

  it("that fails is an envelope too; in the background it is a task", async () => {
    const mock = [{ error: { category: "auth", message: "no such key" } }];
    expect(await subAgent({ mock })).toMatchObject({ ok: false, error: { category: "auth" } });
    const request = { payload: { n: 1 } };
    const handle = await subAgent({
      ...said("Done."),
      background: true,
      name: "bg",
      request,
      action_items: ["a"],
    });
    expect(handle).toMatchObject({ _type: "task_handle", mode: "sub_agent", name: "bg" });
    expect(handle.request).toMatchObject({ task: "Look.", payload: { n: 1 }, action_items: ["a"] });
    const waited = await (await post("/tasks/wait", { ids: handle.id })).json();
    expect(waited).toMatchObject({ status: "completed", result: { ok: true, summary: "Done." } });
    const failed = await subAgent({ mock, background: true });
    expect(await (await post("/tasks/wait", { ids: failed.id })).json()).toMatchObject({
      status: "completed",
      error: null,
      result: { ok: false },
    });
  });

  it("starts clean or from a copy, and is told of in the session above", async () => {
    const path = await session();
    await run(path, "Remember 17.", said("Yes."));
    const parent_session_id = path.replace("/sessions/", "");
    const clean = await subAgent(said("What?"), { parent_session_id });
    expect(await texts(`/sessions/${clean.session_id}`)).toEqual(["Look.", "What?"]);
    const copy = await subAgent({ ...said("17."), fork: true }, { parent_session_id });
    expect(await texts(`/sessions/${copy.session_id}`)).toEqual(["Remember 17.", "Yes.", "Look.", "17."]);
    expect(await texts(path)).toEqual(["Remember 17.", "Yes."]);
    const { child_ids } = await get<{ child_ids: string[] }>(`${path}/ancestry`);
    expect(child_ids.toSorted()).toEqual([clean.session_id, copy.session_id].toSorted());
    const told = await events(path, 30, "sub_agent_result", 2);
    expect(dataOf(told, "sub_agent_start").map(({ session_id }) => session_id)).toEqual([
      clean.session_id,
      copy.session_id,
    ]);
    expect(dataOf(told, "sub_agent_result")).toMatchObject([{ ok: true }, { ok: true }]);
    expect(await codeOf(await post("/sub-agents", { task: "x", options: { fork: true } }))).toEqual([
      422,
      "input_invalid",
    ]);
    expect(await codeOf(await post("/sub-agents", { task: "x", parent_session_id: "nobody" }))).toEqual([
      404,
      "not_found",
    ]);
  });
});

/** A session's events from the beginning, up to the so-and-so-manieth of a name. */
async function events(path: string, most: number, name: string, times: number) {
  const response = await client.stream(`${path}/events?after=0`);
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (text.split(`event: ${name}\n`).length <= times && text.split("\n\n").length < most * 10) {
    const piece = await reader?.read();
    text += decoder.decode(piece?.value, { stream: true });
  }
  while (!text.endsWith("\n\n")) text += decoder.decode((await reader?.read())?.value, { stream: true });
  await reader?.cancel();
  return readEvents(new Response(text));
}

describe("the tool sub_agent", () => {
  it("runs several of one turn side by side, tells their events, and counts their cost", async () => {
    const path = await session();
    const mock = [DELEGATE({ task: "left", name: "l" }, { task: "right" }), { text: "Done." }];
    const options = { sub_agents: true, mock };
    const response = await run(path, "Both, please.", options, { accept: "text/event-stream" });
    const stream = await readEvents(response);
    const done = dataOf(stream, "done")[0] ?? {};
    expect(done).toMatchObject({ ok: true, text: "Done.", tools_used: ["sub_agent", "sub_agent"] });
    const own = String(done.run_id);
    const starts = dataOf(stream, "sub_agent_start");
    expect(starts).toMatchObject([
      { parent_run_id: own, task: "left", name: "l" },
      { parent_run_id: own, task: "right", name: "task" },
    ]);
    const ended = dataOf(stream, "sub_agent_result");
    expect(ended.map(({ ok }) => ok)).toEqual([true, true]);
    const below = dataOf(stream, "delta").filter(({ parent_run_id }) => parent_run_id === own);
    expect(new Set(below.map(({ run_id }) => run_id))).toEqual(new Set(starts.map(({ run_id }) => run_id)));
    // Both began before one of them had ended.
    const names = stream.map(({ event }) => event);
    expect(names.lastIndexOf("sub_agent_start")).toBeLessThan(names.indexOf("tool_result"));
    expect(await texts(path)).toMatchObject({ length: 5 });
    const messages = JSON.stringify(await get(`${path}/messages`));
    expect(messages.match(/tokens_used/g)).toHaveLength(2);
    expect(messages).not.toContain('"content":"left"');
    // Whoever comes back with an id gets what followed, each event once.
    const half = stream[Math.floor(stream.length / 2)];
    const later = await events(`${path}`, 200, "done", 1);
    const from = later.findIndex(({ id }) => id === half?.id);
    expect(later.slice(from).map(({ event, data }) => ({ event, data }))).toEqual(
      stream.slice(Math.floor(stream.length / 2)).map(({ event, data }) => ({ event, data })),
    );
  });
});
