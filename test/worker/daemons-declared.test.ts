/** Daemons that skills declare, the sweep, and signed events. */
import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sweepAll } from "../../src/http/sweep.ts";
import { movePointer, storedPointer } from "../../src/registry/pointer.ts";
import { readPointer } from "../../src/registry/published.ts";
import { removeUpload } from "../../src/registry/upload-changes.ts";
import { noteDaemon } from "../../src/session/daemon/directory.ts";
import { bindings } from "./file-bindings.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";
import { tenant } from "./tenant.ts";

const SECRET = "a webhook's own secret";
const ADMIN = "hull-admin-canary-0123456789";
const client = new Client();
const keyed = new Client({ HULL_ADMIN_KEY: ADMIN, WEBHOOK_SECRET: SECRET });
const env = bindings;

type Body = Record<string, unknown>;
const skill = (task: string, more = ""): string =>
  mockSkill("guard", `daemon:\n  task: ${task}\n  cron: "0 9 29 2 *"\n  time_zone: Europe/Berlin\n${more}`);
const list = async (): Promise<Body[]> =>
  (await (await client.fetch("/daemons?limit=1000")).json<{ data: Body[] }>()).data;
const declared = async (): Promise<Body | undefined> =>
  (await list()).find((daemon) => daemon.skill === "guard");
const get = async (id: unknown): Promise<Body> => (await client.fetch(`/daemons/${id}`)).json<Body>();
const sweep = async (isolate = Object.assign({}, env, LOCAL)): Promise<void> => {
  const work: Promise<unknown>[] = [];
  await sweepAll(isolate, (promise) => void work.push(promise), Date.now());
  await Promise.allSettled(work);
};
const until = async (id: unknown, wanted: Body): Promise<Body> => {
  for (;;) {
    const daemon = await get(id);
    if (Object.entries(wanted).every(([name, value]) => daemon[name] === value)) return daemon;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

describe("a skill that declares a daemon", () => {
  it("has one while it is published: made, left unchanged, changed, stopped, and made again", async () => {
    await client.publish({ guard: skill("Guard the gate.") });
    const { id } = (await declared()) ?? {};
    const first = await until(id, { daemon_state: "idle" });
    expect(first).toMatchObject({
      name: "guard",
      skill: "guard",
      status: "running",
      total_iterations: 1,
      persist_path: `daemons/${id}`,
      snapshot_path: `daemons/${id}/daemon.json`,
      next_wake_at: expect.stringMatching(/-02-29T08:00:00/),
      recorded_messages: [{ role: "user", content: "Guard the gate." }, {}],
    });
    await sweep();
    await client.publish({ guard: skill("Guard the gate."), other: mockSkill("other") });
    expect((await get(id)).run_id).toBe(first.run_id);
    await client.publish({ guard: skill("Guard the door.") });
    const second = await until(id, { daemon_state: "idle", total_iterations: 2 });
    expect(JSON.stringify(second.recorded_messages)).toContain("Guard the door.");
    await client.publish({ other: mockSkill("other") });
    expect(await get(id)).toMatchObject({ status: "stopped" });
    await client.publish({ guard: skill("Guard the door.") });
    expect(await until(id, { daemon_state: "idle", total_iterations: 3 })).toMatchObject({
      status: "running",
    });
    // A stop is intended to last.
    await client.post(`/daemons/${id}/stop`, {});
    await sweep();
    expect(await get(id)).toMatchObject({ status: "stopped" });
  });

  it("loses it with the same publish again, if the process died before it stopped the daemon", async () => {
    const without = await client.publish({ other: mockSkill("other") });
    await client.publish({ guard: skill("Guard the wall.") });
    const { id } = (await declared()) ?? {};
    await until(id, { status: "running" });
    const change = { id: without, previous: null, pinned: null, by: null, now: new Date() };
    await movePointer(env, await storedPointer(env, false), change);
    expect((await new Client().post("/_hull/catalog", { id: without })).status).toBe(200);
    expect(await get(id)).toMatchObject({ status: "stopped" });
  });

  it("keeps the version of the last publish when an isolate sweeps that knows an earlier one", async () => {
    const other = Object.assign({}, env, LOCAL);
    await client.publish({ guard: skill("Guard the tower.") });
    await sweep(other);
    await client.publish({ guard: skill("Guard the bridge.") });
    const { id } = (await declared()) ?? {};
    const { run_id } = await until(id, { daemon_state: "idle" });
    await sweep(other);
    expect(await get(id)).toMatchObject({ run_id });
  });

  it("keeps it also where KV still shows the publish before", async () => {
    const without = await client.publish({ other: mockSkill("other") });
    const before = await readPointer(env);
    await client.publish({ guard: skill("Guard the well.") });
    const { id } = (await declared()) ?? {};
    const { run_id } = await until(id, { daemon_state: "idle" });
    const get_ = env.SKILLS.get.bind(env.SKILLS);
    const late = Object.assign({}, env, LOCAL);
    late.SKILLS = new Proxy(env.SKILLS, {
      get: (kv, name) =>
        name === "get"
          ? (key: string, type: "json") => (key === "catalog:current" ? before : get_(key, type))
          : Reflect.get(kv, name),
    });
    expect(before).toMatchObject({ id: without });
    await sweep(late);
    expect(await get(id)).toMatchObject({ run_id, status: "running" });
  });

  it("loses it while it waits after a failure, too", async () => {
    const options =
      "  options: {resume_after_ms: 3600000, llm_retries: 0, mock: [{error: {category: overloaded}}]}\n";
    await client.publish({ guard: skill("Guard the ship.", options) });
    const { id } = (await declared()) ?? {};
    expect(await until(id, { status: "failed" })).toMatchObject({ resumes_at: expect.any(String) });
    await expect.poll(declared).toMatchObject({ status: "failed" });
    await client.publish({ other: mockSkill("other") });
    expect(await get(id)).toMatchObject({ status: "failed", resumes_at: null });
  });

  it("does not prevent publishing if it cannot be started", async () => {
    await client.publish({ guard: skill("x", "  options: {nonsense: 1}\n"), fine: mockSkill("fine") });
    expect((await client.fetch("/skills/fine/card")).status).toBe(200);
  });
});

it("a daemon that a request spawned shows the skill that it runs, which does not govern it", async () => {
  await client.publish({ other: mockSkill("other") });
  const spawned = await client.post("/daemons", { task: "x", skill: "other" });
  const { id, skill: shown } = await spawned.json<Body>();
  expect([shown, (await get(id)).skill]).toEqual(["other", "other"]);
  const listed = async () => (await list()).find((daemon) => daemon.id === id);
  await expect.poll(listed).toMatchObject({ skill: "other", status: "running" });
  await client.publish({ guard: skill("Guard the gate.") });
  await sweep();
  expect(await listed()).toMatchObject({ skill: "other", status: "running" });
  await client.fetch(`/daemons/${id}`, { method: "DELETE" });
  const left = await env.DB.prepare("SELECT id FROM daemon_skills WHERE id = ?").bind(id).all();
  expect(left.results).toEqual([]);
});

describe("the sweep", () => {
  it("restarts a daemon that should have reported, and forgets one that does not exist", async () => {
    const spawned = await client.post("/daemons", {
      task: "x",
      provider: "mock",
      wake_interval_ms: 3_600_000,
    });
    const { id } = await spawned.json<{ id: string }>();
    const note = {
      tenant: "default",
      name: null,
      persist_path: null,
      skill: null,
      webhook: null,
      created_at: 0,
      ...({ status: "running", check_at: 1 } as const),
    };
    await noteDaemon(env, { ...note, id });
    await noteDaemon(env, { ...note, id: "dmn_ghost" });
    await sweep();
    const query = "SELECT id, check_at FROM daemons WHERE id IN (?, 'dmn_ghost')";
    const { results } = await env.DB.prepare(query).bind(id).all<{ id: string; check_at: number }>();
    expect(results).toEqual([{ id, check_at: expect.any(Number) }]);
    expect(results[0]?.check_at).toBeGreaterThan(Date.now());
  });

  it("resumes a failed daemon whose alarm was lost", async () => {
    const mock = [{ error: { category: "overloaded" } }, { text: "better" }];
    const more = { provider: "mock", mock, llm_retries: 0, resume_after_ms: 3_600_000 };
    const spawned = await client.post("/daemons", { task: "x", ...more });
    const { id } = await spawned.json<{ id: string }>();
    await until(id, { status: "failed" });
    const overdue = "UPDATE daemons SET check_at = 1 WHERE id = ? AND check_at IS NOT NULL";
    const noted = async () => (await env.DB.prepare(overdue).bind(id).run()).meta.changes;
    await expect.poll(noted).toBe(1);
    await sweep();
    expect(await until(id, { daemon_state: "idle" })).toMatchObject({
      status: "running",
      total_text: "better",
    });
  });
});

describe("a tenant's uploaded skill that declares a daemon", () => {
  it("has none after its removal, also if the process died before it stopped the daemon", async () => {
    const acme = await tenant("acme", "invoke", "publish");
    expect(
      (await acme.put("watch", { "SKILL.md": skill("Watch.").replace("name: guard", "name: watch") })).status,
    ).toBe(201);
    const daemons = async () => {
      await sweep();
      return (await (await acme.fetch("/daemons")).json<{ data: Body[] }>()).data;
    };
    expect(await daemons()).toMatchObject([{ skill: "watch", status: "running" }]);
    // A later version of Hull may have stored the skill.
    const query = "UPDATE uploaded_skills SET card = json_set(card, '$.mode', 'dream') WHERE slug = 'watch'";
    await env.DB.prepare(query).run();
    expect(await daemons()).toMatchObject([{ skill: "watch", status: "running" }]);
    await removeUpload(env, "watch", "acme");
    expect(await daemons()).toMatchObject([{ skill: "watch", status: "stopped" }]);
  });
});

describe("a signed event", () => {
  const authorization = { authorization: `Bearer ${ADMIN}` };
  const spawn = async (webhook: Body): Promise<string> => {
    const body = JSON.stringify({ task: "Listen.", provider: "mock", webhook });
    const headers = { ...authorization, "content-type": "application/json" };
    const response = await keyed.fetch("/daemons", { method: "POST", headers, body });
    expect(response.status).toBe(201);
    return (await response.json<{ id: string }>()).id;
  };
  const sign = (text: string, secret = SECRET): string =>
    createHmac("sha256", secret).update(text).digest("hex");
  const send = async (id: string, body: string, headers: Record<string, string>) => {
    const response = await keyed.fetch(`/daemons/${id}/events`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
    });
    const { code, inflight_event: event } = await response.json<Body>();
    return [response.status, code, event];
  };
  const now = (): number => Math.floor(Date.now() / 1000);

  it("needs no key, but refuses a wrong signature, an old time and a missing one", async () => {
    const id = await spawn({ secret_env: "WEBHOOK_SECRET", header: "X-Sig", timestamp_header: "X-Time" });
    const body = '{"n": 1}';
    const at = (time: number | string, text = body, secret = SECRET) => ({
      "x-sig": sign(`${time}.${text}`, secret),
      "x-time": String(time),
    });
    for (const [headers, code] of [
      [{}, "unauthenticated"],
      [{ "x-time": String(now()) }, "unauthenticated"],
      [{ "x-sig": sign(body) }, "webhook_refused"],
      [at(now() - 301), "webhook_refused"],
      [at(now() + 400), "webhook_refused"],
      [at(now(), "another body"), "webhook_refused"],
      [at(now(), body, "another secret"), "webhook_refused"],
      [{ ...at(now()), "x-sig": "00" }, "webhook_refused"],
      [at("yesterday"), "webhook_refused"],
    ] as const) {
      expect([headers, await send(id, body, headers)]).toEqual([headers, [401, code, undefined]]);
    }
    const otherForm = await keyed.fetch(`/daemons/${id}/events`, {
      method: "POST",
      body,
      headers: { "x-sig": `t=${now()},v1=${sign(body)}`, "x-time": String(now()) },
    });
    expect((await otherForm.json<Body>()).detail).toContain("X-Sig has to hold an HMAC-SHA256 in hex");
    const good = at(now());
    const packed = await send(id, body, { ...good, "content-encoding": "gzip" });
    expect(packed).toEqual([415, "unsupported_media_type", undefined]);
    expect(await send(id, body, good)).toMatchObject([202, undefined, { seq: 1, payload: { n: 1 } }]);
    // An attacker who saw it and sends it again sends the same event, however the signature is written.
    const digits = good["x-sig"];
    for (const again of [digits, digits.toUpperCase(), `sha256=${digits}`]) {
      const answer = await send(id, body, { ...good, "x-sig": again });
      expect(answer).toMatchObject([202, undefined, { seq: 1 }]);
    }
    const other = await spawn({ secret_env: "WEBHOOK_SECRET", header: "X-Sig" });
    expect(await send("dmn_none", body, good)).toEqual([401, "unauthenticated", undefined]);
    expect(await send(other, body, { "x-sig": `sha256=${sign(body)}` })).toMatchObject([
      202,
      undefined,
      { seq: 1 },
    ]);
    for (const path of [`/daemons/${id}`, `/daemons/${id}/wake`]) {
      const method = path.endsWith("wake") ? "POST" : "GET";
      expect((await keyed.fetch(path, { method, headers: good })).status).toBe(401);
    }
  });

  it("attack: is refused once the deployment lists its secret no more", async () => {
    const id = await spawn({ secret_env: "WEBHOOK_SECRET", header: "X-Sig" });
    const HULL_CONFIG = JSON.stringify({ webhook_secrets: ["OTHER_*"] });
    const later = new Client({ HULL_ADMIN_KEY: ADMIN, WEBHOOK_SECRET: SECRET, HULL_CONFIG });
    const headers = { "content-type": "application/json", "x-sig": sign("{}") };
    const refused = await later.fetch(`/daemons/${id}/events`, { method: "POST", body: "{}", headers });
    expect([refused.status, await refused.json()]).toMatchObject([401, { code: "webhook_refused" }]);
  });

  it.each(["OPENAI_API_KEY", "HULL_ADMIN_KEY"])(
    "attack: is never verified by %s, even if the deployment lists every variable",
    async (secret_env) => {
      const HULL_CONFIG = JSON.stringify({ webhook_secrets: ["*"] });
      const all = new Client({ HULL_ADMIN_KEY: ADMIN, OPENAI_API_KEY: SECRET, HULL_CONFIG });
      const response = await all.fetch("/daemons", {
        method: "POST",
        headers: { ...authorization, "content-type": "application/json" },
        body: JSON.stringify({ task: "x", provider: "mock", webhook: { secret_env, header: "x-sig" } }),
      });
      expect([response.status, await response.json()]).toMatchObject([
        422,
        {
          errors: [
            { path: "webhook.secret_env", message: expect.stringMatching(/^names (?:the key|one of)/) },
          ],
        },
      ]);
    },
  );

  it("has the same address as one of the console, which needs no signature and counts as no guess of a key", async () => {
    const id = await spawn({ secret_env: "WEBHOOK_SECRET", header: "X-Sig" });
    const HULL_CONFIG = JSON.stringify({ rate_limit: null });
    const shielded = new Client({ HULL_ADMIN_KEY: ADMIN, WEBHOOK_SECRET: SECRET, HULL_CONFIG });
    shielded.env.SHIELD = { limit: async () => ({ success: false }) };
    const hash = createHash("sha256").update(ADMIN).digest("hex");
    const { signIns } = shielded.deployment;
    const cookie = await signIns.seal(hash, Date.now());
    const token = (await signIns.open(cookie, Date.now()))?.token ?? "";
    const sent = await shielded.fetch(`https://hull.example/console/daemons/${id}/send`, {
      method: "POST",
      body: new URLSearchParams({ event: '{"n": 1}', token }),
      headers: { cookie: `__Host-hull=${cookie}`, "sec-fetch-site": "same-origin" },
    });
    expect([sent.status, sent.headers.get("location")]).toEqual([303, `/console/daemons/${id}`]);
    const unsigned = await shielded.fetch(`/daemons/${id}/events`, { method: "POST", body: "{}" });
    expect(unsigned.status).toBe(429);
  });
});
