/** `POST /mcp` with the official clients: the first generation up to 2025-11-25, the second with 2026-07-28. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json, REPO } from "../support/hull-dev.ts";
import { gone, running } from "../support/runner.ts";

const run = promisify(execFile);
const NAME = { name: "test", version: "1" };
const NONE = "input: none\n";
/** The form in which the conformance suite expects it. */
const SCHEMA_2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
  },
  properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
  additionalProperties: false,
};
const COUNT = {
  description: "Counts words.",
  script: "scripts/count.js",
  parameters: { text: { type: "string", description: "The text." } },
};
const TEXT_TOOLS = [
  {
    ...COUNT,
    name: "count_words",
    "x-idempotent": true,
    "x-output-schema": { type: "object", properties: { count: { type: "integer" } }, required: ["count"] },
  },
  { ...COUNT, name: "count_hidden", "x-hidden": true },
  { name: "draw", description: "Draws.", script: "scripts/draw.js" },
];
const PNG = "\\x89PNG\\r\\n\\x1a\\n";
const PNG_BASE64 = "iVBORw0KGgo=";

const { hull } = await commonHull(join(REPO, "skills"));
const written = hull.output().length;
const examples = await json<{ slug: string }[]>(await hull.call("/skills"));
const script = async (name: string, lines: string, more = "") => {
  await hull.write(`${name}/run.sh`, lines);
  const text = `---\nname: ${name}\ndescription: Test.\nrun: [bash, run.sh]\n${more}---\nTest.\n`;
  await hull.write(`${name}/SKILL.md`, text);
};
await script("fails", "echo why >&2; exit 3");
await script("steps", "echo one >&2; echo two >&2; echo done");
await script("hangs", "echo begun >&2; sleep 83.1");
await script("paints", `printf "${PNG}" > "$HULL_OUTPUT_FILE"`, "output: file\noutput_mime: image/png\n");
const both = `cd "$HULL_OUTPUT_DIR"; printf a > a.bin; printf "${PNG}" > b.png; echo two files`;
await script("several", both, "output: file\n");
const shaped = "input_schema: {type: object, properties: {n: {type: integer}}, required: [n]}\n";
await script("waits", 'file=$(cat); until [ -e "$file" ]; do sleep 0.05; done; echo done');
const either =
  "{type: object, oneOf: [{properties: {a: {}}, required: [a]}, {properties: {b: {}}, required: [b]}]}";
await script("takes-either", "cat", `input_schema: ${either}\n`);
await script("doubles-it", `python3 -c 'import json; print(json.loads(input())["n"] * 2)'`, shaped);
await hull.write("doubles-it/references/a b.md", "# Deep\n");
await hull.write("counters/SKILL.md", "---\nname: counters\ndescription: Test.\n---\nTest.\n");
await hull.write("counters/tools.json", JSON.stringify(TEXT_TOOLS));
await hull.write(
  "counters/scripts/count.js",
  `export default ({ text }) => text === "" ? { error: "no text" } : { count: text.split(" ").length };`,
);
await hull.write(
  "counters/scripts/draw.js",
  `export default async (args, ctx) => {
    const { id } = await ctx.artifact({ type: "html", title: "Page", content: "<b>old</b>" });
    await ctx.artifact.update(id, { content: "<b>new</b>" });
    return { __artifact__: true, type: "image", title: "Dot", content: "data:image/png;base64,${PNG_BASE64}" };
  };`,
);
await script("test-simple-text", "echo text", NONE);
await script("test-error-handling", "echo why >&2; exit 1", NONE);
// Each step of a run is one notification. Lines of a script may come together.
const echo = "provider: mock\ntools: [{name: echo, description: Echoes., command: [echo, heard]}]";
await hull.write(
  "test-tool-with-progress/SKILL.md",
  `---\nname: test-tool-with-progress\ndescription: Test.\nmode: llm\n${echo}\n${NONE}---\nTest.\n`,
);
const png = `printf "${PNG}" > "$HULL_OUTPUT_FILE"`;
await script("test-image-content", png, `${NONE}output: file\noutput_mime: image/png\n`);
await script("json-schema-2020-12-tool", "cat", `input_schema: ${JSON.stringify(SCHEMA_2020)}\n`);
await hull.printed(new RegExp(`Reloaded: ${examples.length + 14} skills`), written);

/** What both generations have in common. */
async function connected(version: string): Promise<Client | ModernClient> {
  const url = new URL("/mcp", hull.url);
  if (version === "2026-07-28") {
    const client = new ModernClient(NAME, { versionNegotiation: { mode: { pin: version } } });
    await client.connect(new ModernTransport(url));
    return client;
  }
  const client = new Client(NAME);
  await client.connect(new StreamableHTTPClientTransport(url));
  return client;
}

describe.each(["2025-11-25", "2026-07-28"])("a client of %s", (version) => {
  let client: Client | ModernClient;
  beforeAll(async () => {
    client = await connected(version);
  });
  afterAll(() => client.close());
  const call = (name: string, args: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: args });

  test("finds the example folder as tools, prompts and resources", async () => {
    const { tools } = await client.listTools();
    const cards = await json<{ slug: string }[]>(await hull.call("/skills"));
    const skills = tools.map(({ name }) => name).filter((name) => !name.includes("__"));
    expect(skills).toEqual(cards.map(({ slug }) => slug.replaceAll("-", "_")));
    expect(skills).toContain("json_schema_2020_12_tool");
    const tool = (name: string) => tools.find((known) => known.name === name);
    expect(tool("hello")?.inputSchema).toMatchObject({ properties: { input: {} }, required: ["input"] });
    expect(tool("doubles_it")?.inputSchema).toMatchObject({
      properties: { n: { type: "integer" } },
      required: ["n"],
    });
    // Clients pass schemas on to providers, which refuse alternatives at the root.
    expect(tool("takes_either")?.inputSchema).toEqual({ type: "object", properties: { a: {}, b: {} } });
    expect(tool("to_csv")?.inputSchema).toMatchObject({ properties: { files: {} }, required: ["files"] });
    expect(tool("status_page")?.annotations).toMatchObject({ readOnlyHint: true });
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain("word-count");
    const { resources } = await client.listResources();
    const uris = resources.map(({ uri }) => uri);
    expect(uris).toContain("skill://hello/SKILL.md");
    expect(uris).toContain("skill://hello/hello.sh");
    expect(uris).toContain("skill://doubles-it/references/a%20b.md");
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["skill://{slug}/{+path}"]);
  });

  test("gets a tool's files for people, in their final state", async () => {
    const { content } = await call("counters__draw");
    const [text, page, dot, ...more] = Array.isArray(content) ? content : [];
    expect(text?.text).toMatch(/Artifact "Dot" was made/);
    expect(dot).toEqual({ type: "image", data: PNG_BASE64, mimeType: "image/png" });
    expect(more).toEqual([]);
    expect(page).toMatchObject({ type: "resource_link", mimeType: "text/html" });
    expect(await (await fetch(page.uri)).text()).toBe("<b>new</b>");
    // A tunnel ends TLS, and passes requests on without it.
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "counters__draw" } };
    const tunnelled = { accept: "application/json", "x-forwarded-proto": "https" };
    const secure = await (await hull.post("/mcp", message, tunnelled)).text();
    expect(secure).toContain(page.uri.replace(/^http:(.*\/).*/, "https:$1"));
  });

  test("gets a prompt with the user's addition", async () => {
    const { messages } = await client.getPrompt({ name: "assistant", arguments: { input: "Why is it so?" } });
    expect(messages).toHaveLength(1);
    const text = JSON.stringify(messages[0]?.content);
    expect(text).toMatch(/You are a knowledgeable assistant\..*\\n\\nWhy is it so\?"/s);
    await expect(client.getPrompt({ name: "none" })).rejects.toMatchObject({ code: -32602 });
  });

  test("reads the files of a bundle, and nothing outside it", async () => {
    const read = async (uri: string) => (await client.readResource({ uri })).contents;
    for (const path of [
      "hello/SKILL.md",
      "hello/hello.sh",
      "status-page/status.html",
      "status-page/SKILL.md",
    ]) {
      const uri = `skill://${path}`;
      const text = await readFile(join(REPO, "skills", path), "utf8");
      expect(await read(uri)).toMatchObject([{ uri, text }]);
    }
    for (const name of ["a%20b", "A%20B"])
      expect(await read(`skill://doubles-it/references/${name}.md`)).toMatchObject([{ text: "# Deep\n" }]);
    const code = version === "2026-07-28" ? -32602 : -32002;
    for (const uri of [
      "skill://hello/../to-csv/SKILL.md",
      "skill://hello/..%2fto-csv%2fSKILL.md",
      "skill://hello/../x",
      "skill://hello/none.md",
      "skill://none/SKILL.md",
      "file:///etc/passwd",
    ]) {
      await expect(read(uri), uri).rejects.toMatchObject({ code });
    }
  });

  test("calls an llm skill, a script, a page, a shaped input", async () => {
    const text = (value: string) => ({ content: [{ type: "text", text: value }] });
    expect(await call("hello", { input: "Ada" })).toMatchObject(text("Hello, Ada!\n"));
    expect(await call("doubles_it", { n: 21 })).toMatchObject(text("42\n"));
    const chat = await call("echo_chat", { input: "four words are here" });
    expect(chat).toMatchObject({ content: [{ type: "text" }], _meta: { "x-hull-finish-reason": "stop" } });
    expect(JSON.stringify(chat.content)).toContain("four words are here");
    expect(JSON.stringify((await call("status_page")).content)).toContain("<!doctype html>");
    const counted = await call("word_count", { input: "a b" });
    expect(counted.structuredContent).toBeUndefined();
    expect(counted).toMatchObject(text('{"lines": 1, "words": 2, "characters": 3}'));
  });

  test("gets images as images, other files as links that can be followed", async () => {
    expect((await call("paints", { input: "" })).content).toEqual([
      { type: "image", data: PNG_BASE64, mimeType: "image/png" },
    ]);
    expect((await call("several", { input: "" })).content).toMatchObject([
      { type: "text", text: "two files\n" },
      { type: "resource_link", name: "a.bin", size: 1 },
      { type: "image", data: PNG_BASE64 },
    ]);
    const data = Buffer.from('[{"a": 1, "b": "x"}]').toString("base64");
    const { content } = await call("to_csv", { files: [{ mime_type: "application/json", data }] });
    expect(content).toMatchObject([
      { type: "text", text: "1 rows, 2 columns" },
      { type: "resource_link", mimeType: "text/csv" },
    ]);
    const uri = /"uri":"([^"]+)"/.exec(JSON.stringify(content))?.[1] ?? "";
    const csv = await (await fetch(uri)).text();
    expect(csv.trim().split(/\r?\n/)).toEqual(["a,b", "1,x"]);
    const stored = await hull.call("/files", '[{"c": 2}]', {
      headers: { "content-type": "application/json" },
    });
    const { id } = JSON.parse(await stored.text());
    const again = await call("to_csv", { files: [id] });
    expect(again.content).toMatchObject([{ type: "text" }, { type: "resource_link" }]);
  });

  test("distinguishes an unknown tool from a failing one", async () => {
    await expect(call("none")).rejects.toMatchObject({ code: -32602 });
    await expect(call("hello__none")).rejects.toMatchObject({ code: -32602 });
    const failed = await call("fails", { input: "" });
    expect(failed).toMatchObject({ isError: true, _meta: { problem: { code: "script_failed" } } });
    expect(JSON.stringify(failed.content)).toContain("why");
    expect(await call("takes_either", { a: 1 })).toMatchObject({ content: [{ text: '{"a":1}' }] });
    const problem = { code: "input_schema_mismatch" };
    for (const [name, args] of [
      ["doubles_it", { n: "x" }],
      ["doubles_it", {}],
      ["takes_either", { c: 1 }],
    ] as const) {
      expect(await call(name, args)).toMatchObject({ isError: true, _meta: { problem } });
    }
    expect(await call("hello", { inptu: "x" })).toMatchObject({ isError: true });
    expect(await call("hello")).toMatchObject({
      isError: true,
      _meta: { problem: { code: "input_required" } },
    });
  });

  test("calls the tools of a tools.json, hidden ones too", async () => {
    const { tools } = await client.listTools();
    const listed = tools.find(({ name }) => name === "counters__count_words");
    expect(listed).toMatchObject({
      inputSchema: { type: "object", properties: { text: {} }, required: ["text"] },
      outputSchema: { properties: { count: {} } },
      annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false },
    });
    const counted = await call("counters__count_words", { text: "one two three" });
    expect(counted).toMatchObject({ structuredContent: { count: 3 }, content: [{ text: '{"count":3}' }] });
    const hidden = await call("counters__count_hidden", { text: "one" });
    expect(hidden.structuredContent).toBeUndefined();
    expect(hidden.content).toMatchObject([{ text: '{"count":1}' }]);
    for (const [text, told] of [
      ["", /no text/],
      [7, /do not fit the parameters/],
    ] as const) {
      const failed = await call("counters__count_words", { text });
      expect(failed.isError).toBe(true);
      expect(JSON.stringify(failed.content)).toMatch(told);
    }
  });

  test("receives the progress", async () => {
    const told: { progress: number; message?: string | undefined }[] = [];
    const options = { onprogress: (note: (typeof told)[number]) => told.push(note) };
    const request = { name: "steps", arguments: { input: "" } };
    const result =
      client instanceof ModernClient
        ? await client.callTool(request, options)
        : await client.callTool(request, undefined, options);
    expect(result.content).toEqual([{ type: "text", text: "done\n" }]);
    const said = told.map(({ message = "" }) => message).filter((message) => !message.endsWith(" so far"));
    // What may be the beginning of a secret, as some base64 of it, comes in a part of its own.
    expect(said.join("")).toMatch(/one\s*two/);
    const steps = told.map(({ progress }) => progress);
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
  });
});

test("a long call is not silent: it tells of its progress, or its answer becomes a stream", async () => {
  const file = join(hull.root, "go-on");
  const ask = (more: object) => {
    const params = { name: "waits", arguments: { input: file }, ...more };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    return hull.post("/mcp", body, { accept: "application/json, text/event-stream" });
  };
  const [followed, plain] = await Promise.all([ask({ _meta: { progressToken: "t" } }), ask({})]);
  const types = [followed, plain].map(({ headers }) => headers.get("content-type"));
  expect(types).toEqual(Array(2).fill("text/event-stream; charset=utf-8"));
  const decoder = new TextDecoder();
  let told = "";
  for await (const chunk of followed.body ?? []) {
    told += decoder.decode(chunk, { stream: true });
    if (told.includes("notifications/progress")) await writeFile(file, "");
  }
  expect(told).toMatch(/"progressToken":"t","progress":1,"message":"still running".*"text":"done\\n"/s);
  expect(await plain.text()).toContain('"text":"done\\n"');
});

test("each call of a batch has its own answer", async () => {
  const call = (id: number, input: string) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "hello", arguments: { input } },
  });
  const answers = await json<{ result: { content: { text: string }[] } }[]>(
    await hull.post("/mcp", [call(1, "Ada"), call(2, "Bob")], { "mcp-protocol-version": "2025-03-26" }),
  );
  const texts = answers.map(({ result }) => result.content[0]?.text);
  expect(texts).toEqual([expect.stringContaining("Ada"), expect.stringContaining("Bob")]);
});

test.each([
  ["as JSON", {}],
  ["as events", { _meta: { progressToken: 1 } }],
])("the process ends when the client leaves a call answered %s", async (_, more) => {
  const left = new AbortController();
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "hangs", arguments: { input: "" }, ...more },
  };
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const called = hull.call("/mcp", JSON.stringify(body), { headers, signal: left.signal });
  const answered = called.then((response) => response.text()).catch(() => "left");
  await running("sleep 83.1");
  left.abort();
  expect(await answered).toBe("left");
  await gone("sleep 83.1");
});

describe.each(["2025-11-25", "2026-07-28"])("a client of %s that cancels a call", (version) => {
  test.each([
    ["as JSON", false],
    ["as events", true],
  ])("ends its process, answered %s, and no call of another client", async (_, followed) => {
    const [client, other] = await Promise.all([connected(version), connected(version)]);
    const errors: unknown[] = [];
    client.onerror = (error) => errors.push(error);
    const left = new AbortController();
    const call = (of: Client | ModernClient, name: string, args: object, options: object = {}) => {
      const request = { name, arguments: { ...args } };
      return of instanceof ModernClient
        ? of.callTool(request, options)
        : of.callTool(request, undefined, options);
    };
    const file = join(hull.root, `${version}-${followed}`);
    // Both clients count their requests from the same number.
    const kept = call(other, "waits", { input: file });
    const begun = Promise.withResolvers<void>();
    let told = "";
    const onprogress = ({ message = "" }: { message?: string | undefined }) => {
      told += message.replace("still running", "");
      if (told === "begun") begun.resolve();
    };
    const options = followed ? { signal: left.signal, onprogress } : { signal: left.signal };
    const called = call(client, "hangs", { input: "" }, options).catch(() => "cancelled");
    await running("sleep 83.1");
    // Progress that is under way when the client cancels has a token that the SDK no longer knows. A word may come in parts.
    if (followed) await begun.promise;
    left.abort();
    expect(await called).toBe("cancelled");
    await gone("sleep 83.1");
    await writeFile(file, "");
    expect(await kept).toMatchObject({ content: [{ text: "done\n" }] });
    // The connection serves further calls.
    expect(await call(client, "steps", { input: "" })).toMatchObject({ content: [{ text: "done\n" }] });
    expect(errors).toEqual([]);
    await Promise.all([client.close(), other.close()]);
  });
});

/** What Hull does not have, and fixtures whose names or addresses no skill can have. */
const NOT_OURS = [
  "logging-set-level",
  "completion-complete",
  "resources-subscribe",
  "resources-unsubscribe",
  "tools-call-with-logging",
  "tools-call-sampling",
  "tools-call-elicitation",
  "elicitation-sep1034-defaults",
  "elicitation-sep1330-enums",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-mixed-content",
  "resources-read-text",
  "resources-read-binary",
  "resources-templates-read",
  "prompts-get-simple",
  "prompts-get-with-args",
  "prompts-get-embedded-resource",
  "prompts-get-with-image",
];

test("the conformance suite passes except for what is not offered", async () => {
  const baseline = join(hull.root, "baseline.yml");
  await writeFile(baseline, `server:\n${NOT_OURS.map((name) => `  - ${name}\n`).join("")}`);
  const suite = join(REPO, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const referee = async (...flags: string[]): Promise<string> => {
    const args = [suite, "server", "--url", `${hull.url}/mcp`, ...flags];
    const ended = await run(process.execPath, args, { cwd: hull.root }).catch((error: unknown) => {
      throw new Error(String(Object(error).stdout).slice(-3000));
    });
    return ended.stdout;
  };
  // Not one of the suite's active scenarios, but it passes.
  expect(await referee("--scenario", "json-schema-2020-12")).toContain("Passed: 4/4");
  const stdout = await referee("--expected-failures", baseline);
  const passed = Array.from(stdout.matchAll(/^✓ (\S+): [1-9]\d* passed, 0 failed/gm), ([, name]) => name);
  expect(passed).toEqual([
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-error",
    "tools-call-with-progress",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
  ]);
});
