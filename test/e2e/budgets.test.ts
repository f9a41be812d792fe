/** Budgets against a provider over HTTP and a server that is killed. */
import { afterAll, expect, test } from "vitest";
import { commonHull, keyOf, restarted } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";

const SKILL = "---\nname: Asks\ndescription: Asks.\nmode: llm\nmax_tokens: 1000\n---\nAnswer.\n";
type Tokens = { input_tokens: number; output_tokens: number };
type Budget = { spent: Tokens; reserved: Tokens };
let { hull, fake } = await commonHull({ "asks/SKILL.md": SKILL }, "keyed");
const headers = { authorization: `Bearer ${await keyOf(hull, "budgets", ["invoke", "admin"])}` };

afterAll(async () => {
  await hull.call("/budgets/tenant", undefined, { method: "DELETE", headers });
});

const budget = async () => json(await hull.call("/budgets/tenant", undefined, { headers }));
const ask = (path = "/skills/asks") => hull.call(path, "hi", { headers });

test("a call in progress keeps its reservation if every process dies, and a stream that breaks off costs what arrived", async () => {
  const set = await hull.call(
    "/budgets/tenant",
    JSON.stringify({ window: "total", max_output_tokens: 1500 }),
    { method: "PUT", headers },
  );
  expect(set.status).toBe(201);
  fake.script([
    { usage: { input: 20, output: 7 } },
    { text: ["four"], usage: { input: 11 }, cut: true },
    { hang: true },
  ]);
  expect((await ask()).status).toBe(200);
  expect(await budget()).toMatchObject({ spent: { input_tokens: 20, output_tokens: 7 } });
  await (await ask("/skills/asks?stream=1")).text();
  await until(budget, ({ reserved }) => JSON.stringify(reserved).includes('"output_tokens":0'));
  // The prompt as the provider counted it before the text, and an estimate of the text.
  expect(await budget()).toMatchObject({ spent: { input_tokens: 31, output_tokens: 8 } });
  const lost = ask().catch(() => null);
  await until(
    async () => fake.requests.length,
    (count) => count === 3,
  );
  hull = await restarted("keyed", "SIGKILL");
  await lost;
  expect(await budget()).toMatchObject({
    spent: { input_tokens: 31, output_tokens: 8 },
    reserved: { output_tokens: 1000 },
  });
  const refused = await ask();
  expect([refused.status, await json(refused)]).toMatchObject([
    402,
    { code: "budget_exceeded", limit: "max_output_tokens", spent: 8, reserved: 1000, requested: 1000 },
  ]);
  expect(fake.requests).toHaveLength(3);
});

test("a session's run counts each call once, whatever died or was cancelled in the middle", async () => {
  // As soon as a tenant has a limit, each call is reserved: a lost one counts later, and by itself.
  const wide = JSON.stringify({ window: "total", max_output_tokens: 1_000_000 });
  await hull.call("/budgets/tenant", wide, { method: "PUT", headers });
  const figures = async (): Promise<number[]> => {
    const now: Budget = JSON.parse(JSON.stringify(await budget()));
    return [now.spent.input_tokens, now.spent.output_tokens, now.reserved.output_tokens];
  };
  const before = await figures();
  const taken = async () => (await figures()).map((now, n) => now - (before[n] ?? 0));
  const post = (path: string, body: object) =>
    hull.call(path, JSON.stringify(body), {
      headers: { ...headers, "content-type": "application/json", prefer: "respond-async" },
    });
  const get = async (path: string) => json(await hull.call(path, undefined, { headers }));
  /** The run in the list of all runs, which learns of its end a moment later. */
  const listed = (id: unknown) =>
    until(
      () => get(`/runs/${id}`),
      ({ settled_at }) => typeof settled_at === "string",
    );
  await post("/sessions", { id: "killed" });
  const options = {
    provider: "anthropic",
    model: "claude-test",
    max_tokens: 1000,
    task_ledger: [{ id: "one", title: "One" }],
  };
  const noted = { name: "task_ledger", arguments: { updates: [{ id: "one", status: "done" }] } };
  const asked = fake.requests.length;
  fake.script([
    { tool_calls: [noted], usage: { input: 100, output: 10 } },
    { hang: true },
    { text: ["Done."], usage: { input: 200, output: 20 } },
  ]);
  const begun = await json(await post("/sessions/killed/runs", { prompt: "Go.", options }));
  const arrived = (count: number) =>
    until(
      async () => fake.requests.length - asked,
      (n) => n === count,
    );
  await arrived(2);
  hull = await restarted("keyed", "SIGKILL");
  const path = `/sessions/killed/runs/${begun.run_id}`;
  const ended = await until(
    async () => get(path),
    ({ status }) => status !== "running",
  );
  expect(ended).toMatchObject({
    status: "done",
    result: { iterations: 2, input_tokens: 300, output_tokens: 30 },
  });
  expect(await listed(begun.run_id)).toMatchObject({ input_tokens: 300, output_tokens: 30 });
  // The lost call keeps what it reserved.
  expect(await taken()).toEqual([300, 30, 1000]);
  const trace: { data: { usage?: Tokens }[] } = JSON.parse(JSON.stringify(await get(`${path}/trace`)));
  expect(trace.data.flatMap(({ usage }) => usage?.input_tokens ?? [])).toEqual([100, 200]);

  fake.script([{ text: ["Half "], usage: { input: 50, output: 99 }, hang: true }]);
  const cancelled = await json(await post("/sessions/killed/runs", { prompt: "Go.", options }));
  const events = await hull.call(`/sessions/killed/runs/${cancelled.run_id}/events`, undefined, { headers });
  let heard = "";
  for await (const piece of events.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    heard += piece;
    if (heard.includes("Half ")) break;
  }
  await post(`/sessions/killed/runs/${cancelled.run_id}/cancel`, {});
  // The prompt as the provider counted it, and an estimate of what came.
  await until(taken, ([, , reserved]) => reserved === 1000);
  expect(await taken()).toEqual([350, 32, 1000]);
  expect(await listed(cancelled.run_id)).toMatchObject({ state: "cancelled", input_tokens: 0 });
});
