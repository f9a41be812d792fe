/** Amounts that tasks take and return, and limits of which there may be none. */
import { expect, test } from "vitest";
import { least } from "../../../src/engine/least.ts";
import { afterShare } from "../../../src/engine/shares.ts";

test("the least amount may be 0, and unknown ones do not count", () => {
  expect([least(5, 0, null), least(undefined, 7), least(null, undefined), least()]).toEqual([
    0,
    7,
    null,
    null,
  ]);
});

test("a task returns the share that it holds, once", () => {
  const held = { shares: { a: { tokens: 5, usd: null } } };
  const returned = (task_run: string) =>
    ({ type: "share_returned", task_run, spent: { tokens: 3, cost_usd: 0.1 } }) as const;
  const after = afterShare(held, returned("a"));
  expect(after).toEqual({ shares: {}, delegated: { tokens: 3, cost_usd: 0.1 } });
  expect([
    afterShare(after, returned("a")),
    afterShare(held, returned("b")),
    afterShare({}, returned("a")),
  ]).toEqual([{}, {}, {}]);
});
