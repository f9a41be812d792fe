/** Budgets against a provider over HTTP and a server that is killed. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FakeProvider, startFakeProvider } from "../support/fake-provider.ts";
import { type HullDev, json, startHullDev } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";

let fake: FakeProvider;
let hull: HullDev;
const env = () => ({ ANTHROPIC_BASE_URL: fake.url, ANTHROPIC_API_KEY: "e2e-provider-key-0123" });
const SKILL = "---\nname: Asks\ndescription: Asks.\nmode: llm\nmax_tokens: 1000\n---\nAnswer.\n";

beforeAll(async () => {
  fake = await startFakeProvider();
  hull = await startHullDev({ skills: { "asks/SKILL.md": SKILL }, env: env(), args: ["--direct"] });
});
afterAll(async () => {
  await hull?.stop();
  await fake?.close();
});

const budget = async () => json(await hull.call("/budgets/tenant"));
const ask = () => hull.call("/skills/asks", "hi");

test("a call in progress holds its share even if everything dies, and a stream that dies costs what arrived", async () => {
  const set = await hull.call(
    "/budgets/tenant",
    JSON.stringify({ window: "total", max_output_tokens: 1500 }),
    {
      method: "PUT",
    },
  );
  expect(set.status).toBe(201);
  fake.script([{ usage: { input: 20, output: 7 } }, { text: ["four"], cut: true }, { hang: true }]);
  expect((await ask()).status).toBe(200);
  expect(await budget()).toMatchObject({ spent: { input_tokens: 20, output_tokens: 7 } });
  await (await hull.call("/skills/asks?stream=1", "hi")).text();
  await until(budget, ({ reserved }) => JSON.stringify(reserved).includes('"output_tokens":0'));
  // An estimate of the prompt, `Answer.hi`, and of the text.
  expect(await budget()).toMatchObject({ spent: { input_tokens: 23, output_tokens: 8 } });
  const lost = ask().catch(() => null);
  await until(
    async () => fake.requests.length,
    (count) => count === 3,
  );
  await hull.end("SIGKILL");
  await lost;
  await until(hull.processes, (all) => all.size === 0);
  hull = await startHullDev({ from: hull, env: env(), args: ["--direct"] });
  expect(await budget()).toMatchObject({
    spent: { input_tokens: 23, output_tokens: 8 },
    reserved: { output_tokens: 1000 },
  });
  const refused = await ask();
  expect([refused.status, await json(refused)]).toMatchObject([
    402,
    { code: "budget_exceeded", limit: "max_output_tokens", spent: 8, reserved: 1000, requested: 1000 },
  ]);
  expect(fake.requests).toHaveLength(3);
});
