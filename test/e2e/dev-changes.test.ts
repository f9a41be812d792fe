/** What changes while `hull dev` runs: imports from outside, the files of settings, and who says that a skill is stale. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { sharedHull } from "../support/shared.ts";

const tool = (word: string): string => `export const WORD = ${JSON.stringify(word)};\n`;

const hull = await sharedHull({
  args: ["--direct"],
  project: { ".env": "OPENAI_API_KEY=sk-first-value-1\n", "lib/word.ts": tool("one") },
  skills: {
    "typed/skill.ts":
      'import { defineSkill } from "hullrun";\nimport { WORD } from "../../lib/word.ts";\n' +
      "export default defineSkill({ name: 'typed', description: `Says ${WORD}. Use when asked.`, tools: [] });\n",
    "shout/SKILL.md": "---\nname: shout\ndescription: Says a word.\nrun: [echo, one]\n---\nSays it.\n",
  },
});

const described = async (): Promise<string> =>
  String((await json(await hull.call("/skills/typed/card"))).description);

test("a file that skill.ts imports from outside its folder is watched, also while it is broken", async () => {
  expect(await described()).toContain("one");
  const file = join(hull.root, "lib", "word.ts");
  await writeFile(file, tool("two"));
  await until(described, (text) => text.includes("two"));
  const at = hull.output().length;
  await writeFile(file, "export const WORD = ;\n");
  await hull.printed(/last good version kept of typed/, at);
  await writeFile(file, tool("three"));
  await until(described, (text) => text.includes("three"));
});

test("changed files of settings are announced, each with one line", async () => {
  const at = hull.output().length;
  await writeFile(join(hull.root, ".env"), "OPENAI_API_KEY=sk-second-value-2\n");
  await hull.printed(/\.env changed\. Restart hull dev to apply it\./, at);
  await writeFile(join(hull.root, "hull.toml"), 'name = "Other"\n');
  await hull.printed(/hull\.toml changed\. Restart hull dev to apply it\./, at);
  await writeFile(join(hull.root, ".env"), "OPENAI_API_KEY=sk-first-value-1\n");
  await hull.printed(/\.env is again as it was at the start\./, at);
  expect(hull.output().slice(at)).not.toContain("second-value");
  expect(
    hull
      .output()
      .slice(at)
      .match(/hull\.toml/g),
  ).toHaveLength(1);
});

test("a stale skill is marked as stale on every surface", async () => {
  const mcp = async (method: string, list: string): Promise<unknown[]> => {
    const response = await hull.post(
      "/mcp",
      { jsonrpc: "2.0", id: 1, method, params: {} },
      { accept: "application/json, text/event-stream" },
    );
    const { result } = await json<{ result: Record<string, { name: string; _meta?: object }[]> }>(response);
    return (result[list] ?? []).flatMap(({ name, _meta }) => (_meta === undefined ? [] : [[name, _meta]]));
  };
  const said = async () => {
    const cards = await json<{ slug: string; stale?: true }[]>(await hull.call("/skills"));
    const card = await hull.call("/skills/shout/card");
    const openapi = await json<{ paths: Record<string, { post: { description: string } }> }>(
      await hull.call("/openapi.json"),
    );
    const run = await hull.call("/skills/shout", "");
    await run.text();
    return {
      list: cards.filter(({ stale }) => stale).map(({ slug }) => slug),
      etag: card.headers.get("etag"),
      card: (await json(card)).stale,
      page: />shout<\/bdi>(?:(?!<\/tr>).)*>stale</s.test(await (await hull.call("/")).text()),
      openapi: openapi.paths["/skills/shout"]?.post.description.includes("Stale:"),
      run: run.headers.get("x-hull-stale"),
      tools: await mcp("tools/list", "tools"),
      prompts: await mcp("prompts/list", "prompts"),
      resources: await mcp("resources/list", "resources"),
    };
  };
  const before = await said();
  expect(before).toMatchObject({ list: [], card: undefined, page: false, openapi: false, run: null });
  expect(before).toMatchObject({ tools: [], prompts: [], resources: [] });
  const at = hull.output().length;
  await hull.write("shout/SKILL.md", "---\nname: shout\ndescription: Says a word.\nrun: 3\n---\n");
  await hull.printed(/last good version kept of shout/, at);
  const after = await said();
  const marked = ["shout", { stale: true }];
  expect(after).toMatchObject({ list: ["shout"], card: true, page: true, openapi: true, run: "1" });
  expect(after).toMatchObject({ tools: [marked], prompts: [marked], resources: [marked] });
  expect(after.etag).not.toBe(before.etag);
  const card = await json<{ diagnostics: object[] }>(await hull.call("/skills/shout/card"));
  expect(card.diagnostics).toMatchObject([{ level: "error", file: "SKILL.md", line: 4 }]);
  const page = await (await hull.call("/console/skills/shout")).text();
  expect(page).toContain("its last good version is served. <code>SKILL.md:4</code>");
});
