/**
 * Attacks of a process on the runner and on the processes of other executions. Each got through once, or would without
 * the code that it tries.
 */
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PackageRecords } from "../../container/package-records.ts";
import { removeTree, Tree } from "../../container/tree.ts";
import { runExecution } from "../../src/tool/runner-client.ts";
import { callScript } from "../support/handler-call.ts";
import { hasLandlock } from "../support/namespaces.ts";
import {
  type Bundle,
  bundle,
  collect,
  gone,
  run,
  running,
  runOptions,
  scratchOf,
  spec,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";
import { makeZip } from "../support/zip.ts";

const root = process.getuid?.() === 0;
const CHILD_UID = "65125";
/** One that every uid can start. */
const PYTHON = "/usr/bin/python3";

const landlock = hasLandlock();

const sh = (script: string): { argv: string[] } => ({ argv: ["bash", "-c", script] });
const python = (script: string, ...args: string[]): { argv: string[] } => ({
  argv: [PYTHON, "-c", script, ...args],
});

/** With an empty environment. */
const unmarked = (script: string, mark: string): { argv: string[] } => ({
  argv: ["env", "-i", PYTHON, "-c", script, mark, touched],
});

/**
 * It forks and leaves, again and again, in sessions of its own, and gives up by itself after a minute. No list of processes
 * shows it for sure: it touches a file.
 */
const COMET = `import os, sys, time
end = time.time() + 60
while time.time() < end:
    os.utime(sys.argv[2])
    if os.fork():
        os._exit(0)
    os.setsid()
`;
/** Each of many forks and leaves, and keeps children that sleep. */
const BOMB = `import os, sys, time
end = time.time() + 60
def hop():
    while time.time() < end:
        pid = os.fork()
        if pid:
            os._exit(0)
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        time.sleep(0.002)
for _ in range(20):
    if os.fork() == 0:
        hop()
        os._exit(0)
`;
/** A subreaper of its own, which adopts what leaves, and continues to fork after it gets the signal to end. */
const REAPER = `import ctypes, os, signal, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
signal.signal(signal.SIGTERM, lambda *_: os.fork())
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
    os._exit(0)
os.close(1); os.close(2)
time.sleep(60)
`;

/** If `stays` is true, the processes of the attack keep their leader from ending until its time limit. */
const ESCAPES: [string, (mark: string) => { argv: string[] }, stays?: true][] = [
  ["setsid and an empty environment", (mark) => sh(`setsid env -i sleep ${mark} >&- 2>&- & sleep 0.1`)],
  [
    "two forks and an empty environment",
    (mark) => sh(`(setsid env -i bash -c "(env -i sleep ${mark} &) &" >&- 2>&- &); sleep 0.1`),
  ],
  ["nohup, disowned", (mark) => sh(`env -i nohup setsid sleep ${mark} >/dev/null 2>&1 & disown; sleep 0.1`)],
  [
    "setsid --fork, and the leader killed",
    (mark) => sh(`setsid --fork env -i sleep ${mark} >&- 2>&- ; kill -9 $$`),
  ],
  ["a process that forks and leaves, again and again", (mark) => unmarked(COMET, mark)],
  ["many such processes with children", (mark) => unmarked(BOMB, mark), true],
  ["a subreaper of its own", (mark) => unmarked(REAPER, mark), true],
];

let files: Bundle;
/** What comets touch. */
let touched: string;
const untouched = (): Promise<unknown> =>
  until(
    async () => {
      const before = (await stat(touched)).mtimeMs;
      await sleep(300);
      return (await stat(touched)).mtimeMs - before;
    },
    (passed) => passed === 0,
  );

beforeAll(async () => {
  const dir = await mkdtemp(join(tmpdir(), "hull-touched-"));
  await chmod(dir, 0o755);
  touched = join(dir, "file");
  await writeFile(touched, "");
  await chmod(touched, 0o666);
  files = await bundle({
    "noop.sh": "#!/bin/sh\n",
    "away.py": `import os, time
def handler(args):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 100)
            os.execve("/bin/sleep", ["sleep", args["mark"]], {})
        os._exit(0)
    return os.getppid()
`,
    "comet.py": `import os, subprocess, sys
def handler(args):
    subprocess.Popen([sys.executable, "-c", args["program"], args["mark"], args["touched"]], env={}, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return "left"
`,
  });
});

/** Flags of a runner whose processes have a uid of their own; as many at a time as the pipes of others take. */
const APART = ["--child-uid", CHILD_UID, "--concurrency", "8"];
const UIDS: [string, string[]][] = [["with the runner's uid", []]];
if (root) UIDS.push(["with a uid of their own", APART]);

/** The runners that several parts share, by their flags. */
const shared = new Map<string, Promise<TestRunner>>();
function sharedRunner(flags: string[]): Promise<TestRunner> {
  const started = shared.get(flags.join()) ?? startRunner({ flags });
  shared.set(flags.join(), started);
  return started;
}

afterAll(async () => {
  for (const runner of shared.values()) await (await runner).stop();
  await removeTree(dirname(touched));
});

describe.each(UIDS)("processes that leave, %s", (_, flags) => {
  let runner: TestRunner;
  /** Seconds to sleep, which no other process here does. */
  const mark = (number: number): string => `90.${flags.length}${100 + number}${process.pid}5`;
  beforeAll(async () => {
    runner = await sharedRunner(flags);
  });

  test.each(ESCAPES.map(([name, attack, stays], at) => ({ name, attack, stays, at })))(
    "attack: $name: nothing outlives the execution",
    async ({ attack, stays, at }) => {
      const timeout_ms = stays ? 1000 : 2000;
      const { status } = await run(runner, files, { ...attack(mark(at)), timeout_ms, grace_ms: 100 });
      expect(status.cause).toMatch(/exit|signal|timed_out/);
      expect(status.exit_code ?? 0).toBe(0);
      await gone(mark(at));
      await untouched();
    },
  );

  test.each(ESCAPES.map(([name, attack], at) => ({ name, attack, at: at + 20 })))(
    "attack: $name, at a time-out: nothing outlives the execution",
    async ({ attack, at }) => {
      const { argv } = attack(mark(at));
      // The leader stays, and ignores the signal to end.
      const stays = ["bash", "-c", 'trap "" TERM; "$@" & sleep 60', "bash", ...argv];
      const { status } = await run(runner, files, { argv: stays, timeout_ms: 500, grace_ms: 100 });
      expect(status.cause).toBe("timed_out");
      await gone(mark(at));
      await untouched();
    },
  );

  test("attack: a fork of a Python handler leaves: nothing outlives the call", async () => {
    await callScript(runner, files, "away.py", { mark: mark(40) });
    await gone(mark(40));
    await callScript(runner, files, "comet.py", { mark: mark(41), program: COMET, touched });
    await gone(mark(41));
    await untouched();
  });

  test("a process that left its group stays until its own execution ends, whichever others end before", async () => {
    const stop = new AbortController();
    const leave = `setsid env -i sleep ${mark(42)} >&- 2>&- & sleep 60`;
    const options = runOptions(files, { signal: stop.signal });
    const alive = collect(runExecution(runner, spec({ digest: files.digest, ...sh(leave) }), {}, options));
    await running(mark(42));
    for (let at = 0; at < 5; at += 1)
      await run(runner, files, sh(`setsid env -i sleep ${mark(43)} >&- 2>&- & sleep 0.05`));
    await gone(mark(43));
    await running(mark(42));
    stop.abort();
    await alive.catch(() => undefined);
    await gone(mark(42));
  });

  test("attack: an execution never gets the folder of an earlier one", async () => {
    const folders = new Set<string>();
    for (let at = 0; at < 24; at += 1) {
      if (at === 12) await sleep(1200);
      folders.add((await run(runner, files, sh('echo "$TMPDIR"'))).stdout.toString());
    }
    expect(folders.size).toBe(24);
  });

  test("attack: the runner reuses a folder only where nothing is isolated, and only if nothing changed in it", async () => {
    // The system reuses an inode's number, but not its time of birth.
    const folder = (change: string) =>
      run(runner, files, sh(`stat -c "%i %w" "$TMPDIR"; ${change}`)).then(({ stdout }) => stdout.toString());
    const rounds = async (changes: string[]): Promise<string[]> => {
      const found: string[] = [];
      for (let at = 0; at < 40; at += 1) found.push(await folder(changes[at % changes.length] ?? ""));
      return found;
    };
    const changed = await rounds([
      'touch "$TMPDIR/left"; rm "$TMPDIR/left"',
      'chmod 777 "$HULL_INPUT_DIR" && chmod 700 "$HULL_INPUT_DIR" || mkdir "$HULL_INPUT_DIR/a"',
      'mv "$HULL_OUTPUT_DIR" "$TMPDIR/away"; mkdir "$HULL_OUTPUT_DIR"',
    ]);
    const unchanged = await rounds([":"]);
    expect(new Set(unchanged).size < 40).toBe(!flags.includes("--child-uid"));
    const last = await rounds([":"]);
    expect(changed.filter((one) => last.includes(one))).toEqual([]);
  });

  test("attack: the runner dies: nothing outlives it", async () => {
    const other = await startRunner({ flags });
    try {
      const leave = `setsid env -i sleep ${mark(44)} >&- 2>&- & sleep 60`;
      run(other, files, sh(leave)).catch(() => {});
      await running(mark(44));
      await other.kill("SIGKILL");
      await gone(mark(44));
    } finally {
      await other.stop();
    }
  });
});

describe("processes against their keeper", () => {
  let runner: TestRunner;
  beforeAll(async () => {
    runner = await startRunner({ flags: ["--spawners", "1"] });
  });
  afterAll(() => runner.stop());

  // With a uid of their own they cannot signal it, from Linux 6.12 on.
  test.each([
    ["kills", "kill -9 $PPID; sleep 60", `90.95015${process.pid}5`, "lost"],
    ["stops", "kill -STOP $PPID", `90.95025${process.pid}5`, "exit"],
  ])("attack: a process that %s its parent frees nothing of its own", async (_, act, mark, cause) => {
    const script = `setsid env -i sleep ${mark} >&- 2>&- & sleep 0.1; ${act}`;
    const { status } = await run(runner, files, { ...sh(script), timeout_ms: 1000 });
    expect([cause, "timed_out"]).toContain(status.cause);
    await gone(mark);
    expect((await run(runner, files, sh("echo well"))).stdout.toString()).toBe("well\n");
  });

  test("attack: a process that kills the spawner frees nothing of its own", async () => {
    const mark = `90.95035${process.pid}5`;
    const spawner = "$(awk '/PPid/ {print $2}' /proc/$PPID/status)";
    const script = `setsid env -i sleep ${mark} >&- 2>&- & sleep 0.1; kill -9 ${spawner}; sleep 60`;
    const { status } = await run(runner, files, sh(script));
    expect(status.cause).toBe("lost");
    await gone(mark);
    const again = () => run(runner, files, sh("echo well")).then(({ stdout }) => stdout.toString());
    await until(again, (said) => said === "well\n");
  });
});

/**
 * Opens whatever a name can lead to, and says what it read; forges where it can write. Arguments: how many seconds it
 * continues after the first time, folders and files.
 */
const PRY = `import os, re, sys, time
own = [os.readlink("/proc/self/fd/%d" % fd).split(" (deleted)")[0] for fd in range(3)]
own = [path for path in own if path != "/dev/null"]
# In a folder of its own it may do as it likes.
folders = [os.path.dirname(path) for path in own if re.search("/[0-9a-f]{32}$", os.path.dirname(path))]
end = time.time() + float(sys.argv[1])
found = set()
def attempt(path):
    if os.path.dirname(path) in folders:
        return
    try:
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    except OSError:
        return
    try:
        found.add("opened " + path)
        found.add(repr(os.read(fd, 100000)))
    except OSError:
        pass
    os.write(fd, b"forged")
while True:
    for path in own:
        folder, name = os.path.split(path)
        for place in (folder, os.path.dirname(folder)):
            try:
                for other in os.listdir(place):
                    found.add("listed " + place)
                    if os.path.join(place, other) not in own:
                        attempt(os.path.join(place, other))
            except OSError:
                pass
        counted = re.match(r"(.*[-/])(\\d+)$", path)
        if counted:
            for number in range(max(0, int(counted[2]) - 300), int(counted[2]) + 300):
                if counted[1] + str(number) not in own:
                    attempt(counted[1] + str(number))
    for path in sys.argv[2:]:
        attempt(path)
    if time.time() > end:
        break
with open(os.environ["HULL_OUTPUT_FILE"], "w") as out:
    out.write("\\n".join(sorted(found)) or "nothing")
`;

describe.runIf(landlock)("the pipes of other executions", () => {
  let runner: TestRunner;
  beforeAll(async () => {
    runner = await sharedRunner(APART);
  });

  test("attack: a process lists, opens, reads and forges nothing of another execution, by name or by number", async () => {
    const prying = run(
      runner,
      files,
      {
        ...python(PRY, "2"),
        output: "file",
        input: { mode: "stdin" },
        timeout_ms: 20_000,
      },
      { stdin: new TextEncoder().encode("own") },
    );
    const secret = "canary-of-a-victim";
    const victims: string[] = [];
    for (let at = 0; at < 30; at += 1) {
      const script = "cat; echo $SECRET; sleep 0.03";
      const { stdout } = await run(
        runner,
        files,
        { ...sh(script), env: { SECRET: secret } },
        { stdin: new TextEncoder().encode(`${secret} `) },
      );
      victims.push(stdout.toString());
    }
    expect(new Set(victims)).toEqual(new Set([`${secret} ${secret}\n`]));
    const { files: found } = await prying;
    expect(found.map(({ bytes }) => bytes.toString())).toEqual(["nothing"]);
  });

  test("attack: a process that knows the names of another execution's pipes cannot open them either", async () => {
    const places = [join(runner.stateDir, "pipes")];
    const names: string[] = [];
    for (const place of places) {
      for (const name of await readdir(place, { recursive: true })) names.push(join(place, name));
    }
    const fifos = names.filter((name) => /std(?:in|out|err)$|gate$/.test(name));
    expect(fifos.length).toBeGreaterThan(20);
    const prying = await run(runner, files, { ...python(PRY, "0", ...fifos), output: "file" });
    expect(prying.stderr.toString()).toBe("");
    expect(prying.files.map(({ bytes }) => bytes.toString())).toEqual(["nothing"]);
  });
});

describe("folders that a process replaces", () => {
  let runner: TestRunner;
  let hoard: string;
  beforeAll(async () => {
    runner = await sharedRunner(root ? APART : []);
    // For the runner alone.
    hoard = await mkdtemp(join(tmpdir(), "hull-hoard-"));
    await writeFile(join(hoard, "other.txt"), "canary-of-the-runner");
    await mkdir(join(hoard, "in"));
  });
  afterAll(() => removeTree(hoard));

  test.each([
    ["its output folder", 'rm -r "$HULL_OUTPUT_DIR"; ln -s HOARD "$HULL_OUTPUT_DIR"'],
    ["its output file", 'ln -s HOARD/other.txt "$HULL_OUTPUT_FILE"'],
    ["a file in its output folder", 'ln -s HOARD/other.txt "$HULL_OUTPUT_DIR/other.txt"'],
    [
      "a file in a folder that it made",
      'rm -r "$HULL_OUTPUT_DIR"; mkdir "$HULL_OUTPUT_DIR"; ln -s HOARD/other.txt "$HULL_OUTPUT_DIR/a"',
    ],
    ["the bundles", 'rm -r "$HULL_OUTPUT_DIR"; ln -s "$PWD" "$HULL_OUTPUT_DIR"'],
  ])("attack: a link in place of %s reveals nothing", async (_, script) => {
    const attack = sh(script.replaceAll("HOARD", hoard));
    const { files: found, status } = await run(runner, files, { ...attack, output: "file" });
    expect(status.cause).toBe("exit");
    expect(found).toEqual([]);
  });

  test("attack: an input is written into no folder that a link leads to", async () => {
    const scratch = await mkdtemp(join(tmpdir(), "hull-swapped-"));
    await symlink(join(hoard, "in"), join(scratch, "in"));
    await expect(new Tree(scratch, null).create("in/written")).rejects.toThrow();
    expect(await readdir(join(hoard, "in"))).toEqual([]);
    await removeTree(scratch);
    expect(await readFile(join(hoard, "other.txt"), "utf8")).toContain("canary");
  });

  test("attack: a removal follows no link, while folders become links", async () => {
    const work = await mkdtemp(join(tmpdir(), "hull-swapped-"));
    // Swaps a folder and a link to the runner's, by an exchange, as fast as it can.
    const swap = `import ctypes, os, sys, time
libc = ctypes.CDLL(None)
top, hoard = sys.argv[1:]
folder, link = [os.fsencode(os.path.join(top, name)) for name in ("a", "b")]
def attempt(act, *args):
    try:
        act(*args)
    except OSError:
        pass
end = time.time() + 1
while time.time() < end:
    attempt(os.mkdir, top)
    attempt(os.symlink, hoard, link)
    attempt(os.mkdir, folder)
    attempt(lambda: open(os.path.join(folder, b"other.txt"), "x").close())
    for _ in range(50):
        libc.renameat2(-100, folder, -100, link, 2)
`;
    let over = false;
    const swapping = promisify(execFile)(PYTHON, ["-c", swap, join(work, "top"), hoard]).finally(() => {
      over = true;
    });
    while (!over) {
      await removeTree(join(work, "top")).catch(() => undefined);
      expect(await readFile(join(hoard, "other.txt"), "utf8")).toContain("canary");
    }
    await swapping;
    await removeTree(work);
  });

  test("attack: folders that are nested too deep for any path are removed nevertheless", async () => {
    const deep = `import os
os.chdir(os.environ["TMPDIR"])
for level in range(3000):
    os.mkdir("d" * 20, 0o700)
    os.chdir("d" * 20)
open("f", "w").close()
os.chmod("f", 0)
`;
    const { status } = await run(runner, files, python(deep));
    expect(status.exit_code).toBe(0);
    await until(
      () => scratchOf(runner),
      (names) => names.every((name) => !name.includes("d".repeat(20))),
    );
    expect(runner.log()).not.toContain("scratch_not_removed");
  });
});

describe("packages", () => {
  const handler = "import hullpkg\ndef handler(a):\n    return hullpkg.answer\n";
  /** A wheel of one module `hullpkg`, and a file with so many zeros. */
  const wheel = (answer: number, zeros = 0): Promise<Uint8Array> => {
    const about = "hullpkg-1.0.dist-info";
    const files: [string, string | Uint8Array][] = [
      ["hullpkg.py", `answer = ${answer}\n`],
      ["hullzeros", new Uint8Array(zeros)],
      [`${about}/METADATA`, "Metadata-Version: 2.1\nName: hullpkg\nVersion: 1.0\n"],
      [`${about}/WHEEL`, "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"],
    ];
    const record = [...files.map(([name]) => name), `${about}/RECORD`].map((name) => `${name},,\n`).join("");
    return makeZip(
      [...files, [`${about}/RECORD`, record] as const].map(([name, content]) => ({
        name,
        content,
        deflate: true,
      })),
    );
  };
  const packed = async (content: Promise<Uint8Array>) =>
    bundle({
      "requirements.txt": "--find-links wheels\nhullpkg==1.0\n",
      "wheels/hullpkg-1.0-py3-none-any.whl": await content,
      "use.py": handler,
    });

  let runner: TestRunner;
  let forger: Bundle;
  beforeAll(async () => {
    runner = await startRunner({ flags: ["--installs", "off", "--bundle-bytes", "1000000"] });
    forger = await packed(wheel(666));
  });
  afterAll(() => runner.stop());

  test("attack: packages with more bytes than the runner keeps are refused with a message", async () => {
    const { value, fault } = await callScript(runner, await packed(wheel(42, 3_000_000)), "use.py");
    expect(fault).toBe("tool_error");
    expect(JSON.stringify(value)).toMatch(/more than 1000000 bytes/);
    expect(
      (await readdir(join(runner.stateDir, "packages"))).filter((name) => name.endsWith(".tar")),
    ).toEqual([]);
    expect(await callScript(runner, forger, "use.py")).toMatchObject({ value: 666 });
  });

  test("attack: the runner does not trust a record from another writer", async () => {
    const dir = join(runner.stateDir, "packages");
    const records = async (): Promise<string[]> =>
      (await readdir(dir)).filter((name) => /^[0-9a-f]{64}$/.test(name));
    // Installed by the test before, if that ran.
    expect(await callScript(runner, forger, "use.py")).toMatchObject({ value: 666 });
    const [other = "", ...more] = await records();
    expect(more).toEqual([]);
    const victim = await packed(wheel(42));
    expect(await callScript(runner, victim, "use.py")).toMatchObject({ value: 42 });
    const [first = ""] = (await records()).filter((name) => name !== other);
    const text = await readFile(join(dir, other), "utf8");
    expect(await new PackageRecords(dir).find(other)).toBe(text.slice(0, 64));
    // The digest of other packages alone, and their whole record.
    for (const forged of [text.slice(0, 64), text]) {
      await writeFile(join(dir, first), forged);
      expect(await new PackageRecords(dir).find(first)).toBeNull();
    }
    // The runner installs anew what it does not trust.
    expect(await callScript(runner, victim, "use.py")).toMatchObject({ value: 42 });
  });
});
