/** What tests log goes to vitest's process only where they fail: each line is a message to it, and a run logs thousands. */
import { afterAll, afterEach, beforeEach } from "vitest";

const LEVELS = ["debug", "info", "log", "warn", "error"] as const;

/** Keeps what each test of a file logs until it has passed; what is logged between tests is not kept back. */
export function quietConsole(): void {
  let kept: (() => void)[] | null = null;
  const loud = LEVELS.map((level) => ({ level, log: console[level] }));
  for (const { level, log } of loud)
    console[level] = (...data) => (kept === null ? log(...data) : void kept.push(() => log(...data)));
  beforeEach(() => {
    kept = [];
  });
  afterEach(({ task }) => {
    if (task.result?.state === "fail") for (const say of kept ?? []) say();
    kept = null;
  });
  afterAll(() => {
    for (const { level, log } of loud) console[level] = log;
  });
}
