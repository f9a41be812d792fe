import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { FIXED_ROUTES } from "../../src/skill/fixed-routes.ts";
import { Client, mockSkill } from "./served.ts";

const ADMIN = "hull-admin-canary-0123456789";
const keyed = new Client({ HULL_ADMIN_KEY: ADMIN });

interface Made {
  id: string;
  key: string;
  prefix: string;
  tenant: string;
  scopes: string[];
}

beforeAll(() => new Client().publish({ cat: mockSkill("cat") }));
afterEach(() => vi.restoreAllMocks());

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const run = (key: string, client = keyed) =>
  client.fetch("/skills/cat", { method: "POST", body: "hi", headers: bearer(key) });
const post = (key: string, body: unknown, headers: Record<string, string> = {}, client = keyed) =>
  client.fetch("/admin/keys", {
    method: "POST",
    headers: { ...bearer(key), "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
const revoke = (key: string, id: string) =>
  keyed.fetch(`/admin/keys/${id}`, { method: "DELETE", headers: bearer(key) });
const list = async (key: string, query = "") =>
  (await keyed.fetch(`/admin/keys${query}`, { headers: bearer(key) })).json<{
    data: Made[];
    next_cursor: string | null;
  }>();
async function make(tenant: string, ...scopes: string[]): Promise<Made> {
  const response = await post(ADMIN, { tenant, scopes, name: `for ${tenant}` });
  expect(response.status).toBe(201);
  return response.json();
}
const code = async (response: Response) => [response.status, (await response.json<{ code: string }>()).code];

describe("an API key", () => {
  it("is shown once, works, and stops working when it is revoked", async () => {
    const made = await make("acme", "invoke");
    expect(made).toMatchObject({ tenant: "acme", scopes: ["invoke"], name: "for acme" });
    expect(made.key).toMatch(/^hull_[A-Za-z0-9_-]{43}$/);
    expect(made.key.startsWith(made.prefix) && made.prefix.length < 15).toBe(true);
    const { data } = await list(ADMIN, "?tenant=acme");
    expect(data.map(({ id }) => id)).toContain(made.id);
    expect(JSON.stringify(data)).not.toContain(made.key);
    const { results } = await keyed.env.DB.prepare("SELECT * FROM api_keys").all();
    expect(JSON.stringify(results)).not.toContain(made.key);
    expect((await run(made.key)).status).toBe(200);
    expect((await revoke(ADMIN, made.id)).status).toBe(204);
    expect(await code(await run(made.key))).toEqual([401, "unauthenticated"]);
    expect(await code(await revoke(ADMIN, made.id))).toEqual([404, "key_not_found"]);
  });

  it("is made once for an Idempotency-Key, whose repetitions show it too, and is stored nowhere", async () => {
    const asked = (tenant: string, by = ADMIN) =>
      post(by, { tenant, scopes: ["admin"] }, { "idempotency-key": "made once" });
    const first = await (await asked("once")).json<Made>();
    const again = await asked("once");
    expect([again.status, again.headers.get("x-hull-replayed"), await again.json()]).toEqual([
      201,
      "1",
      first,
    ]);
    expect((await run(first.key)).status).toBe(200);
    expect(await code(await asked("twice"))).toEqual([422, "idempotency_key_reused"]);
    expect((await list(ADMIN, "?tenant=once")).data.map(({ id }) => id)).toEqual([first.id]);
    const { key } = await (await asked("once", first.key)).json<Made>();
    expect(key).not.toBe(first.key);
    const { DB, FILES } = keyed.env;
    const rows = ["api_keys", "kept_answers"].map(async (table) =>
      DB.prepare(`SELECT * FROM ${table}`).all(),
    );
    const { objects } = await FILES.list();
    const bodies = objects.map(async ({ key: name }) => (await FILES.get(name))?.text());
    const stored = JSON.stringify(await Promise.all([...rows, ...bodies]));
    expect(stored).toContain(first.id);
    expect(stored).not.toContain(first.key);
    expect((await revoke(ADMIN, first.id)).status).toBe(204);
    expect(await (await asked("once")).json()).toEqual(first);
    expect(await code(await run(first.key))).toEqual([401, "unauthenticated"]);
    // With another secret the deployment would derive another key.
    const changed = new Client({
      HULL_ADMIN_KEY: ADMIN,
      HULL_SECRET_KEY: "another-secret-0123456789abcdef0123",
    });
    const body = { tenant: "once", scopes: ["admin"] };
    const later = await post(ADMIN, body, { "idempotency-key": "made once" }, changed);
    expect(await code(later)).toEqual([502, "answer_lost"]);
  });

  it("has the scopes that this version knows, if a later version made it", async () => {
    const made = await make("later", "invoke");
    const { DB } = keyed.env;
    await DB.prepare("UPDATE api_keys SET scopes = 'invoke audit' WHERE id = ?").bind(made.id).run();
    expect((await run(made.key)).status).toBe(200);
    expect((await list(ADMIN, "?tenant=later")).data).toMatchObject([{ id: made.id, scopes: ["invoke"] }]);
  });

  it("shows its last use, which is written once an hour at most, and leaves nothing behind", async () => {
    const made = await make("used", "invoke");
    const usedAt = async () =>
      (await keyed.env.DB.prepare("SELECT used_at FROM api_key_uses WHERE id = ?")
        .bind(made.id)
        .first("used_at")) ?? null;
    const now = Date.now();
    const clock = vi.spyOn(Date, "now");
    const useAt = async (at: number): Promise<void> => {
      clock.mockReturnValue(at);
      expect((await run(made.key)).status).toBe(200);
    };
    expect((await list(ADMIN, "?tenant=used")).data).toMatchObject([{ last_used_at: null }]);
    await useAt(now);
    const first = new Date(now).toISOString();
    expect(await usedAt()).toBe(first);
    await useAt(now + 30 * 60_000);
    expect(await usedAt()).toBe(first);
    await useAt(now + 61 * 60_000);
    const later = new Date(now + 61 * 60_000).toISOString();
    expect((await list(ADMIN, "?tenant=used")).data).toMatchObject([{ last_used_at: later }]);
    await revoke(ADMIN, made.id);
    expect(await usedAt()).toBeNull();
  });

  it("attack: revoked elsewhere stops working within 10 s, and is not asked for in between", async () => {
    const now = Date.now();
    const clock = vi.spyOn(Date, "now").mockReturnValue(now);
    const made = await make("acme", "invoke");
    expect((await run(made.key)).status).toBe(200);
    await keyed.env.DB.prepare("DELETE FROM api_keys WHERE id = ?").bind(made.id).run();
    clock.mockReturnValue(now + 1900);
    expect((await run(made.key)).status).toBe(200);
    clock.mockReturnValue(now + 10_001);
    expect((await run(made.key)).status).toBe(401);
  });

  it("attack: revoked elsewhere is refused at its second use after 2 s", async () => {
    const now = Date.now();
    const clock = vi.spyOn(Date, "now").mockReturnValue(now);
    const made = await make("acme", "invoke");
    expect((await run(made.key)).status).toBe(200);
    await keyed.env.DB.prepare("DELETE FROM api_keys WHERE id = ?").bind(made.id).run();
    clock.mockReturnValue(now + 2001);
    expect((await run(made.key)).status).toBe(200);
    expect((await run(made.key)).status).toBe(401);
  });

  it("attack: revoked, it follows a session no longer", async () => {
    const made = await make("acme", "invoke");
    const headers = bearer(made.key);
    await keyed.fetch("/sessions", { method: "POST", headers, body: JSON.stringify({ id: "followed" }) });
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const followed = await keyed.stream("/sessions/followed/events", { headers });
    const ended = new Response(followed.body).text().catch(() => "broken off");
    await vi.advanceTimersByTimeAsync(5000);
    expect(await Promise.race([ended, "goes on"])).toBe("goes on");
    await revoke(ADMIN, made.id);
    await vi.advanceTimersByTimeAsync(5000);
    expect(await ended).toBe("broken off");
    vi.useRealTimers();
  });

  it.each(["GET /workflows/runs/{id}?wait=terminal", "POST /tasks/wait"])(
    "attack: revoked while it waits, it learns nothing: %s",
    async (route) => {
      const [waiting, other] = await Promise.all([make("acme", "invoke"), make("acme", "invoke")]);
      const call = (key: string, path: string, body?: object) =>
        keyed.fetch(path, {
          headers: { ...bearer(key), "content-type": "application/json" },
          ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
        });
      const graph = { nodes: { ask: { kind: "wait", wait: { approval: "Go?" } } } };
      const tasks = route.includes("tasks");
      const begun = await call(other.key, tasks ? "/tasks" : "/workflows/execute?wait=none", {
        task: "x",
        graph,
      });
      const { id } = await begun.json<{ id: string }>();
      const answer = tasks
        ? call(waiting.key, "/tasks/wait", { ids: id })
        : call(waiting.key, `/workflows/runs/${id}?wait=terminal`);
      expect((await run(waiting.key)).status).toBe(200);
      await revoke(ADMIN, waiting.id);
      const ended = tasks ? `/tasks/${id}/close` : `/workflows/runs/${id}/cancel`;
      expect((await call(other.key, ended, {})).ok).toBe(true);
      expect(await code(await answer)).toEqual([401, "unauthenticated"]);
    },
  );

  it("attack: a HEAD of a stream of events leaves nothing that goes on for it", async () => {
    const { key } = await make("acme", "invoke");
    const headers = bearer(key);
    await keyed.fetch("/sessions", { method: "POST", headers, body: JSON.stringify({ id: "looked-at" }) });
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const answer = await keyed.stream("/sessions/looked-at/events", { method: "HEAD", headers });
    expect([answer.status, answer.body]).toEqual([200, null]);
    await expect.poll(() => vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it("attack: revoked here stays refused, whatever a read that began before says", async () => {
    const made = await make("acme", "invoke");
    expect((await run(made.key)).status).toBe(200);
    const clock = vi.spyOn(Date, "now");
    clock.mockReturnValue(Date.now() + 2001);
    const { response, settled } = await keyed.open("/skills/cat", {
      method: "POST",
      body: "hi",
      headers: bearer(made.key),
    });
    const refreshed = settled();
    expect(response.status).toBe(200);
    expect((await revoke(ADMIN, made.id)).status).toBe(204);
    await refreshed;
    expect((await run(made.key)).status).toBe(401);
  });

  it.each([
    [["invoke"], 200, 403, 403],
    [["publish"], 403, 200, 403],
    [["admin"], 200, 200, 200],
    [["publish", "invoke"], 200, 200, 403],
  ])("S72: with the scopes %j: run %i, publish %i, keys %i", async (scopes, ...expected) => {
    const { key } = await make("default", ...scopes);
    const get = (path: string) => keyed.fetch(path, { headers: bearer(key) });
    const answers = [await run(key), await get("/_hull/bundles"), await get("/admin/keys")];
    expect(answers.map(({ status }) => status)).toEqual(expected);
    for (const answer of answers) {
      if (answer.status === 403) expect(await answer.json()).toMatchObject({ code: "forbidden" });
    }
  });

  it("names itself in the log by its id only, and is redacted everywhere else", async () => {
    const lines: string[] = [];
    vi.spyOn(console, "log").mockImplementation((line: string) => lines.push(line));
    const { key, id } = await make("acme", "invoke");
    const missing = await keyed.fetch(`/skills/${key}`, { headers: bearer(key) });
    expect(await missing.text()).not.toContain(key);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ path: "/admin/keys", key_id: "key_admin" });
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ status: 404, key_id: id });
    expect(lines.join("")).not.toContain(key);
  });

  it.each([
    ["", 401],
    ["Basic abc", 401],
    ["Bearer", 401],
    [`Bearer hull_${"A".repeat(43)}`, 401],
    ["Bearer hull_short", 401],
    ["Bearer ' OR 1=1 --", 401],
  ])("Authorization: %j → %i", async (authorization, status) => {
    const headers: Record<string, string> = authorization === "" ? {} : { authorization };
    const response = await keyed.fetch("/skills", { headers });
    expect(response.status).toBe(status);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
  });
});

describe("attack: a fixed route", () => {
  const lacking: Record<string, string> = {};
  beforeAll(async () => {
    lacking.invoke = (await make("default", "publish")).key;
    lacking.publish = (await make("default", "invoke")).key;
    lacking.admin = (await make("default", "invoke", "publish")).key;
  });

  it.each(FIXED_ROUTES.map(([id, method, route, scope]) => [id, method, route, scope] as const))(
    "%s, %s %s, takes only keys with its scope: %s",
    async (_, method, route, scope) => {
      const path = route.replace(/:\w+(?:\{[^}]*\})?/g, "x");
      const send = async (key: string | undefined) => {
        const headers = key === undefined ? {} : bearer(key);
        const response = await keyed.stream(path, {
          method,
          headers,
          ...(method === "GET" ? {} : { body: "{}" }),
        });
        await response.body?.cancel();
        return response.status;
      };
      if (scope === "open") return;
      expect(await send(undefined)).toBe(401);
      if (scope !== "any") expect(await send(lacking[scope === "own" ? "invoke" : scope])).toBe(403);
    },
  );
});

describe("tenants", () => {
  it("cannot publish for everybody", async () => {
    const { key } = await make("acme", "admin");
    const init = { method: "POST", headers: bearer(key), body: '{"rollback": true}' };
    for (const answer of [
      await keyed.fetch("/_hull/bundles", { headers: bearer(key) }),
      await keyed.fetch(`/_hull/bundles/${"0".repeat(64)}`, { ...init, method: "PUT" }),
      await keyed.fetch("/_hull/catalog", init),
    ]) {
      expect(await code(answer)).toEqual([403, "forbidden"]);
    }
  });

  it("neither see nor revoke each other's keys, nor make some for each other", async () => {
    const red = await make("red", "admin");
    const blue = await make("blue", "admin");
    expect((await list(red.key)).data.map(({ id }) => id)).toEqual([red.id]);
    expect((await list(red.key, "?tenant=blue")).data.map(({ id }) => id)).toEqual([red.id]);
    expect(await code(await revoke(red.key, blue.id))).toEqual([404, "key_not_found"]);
    expect(await code(await post(red.key, { tenant: "blue", scopes: ["invoke"] }))).toEqual([
      403,
      "forbidden",
    ]);
    const own = await post(red.key, { tenant: "red", scopes: ["invoke"] });
    expect(own.status).toBe(201);
    expect((await list(blue.key)).data.map(({ id }) => id)).toEqual([blue.id]);
    expect((await list(ADMIN, "?tenant=red")).data).toHaveLength(2);
  });

  it("attack: reach no daemon and no workflow run of each other by its path, with a key or without", async () => {
    const open = new Client({ HULL_PUBLIC: "1", HULL_ADMIN_KEY: ADMIN });
    const { key: green } = await make("green", "invoke");
    const { key: grey } = await make("grey", "invoke");
    const ask = async (key: string | null, path: string, body: object) => {
      const headers = { "content-type": "application/json", ...(key === null ? {} : bearer(key)) };
      const answer = await open.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
      const { id, run } = await answer.json<{ id: string; run: { id: string } }>();
      return { status: answer.status, id, run };
    };
    const daemon = await ask(green, "/daemons", { task: "Wait.", provider: "mock", persist_path: "state/a" });
    expect(daemon.status).toBe(201);
    await ask(green, `/daemons/${daemon.id}/stop`, {});
    const graph = { nodes: { a: { model_policy: { provider: "mock" } } } };
    const execute = (key: string | null, options: object) =>
      ask(key, "/workflows/execute", { task: "x", graph, options });
    const { run } = await execute(green, { persist_path: "kept/run.json" });
    const found = async (key: string | null) => {
      const named = await Promise.all([
        ask(key, "/daemons/resume", { persist_path: "state/a" }),
        ...["kept/run.json", `runs/${run.id}.json`].flatMap((path) => [
          execute(key, { resume_path: path }),
          execute(key, { replay_path: path }),
          ask(key, "/workflows/session_restore", { path }),
        ]),
      ]);
      return named.map(({ status }) => status);
    };
    for (const key of [grey, null]) expect(await found(key)).toEqual([404, 422, 422, 404, 404, 404, 404]);
    expect(await found(green)).toEqual([200, 200, 200, 200, 200, 200, 200]);
  });

  it("are listed a page at a time, each key once", async () => {
    const made = [];
    for (let i = 0; i < 5; i++) made.push((await make("pages", "invoke")).id);
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await list(ADMIN, `?tenant=pages&limit=2${query}`);
      expect(page.data.length).toBeLessThanOrEqual(2);
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(seen.toSorted()).toEqual(made.toSorted());
    for (const query of ["limit=0", "limit=1001", "limit=x", "cursor=x"]) {
      const response = await keyed.fetch(`/admin/keys?${query}`, { headers: bearer(ADMIN) });
      expect(await code(response)).toEqual([400, "bad_request"]);
    }
  });

  it.each([
    [{ tenant: "a", scopes: [] }, "scopes"],
    [{ tenant: "a", scopes: ["root"] }, "scopes.0"],
    [{ tenant: "a/b", scopes: ["invoke"] }, "tenant"],
    [{ scopes: ["invoke"] }, "tenant"],
    [{ tenant: "a", scopes: ["invoke"], name: "x".repeat(101) }, "name"],
  ])("a key is not made from %j", async (body, path) => {
    const response = await post(ADMIN, body);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ code: "input_invalid", errors: [{ path }] });
  });

  it("a body over 1 MiB is refused by its bytes, declared or not", async () => {
    const text = "x".repeat(1024 * 1024 + 1);
    for (const body of [text, new Response(text).body]) {
      const response = await keyed.fetch("/admin/keys", { method: "POST", headers: bearer(ADMIN), body });
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({ code: "body_too_large", limit: 1024 * 1024 });
    }
  });
});

describe("deployments and local dev", () => {
  it("deployed without HULL_ADMIN_KEY, stored keys decide", async () => {
    const { key } = await make("acme", "invoke");
    const bare = new Client({});
    expect((await run(key, bare)).status).toBe(200);
    expect(await code(await bare.fetch("/skills"))).toEqual([401, "unauthenticated"]);
  });

  it("in a public deployment anybody may run; a key that is sent still has to be valid", async () => {
    const open = new Client({ HULL_PUBLIC: "1", HULL_ADMIN_KEY: ADMIN });
    const { key } = await make("acme", "publish");
    expect((await open.fetch("/skills")).status).toBe(200);
    expect((await run("hull_wrong", open)).status).toBe(401);
    expect((await run(key, open)).status).toBe(403);
    const evil = { method: "POST", body: "hi", headers: { origin: "https://evil.example" } };
    expect(await code(await open.fetch("/skills/cat", evil))).toEqual([403, "origin_not_allowed"]);
  });

  it("local without HULL_ADMIN_KEY is open, whatever key is sent and stored", async () => {
    await make("acme", "invoke");
    const local = new Client();
    expect((await run("anything", local)).status).toBe(200);
    expect((await local.fetch("/admin/keys")).status).toBe(200);
  });

  it("attack: local without HULL_ADMIN_KEY, but reachable by others, lets strangers only run skills", async () => {
    const local = { HULL_ENV: "local", HULL_CONFIG: JSON.stringify({ loopback: false }) };
    const dev = "hull-dev-canary-0123456789012345";
    const open = new Client({ ...local, HULL_PUBLIC: "1", HULL_DEV_KEY: dev });
    expect((await open.fetch("/skills")).status).toBe(200);
    expect((await run("anything", open)).status).toBe(200);
    for (const path of ["/admin/keys", "/_hull/bundles", "/_hull/skills", "/metrics"]) {
      expect([path, ...(await code(await open.fetch(path)))]).toEqual([path, 503, "auth_not_configured"]);
      const guessed = await open.fetch(path, { headers: bearer(`${dev}x`) });
      expect([path, guessed.status]).toEqual([path, 503]);
    }
    expect((await open.fetch("/_hull/bundles", { headers: bearer(dev) })).status).toBe(200);
    const closed = new Client(local);
    expect(await code(await closed.fetch("/skills"))).toEqual([503, "auth_not_configured"]);
    const deployed = new Client({ HULL_PUBLIC: "1", HULL_DEV_KEY: dev });
    const refused = await deployed.fetch("/_hull/bundles", { headers: bearer(dev) });
    // Which of the two depends on whether any key is stored.
    expect([401, 503]).toContain(refused.status);
  });
});
