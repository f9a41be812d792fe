/** Handlers' processes: their ends, their context, what is kept from them. */
import { createHash, randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runInRunner, runPython } from "../../src/tool/handler/process.ts";
import { encodeFrame, encodeJsonFrame, FRAME, type WorkspaceChange } from "../../src/tool/protocol.ts";
import { RunnerCircuit } from "../../src/tool/runner-circuit.ts";
import type { KnownExecutions, Runner } from "../../src/tool/runner-client.ts";
import { callScript, handlerCall, processDeps } from "../support/handler-call.ts";
import {
  type Bundle,
  bundle,
  gone,
  running,
  scratchOf,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";

const root = process.getuid?.() === 0;
const CHILD_UID = 65_124;

let files: Bundle;
let runner: TestRunner;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "hull-handlers-"));
  files = await bundle({
    "ctx.js": `export default async (args, ctx) => {
      await ctx.emit("half");
      await ctx.artifact({ type: "code", content: "c" });
      await ctx.artifact.update("i", { title: "t" });
      const { workDir, config, callId, sessionId, bot, models } = ctx;
      const { stdout, exit_code } = await ctx.python("import os; print(os.getcwd())");
      return { config, callId, sessionId, bot, models, same: stdout.trim() === workDir, exit_code };
    };`,
    "behind.js": "export default ({ code, timeoutMs }, ctx) => ctx.python(code, { timeoutMs });",
    "stopped.js": `export default (args, ctx) => new Promise((resolve) => {
      console.log("begun");
      setTimeout(() => resolve("too late"), 60_000);
      ctx.signal.addEventListener("abort", () => console.log("told"));
    });`,
    "once.py": "import sys, json\nopen(json.load(sys.stdin)['file'], 'a').write('once ')\nprint('done')\n",
    "count.py":
      "import time\ndef handler(a):\n    open(a['file'], 'a').write('once ')\n    time.sleep(a['s'])\n    return 'done'\n",
    "slow.sh": "echo begun >&2; sleep 60.25 & wait",
    "slow.py":
      "import subprocess\ndef handler(a):\n    print('begun')\n    subprocess.run(['sleep', '61.25'])",
    "away.py":
      "import os, time\ndef handler(a):\n    child = os.fork()\n    if child == 0:\n        os.setsid()\n        os.closerange(0, 100)\n        time.sleep(62.25)\n        os._exit(0)\n    return child",
    "files.py":
      "import os\ndef handler(a):\n    open('out.txt', 'w').write('py!')\n    return {'text': open('a/in.txt').read(), 'same': os.getcwd() == a['__workDir']}\n",
    "files.js": `import { readFileSync, writeFileSync } from "node:fs";
      export default (args) => {
        writeFileSync("out.txt", "js!");
        return { text: readFileSync(args.__workDir + "/a/in.txt", "utf8"), same: process.cwd() === args.__workDir };
      };`,
    "eats.py": "def handler(a):\n    held = bytearray(a['mib'] * 2**20)\n    return 'ate'\n",
    "pid.py": "import os\ndef handler(a):\n    return os.getpid()\n",
    "work.sh": 'pwd > here; echo "$HULL_SKILL_DIR" >> here; touch "$HULL_SKILL_DIR/x" 2>/dev/null; cat here',
    "read.py": "def handler(a):\n    return open(a['name']).read()\n",
  });
  runner = await startRunner();
});
afterAll(async () => {
  await runner.stop();
  await rm(dir, { recursive: true });
});

describe("the end", () => {
  test.each([
    ["slow.sh", "sleep 60.25"],
    ["slow.py", "sleep 61.25"],
  ])("%s is stopped in time, and leaves no process", async (script, mark) => {
    const outcome = await callScript(runner, files, script, {}, { timeoutMs: 1000 });
    expect(outcome).toMatchObject({
      value: { error: expect.stringContaining("1000 ms") },
      fault: "timeout",
    });
    await gone(mark);
  });

  test("the runner finds a fork that left its group and is silent by its environment", async () => {
    const { value, fault } = await callScript(runner, files, "away.py");
    expect(fault).toBeNull();
    await until(
      () => readFile(`/proc/${value}/stat`, "utf8").catch(() => "gone"),
      (stat) => stat === "gone" || stat.includes(") Z "),
    );
  });

  test("a JavaScript handler gets a signal before it is stopped; a cancel is an outcome", async () => {
    const late = await callScript(runner, files, "stopped.js", {}, { timeoutMs: 3000 });
    expect(late).toMatchObject({ fault: "timeout", said: "begun\ntold\n" });
    const leaving = new AbortController();
    const call = handlerCall(files, "slow.sh", {}, { signal: leaving.signal });
    const outcome = runInRunner(call, processDeps(runner, files));
    await running("sleep 60.25");
    leaving.abort();
    expect(await outcome).toMatchObject({ fault: "cancelled" });
    await gone("sleep 60.25");
  });

  test("a plain script takes effect once", async () => {
    const file = join(dir, "plain");
    expect(await callScript(runner, files, "once.py", { file })).toMatchObject({ value: "done" });
    expect(await readFile(file, "utf8")).toBe("once ");
  });

  test("faults of a runner out of reach and of a missing script", async () => {
    const circuit = new RunnerCircuit("at x", () => {});
    circuit.open("down", Date.now());
    const nowhere = { ...runner, circuit, fetch: () => Promise.reject(new TypeError("refused")) };
    const outcome = await runInRunner(handlerCall(files, "pid.py", {}), processDeps(nowhere, files));
    expect(outcome).toMatchObject({ fault: "unavailable" });
    expect(await callScript(runner, files, "absent.py")).toMatchObject({ fault: "tool_error" });
    expect(await callScript(runner, files, "../absent.sh")).toMatchObject({ fault: "tool_error" });
  });
});

describe("the caller returns", () => {
  const remembered = (): KnownExecutions => {
    const facts = new Map<string, "handed_in" | "admitted">();
    return { known: (id) => facts.get(id) ?? "nothing", note: (id, fact) => void facts.set(id, fact) };
  };

  test("a Worker that dies: the next one follows the same execution, which ran once", async () => {
    const file = join(dir, "again");
    const call = handlerCall(files, "count.py", { file, s: 1.5 });
    const known = remembered();
    const dying = new AbortController();
    const dies: Runner = {
      ...runner,
      fetch: (path, request) => {
        if (dying.signal.aborted) return Promise.reject(new TypeError("dead"));
        const signals = [dying.signal, ...(request.signal === undefined ? [] : [request.signal])];
        return runner.fetch(path, { ...request, signal: AbortSignal.any(signals) });
      },
    };
    const deps = processDeps(dies, files);
    const first = runInRunner(call, { ...deps, options: { ...deps.options, known } });
    await until(
      () => readFile(file, "utf8").catch(() => ""),
      (text) => text !== "",
    );
    dying.abort();
    void first;
    const later = processDeps(runner, files);
    const second = await runInRunner(call, { ...later, options: { ...later.options, known } });
    expect(second).toMatchObject({ value: "done", fault: null });
    expect(await readFile(file, "utf8")).toBe("once ");
  });

  test("a runner that dies: the outcome is unknown, and nothing is run again", async () => {
    const file = join(dir, "lost");
    const moving: Runner = { ...runner, fetch: (path, request) => runner.fetch(path, request) };
    const deps = processDeps(moving, files);
    const admitted = Promise.withResolvers<void>();
    const known = remembered();
    const noting: KnownExecutions = {
      known: known.known,
      note(id, fact) {
        known.note(id, fact);
        if (fact === "admitted") admitted.resolve();
      },
    };
    const options = { ...deps.options, known: noting };
    const call = handlerCall(files, "count.py", { file, s: 30 });
    const outcome = runInRunner(call, { ...deps, options });
    await until(
      () => readFile(file, "utf8").catch(() => ""),
      (text) => text !== "",
    );
    // A busy machine may start the process before the caller has read that it was admitted.
    await admitted.promise;
    await runner.kill("SIGKILL");
    runner = await startRunner({ from: runner });
    expect(await outcome).toMatchObject({
      fault: "tool_error",
      diagnostics: [{ code: "outcome_unknown" }],
    });
    expect(await readFile(file, "utf8")).toBe("once ");
  });
});

describe("its folder and its variables", () => {
  test("each call has a new folder, which is removed; the skill's folder is elsewhere and read-only", async () => {
    const { value } = await callScript(runner, files, "work.sh");
    const [here, skill] = String(value).trim().split("\n");
    expect(here).not.toBe(skill);
    expect(skill).toContain(files.digest);
    await until(
      () => scratchOf(runner),
      (names) => names.every((name) => !name.endsWith("here")),
    );
  });

  test("the session's files are its folder, in Python and in JavaScript", async () => {
    const content = Buffer.from("hello");
    const sha256 = createHash("sha256").update(content).digest("hex");
    const row = { path: "a/in.txt", sha256, size: content.length, executable: false };
    const id = randomUUID().replaceAll("-", "");
    for (const script of ["files.py", "files.js"]) {
      const changes: WorkspaceChange[] = [];
      const written: Uint8Array[] = [];
      const workspace = {
        id,
        version: 1,
        source: {
          manifest: async () => JSON.stringify({ id, version: 1, files: [row] }),
          contents: () =>
            new Blob([
              new Uint8Array(encodeJsonFrame(FRAME.file, { filename: sha256, size: content.length, sha256 })),
              new Uint8Array(encodeFrame(FRAME.fileBytes, content)),
            ]).stream(),
        },
        changes: {
          change: async (change: WorkspaceChange) => void changes.push(change),
          bytes: async (bytes: Uint8Array) => void written.push(bytes),
          finish: async () => [{ path: "out.txt", why: "too_large" }],
          abandon: async () => undefined,
        },
      };
      const outcome = await runInRunner(
        handlerCall(files, script, {}),
        processDeps(runner, files, { workspace }),
      );
      expect(outcome).toMatchObject({ value: { text: "hello", same: true }, fault: null });
      expect(outcome.diagnostics).toEqual([
        { code: "files_not_kept", message: expect.stringContaining('"out.txt" (too_large)') },
      ]);
      expect(changes).toMatchObject([{ kind: "write", path: "out.txt", size: 3 }]);
      expect(Buffer.concat(written).toString()).toBe(script.slice(-2) === "py" ? "py!" : "js!");
    }
  });

  test("ctx in JavaScript: notes in order, configuration, models, Python", async () => {
    const fields = {
      sessionId: "s",
      bot: "b",
      config: { quality: "high" },
      models: { fast: "m" },
      tool: { filesystem: true },
    };
    const { value, notes } = await callScript(runner, files, "ctx.js", {}, fields);
    expect(value).toEqual({
      config: { quality: "high" },
      callId: "call_1",
      sessionId: "s",
      bot: "b",
      models: { fast: "m" },
      same: true,
      exit_code: 0,
    });
    expect(notes).toEqual([
      { kind: "output", stream: "emit", text: "half" },
      {
        kind: "artifact",
        value: { type: "code", content: "c", __artifact__: true, id: expect.any(String) },
      },
      { kind: "artifact", value: { title: "t", __artifact_update__: true, id: "i" } },
    ]);
    expect(await callScript(runner, files, "ctx.js")).toMatchObject({
      value: { error: expect.stringContaining("x-requires-filesystem") },
    });
  });

  test.each([
    ["has ended", "60.75", 60_000, { stdout: "begun\n", stderr: "", exit_code: 0 }],
    ["was stopped", "61.75", 500, { stdout: "", stderr: expect.stringContaining("500 ms"), exit_code: 128 }],
  ])("ctx.python answers when Python %s, whatever Python started", async (_, seconds, timeoutMs, value) => {
    const wait = timeoutMs === 500 ? "wait" : "poll";
    const code = `import subprocess\nprint("begun")\nsubprocess.Popen(["sleep", "${seconds}"]).${wait}()\n`;
    const tool = { filesystem: true };
    expect(await callScript(runner, files, "behind.js", { code, timeoutMs }, { tool })).toMatchObject({
      value,
    });
    await gone(`sleep ${seconds}`);
  });

  test("runPython serves handlers that run elsewhere, also those of a skill without files here", async () => {
    const call = handlerCall(files, "x.js", {});
    const bare = { ...call, record: { ...call.record, pack: null } };
    const deps = processDeps(runner, files);
    expect(await runPython(bare, "print(1)", 1, null, deps)).toEqual({
      stdout: "1\n",
      stderr: "",
      exit_code: 0,
    });
    expect(await runPython(call, "import sys; sys.exit(3)", 1, null, deps)).toMatchObject({ exit_code: 3 });
    const late = await runPython(call, "import time; time.sleep(60)", 2, 300, deps);
    expect(late).toMatchObject({ exit_code: 1, stderr: expect.stringContaining("300 ms") });
  });

  test.each(["slow.sh", "slow.py", "stopped.js"])(
    "the output of %s arrives while it runs",
    async (script) => {
      const leaving = new AbortController();
      const call = handlerCall(files, script, {}, { signal: leaving.signal });
      const outcome = runInRunner(call, processDeps(runner, files));
      const over = outcome.then(() => "over");
      await until(
        () => call.notes,
        (notes) => notes.some((note) => note.kind === "output" && note.text.includes("begun\n")),
      );
      expect(await Promise.race([over, "under way"])).toBe("under way");
      leaving.abort();
      await outcome;
    },
  );
});

test("memory of a fork is limited as for any process, where the system permits it", async ({ skip }) => {
  const limited = await startRunner({ flags: ["--memory-bytes", String(64 * 1024 * 1024)] });
  try {
    skip((await (await limited.fetch("/readyz", {})).text()).includes('"memory":false'));
    expect(await callScript(limited, files, "eats.py", { mib: 8 })).toMatchObject({ value: "ate" });
    expect(await callScript(limited, files, "eats.py", { mib: 512 })).toMatchObject({
      value: { error: expect.stringContaining("memory") },
      fault: "tool_error",
    });
    // Its server continues.
    expect(await callScript(limited, files, "eats.py", { mib: 8 })).toMatchObject({ value: "ate" });
    expect(limited.log()).not.toContain("spawner_ended");
  } finally {
    await limited.stop();
  }
});

describe.runIf(root)("a uid of their own (only where the test runs as root)", () => {
  let apart: TestRunner;
  let spies: Bundle;
  beforeAll(async () => {
    apart = await startRunner({ flags: ["--child-uid", String(CHILD_UID)] });
    spies = await bundle({
      "who.py":
        "import os\ndef handler(a):\n    return [os.getuid(), os.getgroups(), open('/proc/self/status').read()]",
      "writes.py": `def handler(a):
    said = []
    for path in a["paths"]:
        try:
            open(path, "a").write("x")
            said.append("written")
        except OSError as error:
            said.append(type(error).__name__)
    return said`,
      // Whatever an earlier call had would be in the memory that this one shares with the server.
      "memory.py": `import os
def handler(a):
    needle = a["needle"].encode()[::-1]
    found = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as mem:
        for line in maps:
            start, end = (int(x, 16) for x in line.split()[0].split("-"))
            if "r" in line.split()[1] and "[v" not in line:
                try:
                    mem.seek(start)
                    found += mem.read(end - start).count(needle)
                except OSError:
                    pass
    return found`,
      "server.py": `import os
def handler(a):
    denied = []
    for name in ("environ", "mem"):
        try:
            open("/proc/%d/%s" % (os.getppid(), name), "rb").read(1)
        except OSError as error:
            denied.append(name)
    return [denied, open("/proc/%d/cmdline" % os.getppid()).read()]`,
    });
  });
  afterAll(() => apart.stop());

  test("forks have it, and cannot undo it", async () => {
    const { value } = await callScript(apart, spies, "who.py");
    expect(value).toEqual([CHILD_UID, [], expect.stringMatching(/CapEff:\s0+\n[\s\S]*NoNewPrivs:\s1/)]);
  });

  test("a fork finds nothing of an earlier call in its memory, and its server's is closed", async () => {
    const canary = `canary-${randomUUID()}`;
    const secret = { env: { GRANTED: canary }, config: { apiKey: canary } };
    const count = async (text: string, fields = {}) => {
      const needle = [...text].reverse().join("");
      return Number((await callScript(apart, spies, "memory.py", { needle }, fields)).value);
    };
    await callScript(apart, spies, "who.py", { canary }, secret);
    // Its own memory contains what it searches for.
    const own = await count(`canary-${randomUUID()}`);
    expect(await count(canary)).toBe(own);
    expect(await count(canary, secret)).toBeGreaterThan(own);
    const { value } = await callScript(apart, spies, "server.py");
    expect(value).toEqual([["environ", "mem"], expect.stringContaining("hull-python")]);
  });

  test("the shims, the packages' folder and the other folders are closed to them", async () => {
    const names = ["programs/handler.py", "programs/handler.mjs", "packages/x", "programs/new", "journal/x"];
    const paths = names.map((name) => join(apart.stateDir, name));
    const { value } = await callScript(apart, spies, "writes.py", { paths });
    expect(value).toEqual(names.map(() => expect.stringMatching(/PermissionError|FileNotFoundError/)));
    for (const script of ["ctx.js", "work.sh", "files.js"]) {
      expect((await callScript(apart, files, script, {}, { tool: { filesystem: true } })).said).not.toContain(
        "EACCES",
      );
    }
  });

  test("processes of forks are ended across uids", async () => {
    const away = await callScript(apart, files, "slow.py", {}, { timeoutMs: 500 });
    expect(away.fault).toBe("timeout");
    await gone("sleep 61.25");
  });
});
