/** What a tenant may spend, counted by the real object in SQLite. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Charge, Limits, ReserveRequest, Spend } from "../../src/session/ledger/rpc.ts";
import { MIGRATIONS } from "../../src/session/ledger/schema.ts";
import { Slots } from "../../src/session/ledger/slots.ts";
import { migrate } from "../../src/session/migrate.ts";
import { bindings } from "./file-bindings.ts";
import { rowsRead } from "./rows-read.ts";

const { LEDGER, SESSIONS } = bindings;
const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 4, 15, 12, 30);

let name = "";
beforeEach(() => {
  name = `tenant:${crypto.randomUUID()}`;
});
afterEach(() => vi.restoreAllMocks());

const ledger = () => LEDGER.get(LEDGER.idFromName(name));
const at = (now: number) => vi.spyOn(Date, "now").mockReturnValue(now);

const NO_LIMITS: Limits = {
  window: "total",
  max_cost: null,
  max_input_tokens: null,
  max_output_tokens: null,
};
const wish = (more: Partial<ReserveRequest> = {}): ReserveRequest => ({
  id: crypto.randomUUID(),
  skill: null,
  session: null,
  account: null,
  provider: "openai",
  model: "gpt-4o",
  prompt_tokens: 10,
  output_tokens: 100,
  prompt_cost: 25_000,
  unknown_price: "refuse",
  cost: 1_025_000,
  ttl_ms: 60_000,
  ...more,
});
const spend = (more: Partial<Spend> = {}): Spend => ({
  calls: 1,
  unpriced_calls: 0,
  estimated_calls: 0,
  input_tokens: 8,
  output_tokens: 30,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  prompt_tokens: 8,
  cost: 320_000,
  duration_ms: 5,
  ...more,
});
const charge = (more: Partial<Charge> = {}): Charge => {
  const { skill, session, account, provider, model } = wish();
  return { skill, session, account, provider, model, spend: spend(), ...more };
};
/** What the tenant's limit says now. */
const standing = async (scope = "tenant") => {
  const budget = await ledger().budget(scope);
  return budget === null ? expect.fail("no budget") : { spent: budget.spent, reserved: budget.reserved };
};
const NOTHING = { cost: 0, input_tokens: 0, output_tokens: 0 };

describe("reserve and settle", () => {
  it("200 calls at once against room for 37: exactly 37 are let through", async () => {
    await ledger().putBudget("tenant", { ...NO_LIMITS, max_output_tokens: 3750 });
    const all = Array.from({ length: 200 }, () => ledger().reserve(wish()));
    const answers = await Promise.all(all);
    expect(answers.filter(({ refused }) => refused === null)).toHaveLength(37);
    expect((await standing()).reserved).toEqual({
      cost: 37 * 1_025_000,
      input_tokens: 370,
      output_tokens: 3700,
    });
  });

  it("a settled call costs what it took; a repeated request changes nothing", async () => {
    await ledger().putBudget("tenant", { ...NO_LIMITS, max_output_tokens: 250 });
    const request = wish();
    await ledger().reserve(request);
    expect((await ledger().reserve(request)).refused).toBeNull();
    expect((await standing()).reserved.output_tokens).toBe(100);
    await ledger().settle(request.id, charge());
    await ledger().settle(request.id, charge());
    await ledger().settle("unknown", charge());
    const spent = { cost: 320_000, input_tokens: 8, output_tokens: 30 };
    expect(await standing()).toEqual({ spent, reserved: NOTHING });
    const released = wish();
    await ledger().reserve(released);
    await ledger().settle(released.id, null);
    expect(await standing()).toEqual({ spent, reserved: NOTHING });
    expect(await ledger().total()).toMatchObject({ calls: 1, output_tokens: 30 });
  });

  it("a call whose answer was lost is reserved, whatever the limit says by now", async () => {
    await ledger().putBudget("tenant", { ...NO_LIMITS, max_output_tokens: 250 });
    const request = wish();
    await ledger().reserve(request);
    await ledger().putBudget("tenant", { ...NO_LIMITS, max_output_tokens: 50 });
    expect((await ledger().reserve(request)).refused).toBeNull();
    await ledger().settle(request.id, null);
    expect((await standing()).reserved).toEqual(NOTHING);
  });

  it.each([
    ["max_cost_usd", { max_cost: 2_000_000 }, 2_000_000, 1_025_000],
    ["max_input_tokens", { max_input_tokens: 19 }, 19, 10],
    ["max_output_tokens", { max_output_tokens: 199 }, 199, 100],
  ])(
    "a refusal names %s, scope, window and the present count",
    async (limit, limits, limit_value, requested) => {
      at(NOON);
      await ledger().putBudget("skill:cat", { ...NO_LIMITS, window: "day", ...limits });
      expect((await ledger().reserve(wish({ skill: "cat" }))).refused).toBeNull();
      const second = await ledger().reserve(wish({ skill: "cat" }));
      expect(second.refused).toEqual({
        budget: "hard",
        scope: "skill:cat",
        window: "day",
        limit,
        limit_value,
        spent: 0,
        reserved: requested,
        requested,
        resets_at: Date.UTC(2026, 4, 16),
      });
      expect((await ledger().reserve(wish({ skill: "dog" }))).refused).toBeNull();
    },
  );

  it("a call counts in its tenant, its skill and its session; each limit holds", async () => {
    const subject = { skill: "cat", session: "s1" };
    for (const scope of ["tenant", "skill:cat", "session:s1", "session:s2"]) {
      await ledger().putBudget(scope, { ...NO_LIMITS, max_output_tokens: 1000 });
    }
    const request = wish(subject);
    await ledger().reserve(request);
    await ledger().settle(request.id, charge(subject));
    const spent = await Promise.all(
      ["tenant", "skill:cat", "session:s1", "session:s2"].map(async (scope) => (await standing(scope)).spent),
    );
    expect(spent.map(({ output_tokens }) => output_tokens)).toEqual([30, 30, 30, 0]);
    await ledger().putBudget("session:s1", { ...NO_LIMITS, max_output_tokens: 129 });
    expect((await ledger().reserve(wish(subject))).refused).toMatchObject({ scope: "session:s1", spent: 30 });
  });

  it("a call of unknown price passes limits of cost where such calls are allowed; token limits still apply", async () => {
    const unpriced = { prompt_cost: null, cost: null, unknown_price: "allow" as const };
    await ledger().putBudget("tenant", { ...NO_LIMITS, max_cost: 0 });
    expect((await ledger().reserve(wish())).refused).toMatchObject({ limit: "max_cost_usd" });
    expect((await ledger().reserve(wish(unpriced))).refused).toBeNull();
    expect((await ledger().reserve(wish({ ...unpriced, unknown_price: "refuse" }))).refused).toMatchObject({
      limit: "max_cost_usd",
      requested: null,
    });
    await ledger().putBudget("tenant", { ...NO_LIMITS, max_cost: 0, max_output_tokens: 150 });
    expect((await ledger().reserve(wish(unpriced))).refused).toMatchObject({ limit: "max_output_tokens" });
  });

  it("reserved and spent amounts survive the object's eviction", async () => {
    await ledger().putBudget("tenant", { ...NO_LIMITS, max_output_tokens: 250 });
    const [first, second] = [wish(), wish()];
    await ledger().reserve(first);
    await ledger().reserve(second);
    await ledger().settle(first.id, charge());
    await evictDurableObject(ledger());
    expect((await ledger().policy()).policy.hard).toBe(true);
    const { spent, reserved } = await standing();
    expect([spent.output_tokens, reserved.output_tokens]).toEqual([30, 100]);
  });
});

describe("a call with an unreported end", () => {
  it("counts in full when its time is over, flagged, and exactly if the end is reported after all", async () => {
    at(NOON);
    await ledger().putBudget("tenant", { ...NO_LIMITS, window: "day", max_output_tokens: 150 });
    const lost = wish();
    await ledger().reserve(lost);
    at(NOON + 59_999);
    expect((await standing()).reserved.output_tokens).toBe(100);
    at(NOON + 60_000);
    const full = { cost: 1_025_000, input_tokens: 10, output_tokens: 100 };
    expect(await standing()).toEqual({ spent: full, reserved: NOTHING });
    expect(await ledger().total()).toMatchObject({ calls: 1, estimated_calls: 1, output_tokens: 100 });
    expect((await ledger().reserve(wish())).refused).toMatchObject({ spent: 100, reserved: 0 });
    await ledger().settle(lost.id, charge());
    expect((await standing()).spent).toEqual({ cost: 320_000, input_tokens: 8, output_tokens: 30 });
    expect(await ledger().total()).toMatchObject({ calls: 1, estimated_calls: 0, output_tokens: 30 });
  });

  it("counts in the span in which its time ended, however late that is noticed", async () => {
    at(NOON);
    await ledger().putBudget("tenant", { ...NO_LIMITS, window: "hour", max_output_tokens: 150 });
    await ledger().reserve(wish());
    at(NOON + HOUR);
    expect(await standing()).toEqual({ spent: NOTHING, reserved: NOTHING });
    expect(await ledger().total()).toMatchObject({ output_tokens: 100 });
  });
});

describe("a call that needs more", () => {
  it("replaces its reservation if there is room for all of it, and keeps it otherwise", async () => {
    at(NOON);
    await ledger().putBudget("tenant", { ...NO_LIMITS, window: "day", max_output_tokens: 150 });
    const call = wish();
    await ledger().reserve(call);
    const more = { ...call, prompt_tokens: 20, output_tokens: 150, cost: 2_000_000 };
    expect((await ledger().reserve(more)).refused).toBeNull();
    expect((await standing()).reserved).toEqual({ cost: 2_000_000, input_tokens: 20, output_tokens: 150 });
    const refused = { limit: "max_output_tokens", spent: 0, reserved: 0, requested: 151 };
    expect((await ledger().reserve({ ...call, output_tokens: 151 })).refused).toMatchObject(refused);
    expect((await standing()).reserved.output_tokens).toBe(150);
    await ledger().settle(call.id, charge());
    expect(await standing()).toMatchObject({ spent: { output_tokens: 30 }, reserved: NOTHING });
  });

  it("is under way again even if its time was over, unless it is refused", async () => {
    at(NOON);
    await ledger().putBudget("tenant", { ...NO_LIMITS, window: "day", max_output_tokens: 150 });
    const call = wish();
    await ledger().reserve(call);
    at(NOON + 60_000);
    const counted = [await standing(), await ledger().total()];
    expect(counted).toMatchObject([{ spent: { output_tokens: 100 } }, { calls: 1 }]);
    expect((await ledger().reserve({ ...call, output_tokens: 151 })).refused).not.toBeNull();
    expect([await standing(), await ledger().total()]).toEqual(counted);
    expect((await ledger().reserve({ ...call, output_tokens: 150 })).refused).toBeNull();
    expect(await standing()).toMatchObject({ spent: NOTHING, reserved: { output_tokens: 150 } });
    expect(await ledger().total()).toMatchObject({ calls: 0, output_tokens: 0, duration_ms: 0 });
  });
});

describe("windows", () => {
  it.each([
    ["hour", Date.UTC(2026, 4, 15, 13)],
    ["day", Date.UTC(2026, 4, 16)],
    ["month", Date.UTC(2026, 5, 1)],
    ["total", null],
  ] as const)("%s: counts from its beginning, also what came before the limit", async (window, end) => {
    at(Date.UTC(2026, 3, 30, 23, 59));
    await ledger().record("earlier", [charge({ skill: "cat" })]);
    at(NOON - 5000);
    await ledger().record("before", [charge({ skill: "cat" }), charge({ skill: "dog" })]);
    at(NOON);
    const { budget } = await ledger().putBudget("skill:cat", {
      ...NO_LIMITS,
      window,
      max_output_tokens: 999,
    });
    expect(budget.resets_at).toBe(end);
    const before = window === "total" ? 60 : 30;
    expect(budget.spent.output_tokens).toBe(before);
    at((end ?? NOON + 400 * 24 * HOUR) - 1);
    await ledger().record("last moment", [charge({ skill: "cat" })]);
    expect((await standing("skill:cat")).spent.output_tokens).toBe(before + 30);
    if (end === null) return;
    at(end);
    expect((await standing("skill:cat")).spent).toEqual(NOTHING);
  });
});

describe("usage", () => {
  it("is summed by day, skill, session and model, in pages; a batch that is sent twice counts once", async () => {
    at(NOON);
    const batch = [
      charge({ skill: "cat", session: "s1" }),
      charge({ skill: "dog", model: "gpt-4o-mini", spend: spend({ calls: 2, unpriced_calls: 1, cost: 5 }) }),
      charge(),
    ];
    await ledger().record("batch", batch);
    await ledger().record("batch", batch);
    at(NOON + 24 * HOUR);
    await ledger().record("next day", [charge({ provider: "xai", model: "grok-3" })]);
    const page = async (group_by: "skill" | "session" | "model" | "day", more = {}) => {
      const all = { from: null, to: null, group_by, session: null, limit: 10, after: null, ...more };
      const { rows, more: further } = await ledger().usage(all);
      return { rows: rows.map(({ key, spend: { calls, cost } }) => [...key, calls, cost]), further };
    };
    expect((await page("day", { session: "s1" })).rows).toEqual([["2026-05-15", 1, 320_000]]);
    const none = ["", 2, 640_000];
    expect((await page("skill")).rows).toEqual([none, ["cat", 1, 320_000], ["dog", 2, 5]]);
    expect((await page("session")).rows).toEqual([
      ["", 4, 640_005],
      ["s1", 1, 320_000],
    ]);
    const models = [
      ["openai", "gpt-4o", 2, 640_000],
      ["openai", "gpt-4o-mini", 2, 5],
      ["xai", "grok-3", 1, 320_000],
    ];
    expect(await page("model")).toEqual({ rows: models, further: false });
    expect(await page("model", { limit: 2 })).toEqual({ rows: models.slice(0, 2), further: true });
    const after = ["openai", "gpt-4o-mini"];
    expect(await page("model", { limit: 2, after })).toEqual({ rows: models.slice(2), further: false });
    const days = [
      ["2026-05-15", 4, 640_005],
      ["2026-05-16", 1, 320_000],
    ];
    expect((await page("day")).rows).toEqual(days);
    expect((await page("day", { from: "2026-05-16" })).rows).toEqual(days.slice(1));
    expect((await page("day", { to: "2026-05-15" })).rows).toEqual(days.slice(0, 1));
  });
});

describe("soft ledgers", () => {
  it("refuse a call with a prompt that alone exceeds the budget, and report when it is used up", async () => {
    const account = "session:s1";
    await ledger().putAccount(account, 300_000);
    expect((await ledger().reserve(wish({ prompt_cost: 300_001, account }))).refused).toMatchObject({
      budget: "soft",
      scope: account,
      limit: "max_cost",
    });
    const request = wish({ account });
    expect((await ledger().reserve(request)).refused).toBeNull();
    expect((await ledger().settle(request.id, charge({ account }))).exceeded).toBe(true);
    expect(await ledger().account(account)).toEqual({
      max_cost: 300_000,
      cost: 320_000,
      input_tokens: 8,
      output_tokens: 30,
      calls: 1,
    });
    expect((await ledger().reserve(wish({ account, prompt_cost: 0 }))).refused).not.toBeNull();
    expect((await ledger().reserve(wish({ account: "session:s2" }))).refused).toBeNull();
    const unpriced = { account, prompt_cost: null, cost: null };
    expect((await ledger().reserve(wish(unpriced))).refused).toMatchObject({
      scope: account,
      requested: null,
    });
    expect((await ledger().reserve(wish({ ...unpriced, unknown_price: "allow" }))).refused).toBeNull();
    expect((await ledger().reserve(wish({ ...unpriced, account: "session:s2" }))).refused).toBeNull();
    expect((await ledger().policy()).policy).toMatchObject({ hard: false, soft: true });
    expect((await ledger().putAccount(account, null)).policy.soft).toBe(false);
  });
});

describe("rows that it reads", () => {
  const accounts = (from: number, to: number, maxCost: number | null) =>
    runInDurableObject(ledger(), (_, { storage: { sql } }) => {
      for (let n = from; n < to; n++)
        sql.exec("INSERT INTO account VALUES (?, ?, 0, 0, 0, 0)", `session:s${n}`, maxCost);
    });

  it("a new process reads no soft ledgers to learn whether one of them has a budget", async () => {
    await ledger().policy();
    await accounts(0, 300, null);
    await evictDurableObject(ledger());
    const read = await rowsRead(ledger(), async () => {
      expect((await ledger().policy()).policy.soft).toBe(false);
    });
    expect(read("account")).toBeLessThan(5);
    await accounts(300, 301, 7);
    await evictDurableObject(ledger());
    expect((await ledger().policy()).policy.soft).toBe(true);
  });

  it("a batch of usage does not read the batches of the last minutes, and old ones are removed", async () => {
    const known = () =>
      runInDurableObject(ledger(), (_, { storage: { sql } }) =>
        sql.exec<{ id: string }>("SELECT id FROM recorded ORDER BY id").toArray(),
      );
    at(NOON);
    for (let n = 0; n < 50; n++) await ledger().record(`batch ${n}`, []);
    const read = await rowsRead(ledger(), async () => {
      for (let n = 0; n < 10; n++) await ledger().record(`later ${n}`, []);
    });
    expect(read("recorded")).toBeLessThan(30);
    at(NOON + 11 * 60_000);
    await ledger().record("last", []);
    expect(await known()).toEqual([{ id: "last" }]);
  });
});

it("an object from before tables had versions keeps its leases", async () => {
  await runInDurableObject(SESSIONS.get(SESSIONS.idFromName(name)), (_, { storage }) => {
    storage.sql.exec(
      `CREATE TABLE leases (id TEXT PRIMARY KEY, taken_at INTEGER NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID;
       INSERT INTO leases VALUES ('run', 1, 2)`,
    );
    for (let start = 0; start < 2; start++) migrate(storage, MIGRATIONS);
    expect(storage.sql.exec("SELECT * FROM leases").toArray()).toEqual([
      { id: "run", taken_at: 1, expires_at: 2 },
    ]);
    expect(storage.sql.exec("SELECT version FROM schema_version").toArray()).toEqual([{ version: 1 }]);
    expect(storage.sql.exec("SELECT * FROM usage").toArray()).toEqual([]);
  });
});

describe("slots of a limited skill", () => {
  const TTL = 60_000;

  /** Calls with the slots of a new object. */
  const withSlots = (check: (slots: Slots, storage: DurableObjectStorage) => void) =>
    runInDurableObject(ledger(), (_, { storage }) => check(new Slots(storage.sql), storage));

  it("are as many as the limit, each free again when it is released", () =>
    withSlots((slots) => {
      expect(["a", "b", "c"].map((id) => slots.take(id, 2, TTL, 0))).toEqual([0, 0, 1]);
      slots.release("a", 10);
      expect(slots.take("c", 2, TTL, 10)).toBe(0);
      slots.release("a", 10);
      slots.release("unknown", 10);
      expect(slots.take("d", 2, TTL, 10)).toBeGreaterThan(0);
      expect(slots.take("d", 3, TTL, 10)).toBe(0);
    }));

  it("are free when the lease of a holder that is gone ends, and not a ms earlier", () =>
    withSlots((slots, { sql }) => {
      slots.take("crashed", 1, TTL, 0);
      const later = new Slots(sql);
      expect(later.take("next", 1, TTL, TTL - 1)).toBeGreaterThan(0);
      expect(later.take("next", 1, TTL, TTL)).toBe(0);
      later.renew("crashed", TTL, TTL);
      expect(later.take("crashed", 1, TTL, TTL)).toBeGreaterThan(0);
    }));

  it("stay free if their holder renews them too late", () =>
    withSlots((slots) => {
      slots.take("late", 1, TTL, 0);
      slots.renew("late", TTL, TTL);
      expect(slots.take("next", 1, TTL, TTL)).toBe(0);
    }));

  it("stay held when renewed; two requests for one still hold one", () =>
    withSlots((slots, { sql }) => {
      slots.take("a", 1, TTL, 0);
      expect(slots.take("a", 1, TTL, 5)).toBe(0);
      slots.renew("a", TTL, 50_000);
      expect(sql.exec("SELECT * FROM leases").toArray()).toEqual([
        { id: "a", taken_at: 0, expires_at: 110_000 },
      ]);
      expect(slots.take("b", 1, TTL, 100_000)).toBeGreaterThan(0);
    }));

  it("admit no call after the limit was lowered, until enough calls have ended", () =>
    withSlots((slots) => {
      for (const id of ["a", "b", "c"]) slots.take(id, 3, TTL, 0);
      slots.release("a", 1);
      expect(slots.take("d", 2, TTL, 1)).toBeGreaterThan(0);
      expect(slots.take("b", 2, TTL, 1)).toBe(0);
    }));

  it.each([
    [500, 1, 1],
    [9000, 1, 9],
    [9000, 3, 3],
    [300_000, 1, 30],
  ])("after runs of %i ms with limit %i: wait %i s", (ms, limit, seconds) =>
    withSlots((slots) => {
      slots.take("past", limit, TTL, 0);
      slots.release("past", ms);
      for (let i = 0; i < limit; i++) slots.take(`now-${i}`, limit, TTL, ms);
      expect(slots.take("late", limit, TTL, ms)).toBe(seconds);
    }),
  );
});
