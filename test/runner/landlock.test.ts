/** What executions of one uid cannot reach: each other's files, memory, environment and signals. */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { chmod, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { programSource } from "../../container/program-source.ts";
import type { HandlerNote } from "../../src/tool/handler/call.ts";
import { runExecution } from "../../src/tool/runner-client.ts";
import { callScript } from "../support/handler-call.ts";
import { hasLandlock } from "../support/namespaces.ts";
import {
  type Bundle,
  bundle,
  collect,
  otherProcesses,
  parentOf,
  run,
  runOptions,
  spec,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";

const CHILD_UID = 65_124;
const CANARY = "canary-of-another-execution";

const possible = hasLandlock();

const HANDLERS = {
  // Says where it is, and stays until it is stopped.
  "scripts/stay.py": `import os, sys, time
def handler(args):
    open("mine.txt", "w").write("${CANARY}")
    print("pid", os.getpid(), os.getcwd(), os.environ["TMPDIR"])
    while not os.path.exists("go"): time.sleep(0.02)
    return "stayed"
`,
  "scripts/pry.py": `import os, signal
def tried(act):
    try:
        return repr(act())
    except OSError as error:
        return type(error).__name__
def handler(args):
    pid, cwd, tmp = args["pid"], args["cwd"], args["tmp"]
    read = lambda path: open(path, "rb").read(1000)
    return {
        "environ": tried(lambda: read("/proc/%d/environ" % pid)),
        "mem": tried(lambda: open("/proc/%d/mem" % pid, "rb").read(1)),
        "fds": tried(lambda: os.readlink("/proc/%d/fd/1" % pid)),
        "cwd": tried(lambda: os.listdir("/proc/%d/cwd" % pid)),
        "signal": tried(lambda: os.kill(pid, 0)),
        "group": tried(lambda: os.killpg(pid, signal.SIGKILL)),
        "file": tried(lambda: read(cwd + "/mine.txt")),
        "write": tried(lambda: open(cwd + "/theirs.txt", "w")),
        "over": tried(lambda: open(cwd + "/mine.txt", "w")),
        "remove": tried(lambda: os.unlink(cwd + "/mine.txt")),
        "tmp": tried(lambda: open(tmp + "/x", "w")),
        "parent": tried(lambda: os.kill(os.getppid(), 0)),
    }
`,
  "scripts/pry.js": `import { readFileSync, writeFileSync } from "node:fs";
const tried = (act) => { try { return String(act()); } catch (error) { return error.code; } };
export default ({ pid, cwd, tmp }) => ({
  environ: tried(() => readFileSync("/proc/" + pid + "/environ")),
  signal: tried(() => process.kill(pid, 0)),
  file: tried(() => readFileSync(cwd + "/mine.txt")),
  write: tried(() => writeFileSync(cwd + "/theirs.txt", "x")),
  tmp: tried(() => writeFileSync(tmp + "/x", "x")),
});
`,
  "scripts/pry.sh": `read -r line
pid=$(printf %s "$line" | sed 's/.*"pid":\\([0-9]*\\).*/\\1/')
cwd=$(printf %s "$line" | sed 's/.*"cwd":"\\([^"]*\\)".*/\\1/')
try() { "$@" 2>/dev/null && echo "open: $*" >&2; }
try cat /proc/$pid/environ; try kill -0 $pid; try cat $cwd/mine.txt; try touch $cwd/theirs.txt; try ls $cwd
echo '"tried"'
`,
  // What programs do every day.
  "scripts/usual.sh": `set -e
echo err > /dev/stderr
cat <(echo substituted) >&2
t=$(mktemp); echo moved > "$t"; mkdir -p sub; mv "$t" sub/moved.txt
ls /usr > /dev/null; ls -l /proc/self/fd > /dev/null; cat /etc/passwd > /dev/null
sleep 60 & kill $!; wait $! || true
echo x > /tmp/hull-apart-probe && rm /tmp/hull-apart-probe
python3 -c 'import json, ssl, multiprocessing, tempfile; tempfile.TemporaryFile()'
cat "$HULL_SKILL_DIR/scripts/data.txt" > /dev/null
printf '"%s"' "$(cat sub/moved.txt)" > /dev/stdout
`,
  "scripts/usual.py": `import multiprocessing, os, subprocess, tempfile
from beside import DATA
def double(x):
    return 2 * x
def handler(args):
    with multiprocessing.Pool(2) as pool:
        doubled = pool.map(double, [1, 2])
    child = subprocess.Popen(["sleep", "60"])
    child.terminate()
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write("x")
    os.rename(file.name, "moved.txt")
    return [doubled, child.wait(), DATA, open("/proc/%d/environ" % os.getpid(), "rb").read() != b""]
`,
  "scripts/usual.js": `import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
const { data } = await import(new URL("beside.js", import.meta.url));
export default async (args, ctx) => {
  writeFileSync(tmpdir() + "/a", "x");
  renameSync(tmpdir() + "/a", "b");
  return [execFileSync("cat", ["b"]).toString(), data, readFileSync(process.env.HULL_SKILL_DIR + "/scripts/data.txt", "utf8")];
};
`,
  "scripts/beside.py": "DATA = 'beside'\n",
  "scripts/beside.js": "export const data = 'beside';\n",
  "scripts/data.txt": "data",
  "noop.sh": "#!/bin/sh\n",
  "no-interpreter.sh": "#!/not/there\n",
};

/** Of each process that the runner started for its executions, and of theirs: how many descriptors it has open. */
function descriptorsBelow(runner: TestRunner): Map<number, number> {
  const parents = new Map(otherProcesses().map((pid) => [pid, parentOf(pid)]));
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === runner.process.pid || isBelow(parents.get(pid)));
  const pids = [...parents.keys()].filter((pid) => pid !== runner.process.pid && isBelow(pid));
  return new Map(pids.map((pid) => [pid, descriptorsOf(pid)]));
}

function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

describe.runIf(possible).each([
  ["", []],
  [", behind a gate", ["--max-processes", "500"]],
])("executions of one uid%s", (_, flags) => {
  let place: string;
  let runner: TestRunner;
  let files: Bundle;
  beforeAll(async () => {
    files = await bundle(HANDLERS);
    place = await mkdtemp(join(tmpdir(), "hull-landlock-"));
    await chmod(place, 0o755);
    // What a process may use next to the state does not include what a link there leads to.
    await symlink(".", join(place, "loop"));
    await writeFile(join(place, "beside.sh"), "#!/bin/sh\necho beside\n");
    await chmod(join(place, "beside.sh"), 0o777);
    runner = await startRunner({ flags: ["--child-uid", String(CHILD_UID), ...flags], place });
  });
  afterAll(async () => {
    await runner.stop();
    await rm(place, { recursive: true });
  });

  test("S117: /readyz reports the isolation", async () => {
    const ready: unknown = await (await fetch(`${runner.url}/readyz`)).json();
    expect(ready).toMatchObject({ enforced: { apart: true, signals: true } });
  });

  test("cannot read, write, trace or signal what belongs to another", async () => {
    let said = "";
    const note = (heard: HandlerNote) => {
      if (heard.kind === "output") said += heard.text;
    };
    const env = { CANARY };
    const stop = new AbortController();
    const staying = callScript(runner, files, "scripts/stay.py", {}, { env, note, signal: stop.signal });
    const [, pid, cwd, tmp] = await until(
      async () => /pid (\d+) (\S+) (\S+)\n/.exec(said) ?? [],
      (found) => found.length > 0,
    );
    const args = { pid: Number(pid), cwd: cwd ?? "", tmp: tmp ?? "" };
    const denied = "PermissionError";
    expect((await callScript(runner, files, "scripts/pry.py", args)).value).toEqual({
      environ: denied,
      mem: denied,
      fds: denied,
      cwd: denied,
      signal: denied,
      group: denied,
      file: denied,
      write: denied,
      over: denied,
      remove: denied,
      tmp: denied,
      parent: denied,
    });
    expect((await callScript(runner, files, "scripts/pry.js", args)).value).toEqual({
      environ: "EACCES",
      signal: "EPERM",
      file: "EACCES",
      write: "EACCES",
      tmp: "EACCES",
    });
    const shell = await callScript(runner, files, "scripts/pry.sh", args);
    expect([shell.value, shell.said]).toEqual(["tried", expect.not.stringContaining("open:")]);
    const other = await bundle({ "x.sh": "#!/bin/sh\n" });
    const [digest] = await readdir(join(runner.stateDir, "bundles"));
    const script = `cat ${join(runner.stateDir, "bundles", digest ?? "")}/scripts/data.txt || echo closed`;
    const command = await run(runner, other, { argv: ["sh", "-c", script] });
    expect(command.stdout.toString()).toBe("closed\n");
    stop.abort();
    await staying;
  });

  test.each([
    ["usual.sh", "moved"],
    ["usual.py", [[2, 4], -15, "beside", true]],
    ["usual.js", ["x", "beside", "data"]],
  ])("%s: programs can still work in their own folders", async (name, value) => {
    const { value: got, said } = await callScript(runner, files, `scripts/${name}`);
    expect([got, said]).toEqual([value, expect.any(String)]);
  });

  test("the folder of a session belongs to it alone, and its next execution has it", async () => {
    const inSession = async (id: string, script: string) => {
      const manifest = async () => JSON.stringify({ id, version: 1, files: [] });
      const workspace = { manifest, contents: () => new Blob([]).stream() };
      const fields = { argv: ["sh", "-c", script], digest: files.digest };
      const wanted = spec({ ...fields, workspace: { id, version: 1, cwd: true } });
      const events = runExecution(runner, wanted, {}, runOptions(files, { workspace }));
      return (await collect(events)).stdout.toString();
    };
    const [one, two] = ["a".repeat(32), "b".repeat(32)];
    const folder = (await inSession(one, "echo mine > f; mkdir d; pwd")).trim();
    const pry = `cat ${folder}/f; ls ${folder}; echo x > ${folder}/g && echo wrote; mv ${folder}/d . && echo moved; echo tried`;
    expect(await inSession(two, pry)).toBe("tried\n");
    expect(await readFile(join(folder, "f"), "utf8")).toBe("mine\n");
    // Its manifest still says that there are no files.
    expect(await inSession(one, "ls; echo again > f; cat f")).toBe("d\nagain\n");
  });

  test("files beside the runner's folder stay open as far as their modes say", async () => {
    const script = 'cat "$0"; "$0"; truncate -s 22 "$0"; echo "echo more" >> "$0"; "$0"';
    const { stdout } = await run(runner, files, { argv: ["sh", "-c", script, join(place, "beside.sh")] });
    expect(stdout.toString()).toBe("#!/bin/sh\necho beside\nbeside\nbeside\nmore\n");
  });

  test.each(["./not-there", "./no-interpreter.sh"])("%s cannot start, and says why", async (command) => {
    const { status } = await run(runner, files, { argv: [command] });
    expect(status.cause).toBe("command_not_found");
  });

  test("an execution leaves no descriptor open in what starts the next one", async () => {
    await run(runner, files, { argv: ["true"] });
    const before = descriptorsBelow(runner);
    await run(runner, files, { argv: ["true"] });
    const after = descriptorsBelow(runner);
    expect(before.size).toBeGreaterThan(1);
    expect([...before].filter(([pid, count]) => (after.get(pid) ?? count) > count)).toEqual([]);
  });
});

test("a process that gets no thread, because there are too many processes, was not started", () => {
  const code = `
import _thread, errno
def refused(*_):
    raise RuntimeError("can't start new thread")
_thread.start_new_thread = refused
try:
    in_thread(print)
except OSError as error:
    print(errno.errorcode[error.errno])
`;
  const text = programSource("landlock.py") + code;
  expect(execFileSync("python3", ["-c", text]).toString().trim()).toBe("EAGAIN");
});
