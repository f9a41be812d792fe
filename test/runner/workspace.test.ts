/** A session's folder in a real runner, with real processes in it. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { removeTree } from "../../container/tree.ts";
import { Workspace } from "../../container/workspace.ts";
import { Redactor } from "../../src/redact.ts";
import { assembleSkill } from "../../src/skill/assemble.ts";
import { SHIPPED } from "../../src/skill/known-providers.ts";
import { runCommandTool } from "../../src/tool/command.ts";
import {
  encodeFrame,
  encodeJsonFrame,
  FRAME,
  signTicket,
  type WorkspaceChange,
} from "../../src/tool/protocol.ts";
import { SERVERS } from "../support/memory.ts";
import { type Bundle, bundle, runOptions, startRunner, type TestRunner, until } from "../support/runner.ts";
import { digest, Session, told } from "../support/runner-session.ts";

let runner: TestRunner;
let files: Bundle;
beforeAll(async () => {
  files = await bundle({
    "noop.sh": "#!/bin/sh\n",
    "where.sh": '#!/bin/sh\npwd; cat "$HULL_SKILL_DIR/data"',
    data: "skill's",
  });
  runner = await startRunner();
});
afterAll(() => runner.stop());

test("files come, changes go: created, changed, deleted, renamed, made executable", async () => {
  const session = new Session(() => runner, files);
  session.put("a.txt", "one");
  session.put("dir/b.txt", "two");
  session.put("run.sh", "#!/bin/sh\necho ran", true);
  const first = await session.run("cat a.txt dir/b.txt; ./run.sh; pwd; echo $HULL_WORKSPACE");
  expect(first.stdout).toBe(`onetworan\n${session.folder}\n${session.folder}\n`);
  expect(first.changes).toEqual([]);
  const second = await session.run(
    "printf new > a.txt; mkdir -p x/y; printf deep > x/y/z; mv dir/b.txt dir/c.txt; chmod +x a.txt; : > empty",
  );
  expect(told(second)).toEqual([
    "delete dir/b.txt",
    "write a.txt",
    "write dir/c.txt",
    "write empty",
    "write x/y/z",
  ]);
  expect(session.plain()).toEqual({
    "a.txt": "new",
    "dir/c.txt": "two",
    empty: "",
    "run.sh": "#!/bin/sh\necho ran",
    "x/y/z": "deep",
  });
  expect(session.files.get("a.txt")?.executable).toBe(true);
  expect((await session.run("exit 3")).exitCode).toBe(3);
  expect(session.sent.sort()).toEqual(["#!/bin/sh\necho ran", "one", "two"].sort());
});

test("generated files stay in the folder, and are not files of the session", async () => {
  const session = new Session(() => runner, files);
  const made = await session.run(
    "mkdir -p a/__pycache__ node_modules/x .git .venv/bin; for f in a/__pycache__/m.pyc a/n.pyc node_modules/x/i.js .git/HEAD .venv/bin/python a/kept; do echo 1 > $f; done",
  );
  expect(told(made)).toEqual(["write a/kept"]);
  // What the runner removes before the next command does not take them along.
  expect(told(await session.run("ln -s a/kept link"))).toEqual(["refused link symlink"]);
  const next = await session.run("ls . node_modules/x .git; rm a/kept");
  expect(next.stdout).toBe(".:\na\nnode_modules\n\n.git:\nHEAD\n\nnode_modules/x:\ni.js\n");
  expect(told(next)).toEqual(["delete a/kept"]);
});

test("only contents that the runner lacks travel, and each once", async () => {
  const session = new Session(() => runner, files);
  session.put("a", "same");
  session.put("b", "same");
  await session.run("true");
  session.put("c", "other");
  session.files.delete("a");
  session.version += 1;
  expect((await session.run("ls")).stdout).toBe("b\nc\n");
  expect(session.sent).toEqual(["same", "other"]);
});

test("a cold runner has the files again; a failed or timed-out process keeps its output files", async () => {
  const session = new Session(() => runner, files);
  const failed = await session.run("echo partial > log; exit 7");
  expect([failed.exitCode, told(failed)]).toEqual([7, ["write log"]]);
  const slow = await session.run("echo more >> log; sleep 60", { timeout_ms: 3000 });
  expect([slow.cause, told(slow)]).toEqual(["timed_out", ["write log"]]);
  await runner.kill("SIGKILL");
  runner = await startRunner({ from: runner });
  expect((await session.run("cat log")).stdout).toBe("partial\nmore\n");
});

test("what a cancelled process wrote or never committed is undone", async () => {
  const session = new Session(() => runner, files);
  session.put("f", "kept");
  const stop = new AbortController();
  const cancelled = session.run("echo gone > f; echo gone > g; mkfifo h; echo ready; sleep 60", stop);
  await until(
    () => readdir(session.folder).catch((): string[] => []),
    (names) => names.includes("h"),
  );
  stop.abort();
  await expect(cancelled).rejects.toMatchObject({ code: "client_closed_request" });
  await until(
    () => runner.log(),
    (log) => log.includes('"cause":"cancelled"'),
  );
  expect((await session.run("ls; cat f")).stdout).toBe("f\nkept");

  await session.run("echo lost > f; echo lost > g");
  session.files.clear();
  session.put("f", "kept");
  expect((await session.run("ls; cat f")).stdout).toBe("f\nkept");

  await session.run("rm f; n=$(printf 'n\\377'); mkdir -p f x/y $n; echo lost | tee x/y/z > $n/z");
  session.files.clear();
  session.put("f", "kept");
  expect((await session.run("find . | sort; cat f")).stdout).toBe(".\n./f\nkept");
});

test("a command waits for the end of a cancelled one, and finds its changes undone", async () => {
  const session = new Session(() => runner, files);
  session.put("f", "kept");
  const stop = new AbortController();
  const asked = join(runner.stateDir, "asked-to-stop");
  // A redirection needs no process, so the grace period is long enough on a busy machine too.
  const script = `trap ': > ${asked}' TERM; echo gone > f; echo gone > g; while :; do sleep 0.05; done`;
  const cancelled = session.run(script, stop);
  await until(
    () => readdir(session.folder).catch((): string[] => []),
    (names) => names.includes("g"),
  );
  stop.abort();
  await expect(cancelled).rejects.toMatchObject({ code: "client_closed_request" });
  await until(
    () => stat(asked).catch(() => null),
    (found) => found !== null,
  );
  const next = await session.run("ls; cat f");
  expect([next.stdout, told(next)]).toEqual(["f\nkept", []]);
});

test("only plain files of the folder are returned", async () => {
  const session = new Session(() => runner, files);
  const outside = join(runner.stateDir, "outside");
  await writeFile(outside, "secret");
  const ran = await session.run(
    [
      `ln -s ${outside} link; ln -s / root; mkfifo pipe; ln ${outside} hard; mkdir d; ln -s ${runner.stateDir} d/up`,
      "printf inside > own; ln own twin; printf x > 'back\\slash'",
      "printf x > \"$(printf 'bad\\377')\"; printf x > \"$(printf 'line\\nbreak')\"",
    ].join("; "),
  );
  expect(told(ran).sort()).toEqual(
    [
      "refused back\\slash bad_path",
      "refused bad\ufffd bad_path",
      "refused line\nbreak bad_path",
      "refused d/up symlink",
      "refused hard hard_link",
      "refused link symlink",
      "refused pipe special",
      "refused root symlink",
      "write own",
      "write twin",
    ].sort(),
  );
  expect((await session.run("find . ! -type d | sort")).stdout).toBe("./own\n./twin\n");
});

test("a virtual environment stays whole, and is no file of the session", async () => {
  const session = new Session(() => runner, files);
  session.put("venv/stored", "by an earlier version");
  const environment = "mkdir -p $0/bin; touch $0/pyvenv.cfg; ln -s $(command -v sh) $0/bin/python";
  const made = await session.run(["sh", "-c", environment, "venv"]);
  await session.run(["sh", "-c", environment, "a/env"]);
  const other = await session.run(
    "mkdir env Venv; touch env/f Venv/pyvenv.cfg; ln -s / env/link; ln -s a/env aenv",
  );
  expect([told(made), told(other)]).toEqual([
    [],
    ["write Venv/pyvenv.cfg", "write env/f", "refused aenv symlink", "refused env/link symlink"],
  ]);
  session.put("new", "makes the folder anew");
  const used = await session.run("venv/bin/python -c : && a/env/bin/python -c : && cat venv/stored; ls env");
  expect([used.stdout, told(used)]).toEqual(["by an earlier versionf\n", []]);
});

test.each([
  ["removed", 'rm -r "$HULL_WORKSPACE"'],
  ["a file", 'rm -r "$HULL_WORKSPACE"; printf x > "$HULL_WORKSPACE"'],
  ["a link", 'mv "$HULL_WORKSPACE" "$TMPDIR/away"; ln -s / "$HULL_WORKSPACE"'],
])("a folder that a command made %s is empty, and there again for the next one", async (_, script) => {
  const session = new Session(() => runner, files);
  session.put("f", "x");
  const ran = await session.run(script);
  expect([ran.cause, ran.exitCode, told(ran)]).toEqual(["exit", 0, ["delete f"]]);
  session.put("g", "y");
  expect((await session.run("ls; cat g")).stdout).toBe("g\ny");
});

test("links in the path lead nowhere outside", async () => {
  const session = new Session(() => runner, files);
  const victim = join(runner.stateDir, "victim");
  await mkdir(victim);
  await session.run(`ln -s ${victim} d; ln -s ${victim}/target f`);
  session.put("d/escaped", "x");
  session.put("f", "y");
  expect((await session.run("cat d/escaped f")).stdout).toBe("xy");
  expect(await readdir(victim)).toEqual([]);
  // While another execution is in the folder, and swaps as fast as it can.
  const swap = `while :; do rm -rf e; ln -s ${victim} e; rm -f e; mkdir e; done & sleep 2; kill $!; rm -rf e`;
  const busy = session.run(swap);
  for (let n = 0; n < 20; n += 1) {
    session.put(`e/${n}`, `content ${n}`);
    await session.run("true").catch(() => {});
  }
  await busy;
  expect(await readdir(victim)).toEqual([]);
});

test("too much is refused and reported", async () => {
  const session = new Session(() => runner, files);
  // The first is more than an output may be; the second alone would not be too much.
  const ran = await session.run("truncate -s 2M a; truncate -s 255M b; truncate -s 1M c", {
    limits: { max_output_bytes: 1_500_000 },
  });
  expect(told(ran)).toEqual(["write a", "write c", "refused b too_large"]);
});

// Without a process and a connection: a report of ten thousand files takes long enough by itself.
test("too many files are refused and reported", async () => {
  const root = await mkdtemp(join(SERVERS, "hull-many-"));
  onTestFinished(() => removeTree(root));
  const workspace = new Workspace(root, null, async () => {});
  await workspace.prepare();
  for (let n = 10_001; n <= 20_003; n += 1) writeFileSync(join(workspace.dir, `f${n}`), "");
  const changes: WorkspaceChange[] = [];
  await workspace.report((_, payload) => {
    changes.push(JSON.parse(Buffer.from(payload).toString()));
    return undefined;
  });
  expect(changes.filter(({ kind }) => kind === "write")).toHaveLength(10_000);
  expect(changes.filter(({ kind }) => kind !== "write")).toEqual(
    ["f20001", "f20002", "f20003"].map((path) => ({ kind: "refused", path, reason: "too_many" })),
  );
});

test("files of the session stay, however many others a command makes", async () => {
  const root = await mkdtemp(join(SERVERS, "hull-many-"));
  onTestFinished(() => removeTree(root));
  const workspace = new Workspace(root, null, async () => {});
  await workspace.prepare();
  const own = ["a", "changed", "gone", "m/own", "z"];
  await workspace.receive(digest("x"), 1, new Blob(["x"]).stream());
  const rows = own.map((path) => ({ path, sha256: digest("x"), size: 1, executable: false }));
  expect(await workspace.hold({ id: "0".repeat(32), version: 1, files: rows })).toEqual([]);
  for (const folder of ["b", "n"]) {
    await mkdir(join(workspace.dir, folder));
    for (let n = 0; n < 20_000; n += 1) writeFileSync(join(workspace.dir, folder, `${n}`), "");
  }
  await removeTree(join(workspace.dir, "gone"));
  await writeFile(join(workspace.dir, "changed"), "other");
  const told: string[] = [];
  await workspace.report((type, payload) => {
    if (type === FRAME.changeBytes) return undefined;
    const { kind, path, reason = "" } = JSON.parse(Buffer.from(payload).toString());
    if (!/^[bn]\//.test(path)) told.push(`${kind} ${path} ${reason}`.trim());
    return undefined;
  });
  expect(told).toEqual(["delete gone", "write changed", "refused  too_many"]);
});

test("executions of one session share its folder; a newer manifest does not touch what they are writing", async () => {
  const session = new Session(() => runner, files);
  session.put("shared", "old");
  session.put("mine", "old");
  const wait = "i=0; while [ ! -e go ] && [ $i -lt 400 ]; do sleep 0.1; i=$((i+1)); done";
  const first = session.run(`printf changed > mine; : > ready; ${wait}; cat shared`);
  await until(
    () => readdir(session.folder).catch((): string[] => []),
    (names) => names.includes("ready"),
  );
  session.put("shared", "new");
  session.put("mine", "from outside");
  const second = await session.run("cat mine shared; : > go");
  expect(second.stdout).toBe("changednew");
  expect((await first).stdout).toBe("new");
  expect(session.plain()).toMatchObject({ mine: "changed", shared: "new", go: "", ready: "" });
});

test("a program of the skill runs in the session's folder, and knows its own", async () => {
  const session = new Session(() => runner, files);
  const ran = await session.run(["./where.sh"]);
  expect(ran.stdout).toBe(`${session.folder}\nskill's`);
});

test("a command tool gets the session's files; the model learns which were not kept", async () => {
  const session = new Session(() => runner, files);
  session.put("in", "given");
  const script = '#!/bin/sh\ncat "$HULL_WORKSPACE/in"; cd "$HULL_WORKSPACE"; printf made > out; ln -s / root';
  const skill =
    "---\nname: t\ndescription: d\nmode: llm\nprovider: mock\n" +
    "tools:\n  - name: work\n    description: works\n    command: [./work.sh]\n---\nGo.\n";
  const sources = Object.entries({ "SKILL.md": skill, "work.sh": script }).map(([path, text]) => ({
    path,
    mode: 0o755 as const,
    bytes: new TextEncoder().encode(text),
  }));
  const place = { folder: "t", file: "t/SKILL.md", providers: SHIPPED };
  const { skill: assembled, diagnostics } = await assembleSkill(sources, place);
  if (assembled === null || assembled.pack === null) return expect.fail(JSON.stringify(diagnostics));
  const pack = new Uint8Array(assembled.pack);
  const taken: string[] = [];
  const outcome = await runCommandTool(
    { type: "tool_call", id: "c", name: "work", arguments: {}, raw: "" },
    {
      runner,
      options: { ...runOptions(files), pack: async () => pack },
      record: assembled.record,
      executionId: "e-1",
      runId: "r-1",
      files: [],
      timeoutMs: 50_000,
      settings: {
        read: () => undefined,
        providerKeys: new Set(),
        grace_ms: 100,
        max_output_bytes: 1000,
        redactor: new Redactor([]),
      },
      granted: null,
      workspace: {
        id: session.id,
        version: session.version,
        source: {
          manifest: async () => session.manifest(),
          contents: (digests) => session.contents(digests),
        },
        changes: {
          change: async (change) => void taken.push(`${change.kind} ${change.path}`),
          bytes: async (bytes) => void taken.push(Buffer.from(bytes).toString()),
          finish: async () => [{ path: "root", why: "symlink" }],
          abandon: async () => {},
        },
      },
    },
  );
  expect(outcome).toMatchObject({
    status: "ok",
    content: `given\n[not kept among the session's files: "root" (symlink)]`,
  });
  expect(taken).toEqual(["write out", "made", "refused root"]);
});

test.runIf(process.getuid?.() === 0)(
  "a runner that is not root opens what commands closed (only where the test runs as root)",
  async () => {
    const own = runner;
    runner = await startRunner({ uid: 65123 });
    try {
      const session = new Session(() => runner, files);
      const close =
        "mkdir d e; echo a > d/f; chmod 400 d/f; chmod 500 d; echo b > e/g; chmod 0 e/g; chmod 0 e .";
      expect(told(await session.run(close))).toEqual(["write d/f", "write e/g"]);
      session.put("d/new", "c");
      session.files.delete("e/g");
      const { stdout } = await session.run("echo more >> d/f; cat d/f d/new; find . -type f | sort");
      expect(stdout).toBe("a\nmore\nc./d/f\n./d/new\n");
      // Another user's, e.g. of a container that had the folder.
      const ran = session.run("echo d > g; while [ ! -e theirs-too ]; do sleep 0.05; done");
      await until(
        () => readdir(session.folder),
        (names) => names.includes("g"),
      );
      await mkdir(join(session.folder, "theirs"), { mode: 0o700 });
      await writeFile(join(session.folder, "theirs", "x"), "x");
      // With files of the session in it, which are not gone.
      await chown(join(session.folder, "d"), 0, 0);
      await chmod(join(session.folder, "d"), 0o700);
      await writeFile(join(session.folder, "theirs-too"), "x", { mode: 0o600 });
      expect(told(await ran).sort()).toEqual([
        "refused d special",
        "refused theirs special",
        "refused theirs-too special",
        "write g",
      ]);
      expect((await session.run("cat g; ls")).stdout).toBe("d\nd\ng\ntheirs\n");
      expect(await runner.kill("SIGTERM")).toBe(0);
      runner = await startRunner({ uid: 65123, from: runner });
      expect((await session.run("cat g d/new; ls")).stdout).toBe("d\ncd\ng\n");
    } finally {
      await runner.stop();
      runner = own;
    }
  },
);

test.runIf(process.getuid?.() === 0)(
  "on a nearly full disk unused folders go, generated files and all (only where the test runs as root)",
  async ({ skip }) => {
    const place = await mkdtemp(join(tmpdir(), "hull-full-"));
    onTestFinished(() => removeTree(place));
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=200m", "tmpfs", place]).status === 0;
    if (!mounted) skip("the kernel permits no mount");
    onTestFinished(() => void spawnSync("umount", ["-l", place]));
    const own = runner;
    runner = await startRunner({ place });
    try {
      const [first, second] = [new Session(() => runner, files), new Session(() => runner, files)];
      await first.run("mkdir node_modules; echo big > node_modules/m; echo kept > f");
      expect((await first.run("ls")).stdout).toBe("f\nnode_modules\n");
      await second.run("true");
      expect((await first.run("ls")).stdout).toBe("f\n");
    } finally {
      await runner.stop();
      runner = own;
    }
  },
);

describe.runIf(process.getuid?.() === 0)(
  "processes of another uid (only where the test runs as root)",
  () => {
    let own: TestRunner;
    beforeAll(async () => {
      own = runner;
      runner = await startRunner({ flags: ["--child-uid", "65123"] });
    });
    afterAll(async () => {
      await runner.stop();
      runner = own;
    });

    test("write to the folder; new files are reported, and replaced by the runner", async () => {
      const session = new Session(() => runner, files);
      session.put("d/f", "given");
      const script = "umask 077; printf ' more' >> d/f; mkdir own; printf x > own/private; chmod 500 own";
      expect(told(await session.run(script))).toEqual(["write d/f", "write own/private"]);
      session.put("own/private", "from outside");
      session.files.delete("d/f");
      expect((await session.run("cat own/private; find . -type f")).stdout).toBe(
        "from outside./own/private\n",
      );
      const state = join(runner.stateDir, "workspaces");
      const denied = await session.run(`ls ${state} ${state}/${session.id} ${state}/${session.id}/incoming`);
      expect([denied.stdout, denied.exitCode]).toEqual(["", 2]);
    });
  },
);

test("a runner removes what an earlier one left, while it already works", async () => {
  const first = await startRunner();
  await first.kill("SIGKILL");
  const left = ["workspaces/id/files/d", "workspaces.old/x/id/files/d"].map((path) =>
    join(first.stateDir, path),
  );
  for (const folder of left) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "f"), "left");
  }
  const second = await startRunner({ from: first });
  expect(await readdir(join(second.stateDir, "workspaces"))).toEqual([]);
  await until(
    () => readdir(second.stateDir),
    (names) => !names.includes("workspaces.old"),
  );
  await second.stop();
});

describe("requests to the runner are checked", () => {
  const id = randomBytes(16).toString("hex");
  const send = async (path: string, body: string | Uint8Array, subject = id): Promise<string> => {
    const ticket = await signTicket(runner.key, `workspace:${subject}`, "", Date.now());
    const headers = { authorization: `Bearer ${ticket}` };
    const response = await runner.fetch(`/v1/workspaces/${path}`, {
      method: "PUT",
      headers,
      body: new Uint8Array(Buffer.from(body)),
    });
    return `${response.status} ${await response.text()}`;
  };
  const manifest = (...paths: string[]): string =>
    JSON.stringify({
      id,
      version: 1,
      files: paths.map((path) => ({ path, sha256: digest("x"), size: 1, executable: false })),
    });

  test.each([["../up"], ["/etc/passwd"], ["a//b"], ["a", "a/b"], ["a", "a"]])(
    "a manifest with the paths %s",
    async (...paths) => {
      expect(await send(id, manifest(...paths))).toMatch(/^422 .*workspace_invalid/);
    },
  );

  test("tickets, contents, and their digests", async () => {
    expect(await send(id, manifest("a"), "f".repeat(32))).toMatch(/^401/);
    expect(await send(id, manifest("a"))).toBe(`200 {"missing":["${digest("x")}"]}`);
    const content = (text: string, sha256 = digest(text)): Uint8Array =>
      Buffer.concat([
        encodeJsonFrame(FRAME.file, { filename: sha256, size: Buffer.byteLength(text), sha256 }),
        encodeFrame(FRAME.fileBytes, Buffer.from(text)),
      ]);
    expect(await send(`${id}/contents`, content("y"))).toMatch(/^424/);
    expect(await send(`${id}/contents`, content("y", digest("x")))).toMatch(/^422/);
    expect(await send(`${id}/contents`, content("x").subarray(0, -1))).toMatch(/^422/);
    expect(await send(`${id}/contents`, "")).toMatch(/^424/);
    expect(await send(`${id}/contents`, content("x"))).toBe("204 ");
    // Another call of the session, which the runner had asked for the same content meanwhile.
    expect(await send(`${id}/contents`, content("x"))).toBe("204 ");
    expect(await readFile(join(runner.stateDir, "workspaces", id, "files", "a"), "utf8")).toBe("x");
    expect((await stat(join(runner.stateDir, "workspaces", id))).mode & 0o077).toBe(0);
  });
});
