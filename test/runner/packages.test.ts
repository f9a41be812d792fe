/** The Python packages of handlers: installed once, before the first call. */
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Bundles } from "../../container/bundles.ts";
import { Dependencies } from "../../container/dependencies.ts";
import { DirectLauncher } from "../../container/direct-launcher.ts";
import { Pipes } from "../../container/pipes.ts";
import { ScratchRoot } from "../../container/scratch.ts";
import { runExecution } from "../../src/tool/runner-client.ts";
import { callScript } from "../support/handler-call.ts";
import {
  type Bundle,
  bundle,
  collect,
  run,
  runOptions,
  spec,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";
import { makeZip } from "../support/zip.ts";

const canUnshare = (() => {
  try {
    execFileSync("unshare", ["--net", "true"]);
    return true;
  } catch {
    return false;
  }
})();
/** A wheel of one module `hullpkg`, whose `answer` is 42; a file of it is larger than what waits for the disk. */
const wheel = (): Promise<Uint8Array<ArrayBuffer>> => {
  const about = "hullpkg-1.0.dist-info";
  const files = {
    "hullpkg.py": "answer = 42\n",
    "hullpkg.txt": new Uint8Array(4_000_000),
    [`${about}/METADATA`]: "Metadata-Version: 2.1\nName: hullpkg\nVersion: 1.0\n",
    [`${about}/WHEEL`]: "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    [`${about}/RECORD`]: `hullpkg.py,,\nhullpkg.txt,,\n${about}/METADATA,,\n${about}/WHEEL,,\n${about}/RECORD,,\n`,
  };
  return makeZip(Object.entries(files).map(([name, content]) => ({ name, content })));
};
const HANDLER = "import hullpkg\ndef handler(a):\n    return [hullpkg.answer, hullpkg.__file__]\n";
const block = (lines: string[]): string =>
  ["# /// script", ...lines.map((line) => `# ${line}`), "# ///", ""].join("\n");
/** The log is another stream than the answer: its lines may come later. */
const installed = (of: TestRunner, count: number) =>
  until(
    () => installs(of).length,
    (found) => found === count,
  );
const installs = (of: TestRunner) =>
  of
    .log()
    .split("\n")
    .filter((line) => line.includes("packages_installed"));

let offline: TestRunner;
let packed: Bundle;
beforeAll(async () => {
  offline = await startRunner({ flags: ["--installs", "off"] });
  packed = await bundle({
    "requirements.txt": "# local\n--find-links wheels\nhullpkg==1.0\n",
    "wheels/hullpkg-1.0-py3-none-any.whl": await wheel(),
    "scripts/use.py": HANDLER,
    "scripts/other.py": HANDLER,
    "scripts/inline.py": block(['dependencies = ["no-such-package-of-hull"]']) + HANDLER,
    "scripts/newer.py": block(['requires-python = ">=4"', "dependencies = []"]) + HANDLER,
    "scripts/none.py": `${block(["dependencies = []"])}def handler(a):\n    return 1\n`,
  });
});
afterAll(() => offline.stop());

test("requirements that cannot be read now are a failure, and are read again for the next call", async () => {
  const dir = await mkdtemp(join(tmpdir(), "hull-packages-"));
  const dependencies = new Dependencies({
    bundles: new Bundles(join(dir, "bundles"), 1000, null),
    cgroups: null,
    launcher: new DirectLauncher(),
    pipes: new Pipes(join(dir, "pipes"), null),
    scratch: new ScratchRoot(join(dir, "scratch"), null, async () => {}),
    dir: join(dir, "records"),
    python: null,
    environment: {},
    networked: null,
    network: false,
    limitMs: 1000,
  });
  const use = () => dependencies.use("0".repeat(64), dir, null);
  const file = join(dir, "requirements.txt");
  await symlink(file, file);
  await expect(use()).rejects.toMatchObject({ code: "ELOOP" });
  await rm(file);
  await writeFile(file, "hullpkg\n");
  await expect(use()).rejects.toThrow("There is no Python in this runner.");
  await rm(dir, { recursive: true });
});

test("requirements.txt is installed once, whoever asks; its files cannot be changed", async () => {
  const calls = ["scripts/use.py", "scripts/other.py", "scripts/use.py"].map((script) =>
    callScript(offline, packed, script),
  );
  for (const outcome of await Promise.all(calls)) {
    expect(outcome).toMatchObject({ value: [42, expect.stringContaining("bundles")], fault: null });
  }
  await installed(offline, 1);
  await offline.kill("SIGTERM");
  const folder = join(offline.stateDir, "packages");
  // As a runner leaves it that dies during an installation.
  await writeFile(join(folder, `${"0".repeat(64)}.tar`), "half an archive");
  offline = await startRunner({ flags: ["--installs", "off"], from: offline });
  expect(await callScript(offline, packed, "scripts/use.py")).toMatchObject({ fault: null });
  expect(installs(offline)).toHaveLength(0);
  expect((await readdir(folder)).filter((name) => name.endsWith(".tar"))).toEqual([]);
});

test("an MCP server in Python has the packages of its skill", async () => {
  const script = "import hullpkg, sys; print(hullpkg.answer, file=sys.stderr)";
  for (const command of ["python3", "env"]) {
    const argv = command === "env" ? [command, "python3", "-c", script] : [command, "-c", script];
    const { stderr } = await run(offline, packed, { argv, server: true });
    expect(stderr.toString()).toMatch(command === "env" ? /No module named 'hullpkg'/ : /^42\n$/);
  }
});

test.each([
  [
    "no folder is there",
    "ENOENT",
    ({ stateDir }: TestRunner) => rm(join(stateDir, "packages"), { recursive: true }),
  ],
  [
    "the disk takes only a part of them",
    "EFBIG",
    ({ process: { pid } }: TestRunner) => execFileSync("prlimit", ["--pid", `${pid}`, "--fsize=100000"]),
  ],
])(
  "packages that cannot be stored, since %s, fail their call, and the runner serves on",
  async (_, code, spoil) => {
    const runner = await startRunner({ flags: ["--installs", "off"] });
    try {
      const plain = await bundle({ "scripts/one.py": "def handler(a):\n    return 1\n" });
      // Reads the key, so that the next call need not.
      await callScript(runner, packed, "scripts/none.py");
      await spoil(runner);
      const { value, fault } = await callScript(runner, packed, "scripts/use.py");
      const said = `The packages could not be stored (${code}).`;
      expect([fault, JSON.stringify(value)]).toEqual(["tool_error", expect.stringContaining(said)]);
      expect(await callScript(runner, plain, "scripts/one.py")).toMatchObject({ value: 1, fault: null });
    } finally {
      await runner.stop();
    }
  },
);

test("commands find the packages of the skills next to them, if they ask for them; a failure appears in their output", async () => {
  const broken = await bundle({ "requirements.txt": "--no-index\nno-such-package-of-hull\n" });
  const output = async (from: Bundle, packages: boolean): Promise<string> => {
    const handler = {
      language: "bash" as const,
      config: "{}",
      context: "{}",
      network: null,
      ...(packages ? { packages: true as const } : {}),
    };
    const skills = { key: "0123456789abcdef", list: [{ name: "own", digest: from.digest }] };
    const fields = { argv: ["bash"], handler, skills };
    const command = "python3 -c 'import hullpkg; print(hullpkg.answer)' || echo none";
    const { stdout } = await run(offline, from, fields, { stdin: Buffer.from(command) });
    return stdout.toString();
  };
  expect(await output(packed, true)).toBe("42\n");
  expect(await output(packed, false)).toContain("none");
  const said = await output(broken, true);
  expect(said).toMatch(/^\[hull: the packages of own could not be installed: .*no-such-package-of-hull/s);
  expect(said).toContain("none");
});

test("inline metadata comes first; a failure shows the installer's output", async () => {
  expect(await callScript(offline, packed, "scripts/none.py")).toMatchObject({ value: 1 });
  const { value, fault } = await callScript(offline, packed, "scripts/inline.py");
  expect(fault).toBe("tool_error");
  expect(JSON.stringify(value)).toMatch(
    /scripts\/inline.py.*could not be installed.*no-such-package-of-hull.*network/,
  );
  const newer = await callScript(offline, packed, "scripts/newer.py");
  expect(JSON.stringify(newer.value)).toContain("requires Python >=4");
});

test("metadata without an end, and blank lines without a requirement, take linear time", async () => {
  const from = await bundle({
    "requirements.txt": `${"\n".repeat(1_000_000)}#`,
    "scripts/begun.py": `${"# /// script\n".repeat(200_000)}def handler(a):\n    return 1\n`,
  });
  expect(await callScript(offline, from, "scripts/begun.py")).toMatchObject({ value: 1, fault: null });
});

/** An index that has the package `hullpkg`. @param answers called with each path; `false`: the connection breaks */
async function packageIndex(answers: (path: string) => boolean) {
  const content = await wheel();
  const file = "hullpkg-1.0-py3-none-any.whl";
  const index = createServer(({ url = "", socket }, response) => {
    if (!answers(url)) {
      socket.destroy();
      return;
    }
    const isFile = url === `/${file}`;
    response.writeHead(200, { "content-type": isFile ? "application/zip" : "text/html" });
    response.end(isFile ? content : `<a href="/${file}">${file}</a>`);
  });
  const port = await new Promise<number>((resolve) => {
    index.listen(0, "127.0.0.1", () => {
      const address = index.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
  return { index, port };
}

test.runIf(canUnshare)(
  "whether packages are fetched is a separate setting from the handlers' network",
  async () => {
    const asked: string[] = [];
    const { index, port } = await packageIndex((url) => {
      asked.push(url);
      return true;
    });
    const fetched = await bundle({
      "requirements.txt": `--index-url http://127.0.0.1:${port}/simple/\nhullpkg==1.0\n`,
      "use.py": `import socket\nopen = socket.socket().connect_ex(("127.0.0.1", ${port})) == 0\n${HANDLER.replace("[", "[open, ")}`,
    });
    try {
      for (const [installs, expected] of [
        ["off", { fault: "tool_error" }],
        ["on", { value: [false, 42, expect.any(String)] }],
      ] as const) {
        const env = { HULL_RUNNER_EGRESS: "off" };
        const closed = await startRunner({ env, flags: ["--installs", installs] });
        expect(await callScript(closed, fetched, "use.py")).toMatchObject(expected);
        await closed.stop();
        expect(asked.length > 0).toBe(installs === "on");
      }
    } finally {
      index.close();
    }
  },
);

test("an index that breaks connections is asked three times; a failure says that it was not reached", async () => {
  let [breaks, broken] = [2, 0];
  const { index, port } = await packageIndex(() => {
    if (broken >= breaks) return true;
    broken += 1;
    return false;
  });
  const online = await startRunner({ flags: ["--installs", "on"] });
  const from = (version: string) =>
    bundle({
      "requirements.txt": `--index-url http://127.0.0.1:${port}/simple/\nhullpkg==${version}\n`,
      "use.py": HANDLER,
    });
  try {
    expect(await callScript(online, await from("1.0"), "use.py")).toMatchObject({ fault: null });
    [breaks, broken] = [1000, 0];
    const { value, fault } = await callScript(online, await from("1.0.0"), "use.py");
    expect([fault, broken]).toEqual(["tool_error", 3]);
    expect(JSON.stringify(value)).toMatch(/hullpkg==1.0.0.*The package index could not be reached/);
  } finally {
    await online.stop();
    index.close();
  }
});

test("packages that were installed for a command that was cancelled meanwhile make room for others", async () => {
  const small = await startRunner({ flags: ["--installs", "off", "--bundle-bytes", "10000000"] });
  try {
    const stop = new AbortController();
    const handler = { language: "bash" as const, config: "{}", context: "{}", network: null };
    const skills = { key: "0123456789abcdef", list: [{ name: "own", digest: packed.digest }] };
    const fields = { digest: packed.digest, argv: ["bash"], input: { mode: "stdin" } as const, skills };
    const command = spec({ ...fields, handler: { ...handler, packages: true } });
    const options = runOptions(packed, { signal: stop.signal });
    const cancelled = collect(runExecution(small, command, { stdin: Buffer.from("true") }, options));
    const archives = async () => (await readdir(join(small.stateDir, "packages")).catch(() => [])).join();
    await until(archives, (names) => names.includes(".tar"));
    stop.abort();
    await expect(cancelled).rejects.toMatchObject({ code: "client_closed_request" });
    await installed(small, 1);
    const [, digest] = /"digest":"([0-9a-f]{64})"/.exec(installs(small).join()) ?? [];
    for (const name of ["one", "two"]) {
      const further = await bundle({ "run.sh": "#!/bin/sh\n", [name]: new Uint8Array(5_000_000) });
      expect((await run(small, further, { argv: ["./run.sh"] })).status.cause).toBe("exit");
    }
    const kept = async () => (await readdir(join(small.stateDir, "bundles"))).join();
    await until(kept, (names) => !names.includes(String(digest)));
  } finally {
    await small.stop();
  }
});

test("an installation has a time limit of its own", async () => {
  const hasty = await startRunner({ flags: ["--install-ms", "20"] });
  try {
    const { value } = await callScript(hasty, packed, "scripts/use.py");
    expect(JSON.stringify(value)).toContain("stopped after 20 ms");
  } finally {
    await hasty.stop();
  }
});
