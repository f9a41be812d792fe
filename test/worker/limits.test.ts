import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { edgeLimitCovers, SHIELD_LIMIT } from "../../src/http/rate.ts";
import type { LedgerRpc } from "../../src/session/ledger/rpc.ts";
import { Client, mockSkill } from "./served.ts";

const ADMIN = "hull-admin-canary-0123456789";
const UPSTREAM = "---\nname: up\ndescription: Proxy\nmode: proxy\nproxy: https://up.example/x\nmethod: GET\n";

beforeAll(() =>
  new Client().publish({
    cat: mockSkill("cat"),
    single: mockSkill("single", "concurrency: 1\n"),
    pair: mockSkill("pair", "concurrency: 2\n"),
    up: `${UPSTREAM}concurrency: 1\n---\nProxy.\n`,
  }),
);
afterEach(() => vi.restoreAllMocks());

const limited = (requests: number, window_s = 600, variables: Record<string, string> = {}) =>
  new Client({
    HULL_ADMIN_KEY: ADMIN,
    ...variables,
    HULL_CONFIG: JSON.stringify({ rate_limit: { requests, window_s } }),
  });
async function key(client: Client, tenant: string): Promise<{ id: string; authorization: string }> {
  const response = await client.fetch("/admin/keys", {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
    body: JSON.stringify({ tenant, scopes: ["admin"] }),
  });
  const made = await response.json<{ id: string; key: string }>();
  return { id: made.id, authorization: `Bearer ${made.key}` };
}
type LedgerStub = ReturnType<Client["env"]["LEDGER"]["get"]>;
const ledger = ({ env }: Client, name: string) => env.LEDGER.get(env.LEDGER.idFromName(name));
const post = (client: Client, path: string) => client.fetch(path, { method: "POST", body: "hi" });

describe("S73: the rate of a key", () => {
  it("200 requests at once against a rate of 37: exactly 37 pass", async () => {
    const client = limited(37);
    const { authorization } = await key(client, "burst");
    const all = Array.from({ length: 200 }, () => client.fetch("/skills", { headers: { authorization } }));
    const answers = await Promise.all(all);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(37);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(163);
    for (const answer of refused) {
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(300);
      expect(await answer.json()).toMatchObject({ code: "rate_limited" });
    }
  });

  it("is the key's own, and none for health, publishing and the management of keys", async () => {
    const client = limited(1);
    const one = await key(client, "shared");
    const two = await key(client, "shared");
    const get = async (path: string, { authorization }: { authorization: string }) =>
      (await client.fetch(path, { headers: { authorization } })).status;
    expect([await get("/skills", one), await get("/skills", one), await get("/skills", two)]).toEqual([
      200, 429, 200,
    ]);
    expect([
      await get("/healthz", one),
      await get("/_hull/skills", one),
      await get("/admin/keys", one),
    ]).toEqual([200, 200, 200]);
    // 404 and 405 come before it.
    expect([await get("/skills/none", one), await get("/nowhere", one)]).toEqual([404, 404]);
  });

  it("counts who reads the list of public skills without a key", async () => {
    const config = { rate_limit: { requests: 1, window_s: 600 }, public_skills: ["cat"] };
    const client = new Client({ HULL_ADMIN_KEY: ADMIN, HULL_CONFIG: JSON.stringify(config) });
    const read = async (): Promise<number> => (await client.fetch("/llms.txt")).status;
    expect([await read(), await read()]).toEqual([200, 429]);
  });

  it("is still known when the object was evicted", async () => {
    const client = limited(2);
    const { id } = await key(client, "evicted");
    const rate = { requests: 2, window_ms: 600_000 };
    const before = ledger(client, "tenant:evicted");
    expect([await before.countRequest(id, rate), await before.countRequest(id, rate)]).toEqual([0, 0]);
    await evictDurableObject(before);
    const after = ledger(client, "tenant:evicted");
    expect(await after.countRequest(id, rate)).toBeGreaterThan(300_000);
    await runInDurableObject(after, (_, state) => {
      state.storage.sql.exec("UPDATE rate_slots SET slot = slot - 100, expires_at = expires_at - 1000000");
    });
    expect(await after.countRequest(id, rate)).toBe(0);
  });

  it("without a key counts by network where a deployment is public, and for all together locally", async () => {
    const open = limited(1, 600, { HULL_PUBLIC: "1" });
    const from = async (address: string) =>
      (await open.fetch("/skills", { headers: { "cf-connecting-ip": address } })).status;
    expect([await from("192.0.2.1"), await from("192.0.2.1"), await from("192.0.2.2")]).toEqual([
      200, 429, 200,
    ]);
    expect([await from("2001:db8::1"), await from("2001:db8:0:0:9::7"), await from("2001:db8:1::1")]).toEqual(
      [200, 429, 200],
    );
    const local = new Client({
      HULL_ENV: "local",
      HULL_CONFIG: JSON.stringify({ rate_limit: { requests: 1, window_s: 600 } }),
    });
    // Any client of a local server can send the header.
    const forged = { headers: { "cf-connecting-ip": "192.0.2.1" } };
    expect([(await local.fetch("/skills")).status, (await local.fetch("/skills", forged)).status]).toEqual([
      200, 429,
    ]);
  });

  it("asks the shield first, but only where that never refuses what the rate permits", async () => {
    const refusing = (client: Client) => {
      client.env.SHIELD = { limit: async () => ({ success: false }) };
      return client;
    };
    const get = async (client: Client) =>
      (await client.fetch("/skills", { headers: { authorization: `Bearer ${ADMIN}` } })).status;
    expect(await get(refusing(limited(600, 60)))).toBe(429);
    expect(await get(refusing(limited(601, 60)))).toBe(200);
    expect(await get(refusing(limited(600, 60, { HULL_ENV: "local" })))).toBe(200);
    expect(edgeLimitCovers({ requests: 10, window_ms: 1000 })).toBe(true);
    expect(edgeLimitCovers({ requests: 11, window_ms: 1000 })).toBe(false);
    expect(SHIELD_LIMIT.requests).toBe(600);
    const guessing = refusing(limited(601, 60));
    const headers = { authorization: `Bearer hull_${"x".repeat(43)}` };
    expect((await guessing.fetch("/skills", { headers })).status).toBe(429);
  });

  it("knows the newest budget, even if an older answer of the ledger arrives later", async () => {
    const client = new Client();
    const { LEDGER } = client.env;
    const [told, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late = async (...[stub, ...charges]: [LedgerStub, ...Parameters<LedgerRpc["record"]>]) => {
      const answer = await stub.record(...charges);
      told.resolve();
      await gate.promise;
      return answer;
    };
    client.env.LEDGER = new Proxy(LEDGER, {
      get: (target, name) => {
        if (name !== "get") return Reflect.get(target, name).bind(target);
        return (id: DurableObjectId) => {
          const stub = LEDGER.get(id);
          const record = (...charges: Parameters<LedgerRpc["record"]>) => late(stub, ...charges);
          return new Proxy(stub, {
            get: (_, method) => (method === "record" ? record : Reflect.get(stub, method)),
          });
        };
      },
    });
    const first = await client.open("/skills/cat", { method: "POST", body: "hi" });
    await told.promise;
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ window: "total", max_output_tokens: 0 });
    expect((await client.fetch("/budgets/tenant", { method: "PUT", headers, body })).status).toBe(201);
    gate.resolve();
    await first.settled();
    expect((await post(client, "/skills/cat")).status).toBe(402);
    expect((await client.fetch("/budgets/tenant", { method: "DELETE" })).status).toBe(204);
  });

  it("waits for no ledger where nothing is limited", async () => {
    const client = new Client();
    const { LEDGER } = client.env;
    const gate = Promise.withResolvers<void>();
    let open = true;
    client.env.LEDGER = new Proxy(LEDGER, {
      get: (target, name) => {
        if (name !== "get") return Reflect.get(target, name).bind(target);
        return (id: DurableObjectId) => ({
          policy: () => (open ? LEDGER.get(id).policy() : expect.fail("asked before the answer")),
          record: (...told: Parameters<LedgerRpc["record"]>) =>
            gate.promise.then(() => LEDGER.get(id).record(...told)),
        });
      },
    });
    const first = await client.open("/skills/cat", { method: "POST", body: "hi" });
    open = false;
    const second = await client.open("/skills/cat", { method: "POST", body: "hi" });
    expect([first.response.status, second.response.status]).toEqual([200, 200]);
    gate.resolve();
    await Promise.all([first.settled(), second.settled()]);
  });
});

describe("S74: concurrency of llm and proxy skills", () => {
  const client = new Client();

  it("runs over the limit are 429, streamed or not; a free slot is used again", async () => {
    const held = ledger(client, "skill:pair");
    expect([await held.takeSlot("a", 2, 60_000), await held.takeSlot("b", 2, 60_000)]).toEqual([0, 0]);
    for (const path of ["/skills/pair", "/skills/pair?stream=1"]) {
      const response = await post(client, path);
      expect(response.status).toBe(429);
      expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
      expect(await response.json()).toMatchObject({ code: "concurrency_limited", limit: 2 });
    }
    await held.releaseSlot("a");
    for (const path of ["/skills/pair", "/skills/pair?stream=1", "/skills/pair"]) {
      expect((await post(client, path)).status).toBe(200);
    }
  });

  it("a failed run gives its slot back", async () => {
    for (let i = 0; i < 3; i++) {
      expect((await client.fetch("/skills/single", { method: "POST", body: "" })).status).toBe(422);
      expect((await post(client, "/skills/single")).status).toBe(200);
    }
  });

  it("a dead Worker's lease is free when it expires, also after an eviction", async () => {
    const held = ledger(client, "skill:single");
    await held.takeSlot("crashed", 1, 60_000);
    await evictDurableObject(held);
    expect((await post(client, "/skills/single")).status).toBe(429);
    await runInDurableObject(ledger(client, "skill:single"), (_, state) => {
      state.storage.sql.exec("UPDATE leases SET expires_at = ?", Date.now() - 1);
    });
    await evictDurableObject(ledger(client, "skill:single"));
    expect((await post(client, "/skills/single")).status).toBe(200);
  });

  it("a proxy holds its slot until the upstream's answer is over", async () => {
    const upstream = new TransformStream<Uint8Array, Uint8Array>();
    const writer = upstream.writable.getWriter();
    const answers = [
      new Response(upstream.readable, { headers: { "content-type": "text/event-stream" } }),
      new Response("second"),
      new Response(null, { status: 302, headers: { location: "https://up.example/y" } }),
      new Response("last"),
    ];
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => answers.shift() ?? expect.fail("too many"));
    const first = client.fetch("/skills/up");
    await vi.waitFor(() => expect(answers).toHaveLength(3), 20_000);
    expect((await client.fetch("/skills/up")).status).toBe(429);
    await writer.close();
    expect((await first).status).toBe(200);
    expect((await client.fetch("/skills/up")).status).toBe(200);
    expect((await client.fetch("/skills/up")).status).toBe(502);
    expect((await client.fetch("/skills/up")).status).toBe(200);
  });

  it("200 calls at once of a skill with 2 slots: never more than 2 hold one", async () => {
    const held = ledger(client, "skill:crowded");
    const all = Array.from({ length: 200 }, (_, i) => held.takeSlot(`run-${i}`, 2, 60_000));
    expect((await Promise.all(all)).filter((wait) => wait === 0)).toHaveLength(2);
  });
});

it.each([
  ["working_files", { working_files: Array.from({ length: 1001 }, () => "a") }],
  ["working_files", { working_files: "a".repeat(1025) }],
  ["skills.0.paths", { skills: [{ name: "a", paths: Array.from({ length: 101 }, () => "*") }] }],
  ["skills.0.paths.0", { skills: [{ name: "a", paths: ["*".repeat(1025)] }] }],
])("a run with more files or globs than Hull matches is refused: %s", async (path, options) => {
  const response = await new Client().post("/runs", {
    prompt: "x",
    options: { provider: "mock", ...options },
  });
  const wanted = { errors: [{ path: expect.stringContaining(path) }] };
  expect([response.status, await response.json()]).toMatchObject([422, wanted]);
});
