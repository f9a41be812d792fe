/** Variables of a project reach the Worker as they are, or not at all and with a word. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HullDev, runHull, startHullDev } from "../support/hull-dev.ts";
import { folder } from "../unit/scripts/folder.ts";

/** A handler that answers which of its variables it has. */
const TOOL = {
  "vars/SKILL.md":
    "---\nname: vars\ndescription: Tells its variables\nrun: [bash, run.sh]\ntool_env: [NAMES]\n---\n",
  "vars/run.sh": "env -0\n",
};

/** Every character that a value may hold; each kind of quote is in one that another kind, or none, encloses. */
const ASCII = Array.from({ length: 127 }, (_, code) => String.fromCharCode(code))
  .slice(1)
  .filter((char) => !/[\r\n"'`#]/.test(char))
  .join("");
const LATER = `${Array.from({ length: 128 }, (_, i) => String.fromCharCode(128 + i)).join("")}\u2028\uFFFD\u{1F600}`;
const VALUES: Record<string, [written: string, value: string]> = {
  ASCII: [`'${ASCII}'`, ASCII],
  LATER: [`'${LATER}'`, LATER],
  DOLLARS: ["$x${y}\\$z$$", "$x${y}\\$z$$"],
  QUOTES: ["a\"b'c`d", "a\"b'c`d"],
  DOUBLE: ['"it\'s `so` $HOME \\\\ \\n#"', "it's `so` $HOME \\\\ \n#"],
  SINGLE: ["'a \"b\" `c` # \\n'", 'a "b" `c` # \\n'],
  BACK: ["`a \"b\" 'c'`", "a \"b\" 'c'"],
  LINES: ["'one\ntwo\n\nfour'", "one\ntwo\n\nfour"],
  SLASHES: ["\\\\a\\b\\", "\\\\a\\b\\"],
  BLANKS: ["'  a\t '", "  a\t "],
  EQUALS: ["a=b==", "a=b=="],
};
const NAMES = Object.keys(VALUES);

/** A tool whose handler has the variables that it names. */
const PEEK = {
  name: "peek",
  description: "Peeks.",
  script: "peek.mjs",
  "x-env": ["TOKEN_OF_TOOL"],
  parameters: {},
};
const ENVIRONMENT = "e$x\"'`\\ \n é";
const begin = (args: string[]): Promise<HullDev> =>
  startHullDev({
    skills: {
      ...TOOL,
      "vars/SKILL.md": TOOL["vars/SKILL.md"].replace("NAMES", [...NAMES, "OUTER"].join(", ")),
      "peeks/SKILL.md": "---\nname: peeks\ndescription: Peeks\nmode: llm\nprovider: mock\n---\nPeek.\n",
      "peeks/tools.json": JSON.stringify([PEEK]),
      "peeks/peek.mjs":
        "export default async (_args, ctx) => ({ token: ctx.env.TOKEN_OF_TOOL ?? null, other: ctx.env.TOKEN_OF_NOBODY ?? null });",
    },
    project: {
      ".env": `\uFEFF${Object.entries(VALUES)
        .map(([name, [written]]) => `${name}=${written}\n`)
        .join("")}`,
    },
    env: { OUTER: ENVIRONMENT, TOKEN_OF_TOOL: "value-of-the-token", TOKEN_OF_NOBODY: "x" },
    args,
  });

describe.each([
  ["wrangler", []],
  ["workerd", ["--direct"]],
])("by %s", (_, args) => {
  let hull: HullDev;
  beforeAll(async () => {
    hull = await begin([...args]);
  });
  afterAll(() => hull?.stop());

  test("attack: no value of .env is changed on its way", async () => {
    const text = await (await hull.call("/skills/vars", "x")).text();
    const got = new Map(
      text.split("\0").map((line) => [line.replace(/=.*/s, ""), line.replace(/^[^=]*=/, "")]),
    );
    const wanted = Object.entries(VALUES).map(([name, [, value]]) => [name, value]);
    expect([...NAMES, "OUTER"].map((name) => [name, got.get(name)])).toEqual([
      ...wanted,
      ["OUTER", ENVIRONMENT],
    ]);
  });

  test("attack: the names of x-env in tools.json reach the handler from the environment, and no other does", async () => {
    const response = await hull.post("/runs", {
      prompt: "go",
      options: {
        skill: "peeks",
        mock: [{ tool_calls: [{ name: "peek", arguments: {} }] }, { text: "done" }],
      },
    });
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.stringContaining("value-of-the-token")]);
    expect(text).not.toContain('"x"');
    // The Worker got its variables at the start: who names one later is told.
    const at = hull.output().length;
    const later = [{ ...PEEK, "x-env": ["TOKEN_OF_TOOL", "TOKEN_OF_NOBODY"] }];
    await hull.write("peeks/tools.json", JSON.stringify(later));
    await hull.printed(/TOKEN_OF_NOBODY of the environment: .*restart to use it/, at);
  });
});

test.each([
  [
    "bytes of another encoding",
    Buffer.from([...Buffer.from("# ü\nA=1\nHULL_ADMIN_KEY=caf"), 0xe9, 0x0a]),
    ".env:3: HULL_ADMIN_KEY",
  ],
  ["a NUL", "K=a\0b\n", ".env:1: K"],
  ["a carriage return", "A=1\r\nK=a\rb\r\n", ".env:2: K"],
  ["text behind the quote", "A=1\nHULL_ADMIN_KEY='a\"b'c`d'\n", ".env:2: HULL_ADMIN_KEY"],
  ["a binding's name", "DB=x\n", "DB is the name of a binding"],
])("attack: %s in .env is an error that names the variable", async (_, text, says) => {
  const dir = folder({
    ".env": text,
    "skills/a/SKILL.md": TOOL["vars/SKILL.md"].replace("name: vars", "name: a"),
    "skills/a/run.sh": "",
  });
  const { code, output } = await runHull(["dev", dir, "--port", "0"], { cwd: dir });
  expect([code, output]).toEqual([2, expect.stringContaining(says)]);
  expect(output).not.toMatch(/caf|a"b/);
});
