import { expect, test } from "vitest";
import { atMost, sleep, unlessAborted } from "../../src/at-most.ts";

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

test("atMost fails as the work does, or as what follows a late one", async () => {
  const failed = Promise.reject(new RangeError("work"));
  await expect(atMost(failed, 1000, () => "late")).rejects.toThrow(new RangeError("work"));
  await expect(atMost(never, 0, failing)).rejects.toThrow(new RangeError("late"));
});

test.each([true, false])("a wait ends with its signal, aborted before: %s", async (before) => {
  const stop = new AbortController();
  const end = (): void => stop.abort(new RangeError("left"));
  if (before) end();
  const waits = [sleep(2 ** 31 - 1, stop.signal), unlessAborted(never, stop.signal)];
  end();
  expect((await Promise.allSettled(waits)).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
});
