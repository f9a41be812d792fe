import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { card, claimAddress, makeCatalog, makeRecord, type SourceFile } from "../../../src/skill/bundle.ts";
import { canonicalJson } from "../../../src/skill/canonical.ts";
import type { Manifest } from "../../../src/skill/manifest.ts";
import { parseManifest } from "../../../src/skill/parse.ts";
import { RouteTable } from "../../../src/skill/route.ts";
import { readTar } from "../../../src/skill/tar.ts";

const bytes = (text: string) => new Uint8Array(new TextEncoder().encode(text));
const sha256 = (data: Uint8Array | string) => createHash("sha256").update(data).digest("hex");

function manifest(fields: string, name = "My Skill"): Manifest {
  const parsed = parseManifest(`---\nname: ${name}\ndescription: d\n${fields}\n---\nBody.`, {
    folder: "f",
    file: "f/SKILL.md",
  });
  return parsed.manifest ?? expect.fail(JSON.stringify(parsed.diagnostics));
}

const FILES: SourceFile[] = [
  { path: "run.sh", mode: 0o644, bytes: bytes("#!/bin/sh\n") },
  { path: "SKILL.md", mode: 0o644, bytes: bytes("---\n") },
  { path: "data/tool", mode: 0o755, bytes: bytes("x") },
];

describe("records", () => {
  test("hold the sorted file index; what is started directly becomes executable", async () => {
    const { record, digest, json, pack } = await makeRecord(manifest("run: ./run.sh"), "Body.", FILES);
    expect(record.files.map((f) => [f.path, f.mode])).toEqual([
      ["SKILL.md", 0o644],
      ["data/tool", 0o755],
      ["run.sh", 0o755],
    ]);
    expect(record.files[1]).toMatchObject({ size: 1, sha256: sha256("x") });
    expect(JSON.parse(json)).toEqual(record);
    expect(digest).toBe(sha256(json));
    expect(record.pack).toBe(sha256(pack ?? ""));
    expect(readTar(pack ?? bytes("")).map((f) => f.path)).toEqual(["SKILL.md", "data/tool", "run.sh"]);
  });

  test("do not depend on file order or on the hash implementation", async () => {
    const one = await makeRecord(manifest("run: ./run.sh"), "Body.", FILES);
    const two = await makeRecord(manifest("run: ./run.sh"), "Body.", [...FILES].reverse(), (data) =>
      sha256(data),
    );
    expect(two).toEqual(one);
    const other = await makeRecord(manifest("run: ./run.sh"), "Body!", FILES);
    expect(other.digest).not.toBe(one.digest);
  });

  test.each([
    ["mode: llm", true],
    ["serve: page.html", false],
    ["proxy: https://a.example/", true],
    ["tools: [{name: t, description: d, command: [true-ish]}]", true],
  ])("%s: its pack has the page: %s", async (fields, packed) => {
    const page = { path: "page.html", mode: 0o644 as const, bytes: new Uint8Array(1) };
    const { pack, record } = await makeRecord(manifest(fields), "Body.", [...FILES, page]);
    expect(record.files.map(({ path }) => path)).toContain("page.html");
    expect(readTar(pack).some(({ path }) => path === "page.html")).toBe(packed);
  });

  test("canonical JSON sorts keys at every level and leaves order of lists", () => {
    expect(canonicalJson({ b: [2, { z: 1, a: null }], a: "ü\n", u: undefined, é: -0 })).toBe(
      '{"a":"ü\\n","b":[2,{"a":null,"z":1}],"é":0}',
    );
  });
});

test("cards and the catalog", async () => {
  const { record, digest } = await makeRecord(
    manifest("tools: [{name: t, description: d, command: [x]}]\noutput_mime: text/csv"),
    "Body.",
    FILES,
  );
  const shown = card(record, digest);
  expect(shown).toEqual({
    name: "My Skill",
    slug: "my-skill",
    description: "d",
    mode: "llm",
    method: "POST",
    route: "/skills/my-skill",
    input: "text",
    output: "text",
    outputMime: "text/csv",
    tools: ["t"],
    version: digest,
    workspaceTools: true,
  });
  const agent = await makeRecord(manifest("context: agent"), "Body.", []);
  expect(card(agent.record, agent.digest)).toMatchObject({ slug: "my-skill", agent: true });
  const second = { ...shown, slug: "a", route: "/skills/a" };
  const made = await makeCatalog([shown, second], "{}", []);
  const { catalog, id, json } = made;
  expect(catalog.cards.map((c) => c.slug)).toEqual(["a", "my-skill"]);
  expect(id).toBe(sha256(json));
  expect(await makeCatalog([second, shown], "{}", [])).toEqual(made);
  expect((await makeCatalog([second, shown], "{ }", [])).id).not.toBe(id);
});

describe("addresses across skills (S6)", () => {
  const skill = (folder: string, name: string, route?: string) => ({
    folder,
    file: `deep/${folder}/SKILL.md`,
    manifest: manifest(`run: x${route === undefined ? "" : `\nroute: ${route}`}`, name),
    positions: new Map([
      ["name", { line: 2, column: 1 }],
      ["route", { line: 5, column: 1 }],
    ]),
  });
  type Skill = ReturnType<typeof skill>;
  test.each<[string, Skill[], [string, string, number][]]>([
    ["different", [skill("a", "A"), skill("b", "B")], []],
    ["same slug", [skill("a", "X y"), skill("b", "x-Y")], [["duplicate_slug", "b", 2]]],
    ["same route", [skill("a", "A", "/w"), skill("b", "B", "w/")], [["duplicate_route", "b", 5]]],
    [
      "a later route is another skill's own path",
      [skill("a", "A"), skill("b", "B", "/skills/a")],
      [["duplicate_route", "b", 5]],
    ],
    [
      "a later route below another's path",
      [skill("a", "A"), skill("b", "B", "/skills/a/x")],
      [["reserved_route", "b", 5]],
    ],
    [
      "an earlier route in a later slug's path",
      [skill("a", "A", "/skills/b/x"), skill("b", "B")],
      [["reserved_route", "b", 2]],
    ],
    ["a route below the skill's own path", [skill("a", "A", "/skills/a/x"), skill("b", "B")], []],
  ])("%s", (_, skills, expected) => {
    const table = new RouteTable();
    const found = skills.flatMap((skill) => claimAddress(table, skill) ?? []);
    expect(found.map((d) => [d.code, d.skill, d.line])).toEqual(expected);
    for (const d of found) expect(d.message).toMatch(/skill in deep\/a\b/);
  });
});
