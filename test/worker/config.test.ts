/** What tenants configure of skills' tools: stored, sealed, read for a call. */
import { runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { Sealer } from "../../src/registry/tool-config/seal.ts";
import { detachedContext } from "../../src/run/context.ts";
import { configForCall, readToolConfigs } from "../../src/run/tool-config.ts";
import type { Json, JsonObject, SkillRecord, SkillTool } from "../../src/skill/manifest.ts";
import { Client, mockSkill } from "./served.ts";
import { ADMIN, Tenant, tenant } from "./tenant.ts";
import { param, publishTools, skillTool } from "./tool-skills.ts";

const CANARY = "canary-5d1c88f0-secret";
const OLD = "old-key-0123456789-0123456789-0123";
const NEW = "new-key-0123456789-0123456789-0123";
const keyed = (secretKey: string): Client =>
  new Client({ HULL_ADMIN_KEY: ADMIN, HULL_SECRET_KEY: secretKey });
const BUILD = skillTool("build", {
  config: [
    param("model", { type: "text", default: "" }),
    param("maxCost", { type: "number", min: 0, max: 50, step: 0.5, default: 0, unit: "USD" }),
    param("site", { scope: "global" }),
    param("token", { type: "secret", default: "declared-default" }),
    param("apiKey", { type: "secret", scope: "per_call" }),
    param("quality", { type: "select", options: ["draft", "high"], default: "draft", scope: "per_call" }),
    param("labels", { type: "map", scope: "per_call" }),
  ],
});
const PLAIN = skillTool("plain");

let red: Tenant;
let blue: Tenant;
let record: SkillRecord;
beforeAll(async () => {
  const made = await publishTools(new Client(), { site: [BUILD, PLAIN], bare: [] });
  if (made.site !== undefined) record = made.site;
  red = new Tenant(keyed(OLD), (await tenant("red", "invoke", "publish")).key);
  blue = new Tenant(keyed(OLD), (await tenant("blue", "publish")).key);
});

interface Shown {
  skill: string;
  bot: string | null;
  tools: {
    [tool: string]: {
      params: JsonObject[];
      values: JsonObject;
      sources: JsonObject;
      diagnostics: { code: string; param: string; source: string }[];
    };
  };
}
const path = (bot?: string, slug = "site"): string =>
  `/skills/${slug}/config${bot === undefined ? "" : `?bot=${bot}`}`;
const put = (who: Tenant, values: JsonObject, bot?: string): Promise<Response> =>
  who.fetch(path(bot), { method: "PUT", body: JSON.stringify({ tools: { build: values } }) });
const shown = async (who: Tenant, bot?: string): Promise<Shown["tools"][string]> => {
  const { tools } = await who.get<Shown>(path(bot));
  return tools.build ?? expect.fail("no tool build");
};
const faults = async (response: Response): Promise<unknown> => {
  const { status, errors = [] } = await response.json<{ status: number; errors: { path: string }[] }>();
  return [status, ...errors.map((error) => error.path)];
};
const contextOf = (who: Tenant, name: string) =>
  detachedContext(who.client.deployment, { requestId: "r", tenant: name, startedAt: 0 }, () => {});
const call = (
  who: Tenant,
  name: string,
  bot: string | null = null,
  perCall: JsonObject | null = null,
  tool: SkillTool = BUILD,
) => configForCall(contextOf(who, name), record, tool, { bot, perCall });
/** Every stored value of a tenant. */
const rows = async (name: string): Promise<{ bot: string; param: string; value: string }[]> => {
  const { DB } = new Client().env;
  const { results } = await DB.prepare(
    "SELECT bot, param, value FROM tool_config WHERE tenant = ? ORDER BY bot, param",
  )
    .bind(name)
    .all<{ bot: string; param: string; value: string }>();
  return results;
};

describe("the routes", () => {
  it("nothing set: the defaults, and what is declared; a secret's default stays in the skill", async () => {
    const { skill, bot, tools } = await blue.get<Shown>(path());
    expect([skill, bot, Object.keys(tools)]).toEqual(["site", null, ["build"]]);
    expect(tools.build?.values).toEqual({
      model: "",
      maxCost: 0,
      quality: "draft",
      token: { set: true },
      apiKey: { set: false },
    });
    expect(Object.values(tools.build?.sources ?? {})).toEqual(BUILD.config.map(() => "default"));
    expect(tools.build?.params[1]).toEqual(BUILD.config[1]);
    expect(JSON.stringify(tools)).not.toContain("declared-default");
    expect(await blue.get(path(undefined, "bare"))).toEqual({ skill: "bare", bot: null, tools: {} });
  });

  it("default, global, per bot: each is visible in sources; a PUT merges, null resets to the layer below", async () => {
    await put(red, { model: "m1", maxCost: 2.5, site: "x" });
    await put(red, { model: "m2" }, "shop");
    expect(await shown(red, "shop")).toMatchObject({
      values: { model: "m2", maxCost: 2.5, site: "x", quality: "draft" },
      sources: { model: "per_bot", maxCost: "global", site: "global", quality: "default" },
    });
    expect(await shown(red, "other")).toMatchObject({
      values: { model: "m1" },
      sources: { model: "global" },
    });
    const answer = await put(red, { model: null }, "shop");
    expect((await answer.json<Shown>()).tools.build).toMatchObject({ values: { model: "m1" } });
    await put(red, { model: null });
    expect(await shown(red)).toMatchObject({
      values: { model: "", maxCost: 2.5 },
      sources: { model: "default" },
    });
  });

  it.each<[string, JsonObject, string | undefined, string[]]>([
    ["a step, a bound, an option", { maxCost: 0.3, quality: "low" }, undefined, ["maxCost", "quality"]],
    ["too much", { maxCost: 51 }, "shop", ["maxCost"]],
    ["an unknown parameter", { model: "x", cost: 1 }, undefined, ["cost"]],
    ["a global one for a bot", { site: "y" }, "shop", ["site"]],
    ["a secret of another type", { token: 5 }, undefined, ["token"]],
    ["a secret that is too short to be cut out of outputs", { token: "1234567" }, undefined, ["token"]],
  ])("422, and nothing is stored: %s", async (_, values, bot, params) => {
    const before = await rows("red");
    const response = await put(red, { ...values }, bot);
    const { detail } = await response.clone().json<{ detail: string }>();
    for (const name of params) expect(detail).toContain(`tools.build.${name}`);
    expect(await faults(response)).toEqual([422, ...params.map((name) => `tools.build.${name}`)]);
    expect(await rows("red")).toEqual(before);
  });

  it.each<[string, string, string, string | undefined, number]>([
    ["an unknown tool", "PUT", "/skills/site/config", '{"tools":{"none":{}}}', 422],
    ["another field", "PUT", "/skills/site/config", '{"tools":{},"bot":"x"}', 422],
    ["a skill without tools", "PUT", "/skills/site/config", "{}", 422],
    ["no JSON", "PUT", "/skills/site/config", "x", 400],
    ["an odd bot", "GET", "/skills/site/config?bot=a%2Fb", undefined, 400],
    ["an unknown skill", "GET", "/skills/none/config", undefined, 404],
    ["another method", "POST", "/skills/site/config", "{}", 405],
  ])("%s", async (_, method, url, body, status) => {
    const response = await red.fetch(url, { method, ...(body === undefined ? {} : { body }) });
    expect(response.status).toBe(status);
  });

  it("need the scope publish, and belong to the tenant", async () => {
    const invoker = new Tenant(keyed(OLD), (await tenant("red", "invoke")).key);
    expect((await invoker.fetch(path())).status).toBe(403);
    expect((await put(invoker, {})).status).toBe(403);
    await put(red, { model: "of red" });
    expect(await shown(blue)).toMatchObject({ values: { model: "" } });
    expect((await call(blue, "blue")).values.model).toBe("");
    expect((await call(red, "red")).values.model).toBe("of red");
  });

  it("the configuration of an uploaded skill goes with it, even if the process dies right after", async () => {
    const dying = new Client({ HULL_ADMIN_KEY: ADMIN });
    const { DB } = dying.env;
    let dead = false;
    const noted = async (made: unknown): Promise<unknown> => {
      const results = await made;
      dead = JSON.stringify(results).includes('"owner":"red"');
      return results;
    };
    dying.env.DB = new Proxy(DB, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          if (dead) throw new TypeError("killed");
          const made: unknown = Reflect.apply(value, target, given);
          return name === "batch" ? noted(made) : made;
        };
      },
    });
    expect((await red.put("fox", { "SKILL.md": mockSkill("fox") })).status).toBe(201);
    const insert = "INSERT INTO tool_config VALUES ('red', 'fox', '', 't', 'p', '1', 0, '')";
    await DB.prepare(insert).run();
    expect((await new Tenant(dying, red.key).remove("fox")).status).toBe(500);
    const { results } = await DB.prepare("SELECT tenant FROM tool_config WHERE slug = 'fox'").all();
    expect(results).toEqual([]);
  });

  it("the configuration of an uploaded skill goes with it", async () => {
    const { DB } = red.client.env;
    await red.put("fox", { "SKILL.md": "---\nname: fox\ndescription: d\nmode: llm\nprovider: mock\n---\nx" });
    await put(red, {});
    await DB.prepare(
      "INSERT INTO tool_config VALUES ('red', 'fox', '', 't', 'p', '1', 0, ''), ('blue', 'fox', '', 't', 'p', '1', 0, '')",
    ).run();
    await red.remove("fox");
    const { results } = await DB.prepare("SELECT tenant FROM tool_config WHERE slug = 'fox'").all();
    expect(results).toEqual([{ tenant: "blue" }]);
  });
});

describe("secrets", () => {
  it("are set, reach only the handler, and appear nowhere else", async () => {
    const log = vi.spyOn(console, "log");
    const answers: string[] = [];
    for (const bot of [undefined, "shop"]) {
      const response = await put(red, { token: CANARY }, bot);
      answers.push(await response.text());
    }
    answers.push(JSON.stringify(await shown(red)), JSON.stringify(await rows("red")));
    expect(await shown(red)).toMatchObject({
      values: { token: { set: true } },
      sources: { token: "global" },
    });
    expect(await call(red, "red", "shop")).toMatchObject({ values: { token: CANARY }, secrets: [CANARY] });
    answers.push(JSON.stringify(log.mock.calls));
    for (const text of answers) expect(text).not.toContain(CANARY);
    const stored = await rows("red");
    const [one, other] = stored.filter(({ param }) => param === "token");
    expect(one?.value).toMatch(/^v1\.[0-9a-f]+$/);
    expect(one?.value).not.toBe(other?.value);
    await put(red, { token: null }, "shop");
    await put(red, { token: null });
    expect((await call(red, "red", "shop")).values.token).toBe("declared-default");
  });

  it("a sealed value opens only in its own place", async () => {
    const own = new Sealer([OLD]);
    const use = { tenant: "red", slug: "site", owner: null, tool: "build", param: "token", bot: "" };
    const sealed = await own.seal(CANARY, use);
    expect(await own.unseal(sealed, use)).toBe(CANARY);
    const others = [
      { tenant: "blue" },
      { slug: "bare" },
      { owner: "red" },
      { tool: "plain" },
      { param: "apiKey" },
      { bot: "shop" },
      { bot: null },
    ];
    for (const other of others) expect(await own.unseal(sealed, { ...use, ...other })).toBeNull();
    const broken = [
      `${sealed.slice(0, -1)}x`,
      sealed.slice(0, -2),
      sealed.replace(/.$/, (c) => (c === "0" ? "1" : "0")),
      "v1.",
      "",
    ];
    for (const text of broken) expect(await own.unseal(text, use)).toBeNull();
    expect(await new Sealer([NEW]).unseal(sealed, use)).toBeNull();
  });

  it("a sealed login opens only for its server, at its address and step", async () => {
    const own = new Sealer([OLD]);
    const use = { login: "stored", server: "crm", url: "https://mcp.example/mcp" } as const;
    const sealed = await own.seal(CANARY, use);
    expect(await own.unseal(sealed, use)).toBe(CANARY);
    const others = [{ login: "begun" as const }, { server: "other" }, { url: "https://mcp.example/other" }];
    for (const other of others) expect(await own.unseal(sealed, { ...use, ...other })).toBeNull();
  });

  it("a row that was moved to another's place is lost, and reported as lost", async () => {
    await put(red, { token: CANARY });
    await put(blue, { token: "blue-secret-1" });
    const { DB } = red.client.env;
    await DB.prepare(
      `UPDATE tool_config SET value = (SELECT value FROM tool_config WHERE tenant = 'red' AND param = 'token')
       WHERE tenant = 'blue' AND param = 'token'`,
    ).run();
    expect(await call(blue, "blue")).toMatchObject({
      values: { token: "declared-default" },
      diagnostics: [{ code: "config_secret_lost", param: "token" }],
    });
    expect((await shown(blue)).diagnostics).toMatchObject([
      { code: "config_secret_lost", param: "token", source: "global" },
    ]);
  });

  it("a new key seals, and the old one opens until a PUT has sealed everything again", async () => {
    await put(red, { token: CANARY });
    await put(red, { token: `${CANARY}-shop` }, "shop");
    const both = new Tenant(keyed(`${NEW} ${OLD}`), red.key);
    const fresh = new Tenant(keyed(NEW), red.key);
    expect((await call(both, "red")).values.token).toBe(CANARY);
    expect((await shown(both)).diagnostics).toMatchObject([
      { code: "config_secret_old_key", param: "token" },
    ]);
    expect((await call(fresh, "red", "shop")).diagnostics).toHaveLength(2);
    await both.fetch(path(), { method: "PUT", body: '{"tools": {}}' });
    expect((await shown(both)).diagnostics).toEqual([]);
    expect((await call(fresh, "red", "shop")).values.token).toBe(`${CANARY}-shop`);
    expect((await call(fresh, "red")).values.token).toBe(CANARY);
    await put(new Tenant(keyed(`${OLD} ${NEW}`), red.key), {});
  });

  it("without a key only secrets fail, and say how to fix it", async () => {
    const none = new Tenant(keyed(""), red.key);
    expect((await put(none, { model: "m" })).status).toBe(200);
    const refused = await put(none, { token: CANARY });
    expect(await refused.json()).toMatchObject({
      status: 503,
      code: "secret_key_missing",
      detail: expect.stringContaining("wrangler secret put HULL_SECRET_KEY"),
    });
    expect(await shown(none)).toMatchObject({ values: { token: { set: true } }, diagnostics: [] });
    await expect(call(none, "red")).rejects.toMatchObject({ code: "secret_key_missing" });
    expect(await call(none, "red", null, null, PLAIN)).toEqual({ values: {}, secrets: [], diagnostics: [] });
  });
});

describe("values of one run", () => {
  const configs = (given: Json, who = red) => readToolConfigs(contextOf(who, "red"), [record], given);

  it("count over all stored ones, if the scope permits", async () => {
    await put(red, { quality: "draft", apiKey: "stored-secret" }, "shop");
    // A map with the form of a sealed secret is not one.
    const labels = { sealed: "envelope" };
    const perCall = await configs({ build: { quality: "high", apiKey: CANARY, labels } });
    expect(JSON.stringify(perCall)).not.toContain(CANARY);
    expect((await call(red, "red", "shop", perCall)).values).toMatchObject({
      quality: "high",
      apiKey: CANARY,
      labels,
    });
    expect((await call(red, "red", "shop", null)).values).toMatchObject({
      quality: "draft",
      apiKey: "stored-secret",
    });
    await expect(configs({ build: { maxCost: 1 } })).rejects.toMatchObject({
      status: 422,
      data: { members: { errors: [{ path: "options.tool_configs.build.maxCost" }] } },
    });
    expect(await configs({ build: { quality: null } })).toEqual({});
  });

  it("are read before a run begins; its records hold their secrets sealed", async () => {
    const local = new Client({ HULL_ENV: "local", HULL_SECRET_KEY: OLD });
    const json = (body: object): RequestInit => ({
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });
    await local.fetch("/sessions", json({ id: "configured" }));
    const run = (options: JsonObject) =>
      local.fetch(
        "/sessions/configured/runs",
        json({ prompt: "hi", options: { provider: "mock", skills: ["site"], ...options } }),
      );
    expect(await faults(await run({ tool_configs: { build: { model: "x" } } }))).toEqual([
      422,
      "options.tool_configs.build.model",
    ]);
    expect(await faults(await run({ bot: "no/bot" }))).toEqual([422, "options.bot"]);
    const done = await run({ bot: "shop", tool_configs: { build: { apiKey: CANARY, quality: "high" } } });
    expect(done.status).toBe(200);
    expect(await done.text()).not.toContain(CANARY);
    const { SESSIONS } = local.env;
    const stub = SESSIONS.get(SESSIONS.idFromName("default/configured"));
    const stored = await runInDurableObject(stub, (_, state) => {
      const records = state.storage.sql.exec<{ data: ArrayBuffer }>("SELECT data FROM records").toArray();
      return records.map(({ data }) => new TextDecoder().decode(data)).join("");
    });
    expect(stored).toContain('"bot":"shop"');
    expect(stored).toMatch(/"tool_configs":\{"build":\{"apiKey":\{"sealed":"v1\./);
    expect(stored).not.toContain(CANARY);
  });

  it("of an idempotent run are sealed before it is stored", async () => {
    const local = new Client({ HULL_ENV: "local", HULL_SECRET_KEY: OLD });
    const options = { provider: "mock", skills: ["site"], tool_configs: { build: { apiKey: CANARY } } };
    const response = await local.fetch("/runs", {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "configs-1" },
      body: JSON.stringify({ prompt: "hi", options }),
    });
    expect(response.status).toBe(200);
    const { SESSIONS } = local.env;
    const stub = SESSIONS.get(SESSIONS.idFromName(response.headers.get("x-hull-execution-id") ?? ""));
    const stored = await runInDurableObject(stub, (_, state) => {
      const contents = state.storage.sql.exec<{ data: ArrayBuffer }>("SELECT data FROM content").toArray();
      return contents.map(({ data }) => new TextDecoder().decode(data)).join("");
    });
    expect(stored).toContain('"sealed":"v1.');
    expect(stored).not.toContain(CANARY);
  });

  it("of an idempotent run have no effect on its repetition, even if their skill is gone", async () => {
    const local = new Client({ HULL_ENV: "local", HULL_SECRET_KEY: OLD });
    const ask = (quality: string, key = "configs-2") => {
      const options = { provider: "mock", skills: ["site"], tool_configs: { build: { quality } } };
      return local.fetch("/runs", {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify({ prompt: "hi", options }),
      });
    };
    const first = await ask("high");
    expect(first.status).toBe(200);
    await local.publish({});
    const again = await ask("high");
    expect([again.status, again.headers.get("x-hull-replayed")]).toEqual([200, "1"]);
    expect(await again.text()).toBe(await first.text());
    expect(await (await ask("draft")).json()).toMatchObject({ code: "idempotency_key_reused" });
    expect((await ask("high", "configs-3")).status).toBe(404);
  });
});
