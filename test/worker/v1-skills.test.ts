/** `/v1/skills` inside workerd: what an upload may not be, versions, tenants. */
import { describe, expect, it, vi } from "vitest";
import { readZip } from "../../src/skill/zip.ts";
import { makeZip } from "../support/zip.ts";
import { Client } from "./served.ts";
import { ADMIN, keyed, Tenant } from "./tenant.ts";
import {
  blue,
  type Content,
  create,
  created,
  FOX,
  form,
  GA,
  type Headers,
  LEGACY,
  list,
  messageOf,
  OPENAI,
  red,
  send,
  skill,
  user,
  useTenants,
  zipForm,
} from "./v1-client.ts";

useTenants();

describe("a refused upload names the reason, and leaves nothing", () => {
  const big = new Uint8Array(2 * 1024 * 1024);
  it.each<[string, () => Promise<FormData | string> | FormData | string, Headers, number, RegExp]>([
    ["no files", () => form([]), GA, 400, /no SKILL\.md/],
    ["JSON instead of a form", () => "{}", OPENAI, 400, /no SKILL\.md/],
    ["no SKILL.md", () => form([["fox/a.py", ""]]), GA, 400, /no SKILL\.md/],
    [
      "SKILL.md next to its folder",
      () =>
        form([
          ["fox/SKILL.md", skill()],
          ["x.py", ""],
        ]),
      GA,
      400,
      /only folder/,
    ],
    [
      "a path that leaves the folder",
      () => zipForm([{ name: "../SKILL.md", content: skill() }]),
      GA,
      400,
      /\.\./,
    ],
    [
      "zip-slip below the folder",
      () => zipForm([{ name: "fox/SKILL.md", content: skill() }, { name: "fox/../../x" }]),
      GA,
      400,
      /fox\/\.\.\/\.\.\/x/,
    ],
    ["an absolute path", () => zipForm([{ name: "/fox/SKILL.md", content: skill() }]), GA, 400, /\/fox/],
    [
      "a backslash",
      () => zipForm([{ name: "fox\\SKILL.md", content: skill() }]),
      GA,
      400,
      /inside the folder/,
    ],
    ["a drive letter", () => zipForm([{ name: "C:/SKILL.md", content: skill() }]), GA, 400, /drive letter/],
    [
      "an empty segment",
      () => zipForm([{ name: "fox//SKILL.md", content: skill() }]),
      GA,
      400,
      /fox\/\/SKILL/,
    ],
    [
      "a link",
      () =>
        zipForm([
          { name: "fox/SKILL.md", content: skill() },
          { name: "fox/x", content: "/etc/passwd", mode: 0o120777 },
        ]),
      GA,
      400,
      /link/,
    ],
    [
      "a device",
      () =>
        zipForm([
          { name: "fox/SKILL.md", content: skill() },
          { name: "fox/x", mode: 0o020644 },
        ]),
      GA,
      400,
      /device/,
    ],
    [
      "a file twice",
      () =>
        zipForm([
          { name: "fox/SKILL.md", content: skill() },
          { name: "fox/SKILL.md", content: skill() },
        ]),
      GA,
      400,
      /twice/,
    ],
    ["names that differ in case", () => form([...FOX, ["fox/A.py", ""]]), GA, 400, /letter case/],
    [
      "names that case folding makes equal",
      () => form([...FOX, ["fox/ß", ""], ["fox/SS", ""]]),
      GA,
      400,
      /letter case/,
    ],
    ["another default", () => form(FOX, { default: "yes" }), OPENAI, 400, /default must be true or false/],
    [
      "names that NFC makes equal",
      () => form([...FOX, ["fox/\u00e9.py", ""], ["fox/e\u0301.py", ""]]),
      GA,
      400,
      /twice/,
    ],
    [
      "a zip next to a file",
      async () =>
        form([
          ["fox.zip", await makeZip([])],
          ["x", ""],
        ]),
      GA,
      400,
      /SKILL\.md|only file/,
    ],
    [
      "a bomb by ratio",
      () =>
        zipForm([
          { name: "fox/SKILL.md", content: skill() },
          { name: "fox/x", content: big, deflate: true },
        ]),
      GA,
      400,
      /100 times/,
    ],
    [
      "a bomb that lies about its size",
      () =>
        zipForm([
          { name: "fox/SKILL.md", content: skill() },
          { name: "fox/x", content: big, deflate: true, lie: { size: 10 } },
        ]),
      GA,
      400,
      /more than its 10 bytes/,
    ],
    [
      "a zip that claims 4 GiB",
      () => zipForm([{ name: "fox/SKILL.md", content: skill(), lie: { size: 0xf0000000 } }]),
      GA,
      413,
      /limits\.max_upload_bytes/,
    ],
    [
      "a zip that is cut off",
      async () => form([["fox.zip", (await makeZip([{ name: "a", content: "x" }])).slice(0, 40)]]),
      GA,
      400,
      /cut off/,
    ],
    [
      "a name in another encoding",
      async () =>
        form([
          [
            "fox.zip",
            latin1(
              await makeZip([
                { name: "fox/SKILL.md", content: skill() },
                { name: "fox/QQ", content: "" },
              ]),
            ),
          ],
        ]),
      GA,
      400,
      /UTF-8/,
    ],
    [
      "a reserved name",
      () => form([["claude-x/SKILL.md", skill("claude-x")]]),
      GA,
      400,
      /SKILL\.md, field name: .*reserved/,
    ],
    [
      "a tag in the description",
      () => form([["fox/SKILL.md", skill().replace("The fox", "The <b>fox</b>")]]),
      GA,
      400,
      /field description: .*tag/,
    ],
    [
      "a description that is too long",
      () => form([["fox/SKILL.md", skill().replace("The fox", "x".repeat(1100))]]),
      GA,
      400,
      /at most 1024/,
    ],
    [
      "no description",
      () => form([["fox/SKILL.md", "---\nname: fox\n---\nx\n"]]),
      GA,
      400,
      /SKILL\.md:1:1: .*description is required/,
    ],
    ["a name in capitals", () => form([["Fox/SKILL.md", skill("Fox")]]), GA, 400, /field name/],
    ["another folder's name", () => form([["cat/SKILL.md", skill()]]), GA, 400, /folder is called "cat"/],
    ["a lone file that is no zip", () => form([["fox.zip", "tar"]]), LEGACY, 400, /"fox\.zip".* no zip/],
    ["no folder, in the legacy dialect", () => form([["SKILL.md", skill()]]), LEGACY, 400, /in a folder/],
    [
      "two files of one base name",
      () =>
        form([
          ["SKILL.md", skill()],
          ["a.py", "1"],
          ["a.py", "2"],
        ]),
      OPENAI,
      400,
      /send a zip/,
    ],
    [
      "501 files",
      () => form([...FOX, ...Array.from({ length: 499 }, (_, n): [string, string] => [`fox/${n}`, ""])]),
      OPENAI,
      400,
      /501 files; at most 500/,
    ],
    ["two SKILL.md", () => form([...FOX, ["fox/sub/skill.md", skill()]]), OPENAI, 400, /exactly one/],
    ["a label of two lines", () => form(FOX, { display_name: "a\nb" }), GA, 400, /one line/],
    ["a label that is too long", () => form(FOX, { display_name: "x".repeat(256) }), GA, 400, /at most 255/],
    [
      "a title that is too long",
      () => form(FOX, { display_title: "x".repeat(65) }),
      LEGACY,
      400,
      /at most 64/,
    ],
    [
      "a skill for another vendor's store",
      () => form(FOX, { custom_llm_provider: "anthropic" }),
      {},
      400,
      /no key for it/,
    ],
    [
      "a skill for an unknown vendor",
      () => form(FOX, { custom_llm_provider: "azure" }),
      {},
      400,
      /no such provider/,
    ],
    [
      "a skill for a store of another kind",
      () => form(FOX, { custom_llm_provider: "bedrock" }),
      {},
      400,
      /"bedrock".*litellm_proxy/,
    ],
  ])("%s", async (_, make, headers, status, message) => {
    const stored = async () => (await keyed.env.FILES.list({ prefix: "skill-bundles/red/" })).objects.length;
    const before = await stored();
    const body = await make();
    const type: Headers = typeof body === "string" ? { "content-type": "application/json" } : {};
    const response = await create(body, { ...headers, ...type });
    const text = await messageOf(response);
    expect([response.status, text]).toEqual([status, expect.stringMatching(message)]);
    expect(await list(red, LEGACY)).toEqual([]);
    expect(await stored()).toBe(before);
  });

  /** With a byte that is no UTF-8 in the names `QQ`. */
  function latin1(zip: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    return zip.map((byte) => (byte === 0x51 ? 0xe9 : byte));
  }

  it("more than limits.max_upload_bytes is 413, as a body and unpacked", async () => {
    const HULL_CONFIG = JSON.stringify({
      limits: { max_upload_bytes: 3_000_000, max_file_bytes: 1000, max_stored_bytes: 1000 },
    });
    const small = new Tenant(new Client({ HULL_ADMIN_KEY: ADMIN, HULL_CONFIG }), red.key);
    const large = crypto.getRandomValues(new Uint8Array(60_000));
    const parts = Array.from({ length: 60 }, (_, n): [string, Content] => [`fox/${n}`, large]);
    for (const body of [
      form([...FOX, ...parts]),
      await zipForm([
        { name: "fox/SKILL.md", content: skill() },
        ...[1, 2, 3].map((n) => ({
          name: `fox/${n}`,
          content: "ab".repeat(600_000),
          deflate: true,
          lie: { packed: 20_000 },
        })),
      ]),
    ]) {
      const response = await create(body, GA, small);
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({
        error: { type: "request_too_large", message: expect.stringContaining("limits.max_upload_bytes") },
      });
    }
  });
});

describe("an upload that is taken", () => {
  it.each<[string, () => Promise<FormData> | FormData, Headers]>([
    [
      "a zip that calls itself a text",
      () => zipForm([{ name: "fox/SKILL.md", content: skill() }], "text/plain"),
      GA,
    ],
    ["a zip without a folder", () => zipForm([{ name: "SKILL.md", content: skill() }]), GA],
    ["a byte order mark", () => form([["fox/SKILL.md", `\ufeff${skill()}`]]), GA],
    [
      "a < b in the description",
      () => form([["fox/SKILL.md", skill().replace("The fox", "Where a < b")]]),
      GA,
    ],
    ["an underscore for the hyphen", () => form([["Basic_Math/SKILL.md", skill("basic-math")]]), GA],
    ["another folder's name, of OpenAI's clients", () => form([["cat/SKILL.md", skill()]]), OPENAI],
    ["what desktop systems add", () => form([...FOX, ["__MACOSX/._x", ""], ["fox/.DS_Store", "x"]]), GA],
    [
      "999 files and more",
      () => form([...FOX, ...Array.from({ length: 1200 }, (_, n): [string, string] => [`fox/${n}`, ""])]),
      GA,
    ],
  ])("%s", async (_, make, headers) => {
    const response = await create(await make(), headers);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("skill_01")]);
  });

  it("shows its details, and which fields have no effect", async () => {
    const response = await create(form([...FOX, ["fox/tools.json", "{"]], { shiny: "1", display_name: "F" }));
    expect(response.headers.get("x-hull-ignored")).toBe("shiny");
    const found = response.headers.get("x-hull-diagnostics") ?? "";
    expect(JSON.parse(found)).toContainEqual(expect.objectContaining({ level: "error", file: "tools.json" }));
    const { id } = await response.json<{ id: string }>();
    const version = await red.fetch(`/v1/skills/${id}/versions/latest`, { headers: GA });
    expect(version.headers.get("x-hull-diagnostics")).toBe(found);
    const post = async (path: string, body: object) => {
      const answer = await red.fetch(path, { ...json, body: JSON.stringify(body) });
      return [answer.status, answer.headers.get("x-hull-ignored")];
    };
    const json = { method: "POST", headers: { "content-type": "application/json" } };
    const ignored = [
      await post(`/v1/skills/${id}`, { default_version: 1, shiny: 1 }),
      await post("/v1/containers", { name: "box", shiny: 1, né: 1 }),
    ];
    expect(ignored).toEqual([
      [200, "shiny"],
      [200, "shiny, n?"],
    ]);
  });

  it("reads no field that it does not know, however long", async () => {
    const response = await create(form(FOX, { of_another_client: "x".repeat(5000) }), GA);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"id"')]);
  });

  it("attack: its findings make no header that a client would refuse", async () => {
    const fields = Array.from({ length: 60 }, (_, n) => `${"k".repeat(1000)}${n}: 1\n`).join("");
    const response = await create(form([["fox/SKILL.md", skill("fox", fields)]]));
    expect(response.status).toBe(200);
    const found = response.headers.get("x-hull-diagnostics") ?? expect.fail("no findings");
    expect(found.length).toBeLessThanOrEqual(4000);
    expect(Array.isArray(JSON.parse(found))).toBe(true);
  });

  it("finds no fault with a folder that the upload does not have", async () => {
    const response = await create(form([["SKILL.md", skill()]]));
    expect([response.status, response.headers.get("x-hull-diagnostics")]).toEqual([200, null]);
  });

  it("keeps executable bits and drops what desktop systems add", async () => {
    const body = await zipForm([
      { name: "__MACOSX/x", content: "x" },
      { name: "fox/SKILL.md", content: skill() },
      { name: "fox/run.sh", content: "#!/bin/sh", mode: 0o100755 },
    ]);
    const [id, same] = [await created(body), await created(form([...FOX]))];
    expect(id).not.toBe(same);
    const { objects } = await keyed.env.FILES.list({ prefix: "skill-bundles/red/" });
    const names = await Promise.all(
      objects.map(async ({ key }) => {
        const bytes = new Uint8Array(
          (await (await keyed.env.FILES.get(key))?.arrayBuffer()) ?? new ArrayBuffer(0),
        );
        const files = await readZip(bytes, { max_bytes: 1e8, max_entries: 1e4 });
        return files.map(({ path, mode }) => `${path} ${mode.toString(8)}`);
      }),
    );
    expect(names).toContainEqual(["fox/SKILL.md 644", "fox/run.sh 755"]);
  });
});

describe("versions", () => {
  it("of a skill keep its name", async () => {
    const id = await created(form(FOX));
    for (const headers of [GA, LEGACY, OPENAI]) {
      const body = form([["cat/SKILL.md", skill("cat")]]);
      const response = await send(red, "POST", `/v1/skills/${id}/versions`, headers, body);
      expect([response.status, await messageOf(response)]).toEqual([
        400,
        expect.stringContaining('stays "fox"'),
      ]);
    }
  });

  it("get numbers and times of their own if they are uploaded at once", async () => {
    const id = await created(form(FOX));
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => send(red, "POST", `/v1/skills/${id}/versions`, LEGACY, form(FOX))),
    );
    const versions = await Promise.all(
      answers.map((answer) => answer.json<{ version: string; id: string }>()),
    );
    expect(new Set(versions.map(({ version }) => version)).size).toBe(8);
    for (const { version, id: object } of versions)
      expect(`${version} ${object}`).toMatch(/^\d{16} skillver_01/);
    const listed = await red.fetch(`/v1/skills/${id}/versions?order=asc`, { headers: OPENAI });
    const { data } = await listed.json<{ data: { version: string }[] }>();
    expect(data.map(({ version }) => version)).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  });

  it("can be requested by every one of their names, in every dialect's paths", async () => {
    const id = await created(form(FOX));
    const at = async (name: string, headers: Headers) => {
      const response = await red.fetch(`/v1/skills/${id}/versions/${name}`, { headers });
      return response.json<{ id: string; version: string }>();
    };
    const { id: ga } = await at("latest", GA);
    const { version: epoch, id: object } = await at("1", LEGACY);
    for (const name of [ga, ga.replace("skver", "skill_version"), object, epoch, "1"]) {
      expect(await at(name, GA)).toMatchObject({ id: ga });
      expect(await at(name, LEGACY)).toMatchObject({ version: epoch });
      expect(await at(name, OPENAI)).toMatchObject({ id: object, version: "1" });
    }
    for (const name of ["2", "0", "01", "skver_01x", "x", "1759178010641129"]) {
      expect((await red.fetch(`/v1/skills/${id}/versions/${name}`, { headers: GA })).status).toBe(404);
    }
  });

  it("are never renumbered", async () => {
    const id = await created(form(FOX));
    await send(red, "DELETE", `/v1/skills/${id}/versions/1`, LEGACY);
    const next = await send(red, "POST", `/v1/skills/${id}/versions`, OPENAI, form(FOX));
    expect(await next.json()).toMatchObject({ version: "2" });
    expect(await (await red.fetch(`/v1/skills/${id}`)).json()).toMatchObject({ default_version: "2" });
  });
});

it("a version that goes while it becomes the default does not become it", async () => {
  const id = await created(form(FOX));
  await send(red, "POST", `/v1/skills/${id}/versions`, OPENAI, form(FOX));
  const statement: D1PreparedStatement = Object.getPrototypeOf(keyed.env.DB.prepare("SELECT 1"));
  const { run } = statement;
  const meanwhile = vi.spyOn(statement, "run").mockImplementation(async function (this: typeof statement) {
    meanwhile.mockRestore();
    expect((await send(red, "DELETE", `/v1/skills/${id}/versions/2`, LEGACY)).status).toBe(200);
    return run.call(this);
  });
  const body = JSON.stringify({ default_version: "2" });
  const headers = { "content-type": "application/json" };
  const refused = await red.fetch(`/v1/skills/${id}`, { method: "POST", headers, body });
  expect(refused.status).toBe(400);
  expect(await (await red.fetch(`/v1/skills/${id}`)).json()).toMatchObject({ default_version: "1" });
});

describe("tenants", () => {
  it("get the same answer for another tenant's skill as for an unknown one", async () => {
    const id = await created(form(FOX));
    const unknown = id.replace(/.{6}$/, "AAAAAA");
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["GET", "/versions"],
      ["GET", "/versions/latest"],
      ["GET", "/versions/1/content"],
      ["GET", "/content"],
    ] as const) {
      const headers = { ...GA, "x-request-id": "same-request-id" };
      const [foreign, none] = await Promise.all(
        [id, unknown].map(async (each) => {
          const response = await send(blue, method, `/v1/skills/${each}${path}`, headers);
          return [response.status, (await response.text()).replaceAll(each, "ID")];
        }),
      );
      expect(foreign).toEqual(none);
      expect(foreign?.[0]).toBe(404);
    }
    expect(await list(blue, GA)).toEqual([]);
    expect(await list(red, GA)).toHaveLength(1);
  });

  it("need the scope publish to change skills, and invoke to read them", async () => {
    const id = await created(form(FOX));
    const reader = await user("red", "invoke");
    expect((await reader.fetch(`/v1/skills/${id}`, { headers: GA })).status).toBe(200);
    const refused = await send(reader, "DELETE", `/v1/skills/${id}`, GA);
    expect(await refused.json()).toMatchObject({ error: { type: "permission_error" } });
    expect((await create(form(FOX), GA, reader)).status).toBe(403);
  });

  it("read the deployment's own skills, by slug or in a list of their own", async () => {
    const { data } = await (await red.fetch("/v1/skills?source=plugin&limit=2", { headers: GA })).json<{
      data: { id: string }[];
    }>();
    expect(data).toMatchObject([
      { id: "cat", display_name: "cat", source: { type: "plugin" } },
      { id: "deep", source: { type: "plugin" } },
    ]);
    expect(await (await red.fetch("/v1/skills/cat")).json()).toMatchObject({
      object: "skill",
      description: "The cat skill",
    });
    expect((await red.fetch("/v1/skills?source=other", { headers: GA })).status).toBe(400);
    for (const path of ["/v1/skills/cat/versions", "/v1/skills/cat/content"]) {
      const none = await red.fetch(path, { headers: GA });
      const says = expect.stringContaining("GET /skills/cat/versions lists what was published");
      expect([none.status, await messageOf(none)]).toEqual([404, says]);
    }
  });

  it("cannot change the deployment's own skills", async () => {
    const response = await send(red, "DELETE", "/v1/skills/cat", GA);
    expect([response.status, await messageOf(response)]).toEqual([403, expect.stringContaining("came with")]);
  });
});

it("a stored skill becomes an endpoint by its id, and stays one without it", async () => {
  const id = await created(form([["owl/SKILL.md", skill("owl", "mode: llm\nprovider: mock\n")]]));
  const put = (body: object, of = red) =>
    of.fetch("/_hull/skills/owl", {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const refusal = async (response: Response) => {
    const { detail } = await response.json<{ detail: string }>();
    return [response.status, detail];
  };
  expect(await refusal(await put({ skill_id: id }, blue))).toEqual([404, `There is no skill "${id}".`]);
  const unknown = [404, `There is no version "2" of the skill "${id}".`];
  expect(await refusal(await put({ skill_id: id, version: 2 }))).toEqual(unknown);
  const both = [422, expect.stringContaining("either {skill_id, version?} or {digest}")];
  expect(await refusal(await put({ skill_id: id, digest: "0".repeat(64) }))).toEqual(both);
  expect((await put({ skill_id: id, version: 1 })).status).toBe(201);
  await send(red, "DELETE", `/v1/skills/${id}`, GA);
  expect(await (await red.run("/skills/owl")).text()).toContain("hi");
  await red.remove("owl");
});

it("a run names a stored skill by id or name, and gets its newest version with its tools", async () => {
  const version = (n: number): [string, string][] => [
    ["owl/SKILL.md", skill("owl", "", `Hoot ${n} times.`)],
    ["owl/tools.json", '[{"name": "hoots", "description": "Hoots", "script": "scripts/hoots.js"}]'],
    ["owl/scripts/hoots.js", `export default () => "hoots: ${n}";`],
  ];
  const id = await created(form(version(1)));
  const tool_calls = ["load_skill", "hoots"].map((name) => ({ name, arguments: { name: "owl" } }));
  const run = async (named: string, of = red) => {
    const options = { skills: [named], mock: [{ tool_calls }, { text: "end" }] };
    const response = await of.fetch("/runs", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ prompt: "go", options }),
    });
    const said = (await response.text()).match(/Hoot \d times|hoots: \d|skill_not_found/g);
    return [response.status, [...new Set(said)]];
  };
  expect(await run(id)).toEqual([200, ["Hoot 1 times", "hoots: 1"]]);
  await send(red, "POST", `/v1/skills/${id}/versions`, GA, form(version(2)));
  for (const named of [id, "owl"]) expect(await run(named)).toEqual([200, ["Hoot 2 times", "hoots: 2"]]);
  // This isolate has noted the use and does not note it again.
  const statements = vi.spyOn(red.client.env.DB, "prepare");
  expect(await run("owl")).toEqual([200, ["Hoot 2 times", "hoots: 2"]]);
  expect(statements.mock.calls.filter(([text]) => text.startsWith("UPDATE uploaded_records"))).toEqual([]);
  statements.mockRestore();
  expect(await run(id, blue)).toEqual([404, ["skill_not_found"]]);
  await send(red, "DELETE", `/v1/skills/${id}`, GA);
  expect(await run("owl")).toEqual([404, ["skill_not_found"]]);
});
