/** Stored skills after crashes and deletions, their bundles as clients get them, and faults of the original. */
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/bytes.ts";
import { sweepBundles } from "../../src/registry/stored-skills/bundles.ts";
import { readZip } from "../../src/skill/zip.ts";
import { Client } from "./served.ts";
import { keyed, Tenant } from "./tenant.ts";
import {
  create,
  created,
  FOX,
  form,
  GA,
  LEGACY,
  list,
  messageOf,
  OPENAI,
  red,
  send,
  skill,
  UNCOUNTED,
  useTenants,
  zipForm,
} from "./v1-client.ts";

useTenants();

describe("bundles", () => {
  /** A deployment whose storage fails where a test says so. */
  function failing(what: "put" | "batch"): Tenant {
    const client = new Client(UNCOUNTED);
    const broken = () => Promise.reject(new TypeError("killed"));
    if (what === "put") client.env.FILES = Object.create(client.env.FILES, { put: { value: broken } });
    else {
      const { DB } = client.env;
      client.env.DB = new Proxy(DB, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          return (...values: unknown[]) =>
            name === "batch" && JSON.stringify(values).length > 0 && failed.armed
              ? broken()
              : Reflect.apply(value, target, values);
        },
      });
    }
    return new Tenant(client, red.key);
  }
  const failed = { armed: false };

  it.each(["put", "batch"] as const)(
    "a crash at %s leaves no skill, and the next upload works",
    async (what) => {
      const crashing = failing(what);
      expect((await crashing.fetch("/v1/skills", { headers: GA })).status).toBe(200);
      failed.armed = true;
      const response = await create(form([["crash/SKILL.md", skill("crash")]]), GA, crashing);
      failed.armed = false;
      expect(response.status).toBe(500);
      expect(await list(red, LEGACY)).toEqual([]);
      const id = await created(form([["crash/SKILL.md", skill("crash")]]));
      expect((await red.fetch(`/v1/skills/${id}/content`)).status).toBe(200);
    },
  );

  it("without a version go an hour later, and used ones stay", async () => {
    const count = async () => (await keyed.env.FILES.list({ prefix: "skill-bundles/red/" })).objects.length;
    await sweepBundles(keyed.env, Date.now() + 7_200_000);
    expect(await count()).toBe(0);
    const one = await created(form(FOX));
    const two = await created(form(FOX));
    expect(await count()).toBe(1);
    await send(red, "DELETE", `/v1/skills/${one}`, GA);
    await sweepBundles(keyed.env, Date.now() + 7_200_000);
    expect((await red.fetch(`/v1/skills/${two}/content`)).status).toBe(200);
    await send(red, "DELETE", `/v1/skills/${two}`, GA);
    await sweepBundles(keyed.env);
    expect(await count()).toBe(1);
    await sweepBundles(keyed.env, Date.now() + 7_200_000);
    expect(await count()).toBe(0);
    const again = await created(form(FOX));
    expect((await red.fetch(`/v1/skills/${again}/content`)).status).toBe(200);
  });

  it("of a skill that was refused go an hour later too", async () => {
    await created(form(FOX, { display_title: "Fox" }), LEGACY);
    const other = form([["fox/SKILL.md", skill("fox", "", "Do something else.")]], { display_title: "Fox" });
    expect((await create(other, LEGACY)).status).toBe(400);
    await sweepBundles(keyed.env, Date.now() + 7_200_000);
    const { objects } = await keyed.env.FILES.list({ prefix: "skill-bundles/red/" });
    expect(objects).toHaveLength(1);
  });

  it("are sent in one form, however they were uploaded", async () => {
    const zipped = await created(
      await zipForm([
        { name: "fox/z.txt", content: "z" },
        { name: "fox/.DS_Store", content: "x" },
        { name: "fox/SKILL.md", content: skill() },
      ]),
    );
    const loose = await created(
      form([
        ["fox/SKILL.md", skill()],
        ["fox/z.txt", "z"],
      ]),
    );
    const sent = await Promise.all(
      [zipped, loose].map(async (id) => {
        const response = await red.fetch(`/v1/skills/${id}/content`);
        const bytes = await response.arrayBuffer();
        const digest = await sha256(new Uint8Array(bytes));
        expect(response.headers.get("x-hull-bundle")).toBe(digest);
        const files = await readZip(new Uint8Array(bytes), { max_bytes: 1e6, max_entries: 10 });
        return [digest, files.map(({ path }) => path)];
      }),
    );
    expect(sent[0]).toEqual(sent[1]);
    expect(sent[0]?.[1]).toEqual(["fox/SKILL.md", "fox/z.txt"]);
  });

  it("are sent whole, in ranges, and not again to a client that has them", async () => {
    const id = await created(form(FOX));
    const path = `/v1/skills/${id}/content`;
    const whole = await red.fetch(path, { headers: { accept: "application/binary" } });
    expect(whole.headers.get("content-type")).toBe("application/zip");
    const etag = whole.headers.get("etag") ?? "";
    const bytes = new Uint8Array(await whole.arrayBuffer());
    const part = await red.fetch(path, { headers: { range: "bytes=2-5" } });
    expect([part.status, new Uint8Array(await part.arrayBuffer())]).toEqual([206, bytes.slice(2, 6)]);
    expect((await red.fetch(path, { headers: { "if-none-match": etag } })).status).toBe(304);
  });
});

describe("faults of the original that this store must not have", () => {
  it("3: /v1/skills works without any provider's key", async () => {
    const variables = Object.keys(keyed.env).filter((name) => /_API_KEY$/.test(name));
    expect(variables).toEqual([]);
    const id = await created(form(FOX));
    expect(await list(red, GA)).toEqual([expect.objectContaining({ id })]);
  });

  it("4: create keeps description and instructions", async () => {
    const id = await created(
      await zipForm([{ name: "fox/SKILL.md", content: skill("fox", "", "Dig deep.") }]),
    );
    expect(await (await red.fetch(`/v1/skills/${id}`)).json()).toMatchObject({
      description: "The fox skill",
    });
    const zip = new Uint8Array(await (await red.fetch(`/v1/skills/${id}/content`)).arrayBuffer());
    const [file] = await readZip(zip, { max_bytes: 1e6, max_entries: 10 });
    expect(new TextDecoder().decode(file?.bytes)).toContain("Dig deep.");
  });

  it("5: a missing skill is 404 and named, never passed over", async () => {
    for (const headers of [GA, LEGACY, OPENAI]) {
      const response = await red.fetch("/v1/skills/skill_01missing", { headers });
      expect([response.status, await messageOf(response)]).toEqual([
        404,
        expect.stringContaining("skill_01missing"),
      ]);
    }
  });

  it("16: a zip's members stay inside the bundle", async () => {
    const before = (await keyed.env.FILES.list()).objects.map(({ key }) => key);
    for (const name of ["../x", "fox/../../x", "/x", "..\\x", "C:/x", "fox/./x", "fox//x"]) {
      const body = await zipForm([{ name: "fox/SKILL.md", content: skill() }, { name }]);
      expect([name, (await create(body)).status]).toEqual([name, 400]);
    }
    expect((await keyed.env.FILES.list()).objects.map(({ key }) => key)).toEqual(before);
  });
});
