/** Skill Tools in the registry: uploads, and what cards show to whom. */
import { afterEach, beforeAll, expect, it } from "vitest";
import type { SkillRecord } from "../../src/skill/manifest.ts";
import { Client, mockSkill } from "./served.ts";
import { ADMIN, FOLDER, keyed, Tenant, tenant } from "./tenant.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const tool = (name: string, fields: object = {}) => ({ name, description: `The ${name} tool.`, ...fields });
const PLAIN = "export default async (args) => args;\n";

let red: Tenant;
beforeAll(async () => {
  await new Client().publish(FOLDER);
  red = await tenant("red", "invoke", "publish");
});
afterEach(async () => {
  await red.remove("fox");
});

/** Uploads a skill with these tools; answers its record and the findings. */
async function upload(tools: object | string, files: Record<string, string> = {}, client = red) {
  const text = typeof tools === "string" ? tools : JSON.stringify(tools);
  const answer = await client.put("fox", { "SKILL.md": mockSkill("fox"), "tools.json": text, ...files });
  expect(answer.status).toBe(201);
  const { digest, warnings } = await answer.json<{
    digest: string;
    warnings: { level: string; code: string; file: string }[];
  }>();
  const record = await keyed.env.SKILLS.get<SkillRecord>(`uploaded/skill:${digest}`, "json");
  // What an upload's text asks for without `allowed-tools` is test/unit/scripts/needs.test.ts's subject.
  const others = warnings.filter(({ code }) => code !== "workspace_tools_not_granted");
  return { record, found: others.map(({ level, code, file }) => `${level} ${code} ${file}`) };
}

it("H4: an upload's plain JavaScript is its own module", async () => {
  const { record, found } = await upload([tool("a", { script: "scripts/a.js" })], { "scripts/a.js": PLAIN });
  expect(found).toEqual([]);
  expect(record?.tools).toMatchObject([
    { tier: "isolate", script: "scripts/a.js", module: expect.any(String) },
  ]);
  expect(await keyed.env.SKILLS.get(`uploaded/module:${record?.tools?.[0]?.module}`)).toBe(PLAIN);
  expect(record?.pack).not.toBeNull();
});

it.each<[string, string, object, string]>([
  ["Node's modules only", 'import { join } from "node:path";\nexport default () => join;', {}, "isolate"],
  ["a file of the skill", `import { x } ${'from "./x.js"'};\nexport default () => x;`, {}, "runner"],
  [
    "what needs a process",
    'import { spawn } from "node:child_process";\nexport default () => spawn;',
    {},
    "runner",
  ],
  ["what another file needs", `import { y } ${'from "./y.js"'};\nexport default () => y;`, {}, "runner"],
  ["a tier that its author sets", PLAIN, { "x-tier": "runner" }, "runner"],
])("4.1: an upload with %s is routed by the scan of its text", async (_, script, fields, tier) => {
  const { record, found } = await upload([tool("a", { script: "scripts/a.js", ...fields })], {
    "scripts/a.js": script,
    "scripts/x.js": "export const x = 1;",
    "scripts/y.js": 'import net from "node:net";\nexport const y = net;',
  });
  expect(found).toEqual([]);
  expect(record?.tools).toMatchObject([{ tier, tier_reason: expect.any(String) }]);
});

it.each<[string, string, object, string]>([
  ["TypeScript", "scripts/a.ts", {}, "error handler_needs_build tools.json"],
  ["a package", "scripts/a.js", {}, "warning handler_import tools.json"],
  [
    "an isolate for what imports",
    "scripts/a.js",
    { "x-tier": "isolate" },
    "error handler_needs_build tools.json",
  ],
])("4.1: an upload with %s is refused with the hint to bundle first", async (_, path, fields, finding) => {
  const { found } = await upload([tool("a", { script: path, ...fields })], {
    [path]: 'import pad from "left-pad";\nexport default () => pad;',
  });
  expect(found).toEqual([finding]);
});

it("M1: an upload with a broken tools.json is served without tools", async () => {
  const { record, found } = await upload("[");
  expect(found).toEqual(["error manifest_json tools.json"]);
  expect(record?.tools).toEqual([]);
});

it("H8: an upload's x-env is warned of, unless HULL_GRANTS names it; a provider's key never is one", async () => {
  const tools = [tool("a", { script: "scripts/a.js", "x-env": ["TOKEN", "OTHER", "OPENAI_API_KEY"] })];
  const files = { "scripts/a.js": PLAIN };
  const granting = new Client({ HULL_ADMIN_KEY: ADMIN, HULL_GRANTS: '{"red/fox": ["TOKEN"]}' });
  const { record, found } = await upload(tools, files, new Tenant(granting, red.key));
  expect(found).toEqual([
    "warning provider_key_withheld tools.json",
    "warning variable_not_granted SKILL.md",
  ]);
  expect(record?.tools?.[0]?.env).toEqual(["TOKEN", "OTHER"]);
});

it("H8: an upload is scanned for keys", async () => {
  const { found } = await upload("[]", { "notes.md": `AKIA${"A".repeat(16)}` });
  expect(found).toEqual(["warning secret_in_file notes.md"]);
});

it("8.1: an upload's skill.ts has to be built first", async () => {
  const answer = await red.put("fox", { "SKILL.md": mockSkill("fox"), "skill.ts": "export default 1;" });
  expect(answer.status).toBe(422);
  expect(await answer.json()).toMatchObject({ diagnostics: [{ code: "typed_needs_build" }] });
});

it("the card shows tools to everybody, diagnostics and details to keys that may publish", async () => {
  const tools = JSON.stringify([
    tool("look", { script: "scripts/a.js", "x-requires-network": true, "x-side-effects": true }),
    tool("secret_door", { "x-hidden": true }),
    { name: "bare" },
  ]);
  const further = { "tools.json": bytes(tools), "scripts/a.js": bytes(PLAIN) };
  await new Client().publish({ cat: mockSkill("cat"), dog: mockSkill("dog") }, further);
  const reader = await tenant("blue", "invoke");
  const plain = await reader.get<Record<string, unknown>>("/skills/dog/card");
  expect(plain.tools).toEqual(["look"]);
  expect(plain).not.toHaveProperty("tool_details");
  expect(plain).not.toHaveProperty("diagnostics");
  expect(plain).not.toHaveProperty("files");
  const full = await red.get<Record<string, unknown>>("/skills/dog/card");
  expect(full.diagnostics).toMatchObject([
    { code: "tool_incomplete", level: "warning", skill: "dog", file: "tools.json" },
  ]);
  expect(full.files).toContainEqual({ path: "scripts/a.js", size: bytes(PLAIN).length });
  expect(full.tool_details).toEqual([
    {
      name: "look",
      description: "The look tool.",
      parameters: expect.objectContaining({ type: "object" }),
      tier: "isolate",
      tier_reason: expect.stringContaining("no process"),
      risk: "dangerous",
      hidden: false,
      script: "scripts/a.js",
      overrides: ["cat"],
    },
    {
      name: "secret_door",
      description: "The secret_door tool.",
      parameters: expect.objectContaining({ type: "object" }),
      tier: "stub",
      risk: "safe",
      hidden: true,
      overrides: ["cat"],
    },
  ]);
  const other = await red.get<{ tool_details: object[] }>("/skills/cat/card");
  expect(other.tool_details[0]).not.toHaveProperty("overrides");
  const listed = await red.get<Record<string, unknown>[]>("/skills");
  expect(listed.every((card) => !("tool_details" in card) && !("diagnostics" in card))).toBe(true);
  await new Client().publish(FOLDER);
});

it("a card that a key may see more of has another validator", async () => {
  const reader = await tenant("blue", "invoke");
  const short = (await reader.fetch("/skills/cat/card")).headers.get("etag") ?? "";
  const full = (await red.fetch("/skills/cat/card")).headers.get("etag") ?? "";
  expect((await red.fetch("/skills/cat/card", { headers: { "if-none-match": short } })).status).toBe(200);
  expect((await red.fetch("/skills/cat/card", { headers: { "if-none-match": full } })).status).toBe(304);
  expect((await reader.fetch("/skills/cat/card", { headers: { "if-none-match": short } })).status).toBe(304);
});
