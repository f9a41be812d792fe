/** `hull init`: makes a project that can be served immediately. */
import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import hull from "../../package.json" with { type: "json" };
import { defineCommand, EXIT } from "../command.ts";
import { CONFIG_FILE, loadConfig } from "../config.ts";
import { nameFrom } from "../deploy/worker-name.ts";
import { portOf } from "../dev/local-addresses.ts";
import { REPO_DIR } from "../dev/paths.ts";
import { loadEnvironment } from "../dotenv.ts";
import { shellWord } from "../shell-word.ts";
import { starterSkill, type TemplateFile } from "../templates.ts";
import { writeNewFiles } from "../write-files.ts";

const GITIGNORE = `.hull/
.wrangler/
.env
.env.*
.dev.vars
node_modules/
__pycache__/
`;

const TSCONFIG = `{
  "compilerOptions": {
    "target": "ES2024",
    "module": "preserve",
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "types": ["node"],
    "skipLibCheck": true
  },
  "include": ["skills", "test"]
}
`;

const TEST = `import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

// \`npm test\` puts the command on the PATH.
const hull = (...args: string[]): string => execFileSync("hull", args, { encoding: "utf8" });

test("all skills are valid", () => {
  assert.match(hull("validate", "--strict"), /0 errors/);
});

test("hello greets", () => {
  assert.equal(hull("call", "hello", "--input", "Ada"), "Hello, Ada!\\n");
});
`;

/** @param name of the project, and of its Worker */
const config = (name: string): string => `# Settings of this Hull project. Every key may be left out.
name = "${name}"
skills = "skills"
port = 3000
`;

const packageJson = (name: string): string =>
  `${JSON.stringify(
    {
      name,
      private: true,
      type: "module",
      scripts: {
        start: "exec hull dev",
        test: "node --test 'test/**/*.test.mts'",
        deploy: "hull deploy",
      },
      devDependencies: { "@types/node": "^24", [hull.name]: `^${hull.version}` },
    },
    null,
    2,
  )}\n`;

export const command = defineCommand({
  name: "init",
  summary: "Make a project with starter skills",
  usage: `
Usage: hull init [dir]

Writes package.json, tsconfig.json, hull.toml, .gitignore, two skills and a test. It leaves existing files unchanged, and
says what to add to them.
`,
  flags: {},
  words: 1,
  async run({ positionals }) {
    const dir = resolve(positionals[0] ?? ".");
    const name = nameFrom(basename(dir)) || "my-skills";
    const files: TemplateFile[] = [
      { path: "package.json", text: packageJson(name) },
      { path: "tsconfig.json", text: TSCONFIG },
      { path: CONFIG_FILE, text: config(name) },
      { path: ".gitignore", text: GITIGNORE },
      ...inFolder("skills/hello", starterSkill("Hello", "bash")),
      ...inFolder("skills/assistant", starterSkill("Assistant", "llm")),
      { path: "test/skills.test.mts", text: TEST },
    ];
    // The port that hull dev would use, also with files that are there already. If one is unreadable, init writes nothing.
    const port = portOf(
      undefined,
      (await loadEnvironment(dir)).get("HULL_PORT"),
      (await loadConfig(dir)).port,
    );
    const { written, kept } = await writeNewFiles(dir, files);
    const lines = [...written.map((path) => `  wrote  ${path}`), ...kept.map((path) => `  kept   ${path}`)];
    const installed = REPO_DIR.includes("node_modules");
    const own = written.includes("package.json");
    const here = dir === process.cwd();
    const start = own ? ["npm install", "npm start"] : [...(await missingPackages(dir)), "npx hull dev"];
    const steps = installed
      ? [...(here ? [] : [`cd ${shellWord(dir)}`]), ...start]
      : // In a checkout no package must be installed: npx finds hull in the same place.
        [`cd ${shellWord(REPO_DIR)}`, `npx hull dev ${shellWord(dir)}`];
    // With port 0, hull dev chooses one and prints it.
    const call = port === 0 ? [] : [`curl -X POST localhost:${port}/skills/hello --data you`];
    const unlisted = kept.includes(".gitignore") ? await notIgnored(dir) : [];
    const advice =
      unlisted.length === 0
        ? ""
        : `\n.gitignore does not list ${unlisted.join(", ")}: add what git must not store.\n`;
    process.stdout.write(
      `${lines.join("\n")}\n${advice}\nNext:\n${[...steps, ...call].map((step) => `  ${step}`).join("\n")}\n`,
    );
    return EXIT.ok;
  },
});

/**
 * The command that adds Hull to a `package.json` that was there already, unless it names the package: without it, `npx
 * hull` would run an unrelated package.
 */
async function missingPackages(dir: string): Promise<string[]> {
  const text = await readFile(join(dir, "package.json"), "utf8");
  return text.includes(`"${hull.name}"`) ? [] : [`npm install --save-dev ${hull.name} @types/node`];
}

/** The lines of `GITIGNORE` that a `.gitignore` lacks which was there already. */
async function notIgnored(dir: string): Promise<string[]> {
  const bare = (line: string): string => line.trim().replace(/^\/|\/$/g, "");
  const listed = new Set((await readFile(join(dir, ".gitignore"), "utf8")).split("\n").map(bare));
  return GITIGNORE.trimEnd()
    .split("\n")
    .filter((line) => !listed.has(bare(line)));
}

function inFolder(folder: string, files: TemplateFile[]): TemplateFile[] {
  return files.map((file) => ({ ...file, path: `${folder}/${file.path}` }));
}
