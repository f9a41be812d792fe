/** Budgets against a provider over HTTP and a server that is killed. */
import { expect, test } from "vitest";
import { commonHull, keyOf, restarted } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";

const SKILL = "---\nname: Asks\ndescription: Asks.\nmode: llm\nmax_tokens: 1000\n---\nAnswer.\n";
let { hull, fake } = await commonHull({ "asks/SKILL.md": SKILL }, "keyed");
const headers = { authorization: `Bearer ${await keyOf(hull, "budgets", ["invoke", "admin"])}` };

const budget = async () => json(await hull.call("/budgets/tenant", undefined, { headers }));
const ask = (path = "/skills/asks") => hull.call(path, "hi", { headers });

test("a call in progress holds its share even if everything dies, and a stream that dies costs what arrived", async () => {
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
