/** The soft ledgers of removed sessions go, and nothing else with them. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { client, get, send } from "./session-client.ts";

const MINUTES = 60_000;
const ledger = () => client.env.LEDGER.get(client.env.LEDGER.idFromName("tenant:default"));
const accounts = () =>
  runInDurableObject(ledger(), (_, { storage }) => [
    ...storage.sql.exec("SELECT name FROM account ORDER BY name").raw<[string]>(),
  ]).then((rows) => rows.flat());
const asleep = () =>
  runInDurableObject(ledger(), async (_, { storage }) => (await storage.getAlarm()) === null);
/** The alarm fires after so many minutes. */
async function pass(minutes: number): Promise<void> {
  const now = Date.now() + minutes * MINUTES;
  const clock = vi.spyOn(Date, "now").mockReturnValue(now);
  await runDurableObjectAlarm(ledger());
  clock.mockRestore();
}
const call = (id: string) =>
  send("POST", `/sessions/${id}/runs`, {
    prompt: "Hi.",
    options: { provider: "mock", mock: [{ text: "Ho." }] },
  });

it("of 25 sessions that come and go none leaves one; those that stay keep theirs, and all sums stay", async () => {
  const ids = Array.from({ length: 25 }, (_, n) => `s${n}`);
  for (const id of [...ids, "kept"]) {
    await send("POST", "/sessions", { id });
    expect((await call(id)).status).toBe(200);
  }
  await send("PUT", "/budgets/tenant", { window: "month", max_output_tokens: 10_000 });
  await send("PUT", "/llm/budget?session_id=s0", { max_cost: 2 });
  const before = [await get("/llm/usage"), await get("/usage?group_by=session"), await get("/budgets")];
  expect(await accounts()).toHaveLength(26);
  for (const id of ids) expect((await send("DELETE", `/sessions/${id}`)).status).toBe(204);
  // One comes back.
  await send("POST", "/sessions", { id: "s1" });
  await pass(5);
  expect([(await accounts()).length, await asleep()]).toEqual([26, false]);
  await pass(20);
  expect([await accounts(), await asleep()]).toEqual([["session:kept", "session:s1"], true]);
  expect([await get("/llm/usage"), await get("/usage?group_by=session"), await get("/budgets")]).toEqual(
    before,
  );
  expect(await get("/llm/session-cost?session_id=kept")).toMatchObject({ call_count: 1 });
});

it("a call that outlasts its session leaves none, either", async () => {
  const before = await accounts();
  await send("PUT", "/budgets/session:late", { window: "month", max_output_tokens: 10_000 });
  await send("POST", "/sessions", { id: "late" });
  const of = { skill: null, session: "late", account: "session:late", provider: "mock", model: "m" };
  const most = {
    prompt_tokens: 1,
    output_tokens: 1,
    prompt_cost: 0,
    cost: 0,
    unknown_price: "allow",
  } as const;
  await ledger().reserve({ ...of, ...most, id: "r1", ttl_ms: 60 * MINUTES });
  await send("DELETE", "/sessions/late");
  await pass(20);
  expect(await asleep()).toBe(false);
  const spend = {
    calls: 1,
    unpriced_calls: 0,
    estimated_calls: 0,
    duration_ms: 1,
    prompt_tokens: 1,
    cost: 0,
  };
  const tokens = { input_tokens: 1, output_tokens: 7, cache_read_tokens: 0, cache_write_tokens: 0 };
  await ledger().settle("r1", { ...of, spend: { ...spend, ...tokens } });
  expect(await accounts()).toContain("session:late");
  await pass(40);
  expect([await accounts(), await asleep()]).toEqual([before, true]);
  expect(await get("/budgets/session:late")).toMatchObject({ spent: { output_tokens: 7 } });
});
