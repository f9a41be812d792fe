/** Queued mocks over HTTP: routes, scopes, tenants, and the skills whose calls they answer. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Mock } from "../../src/model/mock/mock.ts";
import { MockScope } from "../../src/session/mocks/scope.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";
import { refusing } from "./session-storage.ts";

const ROUTES = { HULL_LLM: JSON.stringify({ llm: { mock_routes: true } }) };
const ADMIN = "hull-admin-canary-0123456789";
const scripted = new Client({ ...LOCAL, ...ROUTES });
const plain = new Client(LOCAL);
const KEYLESS = mockSkill("claude").replace("provider: mock", "provider: anthropic");

interface Sent {
  scope?: string;
  key?: string;
  method?: string;
  headers?: Record<string, string>;
}

const call = (client: Client, path: string, body: unknown, { scope, key, method, headers }: Sent = {}) =>
  client.fetch(path, {
    method: method ?? "POST",
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    headers: {
      ...(scope === undefined ? {} : { "x-hull-mock-scope": scope }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
  });
const queue = async (mocks: unknown, sent?: Sent, client = scripted) => {
  const response = await call(client, "/llm/mocks", mocks, sent);
  expect(response.status).toBe(201);
  return response.json<object>();
};
const clear = (sent?: Sent, client = scripted) =>
  call(client, "/llm/mocks", undefined, { ...sent, method: "DELETE" });
const say = async (prompt: string, sent?: Sent, skill = "claude", client = scripted) => {
  const response = await call(client, `/skills/${skill}`, prompt, sent);
  return response.ok ? await response.text() : (await response.json<{ code: string }>()).code;
};
interface Calls {
  data: { messages: { role: string; content: string }[]; system: string; tools: unknown[] }[];
  next_cursor: string | null;
}
const calls = async (query = "", sent?: Sent, client = scripted): Promise<Calls> => {
  const response = await call(client, `/llm/mocks/calls${query}`, undefined, { ...sent, method: "GET" });
  expect(response.status).toBe(200);
  return response.json<Calls>();
};
const asked = async (sent?: Sent) => (await calls("", sent)).data.map(({ messages }) => messages[0]?.content);

beforeAll(async () => {
  await scripted.publish({ claude: KEYLESS, mock: mockSkill("mock") });
});
beforeEach(async () => {
  vi.restoreAllMocks();
  await clear();
});

describe("where mock_routes is on", () => {
  it("queued answers come in order, without the provider's key; then the default; all is noted", async () => {
    expect(await queue([{ text: "one" }, { text: "two" }])).toEqual({ scope: "", added: 2, queued: 2 });
    expect(await queue({ text: "fits", match: "*planner*" })).toEqual({ scope: "", added: 1, queued: 3 });
    expect([await say("a"), await say("the planner"), await say("planner 2"), await say("c d")]).toEqual([
      "one",
      "two",
      "fits",
      "The mock model got a prompt of 2 words: c d",
    ]);
    const { data, next_cursor } = await calls();
    expect(data[0]).toEqual({ messages: [{ role: "user", content: "a" }], system: "Answer.", tools: [] });
    expect([data.length, next_cursor]).toEqual([4, null]);
    expect((await clear()).status).toBe(204);
    expect(await calls()).toEqual({ data: [], next_cursor: null });
    expect(await say("a")).toBe("provider_not_configured");
  });

  it("calls come in pages", async () => {
    await queue({ text: "any", match: "*" });
    for (const prompt of ["1", "2", "3"]) await say(prompt);
    const first = await calls("?limit=2");
    expect(first.data.map(({ messages }) => messages[0]?.content)).toEqual(["1", "2"]);
    const second = await calls(`?limit=2&cursor=${first.next_cursor}`);
    expect(second).toMatchObject({ data: [{ messages: [{ content: "3" }] }], next_cursor: null });
  });

  it("an error is tried again at once, like a provider's", async () => {
    await queue([{ error: { category: "rate_limit", retry_after_ms: 20_000 } }, { text: "then" }]);
    expect(await say("x")).toBe("then");
    await queue([{ error: { category: "auth", message: "nope" } }]);
    expect(await say("y")).toBe("provider_auth_failed");
    expect(await asked()).toEqual(["x", "x", "y"]);
  });

  it.each([
    ["budget_exceeded", 402],
    ["tool_rejected", 403],
    ["egress_blocked", 403],
    ["schema_validation", 422],
    ["cancelled", 499],
    ["tool_error", 502],
    ["circuit_open", 503],
  ])("an error %s that no provider causes has the status %i and its words", async (category, status) => {
    const options = { mock: [{ error: { category, message: "the words" } }] };
    const response = await call(plain, "/llm/call", { prompt: "x", options });
    const problem = await response.json();
    expect([response.status, problem]).toEqual([
      status,
      expect.objectContaining({ category, status, detail: expect.stringContaining("the words") }),
    ]);
  });

  it("scopes share no mocks", async () => {
    await queue({ text: "of a" }, { scope: "a" });
    await queue({ text: "of b" }, { scope: "b" });
    expect(await say("for b", { scope: "b" })).toBe("of b");
    expect(await say("for none")).toBe("provider_not_configured");
    expect([await asked({ scope: "a" }), await asked({ scope: "b" })]).toEqual([[], ["for b"]]);
    expect(await say("for a", { scope: "a" })).toBe("of a");
  });

  it("tenants share no mocks", async () => {
    const keyed = new Client({ HULL_ADMIN_KEY: ADMIN, ...ROUTES });
    const made = async (tenant: string) => {
      const body = { tenant, scopes: ["invoke"] };
      const response = await call(keyed, "/admin/keys", body, { key: ADMIN });
      return (await response.json<{ key: string }>()).key;
    };
    const [ours, theirs] = [await made("ours"), await made("theirs")];
    await queue({ text: "of ours" }, { key: ours, scope: "same" }, keyed);
    expect(await say("x", { key: theirs, scope: "same" }, "claude", keyed)).toBe("provider_not_configured");
    expect(await calls("", { key: theirs, scope: "same" }, keyed)).toEqual({ data: [], next_cursor: null });
    expect(await say("x", { key: ours, scope: "same" }, "claude", keyed)).toBe("of ours");
  });

  it.each<[unknown, Sent, number, string]>([
    [[{ error: { category: "bogus" } }], {}, 422, "mocks.0.error.category"],
    [{ txet: "x" }, {}, 422, "mocks.txet"],
    ["{", {}, 400, "not valid JSON"],
    [{ text: "x" }, { scope: "x".repeat(129) }, 400, "x-hull-mock-scope"],
  ])("%j is refused", async (body, sent, status, word) => {
    const response = await call(scripted, "/llm/mocks", body, sent);
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(word)]);
  });

  it("a queue outlives its object, and is removed if no call used it for a day", async () => {
    await queue([{ text: "x".repeat(600_000) }, { text: "small" }], { scope: "old" });
    const stub = scripted.env.MOCKS.get(scripted.env.MOCKS.idFromName("default/old"));
    const stored = () =>
      runInDurableObject(stub, (_, state) =>
        Number(state.storage.sql.exec("SELECT count(*) AS n FROM sqlite_master WHERE name = 'mock'").one().n),
      );
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await stored()).toBe(1);
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec("UPDATE scope SET used_at = used_at - 86400000");
    });
    expect(await say("x", { scope: "old" })).toHaveLength(600_000);
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec("UPDATE scope SET used_at = used_at - 86400000");
    });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await stored()).toBe(0);
    expect(await say("x", { scope: "old" })).toBe("provider_not_configured");
  });
});

describe("where mock_routes is off", () => {
  it.each([
    ["POST", "/llm/mocks"],
    ["DELETE", "/llm/mocks"],
    ["GET", "/llm/mocks/calls"],
  ])("%s %s is 404", async (method, path) => {
    const response = await plain.fetch(path, { method, ...(method === "POST" ? { body: "{}" } : {}) });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      code: "not_found",
      detail: expect.stringContaining("mock_routes = true below [llm] of hull.toml"),
    });
  });

  it("no call looks for mocks, whatever its headers", async () => {
    await queue({ text: "queued" });
    const get = vi.spyOn(plain.env.MOCKS, "get");
    expect(await say("a b", { scope: "" }, "mock", plain)).toMatch(/^The mock model got a prompt of 2 words/);
    expect(get).not.toHaveBeenCalled();
  });
});

describe("mocks of the whole deployment", () => {
  const mocks: Mock[] = [{ text: "first" }, { text: "second", match: "*two*", consume_match: true }];
  const text = mocks.map((mock) => JSON.stringify(mock)).join("\n");
  const load = (value: string, further: Record<string, string> = {}) => {
    const client = new Client({ ...LOCAL, HULL_LLM_MOCKS: value, ...further });
    return client.deployment.mocks.load();
  };

  it("are read as text or from KV, and named by text and run", async () => {
    await plain.env.SKILLS.put("my-mocks", text);
    const read = await Promise.all([
      load(text),
      load("kv:my-mocks"),
      load(text, { HULL_LLM_MOCKS_RUN: "2" }),
    ]);
    expect(read.map((loaded) => loaded?.mocks)).toEqual([mocks, mocks, mocks]);
    expect(new Set(read.map((loaded) => loaded?.id)).size).toBe(2);
  });

  it.each([
    ['{"text":"a"}\n{"txet":"b"}', "HULL_LLM_MOCKS cannot be read: line 2 has no field"],
    ["kv:nothing", "has no key nothing"],
  ])("%j fails the call, and the log says why", async (value, cause) => {
    const logged = vi.spyOn(console, "log").mockImplementation(() => {});
    const client = new Client({ ...LOCAL, HULL_LLM_MOCKS: value });
    expect(await say("x", {}, "claude", client)).toBe("setting_unreadable");
    const ready = await client.fetch("/readyz");
    expect(await ready.json()).toMatchObject({
      settings:
        "The variable HULL_LLM_MOCKS cannot be read; the log says why. Whoever runs this Hull must correct it.",
    });
    expect(JSON.stringify(logged.mock.calls)).toContain(cause);
  });

  it("win over queued ones, each scope at its own place; an unmatched call is an error", async () => {
    await queue({ text: "queued" }, { scope: "whole" });
    const stub = scripted.env.MOCKS.get(scripted.env.MOCKS.idFromName("default/whole"));
    const answers = await runInDurableObject(stub, async (_, { storage }) => {
      const take = async (prompt: string, id = "1") => {
        const messages = [{ role: "user" as const, content: [{ type: "text" as const, text: prompt }] }];
        const call = { messages, system: "", tools: [] };
        const { mock, otherwise } = await new MockScope(storage).take(call, null, { id, mocks });
        return mock?.text ?? otherwise;
      };
      const used = [await take("x"), await take("x"), await take("number two"), await take("number two")];
      const anew = await take("x", "2");
      new MockScope(storage).clear();
      return [...used, anew, await take("x")];
    });
    const error = { error: "HULL_LLM_MOCKS" };
    expect(answers).toEqual(["first", error, "second", error, "first", "first"]);
  });
});

it("mocks that could not be stored answer nothing, nor is one used up by a call that could not be", async () => {
  const stub = scripted.env.MOCKS.get(scripted.env.MOCKS.idFromName("default/full"));
  const answers = await runInDurableObject(stub, async (_, { storage }) => {
    const { wrap, state } = refusing(/INTO mock|FROM mock/);
    const scope = new MockScope(wrap(storage));
    const taken = async () => {
      const call = { messages: [], system: "", tools: [] };
      const { mock, otherwise } = await scope.take(call, null, null);
      return mock?.text ?? otherwise;
    };
    state.full = true;
    await expect(scope.add([{ text: "lost" }])).rejects.toThrow("full");
    state.full = false;
    const before = await taken();
    await scope.add([{ text: "kept" }]);
    state.full = true;
    await expect(taken()).rejects.toThrow("full");
    state.full = false;
    return [before, await taken(), scope.calls(10, 0).calls.length];
  });
  expect(answers).toEqual(["provider", "kept", 2]);
});
