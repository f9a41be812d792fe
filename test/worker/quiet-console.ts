/**
 * Passes on to vitest's process only what failing tests log: each line is a message to that process, and a run logs
 * thousands.
 */
import { afterEach } from "vitest";

const LEVELS = ["debug", "info", "log", "warn", "error"] as const;
/**
 * Set on a console: the methods that this module replaced. Files share the console, but each has its own copy of this
 * module.
 */
const LOUD = Symbol.for("hull.tests.loud-console");

type Say = (...data: unknown[]) => void;

declare global {
  interface Console {
    [LOUD]?: Record<(typeof LEVELS)[number], Say>;
  }
}

/**
 * Keeps log lines until the test that it belongs to has passed. A Durable Object may log after the last test, and
 * the plugin sends an object's log lines only with its next message, so vitest would wait for such a line forever.
 * Therefore it is dropped.
 */
export function quietConsole(): void {
  let kept: (() => void)[] = [];
  const { debug, info, log, warn, error } = console;
  console[LOUD] ??= { debug, info, log, warn, error };
  const loud = console[LOUD];
  for (const level of LEVELS) console[level] = (...data) => void kept.push(() => loud[level](...data));
  afterEach(({ task }) => {
    if (task.result?.state === "fail") for (const say of kept) say();
    kept = [];
  });
}
