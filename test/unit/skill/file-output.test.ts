/** Llm skills with `output: file`: only with tools to make one. */

import { expect, test } from "vitest";
import { utf8 } from "../../../src/bytes.ts";
import { assembleSkill } from "../../../src/skill/assemble.ts";

test.each([
  ["output: file", "Draw.", "5 output"],
  ["output_mime: image/png", "Draw.", "5 output_mime"],
  ["output: file\nworkspace_tools: false", "```bash\ndraw\n```", "5 output"],
  ["output: file\nworkspace_tools: [Write]", "Draw.", null],
  ["output_mime: image/png", "```bash\ndraw\n```", null],
])("%j with %j", async (fields, body, found) => {
  const text = `---\nname: chart\ndescription: Draws charts\nmode: llm\n${fields}\n---\n${body}\n`;
  const files = [{ path: "SKILL.md", mode: 0o644 as const, bytes: utf8(text) }];
  const { skill, diagnostics } = await assembleSkill(files, { folder: "chart", file: "chart/SKILL.md" });
  const told = diagnostics.filter(({ code }) => code === "output_file_llm");
  expect(told.map(({ line, field }) => `${line} ${field}`)).toEqual(found === null ? [] : [found]);
  expect(skill?.card.output ?? null).toBe(found === null ? "file" : null);
});
