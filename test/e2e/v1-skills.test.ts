/** `/v1/skills` as the vendors' own clients use it, against a real `hull dev`: two generations of each. */
import type { RequestListener } from "node:http";
import Anthropic, { NotFoundError, toFile } from "@anthropic-ai/sdk";
import LegacyAnthropic from "anthropic-sdk-legacy";
import OpenAI from "openai";
import OpenAI7 from "openai-7";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readZip } from "../../src/skill/zip.ts";
import { ADMIN, commonHull } from "../support/common-hull.ts";
import { makeZip } from "../support/zip.ts";

/** What a vendor's store of skills was sent. */
const sent: { url: string; headers: Record<string, unknown>; body: string }[] = [];
const vendor: RequestListener = async (request, response) => {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(Buffer.from(piece));
  const body = Buffer.concat(pieces).toString();
  sent.push({ url: request.url ?? "", headers: request.headers, body });
  const refused = body.includes("Refuse me");
  response.writeHead(refused ? 400 : 200, { "content-type": "application/json" });
  if (body.includes("Break off")) {
    response.write('{"id":', () => response.destroy());
    return;
  }
  if (body.includes("Answer at length")) response.write(" ".repeat(1024 * 1024));
  response.end(
    JSON.stringify(
      refused
        ? { type: "error", error: { type: "invalid_request_error", message: "No such skill." } }
        : { id: "skill_01upstream", type: "skill", source: "custom" },
    ),
  );
};
const { hull, fake } = await commonHull({}, "keyed");
beforeEach(() => fake.others(vendor));

const ga = new Anthropic({ apiKey: ADMIN, baseURL: hull.url });
const legacy = new LegacyAnthropic({ apiKey: ADMIN, baseURL: hull.url });
const openai = new OpenAI({ apiKey: ADMIN, baseURL: `${hull.url}/v1` });
const openai7 = new OpenAI7({ apiKey: ADMIN, baseURL: `${hull.url}/v1` });

const text = (name: string, description = `The ${name} skill`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\nDo it.\n`;
const file = (path: string, content: string | Uint8Array) => toFile(Buffer.from(content), path);
const files = (name: string, description?: string) =>
  Promise.all([
    file(`${name}/SKILL.md`, text(name, description)),
    file(`${name}/scripts/a.py`, "print(1)\n"),
  ]);
const zipped = async (name: string, description?: string) =>
  toFile(
    Buffer.from(
      await makeZip([
        { name: `${name}/SKILL.md`, content: text(name, description), deflate: true },
        { name: `${name}/scripts/a.py`, content: "print(1)\n" },
      ]),
    ),
    `${name}.zip`,
    { type: "application/zip" },
  );

const bundleOf = async (id: string, version = "latest"): Promise<string | null> => {
  const headers = { authorization: `Bearer ${ADMIN}`, "anthropic-version": "2026-10-21" };
  return (await fetch(`${hull.url}/v1/skills/${id}/versions/${version}/content`, { headers })).headers.get(
    "x-hull-bundle",
  );
};
const contentsOf = async (response: {
  arrayBuffer(): Promise<ArrayBuffer>;
}): Promise<Record<string, string>> => {
  const entries = await readZip(new Uint8Array(await response.arrayBuffer()), {
    max_bytes: 1e6,
    max_entries: 100,
  });
  return Object.fromEntries(entries.map(({ path, bytes }) => [path, new TextDecoder().decode(bytes)]));
};

afterEach(async () => {
  for await (const { id } of ga.skills.list({ limit: 1000 })) await ga.skills.delete(id);
  for (const { id } of (await legacy.beta.skills.list({ limit: 100 })).data) {
    await legacy.beta.skills.delete(id);
  }
});

describe("one store behind every client", () => {
  test("files and zips of four clients make the same bundle, which the others read", async () => {
    const made = [
      (await ga.skills.create({ files: await files("fox"), display_name: "Fox" })).id,
      (await ga.skills.create({ files: [await zipped("fox")] })).id,
      (await legacy.beta.skills.create({ files: await files("fox"), display_title: "Old fox" })).id,
      (await legacy.beta.skills.create({ files: [await zipped("fox")] })).id,
      (await openai7.skills.create({ files: await files("fox") })).id,
      (await openai7.skills.create({ files: await zipped("fox") })).id,
      (await openai.skills.create({ files: await zipped("fox") })).id,
    ];
    const bundles = new Set<string | null>();
    for (const id of made) {
      bundles.add(await bundleOf(id));
      expect((await ga.skills.retrieve(id)).id).toBe(id);
      expect((await legacy.beta.skills.retrieve(id)).id).toBe(id);
      expect(await openai.skills.retrieve(id)).toMatchObject({ name: "fox", description: "The fox skill" });
    }
    expect([...bundles]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    // The older client of OpenAI's sends base names alone.
    const flat = await openai.skills.create({ files: await files("fox") });
    expect(Object.keys(await contentsOf(await openai.skills.content.retrieve(flat.id))).sort()).toEqual([
      "fox/SKILL.md",
      "fox/a.py",
    ]);
    const twice = [
      await file("fox/SKILL.md", text("fox")),
      await file("fox/a/x.py", ""),
      await file("fox/b/x.py", ""),
    ];
    await expect(openai.skills.create({ files: twice })).rejects.toMatchObject({
      status: 400,
      code: "bundle_invalid",
      message: expect.stringContaining("send a zip"),
    });
    expect((await openai7.skills.create({ files: twice })).name).toBe("fox");
  });

  test("each client gets the shape of its generation", async () => {
    const { id } = await ga.skills.create({ files: await files("fox"), display_name: "Fox" });
    const current = await ga.skills.list();
    expect(current.data[0]).toMatchObject({
      id,
      type: "skill",
      display_name: "Fox",
      source: { type: "custom" },
    });
    expect(current.next_page).toBeNull();
    const beta = await legacy.beta.skills.list();
    expect(beta.next_page).toBeNull();
    expect(beta.data[0]).toMatchObject({ display_title: "Fox", source: "custom" });
    expect(beta.data[0]?.latest_version).toMatch(/^\d{16}$/);
    const asked = await ga.beta.skills.list({ betas: ["skills-2025-10-02"] });
    expect(asked.data[0]).toMatchObject({ display_title: "Fox" });
    expect((await ga.beta.skills.list()).data[0]).toMatchObject({ display_name: "Fox" });
    const prefixed = await fetch(`${hull.url}/anthropic/v1/skills`, {
      headers: { authorization: `Bearer ${ADMIN}` },
    });
    expect(await prefixed.json()).toMatchObject({ data: [{ display_name: "Fox" }], next_page: null });
    for (const client of [openai, openai7]) {
      const page = await client.skills.list();
      expect([page.has_more, page.data.map((skill) => skill.id)]).toEqual([false, [id]]);
      expect(page.data[0]).toMatchObject({ object: "skill", default_version: "1", latest_version: "1" });
    }
  });
});

describe("@anthropic-ai/sdk 1.12.0", () => {
  test("creates, versions, downloads and deletes", async () => {
    const { id, latest_version_id: first } = await ga.skills.create({ files: await files("fox") });
    const second = await ga.skills.versions.create(id, { files: await files("fox", "Two") });
    expect(second).toMatchObject({ type: "skill_version", skill_id: id, name: "fox", description: "Two" });
    const versions = await ga.skills.versions.list(id);
    expect(versions.data.map((version) => version.id)).toEqual([second.id, first]);
    expect((await ga.skills.versions.retrieve(first, { skill_id: id })).description).toBe("The fox skill");
    const zip = await ga.beta.skills.versions.download(second.id, { skill_id: id });
    expect(await contentsOf(zip)).toEqual({
      "fox/SKILL.md": text("fox", "Two"),
      "fox/scripts/a.py": "print(1)\n",
    });
    expect(zip.headers.get("content-disposition")).toContain('filename="fox.zip"');
    expect(await ga.skills.versions.delete(first, { skill_id: id })).toEqual({
      id: first,
      type: "skill_version_deleted",
    });
    await expect(ga.skills.versions.delete(second.id, { skill_id: id })).rejects.toMatchObject({
      status: 400,
    });
    expect((await ga.skills.retrieve(id)).latest_version_id).toBe(second.id);
    expect(await ga.skills.delete(id)).toEqual({ id, type: "skill_deleted" });
    const gone = await ga.skills.versions
      .retrieve(second.id, { skill_id: id })
      .catch((error: unknown) => error);
    expect(gone).toBeInstanceOf(NotFoundError);
    expect(gone).toMatchObject({ type: "not_found_error", requestID: expect.stringMatching(/\w{8}/) });
    expect(String(gone)).toContain(id);
  });

  test("pages through exact multiples of the limit and beyond, in order", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 45; n++) ids.unshift((await ga.skills.create({ files: [await zipped("fox")] })).id);
    for (const limit of [20, 15, 45]) {
      const seen: string[] = [];
      for await (const { id } of ga.skills.list({ limit })) seen.push(id);
      expect(seen).toEqual(ids);
    }
    const seen: string[] = [];
    for await (const { id } of openai.skills.list({ limit: 15, order: "asc" })) seen.push(id);
    expect(seen).toEqual(ids.toReversed());
    const beta: string[] = [];
    for await (const { id } of legacy.beta.skills.list({ limit: 9 })) beta.push(id);
    expect(beta).toEqual(ids);
  });
});

describe("@anthropic-ai/sdk 0.117.1", () => {
  test("creates, versions, downloads and deletes", async () => {
    const { id, latest_version } = await legacy.beta.skills.create({
      files: await files("fox"),
      display_title: "F",
    });
    const first = latest_version ?? "";
    const again = { files: await files("fox"), display_title: "F" };
    await expect(legacy.beta.skills.create(again)).rejects.toMatchObject({ status: 400 });
    expect((await ga.skills.create({ files: await files("fox"), display_name: "F" })).display_name).toBe("F");
    const second = await legacy.beta.skills.versions.create(id, { files: await files("fox", "Two") });
    expect(second).toMatchObject({
      id: expect.stringMatching(/^skillver_01/),
      directory: "fox",
      name: "fox",
    });
    expect(Number(second.version)).toBeGreaterThan(Number(first));
    const listed = await legacy.beta.skills.versions.list(id);
    expect(listed.data.map(({ version }) => version)).toEqual([first, second.version]);
    const zip = await legacy.beta.skills.versions.download(first, { skill_id: id });
    expect(Object.keys(await contentsOf(zip))).toEqual(["fox/SKILL.md", "fox/scripts/a.py"]);
    await expect(legacy.beta.skills.versions.retrieve("latest", { skill_id: id })).rejects.toMatchObject({
      status: 400,
    });
    await expect(legacy.beta.skills.delete(id)).rejects.toMatchObject({ status: 400 });
    for (const version of [first, second.version]) {
      const deleted = await legacy.beta.skills.versions.delete(version, { skill_id: id });
      expect(deleted).toEqual({ id: version, type: "skill_version_deleted" });
    }
    expect((await legacy.beta.skills.retrieve(id)).latest_version).toBeNull();
    await expect(ga.skills.retrieve(id)).rejects.toMatchObject({ status: 400 });
    expect((await openai.skills.list()).data.map((skill) => skill.id)).not.toContain(id);
    expect(await legacy.beta.skills.delete(id)).toEqual({ id, type: "skill_deleted" });
  });
});

describe.each([
  ["openai 6.49.0", openai],
  ["openai 7.57.0", openai7],
])("%s", (_, client) => {
  test("creates, versions, chooses a default, downloads and deletes", async () => {
    const { id } = await client.skills.create({ files: await zipped("fox") });
    const second = await client.skills.versions.create(id, { files: await zipped("fox", "Two") });
    expect(second).toMatchObject({ object: "skill.version", version: "2", skill_id: id, description: "Two" });
    expect(await client.skills.retrieve(id)).toMatchObject({ default_version: "1", latest_version: "2" });
    await client.skills.versions.create(id, { files: await zipped("fox", "Three"), default: true });
    expect(await client.skills.retrieve(id)).toMatchObject({ default_version: "3", description: "Three" });
    expect(await client.skills.update(id, { default_version: "2" })).toMatchObject({ default_version: "2" });
    await expect(client.skills.update(id, { default_version: "9" })).rejects.toMatchObject({
      status: 400,
      param: "default_version",
      requestID: expect.stringMatching(/\w{8}/),
    });
    const versions = await client.skills.versions.list(id, { order: "asc", limit: 2 });
    const numbers: string[] = [];
    for await (const { version } of versions) numbers.push(version);
    expect(numbers).toEqual(["1", "2", "3"]);
    const zip = await contentsOf(await client.skills.content.retrieve(id));
    expect(zip["fox/SKILL.md"]).toContain("Two");
    const first = await contentsOf(await client.skills.versions.content.retrieve("1", { skill_id: id }));
    expect(first["fox/SKILL.md"]).toContain("The fox skill");
    await expect(client.skills.versions.delete("2", { skill_id: id })).rejects.toMatchObject({ status: 400 });
    for (const version of ["1", "3", "2"]) {
      const deleted = await client.skills.versions.delete(version, { skill_id: id });
      expect(deleted).toMatchObject({ object: "skill.version.deleted", deleted: true, version });
    }
    await expect(client.skills.retrieve(id)).rejects.toMatchObject({ status: 404, code: "skill_not_found" });
  });
});

test("where the dialects collide, each keeps its rules on the same skill", async () => {
  const { id } = await ga.skills.create({ files: await files("fox") });
  await ga.skills.versions.create(id, { files: await files("fox", "Two") });
  await expect(legacy.beta.skills.delete(id)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining(`DELETE /v1/skills/${id}/versions/{version}`),
  });
  const newest = (await ga.skills.versions.list(id)).data.map(({ description }) => description);
  const oldest = (await legacy.beta.skills.versions.list(id)).data.map(({ description }) => description);
  const ascending = (await openai.skills.versions.list(id, { order: "asc" })).data.map(
    ({ version }) => version,
  );
  expect([newest[0], oldest[0], ascending]).toEqual(["Two", "The fox skill", ["1", "2"]]);
  // OpenAI's clients get the default version, the others the newest.
  expect((await openai.skills.retrieve(id)).description).toBe("The fox skill");
  expect((await contentsOf(await openai.skills.content.retrieve(id)))["fox/SKILL.md"]).toContain(
    "The fox skill",
  );
  await ga.skills.versions.delete((await ga.skills.versions.list(id)).data[1]?.id ?? "", { skill_id: id });
  expect(await openai.skills.retrieve(id)).toMatchObject({ default_version: "2" });
  expect(await openai.skills.delete(id)).toMatchObject({ deleted: true, object: "skill.deleted" });
});

test("a hundred uploads at once are all stored", async () => {
  const names = Array.from({ length: 100 }, (_, n) => `fox-${n}`);
  const made = await Promise.all(
    names.map(async (name) => openai7.skills.create({ files: await zipped(name) })),
  );
  expect(new Set(made.map(({ id }) => id)).size).toBe(100);
  const listed = await openai7.skills.list({ limit: 100 });
  expect(listed.data.map(({ name }) => name).sort()).toEqual(names.toSorted());
});

describe("custom_llm_provider", () => {
  const upload = async (provider: string | null, title = "Fox", key: string | null = null) => {
    const form = new FormData();
    form.append("files[]", new File([text("fox")], "fox/SKILL.md"), "fox/SKILL.md");
    form.append("display_title", title);
    if (provider !== null) form.append("custom_llm_provider", provider);
    const headers = new Headers({ authorization: `Bearer ${ADMIN}` });
    if (key !== null) headers.set("idempotency-key", key);
    const response = await fetch(`${hull.url}/v1/skills`, { method: "POST", headers, body: form });
    return { status: response.status, text: await response.text() };
  };

  test.each([
    ["anthropic", "x-api-key", "sk-ant-e2e-key"],
    ["openai", "authorization", "Bearer sk-openai-e2e-key"],
  ])("%s sends the upload on, with the key of the deployment", async (provider, header, key) => {
    sent.length = 0;
    const answer = await upload(provider);
    expect(answer).toEqual({ status: 200, text: expect.stringContaining("skill_01upstream") });
    expect(sent).toMatchObject([{ url: "/v1/skills", headers: { [header]: key } }]);
    expect(sent[0]?.body).toContain('filename="fox/SKILL.md"');
    expect(sent[0]?.body).not.toContain("custom_llm_provider");
    expect(JSON.stringify(sent)).not.toContain(ADMIN);
    expect(answer.text).not.toContain("e2e-key");
  });

  test("litellm_proxy, or none, stores it here", async () => {
    sent.length = 0;
    expect((await upload("litellm_proxy")).text).toContain('"source":"custom"');
    expect((await upload(null)).text).toContain('"object":"skill"');
    expect(sent).toEqual([]);
  });

  test("Hull does not read an answer that is too long, nor waits for one that breaks off", async () => {
    for (const title of ["Answer at length", "Break off"]) {
      const { status, text: body } = await upload("anthropic", title);
      expect([status, JSON.parse(body)]).toMatchObject([502, { error: { type: "api_error" } }]);
    }
  });

  test("with a key, Hull does not send an upload twice that the vendor may have stored", async () => {
    sent.length = 0;
    const first = await upload("anthropic", "Break off", "once");
    expect(await upload("anthropic", "Break off", "once")).toEqual(first);
    expect([first.status, sent.length]).toEqual([502, 1]);
  });

  test("a refusal of the vendor's is an error of the client's dialect", async () => {
    const { status, text: body } = await upload("anthropic", "Refuse me");
    expect([status, JSON.parse(body)]).toMatchObject([
      400,
      { type: "error", request_id: expect.any(String) },
    ]);
  });
});
