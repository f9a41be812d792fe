/** The objects of uploaded skills: Hull removes them once nothing can need them, and not before (docs/storage-schema.md). */
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { toBase64 } from "../../src/bytes.ts";
import { packTar } from "../../src/skill/tar.ts";
import { makeZip } from "../support/zip.ts";
import { Client, mockSkill } from "./served.ts";
import { FOLDER, keyed, skill, Tenant, tenant } from "./tenant.ts";
import { statementsIn, sweepAt } from "./triggers.ts";

const { env } = keyed;
const DAY_MS = 24 * 3_600_000;
const FILES = { ...skill("fox"), "notes.md": "What the fox says." };
let red: Tenant;
let blue: Tenant;

const { run, count: rows } = statementsIn(env);
/** One trigger, this many days from now. */
const sweep = (days: number, bindings = env): Promise<void> => sweepAt(bindings, Date.now() + days * DAY_MS);
/** The kinds of uploads' objects in KV. */
const kinds = async (): Promise<string[]> =>
  (await env.SKILLS.list({ prefix: "uploaded/" })).keys
    .map(({ name }) => name.replace(/^uploaded\/|:.*$/g, ""))
    .sort();
async function upload(by: Tenant, files: Record<string, string> = FILES): Promise<string> {
  const answer = await by.put("fox", files);
  expect([200, 201]).toContain(answer.status);
  return (await answer.json<{ digest: string }>()).digest;
}
/** An isolate that knows nothing yet. */
const fresh = ({ key }: Tenant) =>
  new Tenant(new Client({ HULL_ADMIN_KEY: "hull-admin-canary-0123456789" }), key);
/** What a call of the skill in a new isolate answers, and a file of its folder there. */
async function works(by: Tenant, digest: string): Promise<(number | string)[]> {
  const there = fresh(by);
  const { status } = await there.run("/skills/fox");
  const { registry } = there.client.deployment;
  const record = await registry.skill(digest);
  const [notes] = record.files.filter(({ path }) => path === "notes.md");
  const bytes = notes === undefined ? null : await registry.file(record, notes);
  return [status, new TextDecoder().decode(bytes ?? new Uint8Array())];
}
const WORKS = [200, "What the fox says."];

beforeAll(async () => {
  await new Client().publish(FOLDER);
  red = await tenant("red", "invoke", "publish");
  blue = await tenant("blue", "invoke", "publish");
});
beforeEach(async () => {
  for (const by of [red, blue]) await by.remove("fox");
  for (const table of [
    "uploaded_records",
    "uploaded_objects",
    "runs",
    "workflow_runs",
    "tasks",
    "daemons",
    "sessions",
  ])
    await run(`DELETE FROM ${table}`);
  for (const { name } of (await env.SKILLS.list({ prefix: "uploaded/" })).keys) await env.SKILLS.delete(name);
});

describe("the objects of an upload", () => {
  it("stay while it is served, in all its versions, and go a month after it was removed", async () => {
    const first = await upload(red);
    const second = await upload(red, { ...FILES, "notes.md": "Nothing." });
    await sweep(400);
    expect(await kinds()).toEqual(["pack", "pack", "skill", "skill"]);
    const back = await fresh(red).fetch("/_hull/skills/fox", {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ digest: first }),
    });
    expect([back.status, first === second]).toEqual([200, false]);
    await red.remove("fox");
    await sweep(30);
    expect(await kinds()).toHaveLength(4);
    await sweep(32);
    expect([await kinds(), await rows("uploaded_records"), await rows("uploaded_objects")]).toEqual([
      [],
      0,
      0,
    ]);
    expect((await fresh(red).run("/skills/fox")).status).toBe(404);
    expect(await works(red, await upload(red))).toEqual(WORKS);
  });

  it("stay as long as another tenant's upload uses them", async () => {
    await upload(red);
    await red.remove("fox");
    const digest = await upload(blue);
    expect(await kinds()).toEqual(["pack", "skill", "skill"]);
    await sweep(32);
    expect(await kinds()).toEqual(["pack", "skill"]);
    expect(await works(blue, digest)).toEqual(WORKS);
    // Where large ones are.
    for (const { name } of (await env.SKILLS.list({ prefix: "uploaded/pack:" })).keys) {
      await env.FILES.put(name, (await env.SKILLS.get(name, "arrayBuffer")) ?? "");
      await env.SKILLS.delete(name);
    }
    expect([await kinds(), await works(blue, digest)]).toEqual([["skill"], WORKS]);
  });

  it("are not reused by a publish of the same folder, which sends its own", async () => {
    await upload(red);
    const { data } = await (await new Client().fetch("/_hull/bundles")).json<{ data: string[] }>();
    expect(data.filter((key) => key.startsWith("uploaded"))).toEqual([]);
    await red.remove("fox");
    await new Client().publish({ ...FOLDER, fox: FILES });
    await sweep(32);
    expect(await kinds()).toEqual([]);
    const there = new Client();
    const card = await (await there.fetch("/skills/fox/card")).json<{ version: string }>();
    const record = await there.deployment.registry.skill(card.version);
    const [notes] = record.files.filter(({ path }) => path === "notes.md");
    const bytes = notes === undefined ? null : await there.deployment.registry.file(record, notes);
    expect(new TextDecoder().decode(bytes ?? new Uint8Array())).toBe("What the fox says.");
    await new Client().publish(FOLDER);
  });

  it("include those of a version that a failed upload left behind", async () => {
    const broken = new Tenant(new Client({ HULL_ADMIN_KEY: "hull-admin-canary-0123456789" }), red.key);
    const { DB } = broken.client.env;
    const prepare = (query: string) =>
      DB.prepare(query.startsWith("INSERT INTO uploaded_skills") ? "SELECT * FROM no_such_table" : query);
    const batch: D1Database["batch"] = (statements) => DB.batch(statements);
    broken.client.env.DB = Object.assign(Object.create(null), { prepare, batch });
    expect((await broken.put("fox", FILES)).status).toBe(500);
    expect(await kinds()).toEqual(["pack", "skill"]);
    await sweep(32);
    expect([await kinds(), await rows("uploaded_records")]).toEqual([[], 0]);
  });
});

describe("a removed upload stays as long as something may need it", () => {
  const at = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
  const RUN = `INSERT INTO runs (tenant, id, kind, state, created_at, settled_at, input_tokens, output_tokens, cost_usd)
    VALUES (?1, 'r', 'agent', 'awaiting_approval', ?2, NULL, 0, 0, 0)`;
  const WORKFLOW = "INSERT INTO workflow_runs VALUES (?1, 'w', 'g', 't', 'completed', ?2, ?2)";
  const TASK = "INSERT INTO tasks VALUES (?1, 't', 'n', 'm', 'completed', NULL, ?2)";
  const DAEMON = `INSERT INTO daemons (tenant, id, status, created_at) VALUES (?1, 'd', 'stopped', ?2)`;
  const BOX = "INSERT INTO sessions VALUES (?1, ?3, 'active', ?2, NULL, json_object('skills', ?4))";

  it.each<[string, string, string, number, boolean]>([
    ["a run that waits", RUN, "red", -1, true],
    ["a run that began later", RUN, "red", 3, false],
    ["another tenant's run", RUN, "blue", -1, false],
    ["a workflow run that has ended", WORKFLOW, "red", -1, true],
    ["a later workflow run", WORKFLOW, "red", 3, false],
    ["a task", TASK, "red", -1, true],
    ["a stopped daemon", DAEMON, "red", -1, true],
    ["a container with it", BOX.replace("?3", "'container_01a'"), "red", 3, true],
    ["a container without it", BOX.replace("?3", "'container_01a'").replace("?4", "'[]'"), "red", -1, false],
    ["a session that names it", BOX.replace("?3", "'s'"), "red", -1, false],
  ])("%s", async (_, statement, owner, day, stays) => {
    const digest = await upload(red);
    await red.remove("fox");
    const values = [owner, at(day), ...(statement.includes("?4") ? [digest] : [])];
    await run(statement.replace("?4", "?3"), ...values);
    // The containers' own sweep asks their objects, which this test lacks.
    vi.spyOn(console, "error").mockReturnValue();
    await sweep(62);
    expect(await kinds()).toHaveLength(stays ? 2 : 0);
    for (const table of ["runs", "workflow_runs", "tasks", "daemons", "sessions"])
      await run(`DELETE FROM ${table}`);
    await sweep(62);
    expect(await kinds()).toEqual([]);
  });

  const longLoose = () => run("UPDATE uploaded_records SET loose_ms = ?", Date.now() - 40 * DAY_MS);

  it("longer if a run takes it over, or names it by its digest", async () => {
    const local = new Client();
    const mine = new Tenant(local, "");
    const digest = await upload(mine);
    const asked = {
      task: "Count.",
      node: { kind: "subagent", mode: "llm", model_policy: { provider: "mock", skills: ["fox"] } },
      carry: { retriggerable: true },
      options: { mock: [{ text: "one" }, { text: "two" }] },
    };
    const { id } = await (await local.post("/tasks", asked)).json<{ id: string }>();
    const status = async () => (await (await local.fetch(`/tasks/${id}`)).json<{ status: string }>()).status;
    await expect.poll(status).toMatch(/^await/);
    await mine.remove("fox");
    await longLoose();
    expect((await local.post(`/tasks/${id}/trigger`, {})).status).toBe(200);
    const loose = async () =>
      (await env.DB.prepare("SELECT loose_ms FROM uploaded_records").first<number>("loose_ms")) ?? 0;
    await expect.poll(loose).toBeGreaterThan(Date.now() - DAY_MS);
    await longLoose();
    const { registry } = new Client().deployment;
    expect((await registry.skillOf("default", digest)).manifest.slug).toBe("fox");
    expect(await loose()).toBeGreaterThan(Date.now() - DAY_MS);
    await expect(registry.skillOf("default", "0".repeat(64))).rejects.toThrow("There is no skill");
  });
});

it("the parts of an upload are stored side by side, and its record after them", async () => {
  const puts: string[] = [];
  const isolate = fresh(red);
  isolate.client.env.SKILLS = new Proxy(env.SKILLS, {
    get: (target, name) => {
      if (name !== "put") return Reflect.get(target, name).bind(target);
      return async (key: string, value: ArrayBuffer) => {
        const kind = key.replace(/^uploaded\/|:.*$/g, "");
        puts.push(`${kind} begins`);
        await target.put(key, value);
        puts.push(`${kind} is stored`);
      };
    },
  });
  const tools = ["a", "b"].map((name) => ({ name, description: "d", script: `${name}.js`, parameters: {} }));
  const scripts = { "a.js": "export default () => 1;", "b.js": "export default () => 2;" };
  await upload(isolate, { ...FILES, ...scripts, "tools.json": JSON.stringify(tools) });
  expect(puts.slice(0, 3)).toEqual(["module begins", "module begins", "pack begins"]);
  expect(puts.slice(-2)).toEqual(["skill begins", "skill is stored"]);
});

describe("a sweep", () => {
  /** KV whose removal of the first object waits for `before`, or fails. */
  function removing(before: () => Promise<unknown>) {
    let begun = false;
    const SKILLS = new Proxy(env.SKILLS, {
      get: (target, name) => {
        if (name !== "delete") return Reflect.get(target, name).bind(target);
        return async (key: string) => {
          if (!begun) {
            begun = true;
            await before();
          }
          return target.delete(key);
        };
      },
    });
    return { ...env, SKILLS };
  }

  it("keeps what a tenant uploads again while the sweep removes it", async () => {
    const digest = await upload(red);
    await red.remove("fox");
    // Its own version, or another one with the same files.
    for (const by of [red, blue]) {
      await sweep(
        32,
        removing(() => upload(by)),
      );
      expect(await kinds()).toEqual([]);
      const record = by === red ? digest : await upload(by);
      for (const days of [0, 64]) {
        await sweep(days);
        expect(await works(by, record)).toEqual(WORKS);
      }
      await by.remove("fox");
      await upload(red);
      await red.remove("fox");
    }
  });

  it("reports its failure, stops no other sweep, and a later one finishes", async () => {
    await upload(red);
    await red.remove("fox");
    await run(
      `INSERT INTO runs (tenant, id, kind, state, created_at, settled_at, input_tokens, output_tokens, cost_usd)
       VALUES ('t', 'old', 'call', 'done', ?1, ?1, 0, 0, 0)`,
      new Date().toISOString(),
    );
    const logged = vi.spyOn(console, "error").mockReturnValue();
    await sweep(
      32,
      removing(() => Promise.reject(new TypeError("KV DELETE failed: 500"))),
    );
    expect(logged.mock.calls.map(([line]) => JSON.parse(String(line)))).toMatchObject([
      { event: "sweep_failed", sweep: "uploads", error: expect.stringContaining("KV DELETE failed") },
    ]);
    logged.mockRestore();
    expect([await rows("runs"), (await kinds()).length]).toEqual([0, 2]);
    await sweep(32.01);
    expect(await kinds()).toHaveLength(2);
    await sweep(32.1);
    expect([await kinds(), await rows("uploaded_records"), await rows("uploaded_objects")]).toEqual([
      [],
      0,
      0,
    ]);
  });

  it("removes a version of many objects in parts, since a trigger has a thousand calls for all sweeps", async () => {
    const list = JSON.stringify(Array.from({ length: 450 }, (_, i) => `uploaded/module:${i}`));
    await run("INSERT INTO uploaded_records VALUES ('big', 't', 1, NULL), ('other', 't', NULL, NULL)");
    await run("INSERT INTO uploaded_objects SELECT 'big', value FROM json_each(?)", list);
    await run("INSERT INTO uploaded_objects VALUES ('other', 'uploaded/module:0')");
    const removed: string[] = [];
    const SKILLS = new Proxy(env.SKILLS, {
      get: (target, name) =>
        name === "delete"
          ? async (key: string) => void removed.push(key)
          : Reflect.get(target, name).bind(target),
    });
    for (const [hours, most] of [
      [0, 200],
      [2, 400],
      [4, 449],
    ] as const) {
      await sweep(hours / 24, { ...env, SKILLS });
      expect([removed.length, new Set(removed).size]).toEqual([most, most]);
    }
    expect(removed).not.toContain("uploaded/module:0");
    expect([await rows("uploaded_records"), await rows("uploaded_objects")]).toEqual([1, 1]);
  });

  it("removes many at once, those in R2 too", async () => {
    const list = JSON.stringify(Array.from({ length: 50 }, (_, i) => i));
    for (let i = 0; i < 50; i++) await (i % 2 === 0 ? env.SKILLS : env.FILES).put(`uploaded/skill:${i}`, "x");
    await run("INSERT INTO uploaded_records SELECT 'd' || value, 't', 1, NULL FROM json_each(?)", list);
    await run(
      "INSERT INTO uploaded_objects SELECT 'd' || value, 'uploaded/skill:' || value FROM json_each(?)",
      list,
    );
    await sweep(0);
    expect((await env.FILES.list({ prefix: "uploaded/" })).objects).toEqual([]);
    expect([await kinds(), await rows("uploaded_records"), await rows("uploaded_objects")]).toEqual([
      [],
      0,
      0,
    ]);
  });
});

it("a skill inside a request goes like a removed upload, after the container that has it", async () => {
  const data = toBase64(await makeZip([{ name: "box/SKILL.md", content: mockSkill("box") }]));
  const source = { type: "base64", media_type: "application/zip", data };
  const asked = {
    name: "b",
    skills: [{ type: "inline", name: "box", description: "The box skill", source }],
  };
  const made = await new Client().post("/v1/containers", asked);
  const text = await made.text();
  expect([made.status, made.ok ? "" : text]).toEqual([200, ""]);
  expect(await kinds()).toEqual(["pack", "skill"]);
  const longLoose = () => run("UPDATE uploaded_records SET loose_ms = ?", Date.now() - 40 * DAY_MS);
  await longLoose();
  await sweep(0);
  expect(await kinds()).toEqual(["pack", "skill"]);
  // Another request brings it again, and its container is not yet in the list.
  expect((await new Client().post("/v1/containers", { ...asked, name: "c" })).status).toBe(200);
  // A session writes its row after the answer, so a row could come back.
  await expect.poll(() => rows("sessions")).toBe(2);
  await run("DELETE FROM sessions");
  await sweep(0);
  expect(await kinds()).toEqual(["pack", "skill"]);
  await longLoose();
  await sweep(0);
  expect(await kinds()).toEqual([]);
});

it("an upload of an earlier version of Hull, whose objects have no notes, is served and stays", async () => {
  const digest = await upload(red);
  for (const { name } of (await env.SKILLS.list({ prefix: "uploaded/" })).keys) {
    const value = await env.SKILLS.get(name, "arrayBuffer");
    await env.SKILLS.put(name.slice("uploaded/".length), value ?? packTar([]));
    await env.SKILLS.delete(name);
  }
  for (const table of ["uploaded_records", "uploaded_objects"]) await run(`DELETE FROM ${table}`);
  await sweep(64);
  expect(await works(red, digest)).toEqual(WORKS);
});
