/** What an earlier version of Hull stored goes on under this one. */
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/engine/sha256.ts";
import { readEvents } from "../support/sse.ts";
import { type Body, client, get, post, run, send, until } from "./session-client.ts";
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

/** Answers what a session's run asks its client. */
async function answer(session: string): Promise<void> {
  for (;;) {
    const { data = [] } = await get<{ data?: { run_id: string }[] }>(`/sessions/${session}/runs?limit=1`);
    const { awaiting = [] } = await get<Awaiting>(`/sessions/${session}/runs/${data[0]?.run_id}`);
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
interface Awaiting {
  awaiting?: { tool_call_id: string }[];
}

/** The session of a node's only attempt, or of one of its items. */
const sessionOf = (run: string, node: string, item?: number): string => {
  const place = item === undefined ? "" : `.i${item}`;
  return `wfs_${sha256(`${run}/${node}/1/1${place}`).slice(0, 32)}`;
};

/** What comes next of each case. */
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
    const { data } = await get<{ data: { run_id: string }[] }>(`${path}/runs?limit=1`);
    await until(`${path}/runs/${data[0]?.run_id}`, "done");
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
  async shared_budget({ id, objects }) {
    const task = objects[1]?.name.split("/")[1] ?? expect.fail();
    await answer(task);
    const ended = await (await post("/tasks/wait", { ids: task })).json<Body>();
    expect(ended).toMatchObject({ status: "completed", result: { status: "done" } });
    const node = { model_policy: { provider: "mock", token_budget: 80 } };
    const next = { task: "Go.", node, options: { mock: [{ text: "Gone." }] }, parent_session_id: id };
    expect((await post("/tasks", next)).status).toBe(201);
    await answer(id);
    const { data } = await get<{ data: { run_id: string }[] }>(`/sessions/${id}/runs?limit=1`);
    await until(`/sessions/${id}/runs/${data[0]?.run_id}`, "done");
  },
  /** Nobody gave it in its time. */
  async session_approval({ id }) {
    const path = `/sessions/${id}`;
    const { data } = await get<{ data: { run_id: string }[] }>(`${path}/runs?limit=1`);
    expect(await until(`${path}/runs/${data[0]?.run_id}`, "done")).toMatchObject({
      result: { text: "thanks" },
    });
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

describe.each(Object.entries(FILES))("%s", (_, text) => {
  it.each(readStored(text).map((stored) => [stored.name, stored] as const))("%s", async (name, stored) => {
    await plant(stored);
    const goOn = GO_ON[name] ?? expect.fail(`nothing says how ${name} goes on`);
    await goOn(stored);
  });
});
