/** Memory and process limits by cgroup: what is written for each version, and what the kernel does. */
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cgroup, Cgroups, NoCgroups, oomKillsIn } from "../../container/cgroup.ts";
import { Pipes } from "../../container/pipes.ts";
import { GroupProcess, type ProcessOutcome } from "../../container/process.ts";
import { Spawners } from "../../container/spawners.ts";
import { bundle, gone, run, startRunner, until } from "../support/runner.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "hull-cgroup-"));
});
afterAll(() => rm(dir, { recursive: true }));

test("S33: only a rise of oom_kill is out of memory", () => {
  expect(oomKillsIn("low 0\nhigh 3\nmax 41\noom 1\noom_kill 0\noom_group_kill 0\n")).toBe(0);
  expect(oomKillsIn("low 0\noom 1\noom_kill 2\noom_group_kill 1\n")).toBe(2);
  expect(oomKillsIn("")).toBe(0);
});

test("an execution's cgroup gets the limits and the process, the runner's own processes move aside", async () => {
  const own = join(dir, "box");
  await mkdir(own);
  await writeFile(join(own, "cgroup.controllers"), "cpu memory pids\n");
  await writeFile(join(own, "cgroup.procs"), "17\n");
  await writeFile(join(dir, "self"), "1:name=systemd:/x\n0::/box\n");
  const limits = { memoryBytes: 50_000_000, maxProcesses: 32 };
  const cgroup = Cgroups.open(limits, dir, join(dir, "self")).create();
  expect(await readFile(join(own, "hull-runner", "cgroup.procs"), "utf8")).toBe("17");
  expect(await readFile(join(own, "cgroup.subtree_control"), "utf8")).toBe("+memory +pids");
  const [name = ""] = (await readdir(own)).filter((entry) => entry.startsWith("hull-execution-"));
  cgroup.admit(4711);
  const read = (file: string) => readFile(join(own, name, file), "utf8");
  expect(await Promise.all(["memory.max", "memory.oom.group", "pids.max", "cgroup.procs"].map(read))).toEqual(
    ["50000000", "1", "32", "4711"],
  );
  // A kernel without swap has no such file, and lets nobody make one.
  expect(await readdir(join(own, name))).not.toContain("memory.swap.max");
  expect(cgroup.oomKills()).toBe(0);
  await writeFile(join(own, name, "memory.events"), "oom_kill 1\n");
  expect(cgroup.oomKills()).toBe(1);
  // The kernel cannot be asked: the process ends nevertheless.
  await rm(join(own, name, "memory.events"));
  await mkdir(join(own, name, "memory.events"));
  expect(cgroup.oomKills()).toBe(0);
});

test("a runner in the cgroup that an earlier one moved to limits beside it, not in it", async () => {
  const own = join(dir, "again");
  await mkdir(join(own, "hull-runner"), { recursive: true });
  await writeFile(join(own, "cgroup.controllers"), "memory pids\n");
  await writeFile(join(own, "cgroup.procs"), "");
  await writeFile(join(dir, "self"), "0::/again/hull-runner\n");
  Cgroups.open({ memoryBytes: 50_000_000, maxProcesses: 32 }, dir, join(dir, "self")).create();
  expect(await readdir(own)).toContain(`hull-execution-${process.pid}-1`);
});

test("a process is in its cgroup before it is its program; what the kernel counted is its cause", async () => {
  const own = join(dir, "live");
  await mkdir(own);
  await writeFile(join(own, "cgroup.controllers"), "memory\n");
  await writeFile(join(own, "cgroup.procs"), "");
  await writeFile(join(dir, "self"), "0::/live\n");
  const cgroups = Cgroups.open({ memoryBytes: 50_000_000, maxProcesses: null }, dir, join(dir, "self"));
  const pipes = new Pipes(join(dir, "pipes"), null);
  await pipes.prepare();
  const argv = ["/usr/bin/env", "python3"];
  const launcher = await Spawners.start(
    {
      argv,
      private: false,
      seccomp: false,
      networkNamespaces: false,
      gateway: null,
      state: null,
      warm: false,
    },
    1,
  );
  if (launcher === null) throw new Error("no spawner");
  const start = async (
    args: string[],
    file = "/bin/sh",
    { stopAt, cgroup = cgroups.create() }: { stopAt?: "cancelled"; cgroup?: Cgroup } = {},
  ) => {
    while (!pipes.ready) await pipes.more();
    return new Promise<ProcessOutcome & { stdout: string }>((resolve) => {
      let stdout = "";
      const running = new GroupProcess(
        {
          allowedPaths: [],
          skills: null,
          file,
          argv0: "own-name",
          args,
          cwd: dir,
          environment: { PATH: "/usr/bin:/bin" },
          stdin: Buffer.from("in"),
          separateResultFd: false,
          timeoutMs: 10_000,
          graceMs: 100,
          onStderr: () => {},
          onStdout: (chunk) => {
            stdout += Buffer.from(chunk).toString();
          },
          onEnd: (outcome) => resolve({ ...outcome, stdout }),
        },
        { launcher, pipes, cgroup },
      );
      if (stopAt !== undefined) running.stop(stopAt);
    });
  };
  try {
    const exit = { exitCode: 0, signal: null, startError: null, outOfMemory: false };
    const inside = await start(["-c", `echo "$0" $$ $(cat) $(cat ${own}/hull-execution-*-1/cgroup.procs)`]);
    expect(inside).toMatchObject(exit);
    expect(inside.stdout).toMatch(/^own-name (\d+) in \1\n$/);
    const killed = await start([
      "-c",
      `cd ${own}/hull-execution-*-2; echo "oom_kill 1" > memory.events; kill -9 $$`,
    ]);
    expect(killed).toMatchObject({ signal: "SIGKILL", outOfMemory: true });
    expect(await start([], "/nowhere/program")).toMatchObject({ startError: "ENOENT" });
    expect(await start(["-c", "sleep 76.5"], "/bin/sh", { stopAt: "cancelled" })).toMatchObject({
      stopped: "cancelled",
    });
    // The kernel may refuse to take it in: then it does not become its program.
    const absent = new Cgroup([join(dir, "absent")]);
    expect(await start(["-c", "echo without > ran"], "/bin/sh", { cgroup: absent })).toMatchObject({
      startError: "ENOENT",
    });
    expect(await readdir(dir)).not.toContain("ran");
    await writeFile(join(dir, "text"), 'echo "shell $1"\n', { mode: 0o755 });
    expect(await start(["a"], join(dir, "text"))).toMatchObject({ ...exit, stdout: "shell a\n" });
    await gone("sleep 76.5");
    // The runner's own file system may refuse the process's stdin.
    await rm(pipes.dir, { recursive: true });
    expect(await start(["-c", "true"])).toMatchObject({ startError: "ENOENT" });
  } finally {
    await launcher.close();
    await pipes.close();
  }
});

test("what stays in a cgroup is ended until the cgroup can be removed; a missing one is removed", async () => {
  const busy = join(dir, "busy");
  await mkdir(busy);
  // A folder with a file stands for a cgroup with a process: neither can be removed.
  await writeFile(join(busy, "held"), "");
  const removed = new Cgroup([busy, join(dir, "missing")]).remove();
  await expect.poll(() => readFile(join(busy, "cgroup.kill"), "utf8").catch(() => "")).toBe("1");
  // Until the folder is gone, the removal writes into it again, so that it may not be empty when it is to go.
  await rm(busy, { recursive: true, maxRetries: 100, retryDelay: 1 });
  await removed;
});

test.each([
  ["9:name=systemd:/\n", "this system has no cgroup with memory"],
  ["0::/bare\n", "this system has no cgroup with memory"],
  ["4:memory:/absent\n0::/bare\n", "this system has no cgroup with memory"],
  ["0::/closed\n", "the cgroup of the runner cannot be changed"],
  ["4:memory:/proc\n", "the cgroup of the runner cannot be changed"],
])("%j: says why there are no limits", async (self, why) => {
  await mkdir(join(dir, "bare"), { recursive: true });
  await writeFile(join(dir, "bare", "cgroup.controllers"), "hugetlb\n");
  await mkdir(join(dir, "closed", "cgroup.subtree_control"), { recursive: true });
  await writeFile(join(dir, "closed", "cgroup.controllers"), "memory\n");
  // In /proc nobody may make a folder, not even root.
  await mkdir(join(dir, "memory"), { recursive: true });
  await symlink("/proc", join(dir, "memory", "proc")).catch(() => {});
  await writeFile(join(dir, "self"), self);
  const open = () => Cgroups.open({ memoryBytes: 50_000_000, maxProcesses: null }, dir, join(dir, "self"));
  expect(open).toThrow(NoCgroups);
  expect(open).toThrow(new RegExp(`^${why}`));
});

test("with version 1 each controller has its own tree; leftovers of a dead runner are removed, those of a live one stay", async () => {
  const [memory, pids] = [join(dir, "memory", "box"), join(dir, "pids", "other")];
  const kept = `hull-execution-${process.ppid}-1`;
  for (const path of [memory, join(memory, "hull-execution-99999999-1"), join(memory, kept), pids])
    await mkdir(path, { recursive: true });
  await writeFile(join(dir, "self"), "8:pids:/other\n4:memory,x:/box\n1:cpu:/\n0::/\n");
  const limits = { memoryBytes: 50_000_000, maxProcesses: 32 };
  const cgroup = Cgroups.open(limits, dir, join(dir, "self")).create();
  cgroup.admit(4711);
  const name = `hull-execution-${process.pid}-1`;
  const read = (path: string) => readFile(path, "utf8");
  const paths = [
    join(memory, name, "memory.limit_in_bytes"),
    join(memory, name, "cgroup.procs"),
    join(pids, name, "pids.max"),
    join(pids, name, "cgroup.procs"),
  ];
  expect(await Promise.all(paths.map(read))).toEqual(["50000000", "4711", "32", "4711"]);
  await writeFile(join(memory, name, "memory.oom_control"), "under_oom 0\noom_kill 2\n");
  expect(cgroup.oomKills()).toBe(2);
  await until(
    async () => (await readdir(memory)).sort(),
    (left) => left.join() === [kept, name].sort().join(),
  );
});

test("an execution may have less memory than the runner's limit, and no more", async () => {
  const memory = join(dir, "memory", "own");
  await mkdir(memory, { recursive: true });
  await writeFile(join(dir, "self"), "4:memory:/own\n0::/\n");
  const limits = { memoryBytes: 50_000_000, maxProcesses: null };
  const cgroups = Cgroups.open(limits, dir, join(dir, "self"));
  for (const wanted of [undefined, 20_000_000, 90_000_000]) cgroups.create(wanted);
  const of = (n: number) =>
    readFile(join(memory, `hull-execution-${process.pid}-${n}`, "memory.limit_in_bytes"), "utf8");
  expect(await Promise.all([1, 2, 3].map(of))).toEqual(["50000000", "20000000", "50000000"]);
});

test("a runner that cannot enforce limits starts, and reports it in its log and in /readyz", async () => {
  const runner = await startRunner({ flags: ["--memory-bytes", "50000000", "--spawners", "0"] });
  try {
    const ready: unknown = await (await fetch(`${runner.url}/readyz`)).json();
    expect(ready).toEqual({
      status: "ready",
      enforced: {
        uid: false,
        egress_off: false,
        declared_network: false,
        declared_hosts: false,
        apart: false,
        signals: false,
        memory: false,
        processes: false,
      },
    });
    await until(runner.log, (text) => text.includes("limits_not_enforced"));
  } finally {
    await runner.stop();
  }
});

/** Forks until it may not, and prints how often it could. */
const FORKS = `import os, time
for n in range(100):
  try: child = os.fork()
  except OSError: print(n); break
  if child == 0: time.sleep(77.5)`;

describe("a kernel that enforces limits", () => {
  /** Cgroups of executions that are left, in any tree of the machine. */
  const left = async (pid: number | undefined): Promise<string[]> => {
    const own = await readFile("/proc/self/cgroup", "utf8");
    const dirs = Array.from(own.matchAll(/^\d+:([^:]*):(.*)$/gm), ([, name, path]) =>
      join("/sys/fs/cgroup", name ?? "", (path ?? "").replace(/\/hull-runner$/, "")),
    );
    const names = await Promise.all(dirs.map((dir) => readdir(dir).catch(() => [])));
    return names.flat().filter((name) => name.startsWith(`hull-execution-${pid}-`));
  };

  test("S33, S117: out of memory has its own cause, and other calls continue; too many processes fail to fork", async (context) => {
    const flags = ["--memory-bytes", "60000000", "--max-processes", "40"];
    const runner = await startRunner({ flags });
    try {
      const ready = await (await fetch(`${runner.url}/readyz`)).text();
      // Without a cgroup that this user may write to, the rest cannot be seen.
      if (ready.includes('"memory":false')) return context.skip();
      expect(ready).toContain('"memory":true,"processes":true');
      const files = await bundle({ "noop.sh": "#!/bin/sh\n" });
      const sh = (script: string) => run(runner, files, { argv: ["bash", "-c", script] });
      const eat = "python3 -S -c 'bytearray(200_000_000)'";
      const other = sh("sleep 1; echo unharmed");
      expect((await sh(`exec ${eat}`)).status).toMatchObject({ cause: "out_of_memory" });
      expect((await sh(`${eat}; echo went on`)).status.cause).toBe("out_of_memory");
      expect((await sh(`${eat} | cat`)).status.cause).toBe("out_of_memory");
      expect((await sh("kill -KILL $$")).status).toMatchObject({ cause: "signal", signal: "SIGKILL" });
      expect((await other).stdout.toString()).toBe("unharmed\n");
      const { stdout } = await run(runner, files, { argv: ["python3", "-S", "-c", FORKS] });
      expect(Number(stdout.toString())).toBeLessThan(40);
      await gone("sleep(77.5)");
      await until(
        () => left(runner.process.pid),
        (names) => names.length === 0,
      );
    } finally {
      await runner.stop();
    }
  });
});
