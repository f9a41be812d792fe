/**
 * What spawners save: the same executions through runners that differ only in who starts processes, in turns, so that
 * all meet the same machine. `node test/bench/launchers.ts [rounds] [spawners,...]` (0: the runner itself)
 */
import { readFileSync } from "node:fs";
import { bundle, run, startRunner, type TestRunner } from "../support/runner.ts";
import { load, median, type Sample } from "./load.ts";

const rounds = Number(process.argv[2] ?? 300);
const counts = (process.argv[3] ?? "0,1,2").split(",");
const BLOCKS = 7;

const files = await bundle({ "run.sh": '#!/usr/bin/env bash\nread -r line\necho "hello $line"\n' });
const stdin = new TextEncoder().encode("world\n");
const cases: [string, number, (runner: TestRunner) => Promise<unknown>][] = [
  ["/bin/true", 1, (runner) => run(runner, files, { argv: ["/bin/true"] })],
  ["bash", 0.7, (runner) => run(runner, files, { argv: ["bash", "run.sh"] }, { stdin })],
  ["python3 -S", 0.25, (runner) => run(runner, files, { argv: ["python3", "-S", "-c", "print(1)"] })],
];

const resident = (runner: TestRunner): string => {
  const status = readFileSync(`/proc/${runner.process.pid}/status`, "utf8");
  return `${Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)} MB`;
};

const runners: [string, TestRunner][] = [];
try {
  for (const count of counts) {
    const env = { NODE_OPTIONS: "--max-semi-space-size=4" };
    runners.push([count, await startRunner({ flags: ["--spawners", count], env })]);
  }
  for (const [name, share, once] of cases) {
    for (const concurrency of [1, 8]) {
      const samples = new Map<string, Sample[]>(counts.map((count) => [count, []]));
      for (let block = 0; block < BLOCKS; block++) {
        for (const [count, runner] of runners) {
          samples.get(count)?.push(await load(() => once(runner), concurrency, Math.ceil(rounds * share)));
        }
      }
      for (const [count, runner] of runners) {
        const { p50, p90, per_second } = median(samples.get(count) ?? []);
        const figures = `p50 ${p50.toFixed(2)} ms  p90 ${p90.toFixed(2)} ms  ${per_second.toFixed(0)}/s`;
        console.log(
          `${name.padEnd(10)} c=${concurrency}  spawners ${count}  ${figures}  runner ${resident(runner)}`,
        );
      }
    }
  }
} finally {
  for (const [, runner] of runners) await runner.stop();
}
