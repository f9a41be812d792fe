/** Spawners start when they are needed; those whose runner has died end, and leave nothing. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Spawner, type SpawnerCommand } from "../../container/spawner.ts";
import { Spawners } from "../../container/spawners.ts";
import { runExecution } from "../../src/tool/runner-client.ts";
import {
  bundle,
  collect,
  gone,
  ofProcess,
  otherProcesses,
  parentOf,
  processesWith,
  run,
  running,
  runOptions,
  spec,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";

const COMMAND: SpawnerCommand = {
  argv: ["python3"],
  private: false,
  seccomp: false,
  networkNamespaces: false,
  gateway: null,
  state: null,
  warm: false,
};

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "hull-spawner-"));
});
afterAll(() => rm(dir, { recursive: true }));

test.each([
  ["", null],
  [", behind a gate", "gate"],
])("a process that has not yet opened its pipes ends when its runner dies%s", async (mark, gate) => {
  const left = Promise.withResolvers<void>();
  const spawner = new Spawner(COMMAND, left.resolve);
  expect(await spawner.ready()).toBeGreaterThan(0);
  // Nobody has the other ends, as after the runner's death.
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

test("the second spawner is started when the first one has an execution, and there is no third", async () => {
  const spawners = (await Spawners.start(COMMAND, 2)) ?? expect.fail("no spawner");
  /** The spawners of this process; the test before has ended its own. */
  const started = (): number =>
    processesWith("hull-spawner").filter((line) => parentOf(Number.parseInt(line, 10)) === process.pid)
      .length;
  const id = `spawners-test-${process.pid}`;
  const launch = (): void => {
    spawners.launch({
      cwd: "/",
      allowedPaths: [],
      skills: null,
      stdin: null,
      stdout: "/dev/null",
      stderr: "/dev/null",
      result: null,
      gate: null,
      file: "/bin/sh",
      argv0: "sh",
      args: ["-c", "sleep 600; exit", id],
      environment: { HULL_EXECUTION_ID: id },
      onStarted: () => {},
      onFailed: () => {},
      onExit: () => {},
      onLost: () => {},
      onGone: () => {},
      callFile: () => "",
    });
  };
  for (const [launched, expected] of [
    [0, 1],
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 2],
  ] as const) {
    if (launched > 0) launch();
    await running(id, launched);
    await until(started, (count) => count === expected);
  }
  await spawners.close();
  await gone(id);
});

test("a runner without further descriptors says so, and goes on", async () => {
  const runner = await startRunner();
  onTestFinished(() => runner.stop());
  const mark = `descriptors-test-${process.pid}`;
  const files = await bundle({ "stay.sh": "#!/bin/sh\nexec sleep 600", "quick.sh": "#!/bin/sh\n" });
  const pid = String(runner.process.pid);
  const [, most] = /^Max open files +\d+ +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8")) ?? [];
  const limit = (to: string) => execFileSync("prlimit", ["--pid", pid, `--nofile=${to}:`]);
  const call = async () => (await run(runner, files, { argv: ["./quick.sh"] })).status;
  // With an execution in the first spawner, the next one also starts another spawner.
  const stop = new AbortController();
  const stays = spec({ argv: ["./stay.sh"], digest: files.digest, env: { MARK: mark } });
  const staying = collect(runExecution(runner, stays, {}, runOptions(files, { signal: stop.signal })));
  await until(
    () => otherProcesses().filter((other) => ofProcess(other, "environ").includes(mark)),
    (found) => found.length > 0,
  );
  const ends = new Set<string>();
  for (let room = 2; room < 14; room += 1) {
    limit(String(linksOf(runner).length + room));
    const { cause, reason = "" } = await call();
    ends.add(`${cause} ${reason}`.trim());
  }
  // With the least room a call may still succeed: a descriptor that was counted closes before it begins.
  expect(ends).toEqual(new Set(["spawn_failed EMFILE", "exit"]));
  limit(most ?? "");
  stop.abort();
  await expect(staying).rejects.toMatchObject({ code: "client_closed_request" });
  expect(await call()).toMatchObject({ cause: "exit" });
  const pipes = (): string[] =>
    linksOf(runner).filter((path) => /\/(?:stdin|stdout|stderr|gate)\b/.test(path));
  await expect.poll(pipes).toEqual([]);
});

/** What the runner's descriptors are open on. */
const linksOf = ({ process: { pid } }: TestRunner): string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return [];
    }
  });
