import { expect, test } from "vitest";
import { RecentMap, usable } from "../../src/recent.ts";

test("a map drops the entries that were set longest ago: at its number of entries, and at the size of their values", () => {
  const few = new RecentMap<string, number>(2);
  for (const key of ["a", "b", "a", "c"]) few.set(key, 1);
  expect(["a", "b", "c"].map((key) => few.get(key))).toEqual([1, undefined, 1]);

  const small = new RecentMap<string, string>(9, { most: 6, of: ({ length }) => length });
  const held = () => ["a", "b", "c"].map((key) => small.get(key)?.length ?? 0);
  for (const [key, value] of [
    ["a", "aa"],
    ["b", "bb"],
    ["c", "cc"],
  ] as const)
    small.set(key, value);
  expect(held()).toEqual([2, 2, 2]);
  small.set("c", "ccc");
  expect(held()).toEqual([0, 2, 3]);
  small.delete("b");
  small.set("a", "aaa");
  expect(held()).toEqual([3, 0, 3]);
  // A value larger than the limit is the only one.
  small.set("b", "bbbbbbbb");
  expect(held()).toEqual([0, 8, 0]);
});

test.each([
  ["young", 500, true, 0],
  ["older", 1500, true, 1],
  ["too old", 2500, false, 0],
  // The clock was set back, so nobody knows the copy's age.
  ["from the future", -60_000, false, 0],
])("a cached copy that is %s", (_, age, used, reads) => {
  const copy = { readAt: Date.now() - age, refreshing: false };
  let read = 0;
  const found = usable(
    copy,
    { refresh: 1000, expire: 2000 },
    async () => read++,
    () => {},
  );
  expect([found === copy, read]).toEqual([used, reads]);
});
