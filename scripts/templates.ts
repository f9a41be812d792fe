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
  switch (language) {
    case "bash":
      return [
        skillFile(title, "Greets whoever the input names.", ["run: [./main.sh]"], SCRIPT_DOC),
        { path: "main.sh", text: BASH, executable: true },
      ];
    case "python":
      return [
        skillFile(title, "Greets whoever the input names.", ["run: [python3, main.py]"], SCRIPT_DOC),
        { path: "main.py", text: PYTHON },
      ];
    case "ts":
      return [
        skillFile(title, "Greets whoever the input names.", ["run: [node, main.ts]"], SCRIPT_DOC),
        { path: "main.ts", text: TYPESCRIPT },
      ];
    case "llm":
      return [skillFile(title, "Answers questions in a few sentences.", ["mode: llm"], LLM_BODY)];
    case "tools":
      return [
        skillFile(title, "Rolls dice. Use when a number should be left to chance.", ["mode: llm"], DICE_BODY),
        { path: "tools.json", text: TOOLS_JSON },
        { path: "scripts/roll_dice.js", text: ROLL_DICE },
      ];
    case "typed": {
      const description = "Rolls dice. Use when a number should be left to chance.";
      return [
        skillFile(title, description, ["mode: llm"], DICE_BODY),
        { path: "skill.ts", text: typedSkill(title, description) },
      ];
    }
    case "proxy":
      return [
        skillFile(
          title,
          "Fetches a page through Hull.",
          ["method: GET", "input: none", "proxy: https://example.com/", "proxy_method: GET"],
          "Forwards the call to the URL in `proxy`. Put a key into `headers`, as a placeholder for an environment variable.",
        ),
      ];
  }
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

const SCRIPT_DOC = "The input arrives on standard input; what the program prints is the answer.";

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

const DICE_BODY = "Roll with `roll_dice`, and tell every die and the sum.";

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

const typedSkill = (
  name: string,
  description: string,
): string => `import { defineSkill, tool } from "hullrun";
import * as z from "zod";

export default defineSkill({
  name: ${JSON.stringify(name)},
  description: ${JSON.stringify(description)},
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

const LLM_BODY = `You are a helpful assistant. Answer in plain text, in at most five sentences, in the language of the question.
If the question is unclear, say which reading you chose and answer that.`;
