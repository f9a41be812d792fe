/**
 * What the runner adds to a bare spawn: p50 and p90 of the same bash script, started by Node directly and through the
 * runner and its client, at 1 and 8 at a time. `node test/bench/runner-spawn.ts [rounds]`
 */
import { spawn } from "node:child_process";
import { bundle, run, startRunner } from "../support/runner.ts";

const rounds = Number(process.argv[2] ?? 400);
const script = '#!/usr/bin/env bash\nread -r line\necho "hello $line"\n';

async function measure(label: string, concurrency: number, once: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  let left = rounds;
  const begun = performance.now();
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const start = performance.now();
      await once();
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  const perSecond = (rounds * 1000) / (performance.now() - begun);
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
  console.log(
    `${label.padEnd(8)} c=${concurrency}  p50 ${at(0.5).toFixed(2)} ms  p90 ${at(0.9).toFixed(2)} ms  p99 ${at(0.99).toFixed(2)} ms  ${perSecond.toFixed(0)}/s`,
  );
  return at(0.5);
}

function bare(): Promise<void> {
  return new Promise((done) => {
    const child = spawn("bash", ["-c", script], { stdio: ["pipe", "pipe", "pipe"], detached: true });
    child.stdout.resume();
    child.stderr.resume();
    child.stdin.end("world\n");
    child.once("close", () => done());
  });
}

const runner = await startRunner();
try {
  const files = await bundle({ "run.sh": script });
  const stdin = new TextEncoder().encode("world\n");
  const through = (): Promise<unknown> => run(runner, files, { argv: ["bash", "run.sh"] }, { stdin });
  await measure("warm-up", 1, through);
  for (const concurrency of [1, 8]) {
    const floor = await measure("bare", concurrency, bare);
    const ours = await measure("runner", concurrency, through);
    console.log(`         c=${concurrency}  ratio of p50: ${(ours / floor).toFixed(2)}`);
  }
} finally {
  await runner.stop();
}
