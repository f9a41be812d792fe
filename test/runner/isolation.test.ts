/** What the processes of executions cannot reach. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canUnshareNetwork } from "../support/namespaces.ts";
import {
  type Bundle,
  bundle,
  gone,
  processesWith,
  run,
  running,
  scratchOf,
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

  test("they have it, and cannot regain more: no groups, no capabilities, no privileges by setuid files", async () => {
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
    const spawners = processesWith("hull-spawner").map((line) => line.trim().split(/\s+/)[0]);
    const own: string[] = [];
    for (const spawner of spawners) {
      const status = await readFile(`/proc/${spawner}/status`, "utf8").catch(() => "");
      if (status.includes(`Uid:\t${CHILD_UID}`)) own.push(String(spawner));
    }
    expect(own.length).toBeGreaterThan(0);
    await denied(`cat /proc/${own[0]}/environ`);
    await denied(`head -c 1 /proc/${own[0]}/mem`);
  });

  test("input, output files and streams work as with one uid; leftovers are removed", async () => {
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
      async () => (await scratchOf(runner)).filter((name) => /[abc]$/.test(name) && name.includes("/a")),
      (left) => left.length === 0,
    );
  });

  test("processes are ended across uids: in time, out of their group, at the end of the runner", async () => {
    const script = "trap '' TERM; setsid sleep 71.5 & sleep 71.5; sleep 71.5";
    const { status } = await run(runner, files, { ...sh(script), timeout_ms: 300, grace_ms: 200 });
    expect(status.cause).toBe("timed_out");
    await gone("sleep 71.5");
    run(runner, files, sh("setsid sleep 72.5 & sleep 72.5")).catch(() => {});
    await running("sleep 72.5", 2);
    // The last test of this runner.
    await runner.kill("SIGKILL");
    await gone("sleep 72.5");
  });
});

describe("egress", () => {
  const connect = `python3 -S -E -c '
import socket, sys
s = socket.socket(); s.settimeout(2)
try: s.connect(("127.0.0.1", int(sys.argv[1]))); print("open")
except OSError: print("closed")' `;

  test.runIf(canUnshareNetwork())(
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
    ["at an address of another machine", ["--host", "203.0.113.1"], {}, "EADDRNOTAVAIL"],
    ["with a bad flag from outside", [], { HULL_RUNNER_FLAGS: "--queue 1 --concurrency 0" }, "--concurrency"],
  ])(
    "%s a runner that cannot enforce its settings does not start, and says why",
    async (_, flags, env, why) => {
      await expect(startRunner({ flags, env })).rejects.toThrow(why);
    },
  );
});

describe("spawners", () => {
  /** Its keeper's parent. */
  const SPAWNER_OF = "awk '/^PPid:/ {print $2}' /proc/$PPID/status";

  let runner: TestRunner;
  beforeAll(async () => {
    runner = await startRunner({ flags: ["--spawners", "1"] });
  });
  afterAll(() => runner.stop());

  test.each(["0", "1"])(
    "with %s spawners: a text without #! is a shell script; statuses, defaults, ends",
    async (count) => {
      const used = count === "1" ? runner : await startRunner({ flags: ["--spawners", count] });
      const plain = await bundle({ "x.sh": "#!/bin/sh\n", "no-interpreter.sh": "#!/not/there\n" });
      try {
        const make =
          'printf "echo plain \\$1" > "$TMPDIR/t"; chmod 755 "$TMPDIR/t"; exec env "$TMPDIR/t" arg';
        expect((await run(used, plain, sh(make))).stdout.toString()).toBe("plain arg\n");
        expect((await run(used, plain, sh("exit 255"))).status.exit_code).toBe(255);
        expect((await run(used, plain, sh("kill -ABRT $$"))).status.signal).toBe("SIGABRT");
        const { stdout } = await run(
          used,
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
        for (const [argv, cause] of [
          [["./no-interpreter.sh"], "command_not_found"],
          [["/bin/echo", "x\0y"], "spawn_failed"],
        ] as const)
          expect((await run(used, plain, { argv: [...argv] })).status).toMatchObject({ cause });
        const told = "trap 'echo told; exit' TERM; setsid sleep 74.6 & sleep 74.6 & wait";
        const late = await run(used, plain, { ...sh(told), timeout_ms: 300, grace_ms: 60_000 });
        expect([late.status.cause, late.stdout.toString()]).toEqual(["timed_out", "told\n"]);
        await gone("sleep 74.6");
      } finally {
        if (used !== runner) await used.stop();
      }
    },
  );

  test("a spawner that is killed is replaced: its calls are lost and ended, the next call runs", async () => {
    const before = (await run(runner, files, sh(SPAWNER_OF))).stdout.toString().trim();
    const lost = run(runner, files, sh("setsid sleep 73.5 & sleep 73.5"));
    await running("sleep 73.5", 2);
    process.kill(Number(before), "SIGKILL");
    expect((await lost).status.cause).toBe("lost");
    await gone("sleep 73.5");
    const after = await until(
      async () => (await run(runner, files, sh(SPAWNER_OF))).stdout.toString().trim(),
      (pid) => pid !== "",
    );
    expect(after).not.toBe(before);
  });

  // The last test of this runner.
  test("no spawner outlives its runner, nor do the processes", async () => {
    const spawner = (await run(runner, files, sh(SPAWNER_OF))).stdout.toString().trim();
    run(runner, files, sh("setsid sleep 74.5 & sleep 74.5")).catch(() => {});
    await running("sleep 74.5", 2);
    await runner.kill("SIGKILL");
    await gone("sleep 74.5");
    await until(
      () =>
        stat(`/proc/${spawner}`).then(
          () => true,
          () => false,
        ),
      (there) => !there,
    );
  });
});
