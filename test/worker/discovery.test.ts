/** How agents find skills: the index of the discovery RFC, the files that it names, llms.txt, MCP's extension for skills. */

import { beforeAll, describe, expect, it } from "vitest";
import { sha256 } from "../../src/bytes.ts";
import { readZip } from "../../src/skill/zip.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";
import { ADMIN, type Tenant, tenant } from "./tenant.ts";

const INDEX = "/.well-known/agent-skills/index.json";
const config = { cors_origins: [], allowed_hosts: [], allowed_origins: [], name: "zoo" };
/** One deployment with keys, one whose hull.toml makes a skill public. */
const secret = new Client({ HULL_ADMIN_KEY: ADMIN });
const opened = new Client({
  HULL_ADMIN_KEY: ADMIN,
  HULL_CONFIG: JSON.stringify({ ...config, public_skills: ["lone"] }),
});
const local = new Client(LOCAL);

interface Entry {
  name: string;
  type: string;
  url: string;
  digest: string;
}
const indexOf = async (answer: Response): Promise<Entry[]> =>
  (await answer.json<{ skills: Entry[] }>()).skills;
const digestOf = async (answer: Response): Promise<string> =>
  `sha256:${await sha256(new Uint8Array(await answer.arrayBuffer()))}`;

beforeAll(async () => {
  await local.publish({
    lone: mockSkill("lone"),
    pack: { "SKILL.md": mockSkill("pack"), "scripts/a.sh": "echo a\n", "e\u0301.md": "E" },
  });
});

it("the index names each skill with the digest of what its address answers", async () => {
  const answer = await local.fetch(INDEX);
  expect(answer.headers.get("link")).toContain('rel="agent-skills"');
  const document = await answer.clone().json<{ $schema: string }>();
  expect(document.$schema).toBe("https://schemas.agentskills.io/discovery/0.2.0/schema.json");
  const entries = await indexOf(answer);
  expect(entries.map(({ name, type }) => [name, type])).toEqual([
    ["lone", "skill-md"],
    ["pack", "archive"],
  ]);
  for (const { url, digest } of entries) expect(await digestOf(await local.fetch(url))).toBe(digest);
  const zip = await (await local.fetch(entries[1]?.url ?? "")).arrayBuffer();
  const files = await readZip(new Uint8Array(zip), { max_bytes: 10_000, max_entries: 10 });
  expect(files.map(({ path }) => path)).toEqual(["SKILL.md", "e\u0301.md", "scripts/a.sh"]);
  const script = await local.fetch("/.well-known/agent-skills/pack/scripts/a.sh");
  expect(await script.text()).toBe("echo a\n");
  for (const name of ["%C3%A9.md", "e%CC%81.md"])
    expect(await (await local.fetch(`/.well-known/agent-skills/pack/${name}`)).text()).toBe("E");
  const tag = answer.headers.get("etag") ?? "";
  expect((await local.fetch(INDEX, { headers: { "if-none-match": tag } })).status).toBe(304);
});

it.each([
  "/.well-known/agent-skills/none/SKILL.md",
  "/.well-known/agent-skills/pack/../x",
  "/.well-known/agent-skills/pack.tar",
])("%s does not exist", async (path) => {
  expect((await local.fetch(path)).status).toBe(404);
});

it("llms.txt and the start page link to everything here", async () => {
  const text = await (await local.fetch("/llms.txt")).text();
  expect(text).toMatch(/^# \S/);
  expect(text).toContain("[lone](/skills/lone/card)");
  expect(text).toContain(INDEX);
  expect((await local.fetch("/")).headers.get("link")).toContain("/llms.txt");
});

describe("attack: a caller without a key", () => {
  it("finds nothing if hull.toml makes nothing public", async () => {
    for (const path of [
      INDEX,
      "/llms.txt",
      "/.well-known/agent-skills/lone/SKILL.md",
      "/.well-known/agent-skills/pack.zip",
    ])
      expect((await secret.fetch(path)).status).toBe(401);
  });

  it("finds what hull.toml makes public, and nothing else; a wrong key is refused", async () => {
    expect((await indexOf(await opened.fetch(INDEX))).map(({ name }) => name)).toEqual(["lone"]);
    expect(await (await opened.fetch("/llms.txt")).text()).not.toContain("pack");
    expect((await opened.fetch("/.well-known/agent-skills/lone/SKILL.md")).status).toBe(200);
    const [hidden, none] = await Promise.all(
      ["pack", "none"].map((name) => opened.fetch(`/.well-known/agent-skills/${name}/SKILL.md`)),
    );
    expect([hidden?.status, none?.status]).toEqual([404, 404]);
    expect((await opened.fetch("/skills/lone", { method: "POST", body: "hi" })).status).toBe(401);
    const wrong = { headers: { authorization: "Bearer hull_wrong" } };
    expect((await opened.fetch(INDEX, wrong)).status).toBe(401);
  });

  it("finds none of a tenant's uploads with another tenant's key", async () => {
    const [red, blue] = [await tenant("red", "invoke", "publish"), await tenant("blue", "invoke")];
    await red.put("mine", { "SKILL.md": mockSkill("mine") });
    const seen = async (one: Tenant) => (await indexOf(await one.fetch(INDEX))).map(({ name }) => name);
    expect(await seen(red)).toContain("mine");
    expect(await seen(blue)).not.toContain("mine");
    expect((await blue.fetch("/.well-known/agent-skills/mine/SKILL.md")).status).toBe(404);
  });
});

describe("MCP's extension for skills", () => {
  const call = async (method: string, params: object) => {
    const body = {
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    };
    const name = "uri" in params ? { "mcp-name": String(params.uri) } : {};
    const answer = await local.fetch("/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...name,
      },
      body: JSON.stringify(body),
    });
    return answer.json<{ result: Record<string, unknown>; error?: { code: number } }>();
  };

  it("is declared, and lists each skill with its whole frontmatter and the digests of its files", async () => {
    const { result: discovered } = await call("server/discover", {});
    expect(discovered).toMatchObject({
      capabilities: { extensions: { "io.modelcontextprotocol/skills": {} } },
    });
    const { result } = await call("skills/list", {});
    const skills = result.skills as {
      uri: string;
      frontmatter: object;
      resources: { uri: string; digest: string }[];
    }[];
    expect(skills.map(({ uri }) => uri)).toEqual(["skill://lone/SKILL.md", "skill://pack/SKILL.md"]);
    expect(skills[1]?.frontmatter).toMatchObject({ name: "pack", provider: "mock" });
    for (const { uri, digest } of skills[1]?.resources ?? []) {
      const { result: read } = await call("resources/read", { uri });
      const [{ text } = { text: "" }] = read.contents as { text: string }[];
      expect(`sha256:${await sha256(new Uint8Array(new TextEncoder().encode(text)))}`).toBe(digest);
    }
    expect((await call("skills/get", { uri: "skill://pack/SKILL.md" })).result.skill).toEqual(skills[1]);
  });

  it("has no other address", async () => {
    for (const uri of ["skill://none/SKILL.md", "skill://pack/scripts/a.sh"])
      expect((await call("skills/get", { uri })).error?.code).toBe(-32602);
  });
});
