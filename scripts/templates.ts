/** Starter skills for `hull new` and `hull init`. */
import { stripControls } from "../src/skill/fields.ts";

export const LANGUAGES = ["bash", "python", "ts", "llm", "proxy", "tools", "typed"] as const;
type Language = (typeof LANGUAGES)[number];

export interface TemplateFile {
  path: string;
  text: string;
  executable?: true;
}

/** The files of a starter skill. Whatever the name contains, the frontmatter is valid YAML. */
export function starterSkill(name: string, language: Language): TemplateFile[] {
  const title = stripControls(name).trim();
  const { description, fields, body, files } = STARTERS[language];
  return [skillFile(title, description, fields, body), ...files(title)];
}

function skillFile(name: string, description: string, fields: string[], body: string): TemplateFile {
  const lines = ["---", `name: ${quoted(name)}`, `description: ${description}`, ...fields, "---", body, ""];
  return { path: "SKILL.md", text: lines.join("\n") };
}

/** Unquoted if YAML reads it as text, else a JSON string, which YAML reads too. */
function quoted(text: string): string {
  const plain =
    /^[A-Za-z][A-Za-z0-9 _-]*[A-Za-z0-9]$/.test(text) && !/^(?:true|false|null|yes|no|on|off)$/i.test(text);
  return plain ? text : JSON.stringify(text);
}

const BASH = `#!/usr/bin/env bash
set -euo pipefail

name=$(cat)
printf 'Hello, %s!\\n' "\${name:-world}"
`;

const PYTHON = `import sys

name = sys.stdin.read().strip()
print(f"Hello, {name or 'world'}!")
`;

const TYPESCRIPT = `let name = "";
for await (const chunk of process.stdin) name += chunk;
console.log(\`Hello, \${name.trim() || "world"}!\`);
`;

const DICE = "Rolls dice. Use when a number should be left to chance.";

const TOOLS_JSON = `[
  {
    "name": "roll_dice",
    "description": "Rolls dice and answers what each of them shows.",
    "script": "scripts/roll_dice.js",
    "parameters": {
      "dice": { "type": "integer", "description": "How many dice." },
      "sides": { "type": "integer", "description": "Sides of each, 6 unless given.", "optional": true }
    }
  }
]
`;

const ROLL_DICE = `export default async function rollDice({ dice, sides = 6 }) {
  return { rolls: Array.from({ length: dice }, () => 1 + Math.floor(Math.random() * sides)) };
}
`;

const typedSkill = (name: string): string => `import { defineSkill, tool } from "hullrun";
import * as z from "zod";

export default defineSkill({
  name: ${JSON.stringify(name)},
  description: ${JSON.stringify(DICE)},
  tools: [
    tool({
      name: "roll_dice",
      description: "Rolls dice and answers what each of them shows.",
      input: z.object({
        dice: z.int().min(1).max(100).describe("How many dice."),
        sides: z.int().min(2).default(6).describe("Sides of each."),
      }),
      run: ({ dice, sides }) => ({
        rolls: Array.from({ length: dice }, () => 1 + Math.floor(Math.random() * sides)),
      }),
    }),
  ],
});
`;

interface Starter {
  description: string;
  /** Lines of its frontmatter. */
  fields: string[];
  body: string;
  /** Those next to its SKILL.md. */
  files: (title: string) => TemplateFile[];
}

const script = (run: string, ...files: TemplateFile[]): Starter => ({
  description: "Greets whoever the input names.",
  fields: [`run: ${run}`],
  body: "The input arrives on standard input; what the program prints is the answer.",
  files: () => files,
});

const dice = (files: Starter["files"]): Starter => ({
  description: DICE,
  fields: ["mode: llm"],
  body: "Roll with `roll_dice`, and tell every die and the sum.",
  files,
});

const STARTERS: { readonly [language in Language]: Starter } = {
  bash: script("[./main.sh]", { path: "main.sh", text: BASH, executable: true }),
  python: script("[python3, main.py]", { path: "main.py", text: PYTHON }),
  ts: script("[node, main.ts]", { path: "main.ts", text: TYPESCRIPT }),
  llm: {
    description: "Answers questions in a few sentences.",
    fields: ["mode: llm"],
    body: `You are a helpful assistant. Answer in plain text, in at most five sentences, in the language of the question.
If the question is unclear, say which reading you chose and answer that.`,
    files: () => [],
  },
  proxy: {
    description: "Fetches a page through Hull.",
    fields: ["method: GET", "input: none", "proxy: https://example.com/", "proxy_method: GET"],
    body: "Forwards the call to the URL in `proxy`. Put a key into `headers`, as a placeholder for an environment variable.",
    files: () => [],
  },
  tools: dice(() => [
    { path: "tools.json", text: TOOLS_JSON },
    { path: "scripts/roll_dice.js", text: ROLL_DICE },
  ]),
  typed: dice((title) => [{ path: "skill.ts", text: typedSkill(title) }]),
};
