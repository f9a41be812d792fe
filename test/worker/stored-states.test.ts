/** What an earlier version of Hull stored continues under this one. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { sha256 } from "../../src/engine/sha256.ts";
import { readEvents } from "../support/sse.ts";
import { ASK, type Body, client, codeOf, get, post, run, send, texts, until } from "./session-client.ts";
import { plant, readStored, type StoredCase } from "./stored-states.ts";
import type { Run } from "./workflow-client.ts";

const FILES = import.meta.glob<string>("../fixtures/stored/*.jsonl", {
  query: "?raw",
  import: "default",
  eager: true,
});

const visited = ({ stages }: Run): string[] => stages.map(({ node_id, branch }) => `${node_id}:${branch}`);
const textsOf = ({ artifacts }: Run): string[] => artifacts.map(({ text }) => text);
const pathOf = ({ id }: StoredCase): string => `/workflows/runs/${id}`;
const THROUGH = ["a:success", "w:success", "b:success"];

/** The run's record once it has ended; its events are numbered without gaps, and its row in the list has its end. */
async function ended(stored: StoredCase): Promise<Run> {
  const path = pathOf(stored);
  const done = await until<Run>(path, "completed");
  const events = await readEvents(await client.fetch(`${path}/events?after=0`));
  expect(events.map(({ id }) => id)).toEqual(events.map((_, place) => `${stored.id}:${place + 1}`));
  expect(events.filter(({ event }) => event === "done")).toHaveLength(1);
  const { data } = await get<{ data: Body[] }>("/workflows/runs?limit=1000");
  expect(data).toContainEqual(expect.objectContaining({ id: stored.id, status: "completed" }));
  return done;
}

/** The path of a session's last run. */
async function lastRun(session: string): Promise<string> {
  const path = `/sessions/${session}/runs`;
  const { data = [] } = await get<{ data?: { run_id: string }[] }>(`${path}?limit=1`);
  return `${path}/${data[0]?.run_id}`;
}

/** Answers what a session's run asks its client. */
async function answer(session: string): Promise<void> {
  for (;;) {
    const { awaiting = [] } = await get<Awaiting>(await lastRun(session));
    const [call] = awaiting;
    if (call !== undefined) {
      const { tool_call_id } = call;
      const response = await post(`/sessions/${session}/tool-results`, { tool_call_id, content: "Ann" });
      expect(response.status).toBe(200);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
interface Heard extends Body {
  recorded_messages: { role: string; content: unknown }[];
}
interface Awaiting {
  awaiting?: { tool_call_id: string }[];
}

/** The session of a node's only attempt, or of one of its items. */
const sessionOf = (run: string, node: string, item?: number): string => {
  const place = item === undefined ? "" : `.i${item}`;
  return `wfs_${sha256(`${run}/${node}/1/1${place}`).slice(0, 32)}`;
};

/** How each case continues. */
const GO_ON: Record<string, (stored: StoredCase) => Promise<void>> = {
  async sleep(stored) {
    const done = await ended(stored);
    expect([visited(done), textsOf(done)]).toEqual([THROUGH, ["one", "two"]]);
  },
  approval: approved,
  fork: approved,
  /** The first of three items is done, the second one asks its client. */
  async map(stored) {
    await answer(sessionOf(stored.id, "m", 1));
    await answer(sessionOf(stored.id, "m", 2));
    const done = await ended(stored);
    expect(visited(done)).toEqual(["m:mapped", "r:reduced"]);
    expect(done.stages[0]).toMatchObject({ metadata: { items: 3, completed: 3 } });
  },
  async subagent(stored) {
    await answer(sessionOf(stored.id, "s"));
    const done = await ended(stored);
    expect([visited(done), textsOf(done).at(-1)]).toEqual([["s:success", "b:success"], "two"]);
  },
  async task({ id }) {
    await answer(id);
    const { status, result } = await (await post("/tasks/wait", { ids: id })).json<Body>();
    expect([status, result]).toMatchObject([
      "completed",
      { visible_text: expect.stringContaining("Thanks") },
    ]);
  },
  async task_graph(stored) {
    await approved(stored);
    expect(await get(`/tasks/${stored.id}`)).toMatchObject({ status: "completed", artifact_count: 2 });
  },
  /** A stored graph. */
  async workflow({ id }) {
    expect(await get(`/workflows/${id}`)).toMatchObject({ name: id, version: 1 });
    const body = { task: "t", workflow: id };
    const { run: begun } = await (await post("/workflows/execute?wait=none", body)).json<{ run: Run }>();
    await until(`/workflows/runs/${begun.id}`, "waiting");
    expect((await send("DELETE", `/workflows/${id}`)).status).toBe(204);
  },
  /** A conversation of so many messages that its fold was stored; its second run asks its client. */
  async session({ id }) {
    const path = `/sessions/${id}`;
    await answer(id);
    await until(await lastRun(id), "done");
    const asides = Array.from({ length: 70 }, (_, n) => `aside ${n + 1}`);
    const before = ["hello", "hi", ...asides, "go", "", "Ann", "thanks"];
    const all = `${path}/messages?limit=1000`;
    const said = async () =>
      (await get<{ data: { content: unknown }[] }>(all)).data.map((one) => one.content);
    expect(await said()).toEqual(before);
    expect((await run(path, "more", { mock: [{ text: "there is" }] })).status).toBe(200);
    expect(await said()).toEqual([...before, "more", "there is"]);
    expect((await send("DELETE", path)).status).toBe(204);
  },
  /** A session whose run had a budget, and a task below it with its own, from before such a task held its share. */
  shared_budget: goOnWithTask,
  /** The same, but the task holds all of the run's budget that is left. */
  async held_share(stored) {
    const next = { task: "Go.", node: { model_policy: { provider: "mock" } }, parent_session_id: stored.id };
    expect(await codeOf(await post("/tasks", next))).toEqual([403, "tool_rejected"]);
    await goOnWithTask(stored);
  },
  /** A graph waits for an approval; a task below it holds a share of the budget of the run above. */
  async workflow_share({ id, objects }) {
    const [task, above] = objects.slice(1).map(({ name }) => name.split("/")[1] ?? expect.fail());
    const begun = (mock: Body) => {
      const node = { model_policy: { provider: "mock", token_budget: 1000 } };
      return post("/tasks", { task: "Go.", node, options: { mock: [mock] }, parent_session_id: id });
    };
    const done = async (ids: string, more = {}) => {
      const ended = await (await post("/tasks/wait", { ids })).json();
      expect(ended).toMatchObject({ status: "completed", ...more });
    };
    // Without the share there would be 168 tokens for it, and some left for the next one.
    const other = await (await begun({ text: "Gone.", output_tokens: 112 })).json<{ id: string }>();
    await done(other.id, { result: { status: "budget_exhausted" } });
    expect(await codeOf(await begun({ text: "Gone." }))).toEqual([403, "tool_rejected"]);
    await answer(task ?? "");
    await done(task ?? "");
    expect((await post(`/workflows/runs/${id}/approvals`, { node: "w", decision: "approve" })).status).toBe(
      200,
    );
    await done(id);
    await answer(above ?? "");
    // What those below it used counts as used by it.
    await until(await lastRun(above ?? ""), "budget_exhausted");
  },
  /** A budget refused the run's call, from before its end said which limit that was. */
  async refused_run({ id }) {
    const { result } = await until(await lastRun(id), "budget_exhausted");
    const { trace } = await (await run(`/sessions/${id}`, "more", { mock: [{ text: "hi" }] })).json<Body>();
    expect([result, trace]).toMatchObject([{ trace: [{ kind: "BudgetExhausted", max_iterations: 3 }] }, []]);
    expect(await texts(`/sessions/${id}`)).toEqual(["go on and on", "more", "hi"]);
  },
  /** The process died during an edit of a file that changed meanwhile; the stored fold does not say when the call started. */
  async edit({ id }) {
    const { result } = await until(await lastRun(id), "done");
    expect(result).toMatchObject({ text: "edited", tools_used: ["Edit"], successful_tools: ["Edit"] });
    expect(JSON.stringify(await get(`/sessions/${id}/messages?limit=1000`))).toContain(
      "a was changed when the call was interrupted, and was not changed again.",
    );
    const file = { path: "a", size: 3, sha256: sha256("new") };
    expect(await get(`/sessions/${id}/files`)).toMatchObject({ data: [file] });
  },
  /** A model call outside of the run ended while the run waited for an approval. */
  async kept_call({ id }) {
    const path = `/sessions/${id}`;
    const { data } = await get<{ data: Body[] }>(`${path}/approvals`);
    expect(data).toMatchObject([{ tool: "ask", cause: "ask needs an approval." }]);
    expect(await texts(path)).toEqual(["go", ""]);
    const { id: approval, arguments_digest } = data[0] ?? {};
    const decision = { decision: "approve", arguments_digest };
    expect((await post(`${path}/approvals/${approval}`, decision)).status).toBe(200);
    await answer(id);
    const { result } = await until(await lastRun(id), "done");
    expect(result).toMatchObject({ deferred_user_messages: [] });
    expect(await texts(path)).toEqual(["go", "", "Ann", "thanks", "by the way", "noted"]);
  },
  /** A provider refused to search tools for the run under way; the next run does not ask it again. */
  async refused_search({ id }) {
    const path = `/sessions/${id}`;
    await answer(id);
    const { result } = await until(await lastRun(id), "done");
    expect(result).toMatchObject({ text: "thanks", warnings: [{ code: "tool_search_fallback" }] });
    const model = { provider: "anthropic", model: "claude-sonnet-4-6" };
    const options = {
      ...model,
      tools: [ASK, { ...ASK, name: "later", defer_loading: true }],
      tool_search: true,
    };
    const next = await (await run(path, "more", { ...options, mock: [{ text: "there is" }] })).json<Body>();
    const asked = { tools: [{ name: "hull_tool_search" }, { name: "ask" }] };
    expect(next).toMatchObject({ text: "there is", mock_calls: [asked] });
  },
  /** A run that continues a cancelled one: what that one undid is not undone again, nor by a run that continues this one. */
  async resumed({ id }) {
    const cancelled = async (path: string): Promise<Run> => {
      await until(path, "waiting");
      expect((await post(`${path}/cancel`)).status).toBe(200);
      return until<Run>(path, "cancelled");
    };
    const first = await cancelled(`/workflows/runs/${id}`);
    expect(first).toMatchObject({ stages: [{ node_id: "a" }], compensations: [], uncompensated: [] });
    const body = { task: "t", graph: first.graph, options: { resume_run: id } };
    const next = await (await post("/workflows/execute?wait=none", body)).json<Body>();
    const second = await cancelled(`/workflows/runs/${next.id}`);
    expect(second).toMatchObject({ stages: first.stages, compensations: [], uncompensated: [] });
  },
  /** A replay, from before one passed over the waits of its record: it needs nobody's approval. */
  async replayed_wait(stored) {
    const done = await ended(stored);
    expect([visited(done), textsOf(done)]).toEqual([THROUGH, ["one", "one"]]);
    const [, waited] = done.stages;
    expect(waited).toMatchObject({ metadata: { replayed: expect.stringMatching(/:w:1$/) } });
  },
  /** The process died during the model call of a response in the background, whose request had terms of its vendor. */
  async response({ id }) {
    const path = `/v1/responses/${id.replace("ex_", "resp_")}`;
    expect(await until(path, "completed")).toMatchObject({
      instructions: "Be kind.",
      parallel_tool_calls: false,
      output: [{ content: [{ text: "The mock model got a prompt of 1 word: Go." }] }],
    });
  },
  /** The process died during a tool's call, in a served skill's run whose limits and JSON stood among the terms of its answer. */
  async served({ id }) {
    await client.publish({ teller: TELLER });
    const answer = await client.fetch(`/executions/${id}/result`);
    const said = { words: 1, prompt: '"Hi."', tool: "tell", tool_result: "null" };
    expect([answer.status, await answer.json()]).toEqual([200, said]);
  },
  /** A daemon whose event waits for an approval that came too late; two more wait, and a year's schedule has passed. */
  async daemon({ id }) {
    const path = `/daemons/${id}`;
    const idle = async (iterations: number): Promise<Heard> => {
      for (;;) {
        const daemon = await get<Heard>(path);
        if (daemon.total_iterations === iterations && daemon.daemon_state === "idle") return daemon;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    const events = ({ recorded_messages }: Heard): unknown[] =>
      recorded_messages.flatMap(({ role, content }) =>
        role === "user" && String(content).startsWith('{"n"') ? [content] : [],
      );
    const heard = [1, 2, 3].map((n) => JSON.stringify({ n }));
    // The answer to each event, the call that was refused, and the answer to the schedule.
    const caughtUp = await idle(6);
    expect(caughtUp).toMatchObject({
      status: "running",
      queued_event_count: 0,
      last_wake: { reason: "cron" },
      total_text: expect.stringMatching(/^readyonetwothree/),
    });
    expect(events(caughtUp)).toEqual(heard);
    expect((await post(`${path}/events`, { n: 4 })).status).toBe(202);
    await idle(7);
    const { snapshot_path } = await get<{ snapshot_path: string | null }>(path);
    const snapshot = await get<Heard>(
      snapshot_path === null ? path : `/sessions/${id}/files/${snapshot_path}`,
    );
    expect(events(snapshot)).toEqual([...heard, JSON.stringify({ n: 4 })]);
    expect((await send("DELETE", path)).status).toBe(204);
  },
  /** Nobody gave it in its time. */
  async session_approval({ id }) {
    const path = `/sessions/${id}`;
    expect(await until(await lastRun(id), "done")).toMatchObject({ result: { text: "thanks" } });
    expect(await get(`${path}/approvals`)).toEqual({ data: [], next_cursor: null });
  },
};

async function approved(stored: StoredCase): Promise<void> {
  const path = pathOf(stored);
  expect(await get(path)).toMatchObject({ status: "waiting", active: [{ node_id: "w" }] });
  expect((await post(`${path}/approvals`, { node: "w", decision: "approve" })).status).toBe(200);
  const done = await ended(stored);
  expect([visited(done), textsOf(done)]).toEqual([THROUGH, ["one", "two"]]);
}

/** The task ends, another one follows, then the run above. */
async function goOnWithTask({ id, objects }: StoredCase): Promise<void> {
  const task = objects[1]?.name.split("/")[1] ?? expect.fail();
  await answer(task);
  const ended = await (await post("/tasks/wait", { ids: task })).json<Body>();
  expect(ended).toMatchObject({ status: "completed", result: { status: "done" } });
  const node = { model_policy: { provider: "mock", token_budget: 80 } };
  const next = { task: "Go.", node, options: { mock: [{ text: "Gone." }] }, parent_session_id: id };
  expect((await post("/tasks", next)).status).toBe(201);
  await answer(id);
  await until(await lastRun(id), "done");
}

const TELLER = {
  "SKILL.md":
    "---\nname: teller\ndescription: Tells.\nmode: llm\nprovider: mock\noutput: json\ntimeout_ms: 40000\nmax_tokens: 77\n---\nTell.\n",
  "tools.json":
    '[{"name":"tell","description":"Tells","script":"tell.js","parameters":{},"side_effects":true}]\n',
  "tell.js": "export default () => new Promise((resolve) => setTimeout(resolve, 4000));\n",
};

/** The time at which those cases continue that would be too late today, in Unix ms. */
const GOES_ON_AT: Record<string, number> = { response: 1_701_028_850_000, served: 1_701_141_560_298 };
afterEach(() => vi.restoreAllMocks());

describe.each(Object.entries(FILES))("%s", (_, text) => {
  it.each(readStored(text).map((stored) => [stored.name, stored] as const))("%s", async (name, stored) => {
    const at = GOES_ON_AT[name];
    const { now } = Date;
    const later = now() - (at ?? now());
    vi.spyOn(Date, "now").mockImplementation(() => now() - later);
    await plant(stored);
    const goOn = GO_ON[name] ?? expect.fail(`nothing says how ${name} goes on`);
    await goOn(stored);
  });
});
