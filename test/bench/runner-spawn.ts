/**
 * What the runner adds to a bare spawn: p50 and p90 of the same bash script, started by Node directly and through the
 * runner and its client, at 1 and 8 at a time. `node test/bench/runner-spawn.ts [rounds]`
 */
import { spawn } from "node:child_process";
import { bundle, run, startRunner } from "../support/runner.ts";
import { load } from "./load.ts";

const rounds = Number(process.argv[2] ?? 400);
const script = '#!/usr/bin/env bash\nread -r line\necho "hello $line"\n';

async function measure(label: string, concurrency: number, once: () => Promise<unknown>): Promise<number> {
  const { p50, p90, p99, per_second } = await load(once, concurrency, rounds);
  const figures = `p50 ${p50.toFixed(2)} ms  p90 ${p90.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms`;
  console.log(`${label.padEnd(8)} c=${concurrency}  ${figures}  ${per_second.toFixed(0)}/s`);
  return p50;
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
