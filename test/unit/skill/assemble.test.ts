import { expect, test } from "vitest";
import { utf8 } from "../../../src/bytes.ts";
import { assembleSkill } from "../../../src/skill/assemble.ts";

const TEXT = "---\nname: x\ndescription: d\nmode: llm\n---\n# Configuration\n- `A_TOKEN`\n- `B_TOKEN`\n";
const assembled = (files: { [path: string]: string }, faults: { file?: string }[] = []) =>
  assembleSkill(
    Object.entries({ "SKILL.md": TEXT, ...files }).map(([path, text]) => {
      return { path, mode: 0o644, bytes: utf8(text) };
    }),
    {
      folder: "x",
      file: "skills/x/SKILL.md",
      hooks: async () => ({
        faults: faults.map((each) => {
          return { code: "hooks_build", message: "m", hint: "h", at: { line: 2, column: 3 }, ...each };
        }),
      }),
    },
  );

test("the findings of a tool, of its file and of the skill are in one list, each with its own file", async () => {
  const tools = [
    { name: "t", description: "d", script: "scripts/a.js", "x-timeout-ms": "soon" },
    { name: "u", description: "d", script: "scripts/a.js" },
  ];
  const script = "export default () => process.env.A_TOKEN;";
  const { diagnostics } = await assembled({ "tools.json": JSON.stringify(tools), "scripts/a.js": script });
  expect(diagnostics.map(({ code, file, value }) => [code, file, value])).toEqual([
    ["not_an_integer_in_range", "skills/x/tools.json", '"soon"'],
    ["variable_not_declared", "skills/x/scripts/a.js", '"A_TOKEN"'],
    ["variable_not_declared", "skills/x/SKILL.md", '"B_TOKEN"'],
  ]);
});

test("a fault of a module that another file causes is in that file", async () => {
  const { diagnostics } = await assembled({ "hooks.js": "" }, [{}, { file: "lib.js" }]);
  expect(diagnostics.map(({ file, line, column }) => [file, line, column])).toEqual([
    ["skills/x/hooks.js", 2, 3],
    ["skills/x/lib.js", 2, 3],
  ]);
});

test.each([
  ["a/Notes.md", "a/notes.md"],
  ["caf\u00e9.md", "cafe\u0301.md"],
  ["Stra\u00dfe.md", "STRASSE.md"],
])("two files that a Mac would keep as one are a warning: %s and %s", async (first, second) => {
  const { diagnostics } = await assembled({ [first]: "", [second]: "" });
  expect(diagnostics).toContainEqual(
    expect.objectContaining({ level: "warning", code: "file_names_alike", file: `skills/x/${second}` }),
  );
});
