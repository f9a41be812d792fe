import { join } from "node:path";
import { expect, test } from "vitest";
import { buildRoots } from "../../../scripts/build/build.ts";
import {
  missingKeyLine,
  missingKeys,
  unsetVariableLine,
  unsetVariables,
} from "../../../scripts/dev/missing-keys.ts";
import { shippedModels } from "../../../src/model/registry/registry.ts";
import { folder, skillText } from "./folder.ts";

test("names the variable that each llm skill lacks; a fallback that can be called is enough", async () => {
  const project = folder({
    "skills/a/SKILL.md": skillText("a", "mode: llm"),
    "skills/b/SKILL.md": skillText("b", "mode: llm\nprovider: openai"),
    "skills/c/SKILL.md": skillText("c", "mode: llm\nprovider: mock"),
    "skills/d/SKILL.md": skillText("d", "mode: llm\nfallback: [mock/mock]"),
    "skills/e/SKILL.md": skillText("e", "run: [echo, hi]"),
    "skills/f/SKILL.md": skillText("f", "mode: llm"),
  });
  const { skills } = await buildRoots([join(project, "skills")], { projectDir: project });
  const lacking = (variables: Record<string, string>) =>
    missingKeys(skills, shippedModels, new Map(Object.entries(variables)));
  expect(lacking({})).toEqual([
    { variable: "ANTHROPIC_API_KEY", slugs: ["a", "f"], empty: false },
    { variable: "OPENAI_API_KEY", slugs: ["b"], empty: false },
  ]);
  const empty = { variable: "OPENAI_API_KEY", slugs: ["b"], empty: true };
  expect(lacking({ ANTHROPIC_API_KEY: "sk", OPENAI_API_KEY: " " })).toEqual([empty]);
  expect(missingKeyLine(empty, "b")).toContain(
    "b lacks its model: OPENAI_API_KEY is set, but empty. Hull takes the first of",
  );
});

test("names each variable that skills ask for and that is not set", async () => {
  const project = folder({
    "skills/a/SKILL.md": skillText("a", "run: [env]\ntool_env: [TOKEN, REGION, EMPTY]"),
    "skills/b/SKILL.md": skillText("b", "proxy: https://a.example/${TOKEN}"),
    "skills/c/SKILL.md": skillText("c"),
    "skills/c/tools.json": '[{"name": "t", "description": "d", "script": "t.sh", "x-env": ["MODE"]}]',
    "skills/c/t.sh": "",
  });
  const { skills } = await buildRoots([join(project, "skills")], { projectDir: project });
  const unset = unsetVariables(skills, new Map(Object.entries({ REGION: "eu", EMPTY: "" })));
  expect(unset).toEqual([
    { variable: "TOKEN", slugs: ["a", "b"] },
    { variable: "MODE", slugs: ["c"] },
  ]);
  expect(unset.map((each) => unsetVariableLine(each, each.slugs.join(" and ")))).toEqual([
    "a and b ask for TOKEN, which is not set.",
    "c asks for MODE, which is not set.",
  ]);
});
