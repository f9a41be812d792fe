/**
 * The runner's image (serving.md §6.2), without a container engine: what its Dockerfile pins, and its own build, start and
 * health commands on this machine.
 */
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { removeTree } from "../../container/scratch.ts";
import { importTicketKey } from "../../src/tool/protocol.ts";
import { REPO } from "../support/hull-dev.ts";
import { bundle, run } from "../support/runner.ts";

const execute = promisify(execFile);
const root = process.getuid?.() === 0;

/** The instructions with their continued lines joined. */
async function instructions(): Promise<string[]> {
  const text = await readFile(join(REPO, "container", "Dockerfile"), "utf8");
  return text
    .replace(/^#.*\n/gm, "")
    .replace(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line !== "");
}
const rest = (lines: string[], word: string): string =>
  lines.findLast((line) => line.startsWith(`${word} `))?.slice(word.length + 1) ?? expect.fail(`no ${word}`);

test("S115: base and packages are pinned, the user is not root, bash and python3 are there", async () => {
  const lines = await instructions();
  const { dependencies } = JSON.parse(await readFile(join(REPO, "package.json"), "utf8"));
  expect(rest(lines, "ARG")).toBe(`BASE=node:${dependencies.node}-bookworm-slim`);
  expect(lines.filter((line) => line.startsWith("FROM ")).every((line) => line.includes("${BASE}"))).toBe(
    true,
  );
  const installed = /apt-get install -y --no-install-recommends ([^&]+)/.exec(lines.join("\n"))?.[1]?.trim();
  const packages = installed?.split(/\s+/) ?? [];
  expect(packages.find((name) => name.startsWith("python3="))).toBeDefined();
  expect(packages.filter((name) => !/^[a-z0-9-]+=\S+$/.test(name))).toEqual([]);
  expect(lines.some((line) => /npm ci /.test(line))).toBe(true);
  expect(rest(lines, "USER")).toBe("hull");
  expect(rest(lines, "HEALTHCHECK")).toMatch(/--interval=\d+s .*CMD \[/);
});

// Starting processes as another user takes root here, and the image's own setpriv there.
test.runIf(root)("S115: its build, entry point and health check work, and a Python script runs", async () => {
  const lines = await instructions();
  const [dir, state] = [
    await mkdtemp(join(tmpdir(), "hull-image-")),
    await mkdtemp(join(tmpdir(), "hull-image-")),
  ];
  const program = join(dir, "runner.cjs");
  const made = lines.find((line) => line.includes("npx esbuild"))?.replace(/^RUN /, "") ?? "";
  await execute("bash", ["-c", made.replace("--outfile=runner.cjs", `--outfile=${program}`)], { cwd: REPO });
  const places: Record<string, string> = {
    "/opt/hull/runner.cjs": program,
    "8080": "0",
    "0.0.0.0": "127.0.0.1",
    "/var/lib/hull": state,
    "/opt/hull/setpriv": "/usr/bin/setpriv",
  };
  const entry: string[] = JSON.parse(rest(lines, "ENTRYPOINT"));
  const args = entry.slice(entry.indexOf("node") + 1).map((word) => places[word] ?? word);
  const child = spawn(process.execPath, [...args, "--exit-with-parent"], {
    stdio: ["pipe", "pipe", "ignore"],
    // As the base has it.
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" },
  });
  try {
    const [line] = await Promise.race([
      new Promise<string[]>((resolve) =>
        createInterface(child.stdout).once("line", (text) => resolve([text])),
      ),
      new Promise<never>((_, reject) =>
        child.once("exit", (code) => reject(new Error(`it ended with ${code}`))),
      ),
    ]);
    const { port } = JSON.parse(line ?? "");
    const url = `http://127.0.0.1:${port}`;
    const [, command = ""] = rest(lines, "HEALTHCHECK").split(" CMD ");
    const [check = "", ...words]: string[] = JSON.parse(command.replace("8080", String(port)));
    await execute(check, words);
    await expect(
      execute(
        check,
        words.map((word) => word.replace(String(port), "1")),
      ),
    ).rejects.toThrow();

    const secret = randomUUID();
    expect((await fetch(`${url}/v1/secret`, { method: "PUT", body: secret })).status).toBe(204);
    const key = await importTicketKey(secret);
    const runner = {
      key,
      fetch: (path: string, init: object) =>
        fetch(url + path, { ...init, duplex: "half" } satisfies RequestInit),
    };
    const files = await bundle({
      "hi.py": "import os, sys\nprint(sys.version_info[0], os.getuid(), sys.stdin.read())\n",
    });
    const { stdout, stderr } = await run(
      runner,
      files,
      { argv: ["python3", "hi.py"] },
      { stdin: new TextEncoder().encode("Ada") },
    );
    expect([stdout.toString(), stderr.toString()]).toEqual(["3 10002 Ada\n", ""]);
  } finally {
    child.stdin.end();
    await new Promise((resolve) => child.once("close", resolve));
    for (const made of [dir, state]) await removeTree(made);
  }
});
