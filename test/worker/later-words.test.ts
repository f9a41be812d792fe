/** After a rollback, storage holds words that only the later version of Hull knows: whatever reads them answers. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, it } from "vitest";
import { sessionObject } from "../../src/run/session-client.ts";
import { bindings } from "./file-bindings.ts";
import { mockSkill } from "./served.ts";
import { ASK, asking, type Body, client, get, post, run, session, until } from "./session-client.ts";

const DRAW = { name: "draw", description: "draw", handler: "draw", parameters: { type: "object" } };
const HOOKS = `export const draw = () => ({ __artifact__: true, id: "page", type: "html", content: "<p>" });`;
beforeAll(() =>
  client.publish({ later: mockSkill("later") }, { "hooks.js": new TextEncoder().encode(HOOKS) }),
);

/** Replaces the value of a member in all that a session's object has stored, as a later version might have written it. */
async function stored(id: string, member: string, word: string, later: string): Promise<void> {
  const object = sessionObject({ env: bindings, tenant: "default" }, id);
  await runInDurableObject(object, (_, { storage: { sql } }) => {
    let changed = 0;
    for (const [table, column, type] of [
      ["records", "data", "BLOB"],
      ["events", "data", "BLOB"],
      ["artifact", "head", "TEXT"],
    ] as const) {
      const known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?";
      if (sql.exec(known, table).toArray().length === 0) continue;
      const pair = [`"${member}":"${word}"`, `"${member}":"${later}"`];
      const text = `CAST(${column} AS TEXT)`;
      const update = `UPDATE ${table} SET ${column} = CAST(replace(${text}, ?1, ?2) AS ${type}) WHERE instr(${text}, ?1) > 0`;
      changed += sql.exec(update, ...pair).rowsWritten;
    }
    if (member === "status") sql.exec("UPDATE run SET status = ? WHERE status = ?", later, word);
    sql.exec("DROP TABLE IF EXISTS checkpoint");
    expect(changed).toBeGreaterThan(0);
  });
  await evictDurableObject(object);
}
const idOf = (path: string): string => path.slice("/sessions/".length);

it("how a run ended", async () => {
  const path = await session();
  const key = { "idempotency-key": "asleep" };
  const call = () => post(`/skills/later?session_id=${idOf(path)}`, { input: "x" }, key);
  const before = await (await call()).text();
  await stored(idOf(path), "status", "done", "slept");
  const again = await call();
  expect([again.status, again.headers.get("x-hull-replayed"), await again.text()]).toEqual([
    200,
    "1",
    before,
  ]);
  const { data } = await get<{ data: Body[] }>(`${path}/runs`);
  expect(data).toMatchObject([{ status: "slept" }]);
  const ran = `${path}/runs/${data[0]?.run_id}`;
  expect(await get(ran)).toMatchObject({ status: "slept" });
  const steps = await get<{ data: Body[] }>(`${ran}/trace`);
  expect(steps.data.at(-1)).toMatchObject({ kind: "note", name: "slept", ok: false });
  expect(await (await run(path, "on", { mock: [{ text: "awake" }] })).json()).toMatchObject({
    text: "awake",
  });
});

it("how the run of a task ended", async () => {
  const options = { provider: "mock", mock: [{ text: "Two. ##DONE##" }] };
  const begun = await post("/tasks", { task: "Count.", wait: true, node: { mode: "agent" }, options });
  const { id } = await begun.json<{ id: string }>();
  await stored(id, "status", "done", "slept");
  expect(await get(`/tasks/${id}`)).toMatchObject({ id, status: "failed" });
});

it("how the run ended that delegated a task, which goes on", async () => {
  const path = await session();
  const waits = { tools: [ASK], mock: asking };
  expect((await run(path, "go", waits)).status).toBe(200);
  const node = { kind: "subagent", mode: "llm", model_policy: { provider: "mock" }, tools: [ASK] };
  const task = { task: "Count.", parent_session_id: idOf(path), node, options: { mock: asking } };
  const { id } = await (await post("/tasks", task)).json<{ id: string }>();
  /** Answers what the last run of a session asks its client. */
  const answer = async (of: string) => {
    const { data } = await get<{ data: Body[] }>(`${of}/runs`);
    const at = `${of}/runs/${data[0]?.run_id}`;
    const { awaiting } = await until<{ awaiting: Body[]; [name: string]: unknown }>(at, "awaiting_tool");
    const { tool_call_id } = awaiting[0] ?? expect.fail("no call");
    expect((await post(`${of}/tool-results`, { tool_call_id, content: "Ann" })).status).toBe(200);
    return until(at, "done");
  };
  await answer(path);
  await stored(idOf(path), "status", "done", "slept");
  await answer(`/sessions/${id}`);
  const told = (await client.stream(`${path}/events?after=0`)).body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!/event: task_update\ndata: .*"completed"/.test(text))
    text += decoder.decode((await told?.read())?.value, { stream: true });
  await told?.cancel();
});

it("why a model's turn ended", async () => {
  const path = await session();
  const answer = await (await run(path, "x", { mock: [{ text: "ok" }] })).json<Body>();
  expect(answer).toMatchObject({ stop_reason: "end_turn" });
  await stored(idOf(path), "stop_reason", "end_turn", "dozed_off");
  expect((await client.fetch(`${path}/runs/${answer.run_id}`)).status).toBe(200);
  expect((await client.fetch(`${path}/runs/${answer.run_id}/trace`)).status).toBe(200);
  expect((await run(path, "on", { mock: [{ text: "awake" }] })).status).toBe(200);
});

it("the type of an artifact", async () => {
  const path = await session();
  const mock = [{ tool_calls: [{ name: "draw", arguments: {} }] }, { text: "ok" }];
  await run(path, "draw", { skills: ["later"], tools: [DRAW], mock });
  await stored(idOf(path), "type", "html", "hologram");
  expect(await get(`${path}/artifacts`)).toMatchObject({ data: [{ id: "page", type: "hologram" }] });
  const file = await client.fetch(`${path}/artifacts/page?download=1`);
  expect([file.status, await file.text()]).toEqual([200, "<p>"]);
});

it("what an object of the earlier version does not know, during a rollout", async () => {
  const path = await session();
  const object = sessionObject({ env: bindings, tenant: "default" }, idOf(path));
  const caller = { tenant: "default", id: idOf(path), request_id: "r", mock_scope: "" };
  const asked = await object.ask(JSON.stringify({ caller, type: "dream", input: {} }));
  expect(JSON.parse(String(asked))).toMatchObject({ ok: false, error: { code: "rollout_under_way" } });
  // An object answers no call of a method that is not its class's own.
  const hide = { value: null, configurable: true };
  await runInDurableObject(object, (instance) => void Object.defineProperty(instance, "ask", hide));
  const answer = await client.fetch(path);
  await runInDurableObject(object, (instance) => void Reflect.deleteProperty(instance, "ask"));
  expect([answer.status, answer.headers.get("retry-after"), await answer.json()]).toEqual([
    503,
    "5",
    expect.objectContaining({ code: "rollout_under_way", detail: expect.stringContaining("rolled out") }),
  ]);
});
