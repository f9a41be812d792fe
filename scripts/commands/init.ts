/** `hull init`: a project that can be served at once. */
import { resolve } from "node:path";
import { type Command, EXIT, parseFlags } from "../command.ts";
import { CONFIG_FILE } from "../config.ts";
import { REPO_DIR } from "../dev/places.ts";
import { shellWord } from "../shell-word.ts";
import { starterSkill, type TemplateFile } from "../templates.ts";
import { writeNewFiles } from "../write-files.ts";

const CONFIG = `# Settings of this Hull project. Every key may be left out.
skills = "skills"
port = 3000
`;

const GITIGNORE = `.hull/
.wrangler/
.env
.env.*
.dev.vars
node_modules/
__pycache__/
`;

export const command: Command = {
  name: "init",
  summary: "Make a project with starter skills",
  usage: `
Usage: hull init [dir]

Writes hull.toml, .gitignore and two skills. It leaves existing files unchanged.
`,
  async run(argv) {
    const { positionals } = parseFlags(argv, {}, 1);
    const dir = resolve(positionals[0] ?? ".");
    const files: TemplateFile[] = [
      { path: CONFIG_FILE, text: CONFIG },
      { path: ".gitignore", text: GITIGNORE },
      ...inFolder("skills/hello", starterSkill("Hello", "bash")),
      ...inFolder("skills/assistant", starterSkill("Assistant", "llm")),
    ];
    const { written, kept } = await writeNewFiles(dir, files);
    const lines = [...written.map((path) => `  wrote  ${path}`), ...kept.map((path) => `  kept   ${path}`)];
    const installed = REPO_DIR.includes("node_modules");
    const steps = [
      // Without a package of its own in the project, npx finds hull only where Hull is.
      ...(installed ? [] : [`cd ${REPO_DIR}`]),
      `npx hull dev ${shellWord(dir)}`,
      "curl -X POST localhost:3000/skills/hello --data you",
    ];
    process.stdout.write(`${lines.join("\n")}\n\nNext:\n${steps.map((step) => `  ${step}`).join("\n")}\n`);
    return EXIT.ok;
  },
};

function inFolder(folder: string, files: TemplateFile[]): TemplateFile[] {
  return files.map((file) => ({ ...file, path: `${folder}/${file.path}` }));
}
