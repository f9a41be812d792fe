/**
 * A deployment without the binding `LOADER`: a checkout of Hull whose wrangler.toml lacks it. What is documented to fall back
 * (docs/handlers.md) does, with all that a handler has; what is not says so.
 */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleCli } from "../support/cli-bundle.ts";
import { type HullDev, json, REPO, runHull, shared, startHullDev } from "../support/hull-dev.ts";
import { SERVERS } from "../support/memory.ts";
import { dataOf, readEvents } from "../support/sse.ts";
import { makeZip } from "../support/zip.ts";

const CANARY = "canary-93b0e6d2-secret";
const tool = (name: string, more: object = {}) => ({
  name,
  script: `scripts/${name}.js`,
  description: name,
  parameters: {},
  ...more,
});
const text = { type: "string", description: "t" };
const SKILLS = {
  "edge/SKILL.md":
    "---\nname: edge\ndescription: Tools. Use when tested.\nmode: llm\nprovider: mock\n---\nUse them.\n",
  "edge/tools.json": JSON.stringify([
    tool("files", { parameters: { text }, "x-requires-filesystem": true }),
    tool("asks", { parameters: { url: text } }),
    tool("asks_with_need", {
      script: "scripts/asks.js",
      parameters: { url: text },
      "x-requires-network": true,
    }),
    tool("paints", { "x-config": [{ name: "token", type: "secret" }], "x-env": ["OPTED_IN"] }),
    tool("throws"),
    tool("counts", { script: "scripts/counts.ts", parameters: { text } }),
  ]),
  "edge/scripts/files.js": `import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
export default async function ({ text, __workDir }, ctx) {
  const seen = await readFile(join(__workDir, "in.txt"), "utf8").catch(() => "nothing");
  await writeFile("out.txt", text);
  const { stdout } = await ctx.python("print(open('out.txt').read().upper())");
  await ctx.emit("half done");
  return { seen, loud: stdout.trim(), same: ctx.workDir === __workDir, session: ctx.sessionId ?? null };
}
`,
  "edge/scripts/asks.js": "export default async ({ url }) => (await fetch(url)).text();\n",
  "edge/scripts/paints.js": `export default async (args, ctx) => {
  await ctx.artifact({ id: "mid", type: "code", title: "Midway", content: "x " + ctx.config.token });
  return { __artifact__: true, id: "end", type: "markdown", title: "At the end", content: ctx.env.OPTED_IN ?? "none" };
};
`,
  "edge/scripts/throws.js": "export default () => { throw new Error('boom'); };\n",
  "edge/scripts/counts.ts":
    'import { words } from "./lib/words.ts";\nexport default ({ text }: { text: string }): object => ({ count: words(text) });\n',
  "edge/scripts/lib/words.ts": 'export const words = (text: string): number => text.split(" ").length;\n',
  "typed-edge/skill.ts": `import * as z from "zod";
import { defineSkill, tool } from "hullrun";
export default defineSkill({ name: "typed-edge", description: "Typed. Use when tested.", instructions: "Use it.",
  tools: [tool({ name: "twice", description: "Doubles.", input: z.object({ n: z.int().default(21) }), async run({ n }) { return { n: 2 * n }; } })] });
`,
  "hooked/SKILL.md":
    "---\nname: hooked\ndescription: Hooks. Use when tested.\nmode: llm\nprovider: mock\nhooks: hooks.js\n---\nHook.\n",
  "hooked/hooks.js": "export const before = () => ({});\n",
};

let repo: string;
let hull: HullDev;
let site: Server;
let url: string;
beforeAll(async () => {
  repo = await mkdtemp(join(SERVERS, "hull-no-loader-"));
  for (const part of [
    "src",
    "scripts",
    "bin",
    "container",
    "typed",
    "assets",
    "migrations",
    "package.json",
    "test/support/fake-wrangler.ts",
  ])
    await cp(join(REPO, part), join(repo, part), { recursive: true });
  for (const part of ["node_modules", "tsconfig.json", "tsconfig.base.json"])
    await symlink(join(REPO, part), join(repo, part));
  const config = await readFile(join(REPO, "wrangler.toml"), "utf8");
  const without = config.replace(/\[\[worker_loaders\]\]\nbinding = "LOADER"\n/, "");
  expect(without).not.toBe(config);
  await writeFile(join(repo, "wrangler.toml"), without);
  // Bundled, as that of the checkout is: each process would read and compile 300 modules at a place of their own.
  const bundled = await bundleCli(repo, join(repo, "bundle"));
  await writeFile(join(repo, "bin/hull.mjs"), `import ${JSON.stringify(bundled)};\n`);
  site = createServer((_, response) => response.end("reached"));
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  const address = site.address();
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
  hull = await startHullDev({
    repo,
    skills: SKILLS,
    args: ["--direct"],
    // Its Worker and its runner are those of the checkout.
    env: shared(REPO),
    project: { ".env": "OPTED_IN=let-in-by-name\n" },
  });
});
afterAll(async () => {
  await hull?.stop();
  site?.close();
  await rm(repo, { recursive: true });
});

const send = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  hull.call(path, body === undefined ? undefined : JSON.stringify(body), {
    method,
    headers: { "content-type": "application/json", ...headers },
  });

/** Calls one tool in a session and answers the events. */
async function events(session: string, name: string, args: object = {}, skill = "edge") {
  await send("POST", "/sessions", { id: session });
  const options = { skills: [skill], mock: [{ tool_calls: [{ name, arguments: args }] }, { text: "end" }] };
  const response = await send(
    "POST",
    `/sessions/${session}/runs`,
    { prompt: "go", options },
    { accept: "text/event-stream" },
  );
  return readEvents(response);
}
const resultOf = async (session: string): Promise<string> =>
  (await send("GET", `/sessions/${session}/transcript?view=full`)).text();

test("files of the session, Python and output: as in an isolate", async () => {
  await send("POST", "/sessions", { id: "files" });
  await hull.call("/sessions/files/files/in.txt", "from the client", { method: "PUT" });
  const told = await events("files", "files", { text: "abc" });
  expect(dataOf(told, "tool_output")).toMatchObject([{ stream: "emit", text: "half done" }]);
  expect(dataOf(told, "tool_result")).toMatchObject([{ ok: true }]);
  expect(await resultOf("files")).toContain(
    '{"seen":"from the client","loud":"ABC","same":true,"session":"files"}',
  );
  expect(await (await hull.call("/sessions/files/files/out.txt")).text()).toBe("abc");
  const lines = hull
    .output()
    .split("\n")
    .filter((line) => line.includes('"tool_call"') || line.includes('"runtime"'));
  expect(lines.join("")).not.toContain('"runtime":"isolate"');
});

test("the network that the tool declares", async () => {
  expect(dataOf(await events("net-none", "asks", { url }), "tool_result")).toMatchObject([{ ok: false }]);
  expect(await resultOf("net-none")).toContain("asks declares no network");
  expect(dataOf(await events("net", "asks_with_need", { url }), "tool_result")).toMatchObject([{ ok: true }]);
  expect(await resultOf("net")).toContain("reached");
});

test("artifacts, configured secrets and variables", async () => {
  await send("PUT", "/skills/edge/config", { tools: { paints: { token: CANARY } } });
  const told = await events("paint", "paints");
  const names = told.map(({ event }) => event).filter((name) => /^(artifact|tool_result)$/.test(name));
  expect(names).toEqual(["artifact", "artifact", "tool_result"]);
  expect(dataOf(told, "artifact")).toMatchObject([
    { id: "mid", content: "x [redacted]" },
    { id: "end", content: "let-in-by-name" },
  ]);
  expect(await json(await send("GET", "/sessions/paint/artifacts/mid"))).toMatchObject({ version: 1 });
  expect(JSON.stringify(told) + hull.output()).not.toContain(CANARY);
});

test.each([
  ["an error", "edge", "throws", {}, "boom"],
  ["TypeScript with a module of its own", "edge", "counts", { text: "a b c" }, '{"count":3}'],
  ["a typed tool, with the defaults of its schema", "typed-edge", "twice", {}, '{"n":42}'],
])("%s", async (_, skill, name, args, expected) => {
  const session = `one-${name}`;
  await events(session, name, args, skill);
  expect(await resultOf(session)).toContain(expected);
});

test("without a session, and over MCP", async () => {
  const mock = [{ tool_calls: [{ name: "files", arguments: { text: "x" } }] }, { text: "end" }];
  const run = await json<{ transcript: object }>(
    await send("POST", "/runs", { prompt: "go", options: { skills: ["edge"], mock } }),
  );
  expect(JSON.stringify(run.transcript)).toContain('\\"seen\\":\\"nothing\\",\\"loud\\":\\"X\\"');
  const call = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "edge__counts", arguments: { text: "a b" } },
  };
  const answer = await send("POST", "/mcp", call, { accept: "application/json, text/event-stream" });
  expect(await answer.text()).toContain("count");
});

test("an uploaded handler runs; an uploaded hook is refused with the reason", async () => {
  const head = (name: string, more = "") =>
    `---\nname: ${name}\ndescription: Up. Use when tested.\nmode: llm\nprovider: mock\n${more}---\nUp.\n`;
  const upload = async (slug: string, files: Record<string, string>) => {
    const entries = Object.entries(files).map(([name, content]) => ({ name, content }));
    return hull.call(`/_hull/skills/${slug}`, undefined, { method: "PUT", body: await makeZip(entries) });
  };
  const handler = "export default ({ text }) => text.length;\n";
  const tools = JSON.stringify([tool("measures", { parameters: { text } })]);
  const files = { "SKILL.md": head("up"), "tools.json": tools, "scripts/measures.js": handler };
  expect((await upload("up", files)).status).toBe(201);
  expect(dataOf(await events("up", "measures", { text: "abcd" }, "up"), "tool_result")).toMatchObject([
    { ok: true },
  ]);
  expect(await resultOf("up")).toContain("4");
  const hooked = await upload("uph", {
    "SKILL.md": head("uph", "hooks: hooks.js\n"),
    "hooks.js": "export const a = () => 1;\n",
  });
  expect([hooked.status, await hooked.text()]).toEqual([503, expect.stringContaining("LOADER")]);
});

test("`hull doctor` says what is missing, as a warning", async () => {
  const { output } = await runHull(["doctor"], { cwd: hull.root, repo });
  expect(output).toContain("wrangler.toml lacks LOADER");
});

test("commands that need the binding say so", async () => {
  const mock = [{ tool_calls: [{ name: "counts", arguments: { text: "a" } }] }, { text: "end" }];
  const hooks = { skills: ["edge", "hooked"], mock, tool_hooks: [{ pattern: "*", pre: "hooked#before" }] };
  const hooked = await send("POST", "/runs", { prompt: "go", options: hooks });
  expect(await hooked.text()).toContain("LOADER");
  const defining = [
    {
      tool_calls: [
        {
          name: "define_tool",
          arguments: { name: "t", description: "d", parameters: "{}", code: "return 1" },
        },
      ],
    },
    { text: "end" },
  ];
  const defined = await send("POST", "/runs", {
    prompt: "go",
    options: { dynamic_tools: true, mock: defining },
  });
  expect(await defined.text()).toContain("the deployment has no LOADER binding");
});
