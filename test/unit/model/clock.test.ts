import { describe, expect, test, vi } from "vitest";
import { SharedClock, systemClock } from "../../../src/model/clock.ts";

/** What fired, once `count` limits have. */
function noting(count: number): { note: (name: string) => () => void; fired: Promise<string[]> } {
  const names: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const note = (name: string) => (): void => {
    names.push(name);
    if (names.length === count) resolve(names);
  };
  return { note, fired: promise };
}

test.each([true, false])("a wait rejects with its signal's reason, aborted before: %s", async (before) => {
  const stop = new AbortController();
  const left = new RangeError("left");
  if (before) stop.abort(left);
  const wait = systemClock.sleep(60_000, stop.signal);
  stop.abort(left);
  await expect(wait).rejects.toBe(left);
});

describe("a clock whose limits share a timer", () => {
  test("fires each limit once, also one set by another, and no cancelled one", async () => {
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
    expect((await fired).sort()).toEqual(["after the first look", "first", "from within", "later"]);
  });

  test("never fires a limit early", async () => {
    const clock = new SharedClock();
    const begun = Date.now();
    const at = await new Promise<number>((resolve) => {
      clock.after(260, () => resolve(Date.now()));
    });
    expect(at - begun).toBeGreaterThanOrEqual(260);
  });

  test("leaves no timer for later once the last limit is gone", async () => {
    const clock = new SharedClock();
    const cancel = clock.after(60_000, () => {});
    await new Promise<void>((resolve) => {
      clock.after(300, resolve);
    });
    const cleared = vi.spyOn(globalThis, "clearTimeout");
    try {
      cancel();
      expect(cleared).toHaveBeenCalledTimes(1);
      const set = vi.spyOn(globalThis, "setTimeout");
      clock.after(60_000, () => {});
      expect(set).toHaveBeenCalledTimes(1);
      set.mockRestore();
    } finally {
      cleared.mockRestore();
    }
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

  test("leaves no long timer behind, and sets one again for the next limit", () => {
    vi.useFakeTimers();
    try {
      const clock = new SharedClock();
      const cancel = clock.after(60_000, () => {});
      vi.advanceTimersByTime(1000);
      expect(vi.getTimerCount()).toBe(1);
      cancel();
      expect(vi.getTimerCount()).toBe(0);
      const next = vi.fn();
      clock.after(300, next);
      vi.advanceTimersByTime(300);
      expect(next).toHaveBeenCalledOnce();
    } finally {
      vi.useRealTimers();
    }
  });

  test("fires the other limits if one throws", () => {
    vi.useFakeTimers();
    try {
      const clock = new SharedClock();
      const names: string[] = [];
      clock.after(10, () => {
        throw new Error("a limit's own fault");
      });
      clock.after(10, () => names.push("same time"));
      clock.after(20, () => names.push("later"));
      expect(() => vi.advanceTimersByTime(10)).toThrow("a limit's own fault");
      vi.advanceTimersByTime(10);
      expect(names).toEqual(["same time", "later"]);
    } finally {
      vi.useRealTimers();
    }
  });
});
