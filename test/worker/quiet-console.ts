/** What tests log goes to vitest's process only where they fail: each line is a message to it, and a run logs thousands. */
import { afterEach } from "vitest";

const LEVELS = ["debug", "info", "log", "warn", "error"] as const;
/** On a console: what its methods did before this replaced them. Files share the console, and each has its own copy of this module. */
const LOUD = Symbol.for("hull.tests.loud-console");

type Say = (...data: unknown[]) => void;

declare global {
  interface Console {
    [LOUD]?: Record<(typeof LEVELS)[number], Say>;
  }
}

/**
 * Keeps what is logged until the test that it belongs to has passed. A Durable Object may log after the last test, and the plugin sends
 * what an object logs with its next message only: vitest would wait for that line forever. So it is dropped.
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
