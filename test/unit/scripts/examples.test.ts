import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { buildRoots } from "../../../scripts/build/build.ts";
import { once } from "../../../src/memo.ts";
import { parseSkill } from "../../../src/skill/parse-skill.ts";
import { folder } from "./folder.ts";

const PROJECT = fileURLToPath(new URL("../../..", import.meta.url));
const SKILLS = join(PROJECT, "skills");
const examples = once(() => buildRoots([SKILLS], { projectDir: PROJECT }));

/** Runs a program as the runner would: in the skill's folder, with input on stdin and a bare environment. */
function run(skill: string, argv: string[], input = "", env: Record<string, string> = {}) {
  const [program = "", ...args] = argv;
  return new Promise<{ code: number; out: string; err: string }>((resolve) => {
    const options = { cwd: join(SKILLS, skill), env: { PATH: process.env.PATH, ...env } };
    const child = execFile(program, args, options, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
    // A program that does not read its input may be gone before it is written.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input);
  });
}

test("all examples are what the validator of the Agent Skills format accepts", () => {
  const found = readdirSync(SKILLS)
    .filter((name) => existsSync(join(SKILLS, name, "SKILL.md")))
    .map((name) => {
      const text = readFileSync(join(SKILLS, name, "SKILL.md"));
      return [name, parseSkill(text, { directory: name, fileName: "SKILL.md" }).verdicts.strict.diagnostics];
    });
  expect(found.filter(([, diagnostics]) => diagnostics?.length !== 0)).toEqual([]);
  expect(found.length).toBeGreaterThan(5);
});

test("all examples validate without a warning", async () => {
  const { skills, diagnostics } = await examples();
  expect(diagnostics).toEqual([]);
  const slugs = skills.map((skill) => skill.card.slug);
  expect(slugs).toEqual([
    "assistant",
    "echo-chat",
    "hello",
    "page-address",
    "site-checker",
    "status-page",
    "text-tools",
    "to-csv",
    "weather-proxy",
    "word-count",
  ]);
});

test("hello", async () => {
  expect(await run("hello", ["./hello.sh"], "Ada")).toEqual({ code: 0, out: "Hello, Ada!\n", err: "" });
  expect((await run("hello", ["./hello.sh"])).out).toBe("Hello, world!\n");
});

test("echo", async () => {
  expect((await run("echo-chat", ["bash", "echo.sh", "a  b\\n%s"])).out).toBe("a  b\\n%s\n");
});

test.each([
  ["", { lines: 0, words: 0, characters: 0 }],
  ["one two\nthree", { lines: 2, words: 3, characters: 13 }],
  ["größe 天\n", { lines: 1, words: 2, characters: 8 }],
])("word-count of %j", async (text, expected) => {
  expect(JSON.parse((await run("word-count", ["python3", "count.py"], text)).out)).toEqual(expected);
});

test.each([
  ["array", '[{"a":1,"b":"x,y"},{"b":null,"c":[true]}]', 'a,b,c\r\n1,"x,y",\r\n,,[true]\r\n'],
  ["lines", '{"n":"天"}\n\n{"n":"q\\"r"}\n', 'n\r\n天\r\n"q""r"\r\n'],
])("to-csv: %s", async (_, input, csv) => {
  const dir = folder({ "in.json": input });
  const env = {
    HULL_INPUT_FILE: join(dir, "in.json"),
    HULL_OUTPUT_FILE: join(dir, "out"),
    HULL_OUTPUT_DIR: dir,
  };
  expect((await run("to-csv", ["python3", "to_csv.py"], "", env)).code).toBe(0);
  expect(readFileSync(join(dir, "out"), "utf8")).toBe(csv);
  await run("to-csv", ["python3", "to_csv.py"], "", { ...env, HULL_INPUT_FILENAME: "people.json" });
  expect(readFileSync(join(dir, "people.csv"), "utf8")).toBe(csv);
});

test("to-csv names what it cannot read", async () => {
  const dir = folder({ "in.json": '{"a":1}\nnope\n' });
  const env = {
    HULL_INPUT_FILE: join(dir, "in.json"),
    HULL_OUTPUT_FILE: join(dir, "out"),
    HULL_OUTPUT_DIR: dir,
  };
  expect(await run("to-csv", ["python3", "to_csv.py"], "", env)).toMatchObject({
    code: 1,
    err: expect.stringContaining("Line 2"),
  });
});

test("check_status asks the site", async () => {
  const server = createServer((request, response) => {
    response.writeHead(request.url === "/teapot" ? 418 : 200, { server: "kettle" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const check = async (url: string) => run("site-checker", ["python3", "check.py", url]);
  const up = JSON.parse((await check(`127.0.0.1:${port}`)).out);
  expect(up).toEqual({
    url: `http://127.0.0.1:${port}`,
    status_code: 200,
    response_time_ms: expect.any(Number),
    server: "kettle",
  });
  const teapot = JSON.parse((await check(`http://localhost:${port}/teapot`)).out);
  expect(teapot).toMatchObject({ url: `http://localhost:${port}/teapot`, status_code: 418 });
  server.close();
  const down = JSON.parse((await check("localhost:1")).out);
  expect(down).toEqual({
    url: "http://localhost:1",
    status_code: null,
    error: expect.stringContaining("refused"),
  });
  expect((await check("file:///etc/passwd")).code).toBe(1);
});

/** The answer of an example's handler to a runtime that knows only the contract of Skill Tools. */
async function handler(skill: string, tool: string, args: object): Promise<unknown> {
  const { skills } = await examples();
  const built = skills.find(({ card }) => card.slug === skill);
  const { module = "" } = built?.tools.find(({ name }) => name === tool) ?? {};
  const bytes = (await built?.contents())?.get(`module/${module}`) ?? new Uint8Array();
  const path = join(folder({ "module.mjs": bytes }), "module.mjs");
  const { default: call }: { default: (args: object) => Promise<unknown> } = await import(path);
  return call(args);
}

test("text-tools: a JavaScript and a Python handler", async () => {
  const text = "It is late. Is it?";
  expect(await handler("text-tools", "count_words", { text })).toEqual({ words: 5, sentences: 2 });
  const program =
    "import json, sys; sys.path.insert(0, 'scripts'); from letter_counts import handler; print(json.dumps(handler(json.load(sys.stdin))))";
  const { out } = await run(
    "text-tools",
    ["python3", "-B", "-c", program],
    JSON.stringify({ text, most: 2 }),
  );
  expect(JSON.parse(out)).toEqual({ i: 4, t: 3 });
});

test("page-address: a typed handler with the defaults of its configuration", async () => {
  const address = (args: object) => handler("page-address", "make_address", args);
  expect(await address({ title: " Über uns: die Küche! " })).toEqual({ address: "uber-uns-die-kuche" });
  expect(await address({ title: "one two three", words: 2 })).toEqual({ address: "one-two" });
  expect(await address({ title: " " })).toEqual({ error: expect.stringContaining("title") });
});
