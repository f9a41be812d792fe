/** Spawners whose runner is gone leave, and nothing of theirs stays. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Spawner } from "../../container/spawner.ts";
import { gone } from "../support/runner.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "hull-spawner-"));
});
afterAll(() => rm(dir, { recursive: true }));

test.each([
  ["", null],
  [", behind a gate", "gate"],
])("a runner that dies before its process has opened its pipes takes it along%s", async (mark, gate) => {
  const left = Promise.withResolvers<void>();
  const spawner = new Spawner(
    {
      argv: ["python3"],
      private: false,
      seccomp: false,
      networkNamespaces: false,
      gateway: null,
      state: null,
      warm: false,
    },
    left.resolve,
  );
  expect(await spawner.ready()).toBeGreaterThan(0);
  // Nobody has the other ends, as when they went with the runner.
  const fifo = (name: string): string => {
    const path = join(dir, `${name}${mark.length}`);
    execFileSync("mkfifo", [path]);
    return path;
  };
  const id = `spawner-test-${process.pid}-${mark.length}`;
  spawner.launch({
    cwd: "/",
    allowedPaths: [],
    skills: null,
    stdin: fifo("stdin"),
    stdout: fifo("stdout"),
    stderr: fifo("stderr"),
    result: null,
    gate: gate === null ? null : fifo(gate),
    file: "/bin/sleep",
    argv0: "sleep",
    args: ["600", id],
    environment: { HULL_EXECUTION_ID: id },
    onStarted: () => {},
    onFailed: () => {},
    onExit: () => {},
    onLost: () => {},
    onGone: () => {},
    callFile: () => "",
  });
  void spawner.close();
  await left.promise;
  await gone(id);
});
