import { expect, test } from "vitest";
import { Leases } from "../../../../src/session/ledger/leases.ts";

const TTL = 60_000;

test("as many slots as the limit, each free again when it is released", () => {
  const leases = new Leases();
  expect(["a", "b", "c"].map((id) => leases.take(id, 2, TTL, 0))).toEqual([0, 0, 1]);
  leases.release("a", 10);
  expect(leases.take("c", 2, TTL, 10)).toBe(0);
  leases.release("a", 10);
  leases.release("unknown", 10);
  expect(leases.taken(10)).toBe(2);
});

test("a slot whose holder is gone is free when its lease ends, and not a ms earlier", () => {
  const leases = new Leases([{ id: "crashed", taken_at: 0, expires_at: TTL }]);
  expect(leases.take("next", 1, TTL, TTL - 1)).toBeGreaterThan(0);
  expect(leases.take("next", 1, TTL, TTL)).toBe(0);
  expect(leases.renew("crashed", TTL, TTL)).toBeNull();
  expect(leases.expire(TTL)).toEqual(["crashed"]);
});

test("a renewed slot is held on; asked for twice it is still one", () => {
  const leases = new Leases();
  leases.take("a", 1, TTL, 0);
  expect(leases.take("a", 1, TTL, 5)).toBe(0);
  expect(leases.renew("a", TTL, 50_000)).toMatchObject({ taken_at: 0, expires_at: 110_000 });
  expect(leases.take("b", 1, TTL, 100_000)).toBeGreaterThan(0);
});

test("a lowered limit lets nobody in until enough have left", () => {
  const leases = new Leases();
  for (const id of ["a", "b", "c"]) leases.take(id, 3, TTL, 0);
  leases.release("a", 1);
  expect(leases.take("d", 2, TTL, 1)).toBeGreaterThan(0);
});

test.each([
  [500, 1, 1],
  [9000, 1, 9],
  [9000, 3, 3],
  [300_000, 1, 30],
])("runs of %i ms with limit %i: wait %i s", (ms, limit, seconds) => {
  const leases = new Leases();
  leases.take("past", limit, TTL, 0);
  leases.release("past", ms);
  for (let i = 0; i < limit; i++) leases.take(`now-${i}`, limit, TTL, ms);
  expect(leases.take("late", limit, TTL, ms)).toBe(seconds);
});
