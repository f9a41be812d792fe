import { afterEach, describe, expect, it, vi } from "vitest";
import { sha256 } from "../../src/bytes.ts";
import { sweepAll } from "../../src/http/sweep.ts";
import type { CatalogPointer } from "../../src/skill/manifest.ts";
import { makeZip } from "../support/zip.ts";
import { Client, entry, LOCAL, mockSkill } from "./served.ts";

const client = new Client();
afterEach(() => vi.restoreAllMocks());
const ADMIN = "hull-admin-canary-0123456789";
/** A catalog that is stored, and another one served. */
async function storedOnly(word: string): Promise<string> {
  const { id } = await (await client.fetch("/_hull/catalog")).json<{ id: string }>();
  const stored = await client.publish({ one: mockSkill(word) });
  await client.serve(id);
  return stored;
}
const bytes = (text: string) => new Uint8Array(new TextEncoder().encode(text));

async function refused(response: Promise<Response>, reason: RegExp): Promise<void> {
  const answer = await response;
  expect(answer.status).toBe(422);
  const body = await answer.json<{ code: string; detail: string }>();
  expect(body.code).toBe("bundle_invalid");
  expect(body.detail).toMatch(reason);
}

describe("publishing", () => {
  it("serves a catalog as soon as its pointer is moved, and keeps the one before", async () => {
    const first = await client.publish({ one: mockSkill("one") });
    const second = await client.publish({ one: mockSkill("one"), two: mockSkill("two") });
    expect((await client.fetch("/skills/two")).status).toBe(200);
    expect(await client.env.SKILLS.get("catalog:current", "json")).toMatchObject({
      id: second,
      previous: first,
    });
    const again = await client.post("/_hull/catalog", { id: second });
    expect(again.status).toBe(200);
    expect(await again.json()).toMatchObject({ id: second, previous: first });
    await client.publish({ two: mockSkill("two") });
    expect((await client.fetch("/skills/one")).status).toBe(404);
  });

  it("serves a catalog also if an isolate read the pointer before it moved, and gets the answer after", async () => {
    const [first, second] = [
      await client.publish({ one: mockSkill("one") }),
      await client.publish({ two: mockSkill("two") }),
    ];
    await client.serve(first);
    const late = new Client();
    const { SKILLS } = late.env;
    const [read, moved] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let reads = 0;
    const get = async (key: string, ...how: unknown[]) => {
      const value: unknown = await Reflect.apply(SKILLS.get, SKILLS, [key, ...how]);
      if (key === "catalog:current" && ++reads === 1) {
        read.resolve();
        await moved.promise;
      }
      return value;
    };
    late.env.SKILLS = new Proxy(SKILLS, {
      get: (target, name) => (name === "get" ? get : Reflect.get(target, name).bind(target)),
    });
    const early = late.fetch("/healthz");
    await read.promise;
    expect((await late.post("/_hull/catalog", { id: second })).status).toBe(201);
    moved.resolve();
    await early;
    expect((await (await late.fetch("/healthz")).json<{ catalog: string }>()).catalog).toBe(second);
  });

  it("S119: rolls back to the catalog before, and forth again", async () => {
    const fresh = new Client();
    const first = await fresh.publish({ one: mockSkill("one", "max_tokens: 11\n") });
    const second = await fresh.publish({ one: mockSkill("one", "max_tokens: 12\n") });
    const roll = async () => (await fresh.post("/_hull/catalog", { rollback: true })).json<{ id: string }>();
    expect((await roll()).id).toBe(first);
    expect((await (await fresh.fetch("/healthz")).json<{ catalog: string }>()).catalog).toBe(first);
    expect((await roll()).id).toBe(second);
    expect((await fresh.post("/_hull/catalog", { rollback: false })).status).toBe(422);
  });

  it("a deployment serves its pinned catalog, and what is published over it; the next one its own", async () => {
    /** What is remembered of the pointer hangs on the namespace. */
    const isolate = (pinned: string) => {
      const fresh = new Client({ ...LOCAL, HULL_CATALOG: pinned });
      fresh.env.SKILLS = new Proxy(client.env.SKILLS, {
        get: (target, name) => Reflect.get(target, name).bind(target),
      });
      return fresh;
    };
    const served = async (pinned: string) => {
      const answer = await isolate(pinned).fetch("/healthz");
      return (await answer.json<{ catalog: string }>()).catalog;
    };
    const stored = (word: string) => new Client().publish({ one: mockSkill(word) });
    const [old, pin, other] = [await stored("old"), await stored("pin"), await stored("other")];
    expect(await served(old)).toBe(old);
    expect(await served("")).toBe(other);
    const deployed = isolate(pin);
    const nothing = await deployed.post("/_hull/catalog", { rollback: true });
    expect(await nothing.json()).toMatchObject({ code: "bundle_invalid" });
    const published = await deployed.post("/_hull/catalog", { id: other });
    expect(await published.json()).toMatchObject({ id: other, previous: pin, pinned: pin });
    expect([await served(pin), await served(old)]).toEqual([other, old]);
    await deployed.post("/_hull/catalog", { rollback: true });
    expect(await served(pin)).toBe(pin);
  });

  it("two publishes at once each know the other's catalog; one that names the catalog that it replaces is refused", async () => {
    const base = await client.publish({ one: mockSkill("base") });
    const [first, second] = [await storedOnly("first"), await storedOnly("second")];
    const pointer = () => client.env.SKILLS.get<CatalogPointer>("catalog:current", "json");
    const rounds = [
      [{ id: first }, 201, { id: first, previous: second }],
      // Back to the first, which was served before the base.
      [{ rollback: true }, 409, { id: second, previous: base }],
      [{ id: first, base: second }, 409, { id: second, previous: base }],
      [{ id: first, base }, 409, { id: second, previous: base }],
    ] as const;
    for (const [body, status, expected] of rounds) {
      await client.serve(base);
      const slow = new Client();
      const [asked, moved] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const { SKILLS } = slow.env;
      // Between its read of the pointer and its change of it.
      const get = async (key: string, ...how: unknown[]) => {
        if (key === `catalog:${first}`) {
          asked.resolve();
          await moved.promise;
        }
        return Reflect.apply(SKILLS.get, SKILLS, [key, ...how]);
      };
      slow.env.SKILLS = new Proxy(SKILLS, {
        get: (target, name) => (name === "get" ? get : Reflect.get(target, name).bind(target)),
      });
      const late = slow.post("/_hull/catalog", body);
      await Promise.race([asked.promise, late]);
      expect((await new Client().post("/_hull/catalog", { id: second, base })).status).toBe(201);
      moved.resolve();
      const answer = await late;
      expect(answer.status).toBe(status);
      expect(await pointer()).toMatchObject(expected);
    }
  });

  it("copies the last change to KV, also if an earlier copy arrives after it", async () => {
    await client.publish({ one: mockSkill("base") });
    const [first, second] = [await storedOnly("first"), await storedOnly("second")];
    const slow = new Client();
    const [asked, moved] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { SKILLS } = slow.env;
    const put = async (key: string, value: string) => {
      asked.resolve();
      await moved.promise;
      await SKILLS.put(key, value);
    };
    slow.env.SKILLS = new Proxy(SKILLS, {
      get: (target, name) => (name === "put" ? put : Reflect.get(target, name).bind(target)),
    });
    const late = slow.post("/_hull/catalog", { id: first });
    await asked.promise;
    await client.serve(second);
    moved.resolve();
    expect((await late).status).toBe(201);
    expect(await SKILLS.get("catalog:current", "json")).toMatchObject({ id: second, previous: first });
    expect(await (await slow.fetch("/healthz")).json()).toMatchObject({ catalog: second });
  });

  it("reports who publishes what, and refuses a publish that is not based on the current catalog", async () => {
    const [base, next] = [await client.publish({ one: mockSkill("base") }), await storedOnly("next")];
    const key = { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" };
    const keyed = new Client({ ...LOCAL, HULL_ADMIN_KEY: ADMIN });
    const post = (body: object) =>
      keyed.fetch("/_hull/catalog", { method: "POST", headers: key, body: JSON.stringify(body) });
    const served = async () => (await keyed.fetch("/_hull/catalog", { headers: key })).json();
    expect(await served()).toMatchObject({ id: base, published_by: null });
    expect((await post({ id: next, base })).status).toBe(201);
    const published = { published_at: expect.any(String), published_by: "key_admin" };
    expect(await served()).toEqual({ id: next, previous: base, ...published });
    for (const body of [
      { id: base, base },
      { rollback: true, base },
      { id: base, base: null },
    ]) {
      const refusal = await post(body);
      expect(refusal.status).toBe(409);
      expect(await refusal.json()).toMatchObject({ code: "catalog_moved", catalog: next, ...published });
    }
    // A repeated request finds its own publish.
    expect((await post({ id: next, base })).status).toBe(200);
    expect((await post({ rollback: true, base: next })).status).toBe(201);
    expect(await served()).toMatchObject({ id: base, previous: next });
  });

  it("knows what was published elsewhere while KV still shows the pointer of before", async () => {
    const old = await client.publish({ one: mockSkill("old") });
    const shown = await client.env.SKILLS.get("catalog:current");
    const [middle, last] = [await storedOnly("middle"), await storedOnly("last")];
    await client.serve(middle);
    const far = new Client();
    far.env.SKILLS = new Proxy(far.env.SKILLS, {
      get:
        (target, name) =>
        async (key: string, ...how: unknown[]) => {
          if (name !== "get" || key !== "catalog:current")
            return Reflect.apply(Reflect.get(target, name), target, [key, ...how]);
          return how[0] === "json" ? JSON.parse(shown ?? "") : shown;
        },
    });
    expect(await (await far.post("/_hull/catalog", { id: last })).json()).toMatchObject({ previous: middle });
    const rolled = await far.post("/_hull/catalog", { rollback: true });
    expect(await rolled.json()).toMatchObject({ id: middle, previous: last });
    expect(old).not.toBe(middle);
  });

  it.each(["the publish is repeated", "a sweep follows"])(
    "a publish that dies between D1 and KV leaves the old catalog, and takes effect when %s",
    async (then) => {
      const before = await client.publish({ one: mockSkill("before") });
      const after = await storedOnly("after");
      const dying = new Client();
      dying.env.SKILLS = new Proxy(dying.env.SKILLS, {
        get: (target, name) => {
          if (name === "put") return () => Promise.reject(new TypeError("KV PUT failed: 500"));
          return Reflect.get(target, name).bind(target);
        },
      });
      expect((await dying.post("/_hull/catalog", { id: after, base: before })).status).toBe(503);
      const served = async () => (await new Client().fetch("/healthz")).json<{ catalog: string }>();
      expect((await served()).catalog).toBe(before);
      if (then === "a sweep follows") await sweepAll(client.env, () => {}, Date.now());
      else expect((await client.post("/_hull/catalog", { id: after, base: before })).status).toBe(200);
      expect((await served()).catalog).toBe(after);
    },
  );

  it("Hull tries again if KV refuses a second change within a second", async () => {
    await client.publish({ one: mockSkill("base") });
    const next = await storedOnly("next");
    const busy = new Client();
    let refusals = 0;
    const { SKILLS } = busy.env;
    const put = (key: string, value: string) =>
      refusals++ === 0
        ? Promise.reject(new Error("KV PUT failed: 429 Too Many Requests"))
        : SKILLS.put(key, value);
    busy.env.SKILLS = new Proxy(SKILLS, {
      get: (target, name) => (name === "put" ? put : Reflect.get(target, name).bind(target)),
    });
    expect((await busy.post("/_hull/catalog", { id: next })).status).toBe(201);
    expect(await SKILLS.get("catalog:current", "json")).toMatchObject({ id: next });
    expect(refusals).toBe(2);
  });

  it.each(["catalog:current", "catalog:"])(
    "an isolate that cannot read %s serves on what it served, logs why, and follows later",
    async (unread) => {
      const log = vi.spyOn(console, "error").mockImplementation(() => {});
      const [before, after] = [await client.publish({ one: mockSkill("before") }), await storedOnly("after")];
      const isolate = new Client();
      const { SKILLS } = isolate.env;
      const served = async () =>
        (await (await isolate.fetch("/healthz")).json<{ catalog: string }>()).catalog;
      expect(await served()).toBe(before);
      expect((await client.post("/_hull/catalog", { id: after })).status).toBe(201);
      const get = (key: string, ...how: unknown[]) =>
        key.startsWith(unread) && (unread.endsWith(":") ? key !== "catalog:current" : true)
          ? Promise.reject(new Error("KV GET failed: 503 Service Unavailable"))
          : Reflect.apply(SKILLS.get, SKILLS, [key, ...how]);
      isolate.env.SKILLS = new Proxy(SKILLS, {
        get: (target, name) => (name === "get" ? get : Reflect.get(target, name).bind(target)),
      });
      const real = Date.now();
      const now = vi.spyOn(Date, "now").mockImplementation(() => real + 6000);
      // The first request reads the pointer behind its answer.
      for (let request = 0; request < 3; request++) {
        expect(await served()).toBe(before);
        expect((await isolate.post("/skills/before", "hi")).status).toBe(200);
      }
      expect(log.mock.calls.map(([line]) => JSON.parse(String(line)))).toEqual([
        expect.objectContaining({ error: expect.stringContaining("KV GET failed: 503") }),
      ]);
      isolate.env.SKILLS = SKILLS;
      now.mockImplementation(() => real + 12_000);
      await served();
      expect(await served()).toBe(after);
    },
  );

  it("continues from what an earlier version of Hull published, which writes only KV", async () => {
    const { SKILLS } = client.env;
    await client.publish({ one: mockSkill("one") });
    const [older, next] = [await storedOnly("older"), await storedOnly("next")];
    const pointer = await SKILLS.get<CatalogPointer>("catalog:current", "json");
    const published_at = new Date(Date.now() + 60_000).toISOString();
    await SKILLS.put("catalog:current", JSON.stringify({ id: older, previous: pointer?.id, published_at }));
    await sweepAll(client.env, () => {}, Date.now());
    expect(await SKILLS.get("catalog:current", "json")).toMatchObject({ id: older });
    const moved = await client.post("/_hull/catalog", { id: next });
    const shown = await moved.json<CatalogPointer>();
    expect(shown).toMatchObject({ id: next, previous: older });
    expect(shown.published_at > published_at).toBe(true);
  });

  it("replaces a pointer that a later version of Hull stored, whose clock was ahead", async () => {
    const { SKILLS } = client.env;
    await client.publish({ one: mockSkill("one") });
    const next = await storedOnly("next");
    const published_at = new Date(Date.now() + 60_000).toISOString();
    await SKILLS.put("catalog:current", JSON.stringify({ catalogs: [], published_at }));
    expect((await client.post("/_hull/catalog", { id: next })).status).toBe(201);
    expect(await SKILLS.get("catalog:current", "json")).toMatchObject({ id: next });
  });

  it("lists what is stored, so that the client sends only what is missing", async () => {
    const id = await client.publish({ listed: mockSkill("listed") });
    const { data } = await (await client.fetch("/_hull/bundles")).json<{ data: string[] }>();
    expect(data).toContain(`catalog:${id}`);
  });

  it("refuses content that differs from its digest", async () => {
    const good = bytes("x");
    const digest = await sha256(good);
    await refused(client.upload([entry(`pack/${digest}`, good)], "0".repeat(64)), /SHA-256/);
    await refused(client.upload([entry(`pack/${digest}`, bytes("y"))]), /has the SHA-256/);
    await refused(client.upload([entry(`other/${digest}`, good)]), /<kind>/);
    await refused(client.upload([entry(`skill/${digest}`, good)]), /skill/);
    const half = bytes('{"format":1}');
    await refused(client.upload([entry(`catalog/${await sha256(half)}`, half)]), /cards/);
    const swagger = bytes('{"openapi":"2.0"}');
    await refused(client.upload([entry(`openapi/${await sha256(swagger)}`, swagger)]), /openapi/);
    const junk = client.fetch(`/_hull/bundles/${digest}`, { method: "PUT", body: "not a tar" });
    await refused(junk, /cut off/);
    await refused(client.post("/_hull/catalog", { id: "0".repeat(64) }), /not stored/);
  });

  it.each([
    [{ id: 5 }, "id", "Invalid input: expected string, received number"],
    [{ id: "0".repeat(64), ids: 1 }, "ids", "there is no such field"],
    [[], "", "Invalid input: expected object, received array"],
  ])("refuses %j in words, with the path", async (body, path, message) => {
    const answer = await client.post("/_hull/catalog", body);
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({ code: "input_invalid", errors: [{ path, message }] });
  });

  it("without anything published answers 503 catalog_missing", async () => {
    const empty = new Client();
    empty.env.SKILLS = new Proxy(client.env.SKILLS, {
      get: (target, name) => (name === "get" ? async () => null : Reflect.get(target, name)),
    });
    const response = await empty.fetch("/skills");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "catalog_missing" });
    expect(await (await empty.fetch("/healthz")).json()).toMatchObject({ status: "ok", skills: 0 });
  });
});

describe("what a later version of Hull published", () => {
  const { SKILLS } = client.env;
  const problem = async (answer: Promise<Response>) => {
    const response = await answer;
    return [response.status, await response.json<{ code: string; detail: string }>()];
  };
  /** Changes a stored object as a later version might write it. */
  async function change(key: string, edit: (value: Record<string, unknown>) => object): Promise<void> {
    const value = await SKILLS.get<Record<string, unknown>>(key, "json");
    await SKILLS.put(key, JSON.stringify(edit(value ?? expect.fail(`no ${key}`))));
  }

  it("a skill with an unknown card or record is not served, and says so; the others are", async () => {
    const id = await client.publish({
      fine: mockSkill("fine"),
      seen: mockSkill("seen"),
      odd: mockSkill("odd", "route: /wild/odd\n"),
    });
    const card = await (await client.fetch("/skills/seen/card")).json<{ version: string }>();
    await change(`skill:${card.version}`, (record) => ({
      ...record,
      manifest: { ...Object(record.manifest), mode: "dream" },
    }));
    await change(`catalog:${id}`, ({ cards, ...catalog }) => ({
      ...catalog,
      cards: [cards]
        .flat()
        .map((one) => (Object(one).slug === "odd" ? { ...Object(one), mode: "dream" } : one)),
    }));
    const later = new Client();
    expect((await later.post("/skills/fine", "hi")).status).toBe(200);
    for (const [path, slug] of [
      ["/skills/odd", "odd"],
      ["/wild/odd", "odd"],
      ["/skills/seen", "seen"],
    ] as const) {
      const detail = `The skill "${slug}" is not served: a later version of Hull stored it`;
      expect(await problem(later.post(path, "hi"))).toMatchObject([
        404,
        { code: "skill_not_found", detail: expect.stringMatching(`${detail}.* \\(hull publish\\)`) },
      ]);
    }
    const body = await makeZip([{ name: "SKILL.md", content: mockSkill("odd") }]);
    const upload = later.fetch("/_hull/skills/odd", { method: "PUT", body });
    expect(await problem(upload)).toMatchObject([409, { code: "slug_taken" }]);
    const names = await (await later.fetch("/skills")).json<{ slug: string }[]>();
    expect(names.map(({ slug }) => slug)).toEqual(["fine", "seen"]);
    const listed = await later.post("/mcp", { jsonrpc: "2.0", id: 1, method: "prompts/list" });
    expect([listed.status, await listed.text()]).toEqual([200, expect.stringContaining('"fine"')]);
    expect((await later.fetch("/.well-known/agent-skills/index.json")).status).toBe(200);
  });

  it("a catalog or pointer of another form is 503 with the remedy, until the next publish", async () => {
    const changes: [(id: string) => string, (value: Record<string, unknown>) => object][] = [
      [() => "catalog:current", ({ id: _, ...pointer }) => ({ ...pointer, ids: [] })],
      [(id) => `catalog:${id}`, (catalog) => ({ ...catalog, format: 2 })],
    ];
    for (const [keyOf, edit] of changes) {
      await change(keyOf(await client.publish({ one: mockSkill("one") })), edit);
      const later = new Client();
      expect(await problem(later.post("/skills/one", "hi"))).toMatchObject([
        503,
        { code: "catalog_unreadable", detail: expect.stringContaining("hull publish") },
      ]);
      expect(await (await later.fetch("/readyz")).json()).toMatchObject({ catalog: "catalog_unreadable" });
      // It is unknown whether such a skill exists.
      for (const method of ["GET", "DELETE"])
        expect((await later.fetch("/v1/skills/one", { method })).status).toBe(503);
      const known = await new Client().publish({ two: mockSkill("two") });
      expect([known, (await later.post("/skills/two", "hi")).status]).toEqual([known, 200]);
    }
  });
});
