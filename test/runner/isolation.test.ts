/** What the processes of executions are kept away from (serving.md §6.2). */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cgroups, NoCgroups, oomKillsIn } from "../../container/cgroup.ts";
import { Pipes } from "../../container/pipes.ts";
import { GroupProcess, type ProcessOutcome } from "../../container/process.ts";
import { Spawners } from "../../container/spawners.ts";
import {
  type Bundle,
  bundle,
  processesWith,
  run,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";

const root = process.getuid?.() === 0;
/** A uid without an entry in the system's lists: nobody else's. */
const CHILD_UID = 65_123;

let files: Bundle;
beforeAll(async () => {
  files = await bundle({ "noop.sh": "#!/bin/sh\n" });
});

const sh = (script: string): { argv: string[] } => ({ argv: ["sh", "-c", script] });

const canUnshare = (() => {
  try {
    execFileSync("unshare", root ? ["--net", "true"] : ["--user", "--map-current-user", "--net", "true"]);
    return true;
  } catch {
    return false;
  }
})();

// Without root the runner cannot change a uid: the image's launcher can, this test's runner cannot.
describe.runIf(root)("a uid of their own (only where the test runs as root)", () => {
  let runner: TestRunner;
  beforeAll(async () => {
    runner = await startRunner({
      flags: ["--child-uid", String(CHILD_UID)],
      env: { CANARY: "canary-environment" },
    });
  });
  afterAll(() => runner.stop());
  const denied = async (script: string): Promise<void> => {
    const { stdout, stderr, status } = await run(runner, files, sh(script));
    expect(`${stdout}${stderr}`).toMatch(/denied|not permitted/i);
    expect(status.exit_code).not.toBe(0);
    expect(stdout.toString()).not.toContain("canary");
  };

  test("they have it, and no way back: no groups, no capabilities, no privileges by setuid files", async () => {
    const script = "id -u; id -G; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status";
    const { stdout } = await run(runner, files, sh(script));
    expect(stdout.toString().trim().split("\n")).toEqual([
      `${CHILD_UID}`,
      `${CHILD_UID}`,
      "CapEff:\t0000000000000000",
      "CapBnd:\t0000000000000000",
      "NoNewPrivs:\t1",
    ]);
  });

  test("S117: the runner's environment, memory, secret, journal and other folders are closed to them", async () => {
    const { pid } = runner.process;
    await denied(`cat /proc/${pid}/environ`);
    await denied(`head -c 1 /proc/${pid}/mem`);
    await denied(`ls /proc/${pid}/fd`);
    await denied(`kill -0 ${pid}`);
    for (const name of ["", "journal", "scratch", "bundles"])
      await denied(`ls ${join(runner.stateDir, name)}`);
    await denied(`cat ${join(runner.stateDir, "secret")}`);
    await denied("touch x");
  });

  test("the spawner, which has their uid, hides its memory and environment from them", async () => {
    const spawners = (await processesWith("hull-spawner")).map((line) => line.trim().split(/\s+/)[0]);
    const own: string[] = [];
    for (const spawner of spawners) {
      const status = await readFile(`/proc/${spawner}/status`, "utf8").catch(() => "");
      if (status.includes(`Uid:\t${CHILD_UID}`)) own.push(String(spawner));
    }
    expect(own.length).toBeGreaterThan(0);
    await denied(`cat /proc/${own[0]}/environ`);
    await denied(`head -c 1 /proc/${own[0]}/mem`);
  });

  test("input, output files and streams work as with one uid; what they leave goes away", async () => {
    const script =
      'cat "$HULL_INPUT_FILE" /dev/stdin > "$HULL_OUTPUT_DIR/all"; umask 077; echo secret > "$HULL_OUTPUT_DIR/closed";' +
      'mkdir -p "$TMPDIR/a/b"; touch "$TMPDIR/a/b/c"; chmod 0 "$TMPDIR/a/b" "$TMPDIR/a"; echo out > /dev/stdout';
    const given = { id: "uid-1", output: "file", input: { mode: "file" } } as const;
    const file = { filename: "in.txt", mime: "text/plain", body: new TextEncoder().encode("in\n") };
    const done = await run(runner, files, { ...sh(script), ...given }, { files: [file] });
    expect(done.status).toMatchObject({ cause: "exit", exit_code: 0 });
    expect(done.files.map(({ filename, bytes }) => [filename, bytes.toString()])).toEqual([
      ["all", "in\n"],
      ["closed", "secret\n"],
    ]);
    const stdin = new Uint8Array(300_000);
    const piped = await run(runner, files, { argv: ["wc", "-c"] }, { stdin });
    expect(piped.stdout.toString().trim()).toBe("300000");
    await until(
      async () =>
        (await readdir(join(runner.stateDir, "scratch"), { recursive: true })).filter(
          (n) => /[abc]$/.test(n) && n.includes("/a"),
        ),
      (left) => left.length === 0,
    );
  });

  test("processes are ended across uids: in time, out of their group, at the end of the runner", async () => {
    const script = "trap '' TERM; setsid sleep 71.5 & sleep 71.5; sleep 71.5";
    const { status } = await run(runner, files, { ...sh(script), timeout_ms: 300, grace_ms: 200 });
    expect(status.cause).toBe("timed_out");
    await until(
      () => processesWith("sleep 71.5"),
      (left) => left.length === 0,
      2000,
    );
    const other = await startRunner({ flags: ["--child-uid", String(CHILD_UID)] });
    run(other, files, sh("setsid sleep 72.5 & sleep 72.5")).catch(() => {});
    await until(
      () => processesWith("sleep 72.5"),
      (left) => left.length >= 2,
    );
    await other.kill("SIGKILL");
    await until(
      () => processesWith("sleep 72.5"),
      (left) => left.length === 0,
      2000,
    );
    await other.stop();
  });
});

describe("egress", () => {
  const connect = `python3 -c '
import socket, sys
s = socket.socket(); s.settimeout(2)
try: s.connect(("127.0.0.1", int(sys.argv[1]))); print("open")
except OSError: print("closed")' `;

  test.runIf(canUnshare)(
    "S117: with HULL_RUNNER_EGRESS=off there is no network, otherwise there is",
    async () => {
      for (const [mode, expected] of [
        ["off", "closed"],
        ["on", "open"],
      ] as const) {
        const runner = await startRunner({ env: { HULL_RUNNER_EGRESS: mode } });
        try {
          const port = new URL(runner.url).port;
          const { stdout } = await run(runner, files, sh(connect + port));
          expect(stdout.toString().trim()).toBe(expected);
          const ready: unknown = await (await fetch(`${runner.url}/readyz`)).json();
          expect(ready).toMatchObject({ enforced: { egress_off: mode === "off", memory: false } });
          expect(await (await fetch(`${runner.url}/metrics`)).text()).toContain(
            `hull_runner_enforced{what="egress_off"} ${mode === "off" ? 1 : 0}`,
          );
        } finally {
          await runner.stop();
        }
      }
    },
  );

  test.each([
    ["without spawners", ["--spawners", "0"], { HULL_RUNNER_EGRESS: "off" }, "spawners"],
    [
      "with a uid and no launcher",
      ["--child-uid", "65123", "--setpriv", "/nowhere/setpriv"],
      {},
      "/nowhere/setpriv",
    ],
    ["with an unknown word", [], { HULL_RUNNER_EGRESS: "maybe" }, "HULL_RUNNER_EGRESS"],
    ["with a bad flag from outside", [], { HULL_RUNNER_FLAGS: "--queue 1 --concurrency 0" }, "--concurrency"],
  ])("%s a runner that cannot keep its promise does not start, and says why", async (_, flags, env, why) => {
    await expect(startRunner({ flags, env })).rejects.toThrow(why);
  });
});

describe("spawners", () => {
  test("one that is killed is replaced: what it ran is lost and ended, the next runs", async () => {
    const runner = await startRunner({ flags: ["--spawners", "1"] });
    try {
      const before = (await run(runner, files, sh("echo $PPID"))).stdout.toString().trim();
      const running = run(runner, files, sh("setsid sleep 73.5 & sleep 73.5"));
      await until(
        () => processesWith("sleep 73.5"),
        (left) => left.length >= 2,
      );
      process.kill(Number(before), "SIGKILL");
      expect((await running).status.cause).toBe("lost");
      expect(await processesWith("sleep 73.5")).toEqual([]);
      const after = await until(
        async () => (await run(runner, files, sh("echo $PPID"))).stdout.toString().trim(),
        (pid) => pid !== "",
      );
      expect(after).not.toBe(before);
    } finally {
      await runner.stop();
    }
  });

  test("no spawner outlives its runner, nor do the processes", async () => {
    const runner = await startRunner({ flags: ["--spawners", "1"] });
    const spawner = (await run(runner, files, sh("echo $PPID"))).stdout.toString().trim();
    run(runner, files, sh("setsid sleep 74.5 & sleep 74.5")).catch(() => {});
    await until(
      () => processesWith("sleep 74.5"),
      (left) => left.length >= 2,
    );
    await runner.kill("SIGKILL");
    await until(
      () => processesWith("sleep 74.5"),
      (left) => left.length === 0,
      2000,
    );
    await until(
      () =>
        stat(`/proc/${spawner}`).then(
          () => true,
          () => false,
        ),
      (there) => !there,
      2000,
    );
    await runner.stop();
  });

  test.each(["0", "1"])(
    "with %s spawners: a text without #! is a shell script; statuses and defaults",
    async (count) => {
      const runner = await startRunner({ flags: ["--spawners", count] });
      const plain = await bundle({ "x.sh": "#!/bin/sh\n" });
      try {
        const make =
          'printf "echo plain \\$1" > "$TMPDIR/t"; chmod 755 "$TMPDIR/t"; exec env "$TMPDIR/t" arg';
        expect((await run(runner, plain, sh(make))).stdout.toString()).toBe("plain arg\n");
        expect((await run(runner, plain, sh("exit 255"))).status.exit_code).toBe(255);
        expect((await run(runner, plain, sh("kill -ABRT $$"))).status.signal).toBe("SIGABRT");
        const { stdout } = await run(
          runner,
          plain,
          sh(
            "umask; grep -E 'Sig(Ign|Blk)' /proc/self/status; ls /proc/self/fd | wc -l; ps -o pid=,pgid=,sid= -p $$",
          ),
        );
        const [umask, blocked, ignored, descriptors, ids] = stdout.toString().split("\n");
        expect([umask, blocked, ignored]).toEqual([
          "0022",
          "SigBlk:\t0000000000000000",
          expect.stringMatching(/SigIgn:\t0000000[01]80000000|SigIgn:\t0+$/),
        ]);
        // Three streams and the folder that `ls` reads; Node passes on what its own starter left open.
        if (count === "1") expect(descriptors?.trim()).toBe("4");
        expect(new Set(ids?.trim().split(/\s+/)).size).toBe(1);
      } finally {
        await runner.stop();
      }
    },
  );
});

describe("cgroup limits", () => {
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
    expect(
      await Promise.all(["memory.max", "memory.oom.group", "pids.max", "cgroup.procs"].map(read)),
    ).toEqual(["50000000", "1", "32", "4711"]);
    expect(cgroup.oomKills()).toBe(0);
    await writeFile(join(own, name, "memory.events"), "oom_kill 1\n");
    expect(cgroup.oomKills()).toBe(1);
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
    const launcher = await Spawners.start({ argv, private: false }, 1);
    if (launcher === null) throw new Error("no spawner");
    const start = (args: string[], file = "/bin/sh", stopAt?: "cancelled") =>
      new Promise<ProcessOutcome & { stdout: string }>((resolve) => {
        let stdout = "";
        const running = new GroupProcess(
          {
            ...{
              executionId: "gate",
              file,
              argv0: "own-name",
              args,
              cwd: dir,
              environment: { PATH: "/usr/bin:/bin" },
            },
            ...{ stdin: Buffer.from("in"), timeoutMs: 10_000, graceMs: 100, onStderr: () => {} },
            onStdout: (chunk) => {
              stdout += Buffer.from(chunk).toString();
            },
            onEnd: (outcome) => resolve({ ...outcome, stdout }),
          },
          { launcher, pipes, cgroup: cgroups.create() },
        );
        if (stopAt !== undefined) running.stop(stopAt);
      });
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
      expect(await start(["-c", "sleep 76.5"], "/bin/sh", "cancelled")).toMatchObject({
        stopped: "cancelled",
      });
      await writeFile(join(dir, "text"), 'echo "shell $1"\n', { mode: 0o755 });
      expect(await start(["a"], join(dir, "text"))).toMatchObject({ ...exit, stdout: "shell a\n" });
      expect(await processesWith("sleep 76.5")).toEqual([]);
    } finally {
      launcher.close();
      await pipes.close();
    }
  });

  test.each([
    ["9:name=systemd:/\n", "no cgroup v2"],
    ["0::/bare\n", "no controller memory"],
    ["0::/absent\n", "cannot be changed"],
  ])("%j: says why there are no limits", async (self, why) => {
    await mkdir(join(dir, "bare"), { recursive: true });
    await writeFile(join(dir, "bare", "cgroup.controllers"), "hugetlb\n");
    await writeFile(join(dir, "self"), self);
    const open = () => Cgroups.open({ memoryBytes: 50_000_000, maxProcesses: null }, dir, join(dir, "self"));
    expect(open).toThrow(NoCgroups);
    expect(open).toThrow(why);
  });

  test("a runner that cannot keep them starts, and tells: in its log and by /readyz", async () => {
    const runner = await startRunner({ flags: ["--memory-bytes", "50000000", "--spawners", "0"] });
    try {
      const ready: unknown = await (await fetch(`${runner.url}/readyz`)).json();
      expect(ready).toEqual({
        status: "ready",
        enforced: { uid: false, egress_off: false, memory: false, processes: false },
      });
      await until(runner.log, (text) => text.includes("limits_not_enforced"));
    } finally {
      await runner.stop();
    }
  });
});
