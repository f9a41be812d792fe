/** Plain Agent Skills in agent runs: model registry, activation, files. */
import { expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LONG = `${"0123456789".repeat(2000)}END`;

const { hull, fake } = await commonHull({
  "pdf-tools/SKILL.md":
    "---\nname: pdf-tools\ndescription: Reads R&D <x>. Use when: asked\nversion: 1.0\n---\nPDF BODY with $ARGUMENTS.\nSee references/a.md.\n",
  "pdf-tools/references/a.md": "# Reference\n",
  "pdf-tools/references/long.txt": LONG,
  "pdf-tools/references/latin.txt": Buffer.from("caf\xe9", "latin1"),
  "pdf-tools/data.bin": "\0\0\0",
  "pdf-tools/assets/dot.png": Buffer.from(PIXEL, "base64"),
  "pdf-tools/SKILL.sh": "x",
  "guide/SKILL.md":
    "---\nname: guide\ndescription: d\nprovider: openai\nmodel: gpt-4o\n---\nGUIDE for $ARGUMENTS, first $0, at ${HULL_SKILL_DIR}.\nSee references/a.md and dot.png.\n",
  "guide/references/a.md": "# Guidance\n",
  "guide/dot.png": Buffer.from(PIXEL, "base64"),
  "plain/SKILL.md": "---\nname: plain\ndescription: d\nprovider: openai\nmodel: gpt-4o\n---\nIt costs $5.\n",
  "plain/references/a.md": "# Not named\n",
  "quiet/SKILL.md": "---\nname: quiet\ndescription: d\ndisable-model-invocation: true\n---\nQUIET BODY\n",
});

const run = async (prompt: string, turns: object[] = []) => {
  fake.script([...turns, { text: "done" }]);
  const options = { provider: "openai", model: "gpt-4o", skills: ["quiet", "pdf-tools"] };
  const response = await hull.post("/runs", { prompt, options });
  const result = await json(response);
  expect(result.status).toBe("done");
  return result;
};
const messages = (request: number): { role: string; content: unknown }[] =>
  JSON.parse(JSON.stringify(fake.requests[request]?.body.messages ?? []));
const reads = (...calls: object[]) => ({
  tool_calls: calls.map((args) => ({
    name: "read_skill_resource",
    arguments: { skill: "pdf-tools", ...args },
  })),
});
const answers = (request: number): string[] =>
  messages(request).flatMap(({ role, content }) => (role === "tool" ? [String(content)] : []));

test("the system text contains the list of skills, the same each time, without hidden skills", async () => {
  await run("go");
  await run("go");
  const [system = "", again] = [0, 1].map((n) => String(messages(n)[0]?.content));
  expect(system).toMatch(
    /<name>\npdf-tools\n<\/name>\n<description>\nReads R&amp;D &lt;x&gt;\. Use when: asked\n<\/description>\n<location>\n\/\S+\/skills\/[0-9a-f]{16}\/pdf-tools\/SKILL\.md\n/,
  );
  expect(system).not.toContain("quiet");
  expect(again).toBe(system);
  const tools = JSON.stringify(fake.requests[0]?.body.tools);
  expect(tools).toContain('"enum":["pdf-tools"]');
});

test("load_skill brings the body without frontmatter, and the names of its files", async () => {
  await run("go", [{ tool_calls: [{ name: "load_skill", arguments: { name: "pdf-tools" } }] }]);
  const [text = ""] = answers(1);
  expect(text).toContain("PDF BODY with ");
  expect(text).toContain("<file>references/a.md</file>");
  expect(text).not.toContain("SKILL.md</file>");
  expect(text).not.toContain("version: 1.0");
});

test("a message names a skill, also one that models do not see", async () => {
  await run("/pdf-tools do it");
  expect(
    messages(0).map(({ role, content }) => [role, String(content).includes("PDF BODY with do it.")]),
  ).toEqual([
    ["system", true],
    ["user", false],
  ]);
  expect(messages(0)[1]?.content).toBe("do it");
  await run("$quiet go");
  expect(String(messages(1)[0]?.content)).toContain("QUIET BODY");
});

test("files: text in slices, other bytes by their facts, nothing from outside", async () => {
  await run("go", [
    reads(
      { path: "references/a.md" },
      { path: "./references/../SKILL.md" },
      { path: "references/long.txt" },
      { path: "references/long.txt", offset: 16000, limit: 10 },
      { path: "references/long.txt", offset: 20000 },
      { path: "data.bin" },
      { path: "references/b.md" },
      { path: "../../hull.toml" },
    ),
  ]);
  const found = answers(1);
  expect(found[0]).toBe("[references/a.md: characters 0 to 12 of 12]\n# Reference\n");
  expect(found[1]).toContain("name: pdf-tools");
  expect(found[2]).toBe(
    `[references/long.txt: characters 0 to 16000 of 20003, next_offset 16000]\n${LONG.slice(0, 16000)}`,
  );
  expect(found[3]).toBe(
    "[references/long.txt: characters 16000 to 16010 of 20003, next_offset 16010]\n0123456789",
  );
  expect(found[4]).toBe("[references/long.txt: characters 20000 to 20003 of 20003]\nEND");
  expect(JSON.parse(found[5] ?? "")).toEqual({
    path: "data.bin",
    size_bytes: 3,
    mime: "application/octet-stream",
  });
  expect(JSON.parse(found[6] ?? "").error).toContain("references/a.md");
  expect(JSON.parse(found[7] ?? "").error).toContain("not inside");
});

test("a run that is a skill reads its files too", async () => {
  fake.script([reads({ path: "references/a.md" }), { text: "done" }]);
  const options = { provider: "openai", model: "gpt-4o", skill: "pdf-tools" };
  await hull.post("/runs", { prompt: "go", options });
  expect(String(messages(0)[0]?.content)).toContain("<file>references/a.md</file>");
  expect(answers(1)[0]).toContain("# Reference");
});

test("the model of a served skill that has files reads them too", async () => {
  const path = { skill: "guide", path: "references/a.md" };
  for (const headers of [{}, { prefer: "respond-async" }]) {
    fake.requests.length = 0;
    fake.script([
      reads(path, { ...path, path: "../plain/SKILL.md" }, { skill: "plain", path: "a" }),
      reads({ skill: "guide", path: "dot.png" }),
      { text: "done" },
    ]);
    const response = await hull.call("/skills/guide", "Ada and Bob", {
      headers: { "content-type": "text/plain", ...headers },
    });
    expect(response.ok).toBe(true);
    await until(
      async () => fake.requests.length,
      (count) => count === 3,
    );
    const system = String(messages(0)[0]?.content);
    const dir = /^Base directory for this skill: (\S+)\n/.exec(system)?.[1];
    expect(dir).toMatch(/\/skills\/[0-9a-f]{16}\/guide$/);
    expect(system).toContain(`GUIDE for Ada and Bob, first Ada, at ${dir}.`);
    expect(system).toContain("<file>references/a.md</file>");
    const [text, outside, foreign] = answers(1);
    expect(text).toBe("[references/a.md: characters 0 to 11 of 11]\n# Guidance\n");
    expect([outside, foreign]).toEqual([
      expect.stringContaining("not inside"),
      expect.stringContaining("There are: guide"),
    ]);
    expect(JSON.stringify(messages(2).at(-1))).toContain(`data:image/png;base64,${PIXEL}`);
  }
});

test("the arguments of a served skill are the caller's words, without the files of the request", async () => {
  const form = new FormData();
  form.append("prompt", "Ada and Bob");
  form.append("file", new File(["1"], "a.txt", { type: "text/plain" }));
  fake.script([{ text: "done" }]);
  await hull.call("/skills/guide", form);
  expect(String(messages(0)[0]?.content)).toContain("GUIDE for Ada and Bob, first Ada,");
});

test("a served skill's files can be read although its text names none; prices stay", async () => {
  fake.script([{ text: "done" }]);
  await hull.call("/skills/plain", "one two three four five six", {
    headers: { "content-type": "text/plain" },
  });
  expect(messages(0)[0]?.content).toContain("\n\nIt costs $5.\n");
  expect(JSON.stringify(fake.requests[0]?.body.tools)).toContain("read_skill_resource");
});

test("a text that is not UTF-8 is text all the same, as Read shows it", async () => {
  await run("go", [reads({ path: "references/latin.txt" })]);
  expect(answers(1)).toEqual(["[references/latin.txt: characters 0 to 4 of 4]\ncaf\ufffd"]);
});

test("an image comes as an image", async () => {
  await run("go", [reads({ path: "assets/dot.png" })]);
  const last = messages(1).at(-1);
  expect(last?.role).toBe("user");
  expect(JSON.stringify(last?.content)).toContain(`data:image/png;base64,${PIXEL}`);
});
