/** The tutorials, run as they stand: their files, their commands, and what the comments below these say. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { blocks, namedFiles, printedPattern } from "../support/documents.ts";
import { exampleShell, withOwnClient } from "../support/example-shell.ts";
import { json, REPO } from "../support/hull-dev.ts";
import { startMcpServer } from "../support/mcp-server.ts";
import { until } from "../support/runner.ts";

const mcp = await startMcpServer();
afterAll(() => mcp.close());
const ASSISTANT =
  "---\nname: assistant\ndescription: Answers. Use when asked.\nmode: llm\nprovider: mock\n---\nAnswer.\n";
const { hull } = await commonHull({ "assistant/SKILL.md": ASSISTANT });
const read = (name: string): string => readFileSync(join(REPO, "docs", `tutorial-${name}.md`), "utf8");

/** Writes the tutorial's files into a folder of its own, its skills into that of the server. */
async function made(name: string): Promise<{ dir: string; files: Map<string, string> }> {
  const files = namedFiles(read(name));
  const dir = join(hull.root, name);
  await mkdir(dir);
  const slugs = new Set<string>();
  for (const [path, text] of files) {
    const own = withOwnClient(text).replace("https://dice.example.com/mcp", `${mcp.url}/stateless`);
    const [top, slug = "", ...rest] = path.split("/");
    if (top === "skills") slugs.add(slug);
    if (top === "skills") await hull.write([slug, ...rest].join("/"), own);
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), own);
  }
  for (const slug of slugs) {
    await until(
      () => hull.call(`/skills/${slug}/card`),
      ({ status }) => status === 200,
    );
  }
  return { dir, files };
}

/** Runs the shell examples from `first` on, and expects what their comments say. */
async function runShell(name: string, dir: string, first = 0): Promise<void> {
  const scripts = blocks(read(name)).filter(({ language }) => language === "bash");
  expect(scripts.length).toBeGreaterThan(first);
  for (const { text } of scripts.slice(first)) {
    const printed = await exampleShell(text, { cwd: dir, home: hull.root, env: { HULL_URL: hull.url } });
    expect(printed).not.toContain("urn:hull:problem");
    for (const [, comment = ""] of text.matchAll(/^# (.*)$/gm))
      expect(printed).toMatch(printedPattern(comment));
  }
}

interface Result {
  status: string;
  transcript: object;
}
const runWith = async (options: object): Promise<Result> =>
  json<Result & Record<string, unknown>>(await hull.post("/runs", { prompt: "Go.", options }));

test("approvals in a web app: the call waits until the page decides", async () => {
  const { dir } = await made("approvals");
  const env = { ...process.env, HULL_URL: hull.url, PORT: "0" };
  const server = spawn(process.execPath, ["server.mjs"], {
    cwd: dir,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = await once(server.stdout.setEncoding("utf8"), "data");
    const url = String(line).trim();
    expect(await (await fetch(url)).text()).toContain('new EventSource("/events")');
    const events = await fetch(`${url}/events`);
    expect((await fetch(`${url}/ask`, { method: "POST", body: "Refund order 17." })).status).toBe(202);
    let seen = "";
    for await (const chunk of events.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      seen += chunk;
      const approval = /event: approval_request\ndata: (.*)\n\n/.exec(seen)?.[1];
      if (approval !== undefined && !seen.includes("decided")) {
        seen += "decided";
        const body = JSON.stringify({ approval: JSON.parse(approval), yes: true });
        expect((await fetch(`${url}/decide`, { method: "POST", body })).status).toBe(204);
      }
      if (/event: done\ndata: .*\n\n/.test(seen)) break;
    }
    expect(seen).toMatch(/event: tool_result\ndata: .*"status":"ok"/);
    expect(seen).toContain('"text":"Order 17 is paid back."');
  } finally {
    server.kill();
    await once(server, "close");
  }
});

test("a daemon that watches: a file wakes it, and it writes its report", async () => {
  const { dir } = await made("daemon");
  await runShell("daemon", dir);
});

test("typed tools: a project, a tool and its test", async () => {
  const { dir, files } = await made("typed-tools");
  const [init = "", ...rest] = blocks(read("typed-tools")).filter(({ language }) => language === "bash");
  expect(rest).toHaveLength(2);
  await exampleShell(String(Object(init).text), { cwd: dir, home: hull.root });
  for (const [path, text] of files) {
    await mkdir(dirname(join(dir, "shop", path)), { recursive: true });
    await writeFile(join(dir, "shop", path), text);
  }
  await runShell("typed-tools", join(dir, "shop"), 1);
});

test("four ways to write a tool: a model gets the same from each", async () => {
  await made("four-ways");
  const roll = (slug: string, args: object): Promise<Result> =>
    runWith({ skill: slug, mock: [{ tool_calls: [{ name: "roll", arguments: args }] }, { text: "x" }] });
  for (const [slug, sides] of [
    ["dice-argv", "1"],
    ["dice-json", 1],
    ["dice-typed", 1],
  ] as const) {
    const { status, transcript } = await roll(slug, { sides });
    expect([slug, status]).toEqual([slug, "done"]);
    expect(JSON.stringify(transcript)).toMatch(/"content":"1(?:\\n)?"/);
  }
  const call = { name: "dice__echo", arguments: { text: "1" } };
  const { transcript } = await runWith({ skill: "dice-mcp", mock: [{ tool_calls: [call] }, { text: "x" }] });
  expect(JSON.stringify(transcript)).toContain("echo: 1");
});

test("Next.js: the route streams text, and passes on what Hull refuses", async () => {
  const { dir } = await made("nextjs");
  const program = `
    import { createServer } from "node:http";
    import { POST } from ${JSON.stringify(pathToFileURL(join(dir, "app/api/ask/route.ts")).href)};
    import { ask } from ${JSON.stringify(pathToFileURL(join(dir, "app/ask.ts")).href)};
    const parts = [];
    globalThis.fetch = ((real) => (url, init) => String(url) === "/api/ask" ? POST(new Request("http://x/", init)) : real(url, init))(fetch);
    for await (const text of ask("one two three")) parts.push(text);
    console.log(parts.at(-1));
    const refused = await POST(new Request("http://x/", { method: "POST", body: "" }));
    console.log(refused.status, (await refused.json()).code);
  `;
  await writeFile(join(dir, "drive.mts"), program);
  const { stdout } = await promisify(execFile)(process.execPath, [join(dir, "drive.mts")], {
    env: { HULL_URL: hull.url },
  });
  expect(stdout).toMatch(/^The mock model .*one two three/);
  expect(stdout).toMatch(/^422 input_required$/m);
});

test("coming from elsewhere: the same clients, the same tools", async () => {
  const { dir, files } = await made("coming-from");
  await runShell("coming-from", dir);
  const { stdout } = await promisify(execFile)(process.execPath, [join(dir, "coming.mts")], {
    env: { HULL_URL: hull.url },
  });
  const expected = Array.from((files.get("coming.mts") ?? "").matchAll(/^\/\/ (.*)$/gm), ([, line]) => line);
  expect(stdout.trim().split("\n")).toEqual(expected.slice(-2));
});
