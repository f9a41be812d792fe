import { describe, expect, test, vi } from "vitest";
import { SharedClock } from "../../../src/model/clock.ts";

/** What fired, in order, once `count` limits have. */
function noting(count: number): { note: (name: string) => () => void; fired: Promise<string[]> } {
  const names: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const note = (name: string) => (): void => {
    names.push(name);
    if (names.length === count) resolve(names);
  };
  return { note, fired: promise };
}

describe("a clock whose limits share a timer", () => {
  test("fires each limit once, in the order in which they are due, and no cancelled one", async () => {
    const clock = new SharedClock();
    const { note, fired } = noting(4);
    clock.after(300, note("after the first look"));
    const cancel = clock.after(20, note("cancelled"));
    clock.after(10, () => {
      note("first")();
      clock.after(10, note("from within"));
    });
    clock.after(100, note("later"));
    cancel();
    cancel();
    expect(await fired).toEqual(["first", "from within", "later", "after the first look"]);
  });

  test("never fires a limit early", async () => {
    const clock = new SharedClock();
    const begun = Date.now();
    const at = await new Promise<number>((resolve) => {
      clock.after(260, () => resolve(Date.now()));
    });
    expect(at - begun).toBeGreaterThanOrEqual(260);
  });

  test("sets one timer for limits that go before it fires", () => {
    const set = vi.spyOn(globalThis, "setTimeout");
    try {
      const clock = new SharedClock();
      for (let n = 0; n < 50; n++) clock.after(60_000, () => {})();
      expect(set).toHaveBeenCalledTimes(1);
    } finally {
      set.mockRestore();
    }
  });
});
