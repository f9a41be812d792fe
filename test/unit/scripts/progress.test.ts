/** What `hull dev` says before it serves. */
import { expect, test } from "vitest";
import { StartProgress } from "../../../scripts/dev/progress.ts";

function started() {
  const lines: string[] = [];
  const timers: { ms: number; fire: () => void; cancelled: boolean }[] = [];
  const progress = new StartProgress(
    (line) => lines.push(line),
    (ms, fire) => {
      const timer = { ms, fire, cancelled: false };
      timers.push(timer);
      return () => {
        timer.cancelled = true;
      };
    },
  );
  return { progress, lines, timer: timers[0] ?? expect.fail() };
}

test("a start prints nothing for a second, then its phase and each further phase", () => {
  const { progress, lines, timer } = started();
  progress.phase("Reading");
  progress.phase("Building 3 skills");
  expect([timer.ms, lines]).toEqual([1000, []]);
  timer.fire();
  expect(lines).toEqual(["Building 3 skills"]);
  progress.phase("Starting the Worker");
  expect(lines).toEqual(["Building 3 skills", "Starting the Worker"]);
});

test("a quick start says nothing", () => {
  const { progress, lines, timer } = started();
  progress.phase("Building 3 skills");
  progress.end();
  expect([lines, timer.cancelled]).toEqual([[], true]);
});
