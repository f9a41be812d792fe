/**
 * The runner's image, without a container engine: what its Dockerfile pins, and its own build, start and
 * health commands on this machine.
 */
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cp, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { removeTree } from "../../container/tree.ts";
import { imageWith } from "../../scripts/needs/images.ts";
import { IMAGES } from "../../src/skill/workspace-settings.ts";
import { importTicketKey } from "../../src/tool/protocol.ts";
import { RunnerCircuit } from "../../src/tool/runner-circuit.ts";
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

/** The instructions of each stage, by its name; of the last one, which has none, by "". */
function stages(lines: string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let stage: string[] = [];
  for (const line of lines) {
    if (line.startsWith("FROM ")) {
      stage = [];
      found.set(/ AS (\w+)$/.exec(line)?.[1] ?? "", stage);
    }
    stage.push(line);
  }
  return found;
}
const namesIn = (text: string, pattern: RegExp): string[] =>
  pattern.exec(text)?.[1]?.trim().split(/\s+/) ?? [];
const APT = /apt-get install -y --no-install-recommends ([^&\n]+)/;
/** No exact version: after Debian's next fix it could no longer be installed. */
const DEBIAN = /^[a-z0-9-]+=(?:\d+:)?\d[\d.]*\*$/;
const PIP = /pip install --no-cache-dir --break-system-packages ([^&\n]+)/;
const NPM = /npm install --prefix \/ --no-audit --no-fund --no-save ([^&\n]+)/;

test("S115: base and packages are pinned, the user is not root, bash and python3 are there", async () => {
  const lines = await instructions();
  const { devDependencies } = JSON.parse(await readFile(join(REPO, "package.json"), "utf8"));
  expect(lines).toContain(`ARG BASE=node:${devDependencies.node}-bookworm-slim`);
  const slim = stages(lines).get("slim") ?? expect.fail("no slim");
  expect(slim[0]).toContain("${BASE}");
  const packages = namesIn(slim.join("\n"), APT);
  expect(packages.find((name) => name.startsWith("python3="))).toBeDefined();
  expect(packages.filter((name) => !DEBIAN.test(name))).toEqual([]);
  expect(lines.some((line) => /npm ci /.test(line))).toBe(true);
  expect(rest(lines, "USER")).toBe("hull");
  expect(rest(lines, "HEALTHCHECK")).toMatch(/--interval=\d+s .*CMD \[/);
});

test("the targets are built on each other, pinned, and have what hull doctor says of them", async () => {
  const all = stages(await instructions());
  const of = (name: string) => all.get(name) ?? expect.fail(`no ${name}`);
  expect(Array.from(all, ([name, [from]]) => [name, from])).toEqual([
    ["build", "FROM --platform=linux/amd64 ${BASE} AS build"],
    ["slim", "FROM --platform=linux/amd64 ${BASE} AS slim"],
    ["office", "FROM slim AS office"],
    ["browser", "FROM office AS browser"],
    ["", "FROM ${HULL_IMAGE}"],
  ]);
  expect((await instructions()).includes(`ARG HULL_IMAGE=${IMAGES[0]}`)).toBe(true);
  for (const name of ["office", "browser"]) {
    expect(of(name).findLast((line) => line.startsWith("USER "))).toBe("USER hull");
    const text = of(name).join("\n");
    expect(namesIn(text, APT).filter((each) => !DEBIAN.test(each))).toEqual([]);
    expect(
      namesIn(text, PIP).filter((each) => !/^"?[A-Za-z0-9-]+(?:\[[a-z,]+\])?==[\d.]+"?$/.test(each)),
    ).toEqual([]);
    expect(namesIn(text, NPM).filter((each) => !/^[a-z]+@[\d.]+$/.test(each))).toEqual([]);
  }
  const office = of("office").join("\n");
  const imported: Record<string, string> = {
    "python-docx": "docx",
    "python-pptx": "pptx",
    Pillow: "PIL",
    PyYAML: "yaml",
    "python-dotenv": "dotenv",
  };
  const python = namesIn(office, PIP).map((each) => each.replace(/^"|[[=].*$/g, ""));
  expect(python).toHaveLength(17);
  const has = (kind: "command" | "python" | "node", name: string) => imageWith({ kind, name });
  for (const name of python) {
    const kind = name === "uv" ? "command" : "python";
    expect([name, has(kind, imported[name] ?? name)]).toEqual([name, "office"]);
  }
  for (const name of namesIn(office, NPM)) expect(has("node", name.replace(/@.*/, ""))).toBe("office");
  expect(namesIn(office, NPM)).toHaveLength(2);
  expect(namesIn(of("browser").join("\n"), PIP)).toEqual(["playwright==1.63.0"]);
  const programs: Record<string, string> = {
    "poppler-utils": "pdftotext",
    "libreoffice-calc-nogui": "soffice",
    "tesseract-ocr": "tesseract",
    ripgrep: "rg",
    procps: "pgrep",
  };
  const apt = namesIn(office, APT).map((each) => each.replace(/=.*/, ""));
  for (const name of apt.filter((each) => !/^fonts-|^libreoffice-(?:writer|impress)/.test(each)))
    expect([name, has("command", programs[name] ?? name)]).toEqual([name, "office"]);
  expect([has("python", "playwright"), has("command", "bash"), has("command", "ffmpeg")]).toEqual([
    "browser",
    "slim",
    null,
  ]);
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
  const copied = lines.find((line) => line.startsWith("COPY container/programs "))?.split(" ") ?? [];
  expect(copied[2]).toBe("/opt/hull/programs");
  await cp(join(REPO, copied[1] ?? ""), join(dir, "programs"), { recursive: true });
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
      circuit: new RunnerCircuit(`at ${url}`, () => {}),
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
