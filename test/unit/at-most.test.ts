import { expect, test } from "vitest";
import { atMost } from "../../src/at-most.ts";

const never = new Promise<string>(() => {});
const failing = (): never => {
  throw new RangeError("late");
};

test.each<[string, Promise<string>, number, () => string]>([
  ["done", Promise.resolve("done"), 1000, failing],
  ["late", never, 0, () => "late"],
])("atMost is %s", async (outcome, work, ms, late) => {
  expect(await atMost(work, ms, late)).toBe(outcome);
});

test.each([
  ["the work does", Promise.reject(new RangeError("work")), 1000, () => "late", "work"],
  ["what follows a late one does", never, 0, failing, "late"],
])("atMost fails as %s", async (_, work, ms, late, message) => {
  await expect(atMost(work, ms, late)).rejects.toThrow(new RangeError(message));
});
