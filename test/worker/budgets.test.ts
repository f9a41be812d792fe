/** Usage, budgets and rates over HTTP. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Client, mockSkill } from "./served.ts";

const ADMIN = "hull-admin-canary-0123456789";
const keyed = new Client({ HULL_ADMIN_KEY: ADMIN });

interface Problem {
  code: string;
  detail: string;
  errors?: { path: string; message: string }[];
}

/** The tests begin at noon in the middle of a month, so that no window of a budget ends within one. */
const NOON = Date.UTC(2099, 5, 15, 12);
const AHEAD = NOON - Date.now();
beforeEach(() => {
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + AHEAD);
});
afterEach(() => vi.restoreAllMocks());
beforeAll(() => new Client().publish({ cat: mockSkill("cat", "max_tokens: 100\n"), dog: mockSkill("dog") }));

/** A fresh tenant's key with these scopes, and what it can do with it. */
async function tenant(...scopes: string[]) {
  const name = `t-${crypto.randomUUID()}`;
  const keyOf = async (granted: string[]) => {
    const made = await keyed.fetch("/admin/keys", {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
      body: JSON.stringify({ tenant: name, scopes: granted }),
    });
    return `Bearer ${(await made.json<{ key: string }>()).key}`;
  };
  const authorization = await keyOf(scopes.length === 0 ? ["admin"] : scopes);
  const send = (method: string, path: string, body?: unknown, headers = {}) =>
    keyed.fetch(path, {
      method,
      headers: { authorization, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    name,
    send,
    run: (slug: string, query = "", headers = {}) =>
      keyed.fetch(`/skills/${slug}${query}`, {
        method: "POST",
        body: "hello there",
        headers: { authorization, ...headers },
      }),
    get: async <T = unknown>(path: string) => (await send("GET", path)).json<T>(),
    put: async (path: string, body: unknown) => {
      const response = await send("PUT", path, body);
      return [response.status, await response.json<unknown>()] as const;
    },
  };
}
let own: Awaited<ReturnType<typeof tenant>>;
beforeEach(async () => {
  own = await tenant();
});

describe("/budgets", () => {
  it("sets, reads, lists, replaces and removes a limit", async () => {
    const limits = { window: "month", max_cost_usd: 12.5, max_output_tokens: 1000 };
    const zero = { cost_usd: 0, input_tokens: 0, output_tokens: 0 };
    const [created, shown] = await own.put("/budgets/skill:cat", limits);
    expect([created, shown]).toEqual([
      201,
      {
        scope: "skill:cat",
        ...limits,
        spent: zero,
        reserved: zero,
        since: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00.000Z$/),
        resets_at: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00.000Z$/),
        updated_at: expect.any(String),
      },
    ]);
    expect(await own.get("/budgets/skill%3Acat")).toEqual(shown);
    expect((await own.put("/budgets/skill:cat", { window: "total", max_cost_usd: 0 }))[0]).toBe(200);
    await own.put("/budgets/tenant", { window: "hour", max_input_tokens: null, max_output_tokens: 5 });
    const list = await own.get<{ data: { scope: string }[]; next_cursor: string | null }>("/budgets?limit=1");
    expect([list.data.map(({ scope }) => scope), list.next_cursor]).toEqual([["skill:cat"], "skill:cat"]);
    expect(await own.get("/budgets?cursor=skill:cat")).toMatchObject({
      data: [{ scope: "tenant", window: "hour" }],
      next_cursor: null,
    });
    expect((await own.send("DELETE", "/budgets/skill:cat")).status).toBe(204);
    for (const method of ["GET", "DELETE"]) {
      const gone = await own.send(method, "/budgets/skill:cat");
      expect([gone.status, (await gone.json<Problem>()).code]).toEqual([404, "budget_not_found"]);
    }
    expect(await (await tenant()).get("/budgets")).toEqual({ data: [], next_cursor: null });
  });

  it.each<[string, unknown, number, string]>([
    ["tenant", { max_cost_usd: 1 }, 422, "window"],
    ["tenant", { window: "week", max_cost_usd: 1 }, 422, "window"],
    ["tenant", { window: "day" }, 422, ""],
    ["tenant", { window: "day", max_cost_usd: -1 }, 422, "max_cost_usd"],
    ["tenant", { window: "day", max_cost_usd: "1" }, 422, "max_cost_usd"],
    ["tenant", { window: "day", max_input_tokens: 1.5 }, 422, "max_input_tokens"],
    ["tenant", { window: "day", max_tokens: 1, max_cost_usd: 1 }, 422, "max_tokens"],
    ["tenants", { window: "day", max_cost_usd: 1 }, 400, ""],
    ["skill:Not%20a%20slug", { window: "day", max_cost_usd: 1 }, 400, ""],
  ])("%s %j is %i at %j", async (scope, body, status, path) => {
    const [answered, problem] = await own.put(`/budgets/${scope}`, body);
    expect(answered).toBe(status);
    if (status === 422) expect(problem).toMatchObject({ errors: [{ path }] });
  });

  it("is read with the scope invoke, and written with admin only; so are a provider's rates", async () => {
    const reader = await tenant("invoke");
    const body = { window: "day", max_cost_usd: 1 };
    expect((await reader.send("GET", "/budgets")).status).toBe(200);
    for (const [method, path, sent] of [
      ["PUT", "/budgets/tenant", body],
      ["DELETE", "/budgets/tenant", undefined],
      ["PUT", "/llm/rate-limit/openai", { rpm: 1 }],
    ] as const) {
      const response = await reader.send(method, path, sent);
      expect([method, path, response.status]).toEqual([method, path, 403]);
    }
    expect((await reader.send("GET", "/llm/rate-limit/openai")).status).toBe(200);
  });
});

describe("a skill under a limit", () => {
  it("is refused with 402 before its call, naming the limit; others and other tenants are not", async () => {
    await own.put("/budgets/skill:cat", { window: "day", max_output_tokens: 120 });
    expect((await own.run("cat")).status).toBe(200);
    const refused = await own.run("cat");
    expect(refused.status).toBe(402);
    expect(await refused.json()).toMatchObject({
      code: "budget_exceeded",
      kind: "terminal",
      reason: "budget_exceeded",
      category: "budget_exceeded",
      budget: "hard",
      scope: "skill:cat",
      window: "day",
      limit: "max_output_tokens",
      limit_value: 120,
      spent: 30,
      reserved: 0,
      requested: 100,
      resets_at: expect.stringMatching(/T00:00:00.000Z$/),
    });
    expect((await own.run("cat", "?stream=1")).status).toBe(402);
    expect((await own.run("dog")).status).toBe(200);
    expect((await (await tenant()).run("cat")).status).toBe(200);
    expect(await own.get("/budgets/skill:cat")).toMatchObject({
      spent: { output_tokens: 30 },
      reserved: { output_tokens: 0 },
    });
    await own.send("DELETE", "/budgets/skill:cat");
    expect((await own.run("cat")).status).toBe(200);
  });

  it("counts and is refused by every route that runs it", async () => {
    const messages = [{ role: "user", content: "hello there" }];
    const model = "skill/cat";
    // Under a limit each call is counted before its answer.
    await own.put("/budgets/tenant", { window: "total", max_output_tokens: 1_000_000 });
    await own.send("POST", "/sessions", { id: "of-cat" });
    const run = { prompt: "hello there", options: { skill: "cat" } };
    const routes: [string, object][] = [
      ["/skills/cat?session_id=of-cat", { input: "hello there" }],
      ["/v1/messages", { model, max_tokens: 9, messages }],
      ["/v1/chat/completions", { model, messages }],
      ["/v1/responses", { model, input: "hello there" }],
      ["/v1/responses", { model, input: "hello there", store: false }],
      ["/runs", run],
      ["/sessions/of-cat/runs", run],
      ["/sub-agents", { task: "hello there", options: { skill: "cat" } }],
    ];
    for (const [path, body] of routes)
      expect([path, (await own.send("POST", path, body)).status]).toEqual([path, 200]);
    expect(await own.get("/usage?group_by=skill")).toMatchObject({
      data: [{ skill: "cat", calls: routes.length }],
    });
    await own.put("/budgets/skill:cat", { window: "day", max_output_tokens: 1 });
    for (const [path, body] of routes) {
      const text = await (await own.send("POST", path, body)).text();
      expect(text, path).toMatch(/budget_exceeded|insufficient_quota|billing_error|budget_exhausted/);
    }
    const asked = { model, input: "hello there", background: true };
    const { id } = await (await own.send("POST", "/v1/responses", asked)).json<{ id: string }>();
    await expect
      .poll(() => own.get(`/v1/responses/${id}`))
      .toMatchObject({ status: "failed", error: { code: "rate_limit_exceeded" } });
    expect(await own.get("/usage")).toMatchObject({ data: [{ calls: routes.length }] });
  });

  it("answers a call of the skill with the same 402 in a session, whose list has the run", async () => {
    await own.send("POST", "/sessions", { id: "refused" });
    await own.put("/budgets/skill:cat", { window: "day", max_output_tokens: 1 });
    const answers: unknown[] = [];
    for (const query of ["", "?session_id=refused"]) {
      const response = await own.run("cat", query);
      const { instance: _, request_id: __, ...problem } = await response.json<Record<string, unknown>>();
      answers.push([response.status, problem]);
    }
    expect(answers[0]).toMatchObject([402, { code: "budget_exceeded", scope: "skill:cat" }]);
    expect(answers[1]).toEqual(answers[0]);
    const stream = await (await own.run("cat", "?session_id=refused&stream=1")).text();
    expect(stream).toMatch(/event: error\ndata: .*"code":"budget_exceeded"/);
    const ended = { status: "budget_exhausted" };
    expect(await own.get("/sessions/refused/runs")).toMatchObject({ data: [ended, ended] });
    const budget = { session: "refused", code: "budget_exceeded" };
    await expect.poll(() => own.get("/runs?session=refused")).toMatchObject({ data: [budget, budget] });
  });

  it("a run that it ends has its code in the list of runs, however it was started", async () => {
    const run = { prompt: "hello there", options: { provider: "mock" } };
    await own.send("POST", "/sessions", { id: "ended" });
    await own.put("/budgets/tenant", { window: "total", max_output_tokens: 1 });
    for (const [path, headers] of [
      ["/sessions/ended/runs", {}],
      ["/runs", {}],
      ["/runs", { "idempotency-key": "ended" }],
    ] as const)
      expect(await (await own.send("POST", path, run, headers)).json()).toMatchObject({
        status: "budget_exhausted",
      });
    await expect
      .poll(async () => (await own.get<{ data: object[] }>("/runs?code=budget_exceeded")).data.length)
      .toBe(3);
  });

  it("an idempotent call that was refused runs when there is room again, with the same key", async () => {
    const call = () => own.run("cat", "", { "idempotency-key": "once" });
    await own.put("/budgets/tenant", { window: "total", max_output_tokens: 0 });
    expect((await call()).status).toBe(402);
    await own.send("DELETE", "/budgets/tenant");
    const answers = [await call(), await call()];
    expect(answers.map(({ status, headers }) => [status, headers.get("x-hull-replayed")])).toEqual([
      [200, null],
      [200, "1"],
    ]);
  });
});

describe("attack: a call that goes past its budget", () => {
  const call = async (options: object) => {
    const body = { prompt: "hello", options: { provider: "mock", ...options } };
    const response = await own.send("POST", "/llm/call", body);
    return [response.status, await response.json<Problem>()] as const;
  };

  it.each<[provider: string, part: string, path: string]>([
    ["openai", '{"model": "gpt-5-pro"}', "model"],
    ["openai", '{"Model": "gpt-5-pro"}', "Model"],
    ["openai", '{"messages": []}', "messages"],
    ["ollama", '{"me\u017f\u017fages": []}', "me\u017f\u017fages"],
    ["openai", '{"input": "x"}', "input"],
    ["openai", '{"instructions": "x"}', "instructions"],
    ["openai", '{"previous_response_id": "r"}', "previous_response_id"],
    ["openai", '{"prompt": {"id": "p"}}', "prompt"],
    ["anthropic", '{"system": "x"}', "system"],
    ["anthropic", '{"max_tokens": 64000}', "max_tokens"],
    ["openai", '{"max_tokens": null}', "max_tokens"],
    ["openai", '{"MAX_TOKENS": 64000}', "MAX_TOKENS"],
    ["openai", '{"max_completion_tokens": 64000}', "max_completion_tokens"],
    ["openai", '{"max_output_tokens": 64000}', "max_output_tokens"],
    ["vllm", '{"max_new_tokens": 64000}', "max_new_tokens"],
    ["vllm", '{"min_tokens": 64000}', "min_tokens"],
    ["vllm", '{"extra_body": {"max_tokens": 1}}', "extra_body.max_tokens"],
    ["vllm", '{"use_beam_search": true}', "use_beam_search"],
    ["openai", '{"n": 8}', "n"],
    ["openai", '{"best_of": 8}', "best_of"],
    ["openai", '{"stream": false}', "stream"],
    ["openai", '{"stream_options": {}}', "stream_options"],
    ["openai", '{"service_tier": "priority"}', "service_tier"],
    ["openai", '{"serviceTier": "priority"}', "serviceTier"],
    ["openai", '{"tools": []}', "tools"],
    ["openai", '{"tool_choice": "none"}', "tool_choice"],
    ["openai", '{"functions": []}', "functions"],
    ["openai", '{"web_search_options": {}}', "web_search_options"],
    ["openai", '{"reasoning": {"max_tokens": 9}}', "reasoning.max_tokens"],
    ["xai", '{"search_parameters": {}}', "search_parameters"],
    ["dashscope", '{"enable_search": true}', "enable_search"],
    ["dashscope", '{"thinking_budget": 99999}', "thinking_budget"],
    ["anthropic", '{"mcp_servers": []}', "mcp_servers"],
    ["anthropic", '{"thread": {"type": "continue", "previous_message_id": "msg_1"}}', "thread"],
    ["anthropic", '{"compaction": {"type": "summarize"}}', "compaction"],
    [
      "anthropic",
      '{"billing_policy": {"type": "billing_policy", "bill_to": "user_profile"}}',
      "billing_policy",
    ],
    ["anthropic", '{"fallback_credit_token": "t"}', "fallback_credit_token"],
    ["openai", '{"background_options": {"completion_window": "8h"}}', "background_options"],
    ["anthropic", '{"thinking": {"type": "enabled", "budget_tokens": 9}}', "thinking.budget_tokens"],
    ["anthropic", '{"speed": "fast"}', "speed"],
    ["openrouter", '{"models": ["a/b"]}', "models"],
    ["openrouter", '{"plugins": [{"id": "web"}]}', "plugins"],
    ["openrouter", '{"provider": {"order": ["dear"]}}', "provider.order"],
    ["google", '{"contents": []}', "contents"],
    ["google", '{"generationConfig": {"maxOutputTokens": 9}}', "generationConfig.maxOutputTokens"],
    ["google", '{"generation_config": [{"candidateCount": 9}]}', "generation_config.candidateCount"],
    ["google", '{"extra_body": {"google": {"thinking_config": {"thinking_budget": 9}}}}', "thinking_budget"],
    ["google", '{"cachedContent": "c"}', "cachedContent"],
    ["ollama", '{"options": {"num_predict": -1}}', "options.num_predict"],
    ["ollama", '{"Options": {"NUM_PREDICT": -1}}', "Options.NUM_PREDICT"],
    ["ollama", '{"raw": true}', "raw"],
    ["ollama", '{"template": "x"}', "template"],
    ["openai", '{"__proto__": {"max_tokens": 9}}', "__proto__"],
    ["openai", '{"constructor": {}}', "constructor"],
  ])("%s: %s is refused with its path", async (provider, part, path) => {
    const [status, problem] = await call({ [provider]: JSON.parse(part) });
    expect(status).toBe(422);
    const [error] = problem.errors ?? [];
    expect(error?.path.startsWith(`options.${provider}.`)).toBe(true);
    expect(error?.path.endsWith(path)).toBe(true);
    expect(error?.message).toContain(`${provider}.`);
  });

  it("is refused in runs, streams, transcripts and completions as well", async () => {
    const options = { provider: "mock", openai: { max_tokens: 1 } };
    expect((await own.send("POST", "/sessions", { id: "s-budget" })).status).toBe(201);
    for (const path of ["/llm/stream", "/runs", "/sessions/s-budget/runs"]) {
      const response = await own.send("POST", path, { prompt: "hello", options });
      expect([path, response.status, await response.text()]).toEqual([
        path,
        422,
        expect.stringContaining("options.openai.max_tokens"),
      ]);
    }
    const response = await own.send("POST", "/llm/completion", { prefix: "a", options });
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining("max_tokens")]);
  });

  it("options without extra cost are accepted: user, seed, window, effort, sellers' privacy", async () => {
    const [status] = await call({
      openai: {
        user: "u",
        metadata: { model: "x", max_tokens: "1", tools: [] },
        seed: 1,
        logit_bias: { 1: 2 },
        parallel_tool_calls: false,
        reasoning: { summary: "auto", effort: "low" },
        response_format: { type: "json_schema", json_schema: { schema: { properties: { model: {} } } } },
      },
      ollama: { num_ctx: 8192, keep_alive: "5m", options: { num_ctx: 1, mirostat: 1, seed: 2, num_gpu: 1 } },
      openrouter: { provider: { data_collection: "deny", zdr: true } },
      vllm: { stop_token_ids: [1], skip_special_tokens: false, chat_template_kwargs: { thinking: false } },
    });
    expect(status).toBe(200);
  });

  it("a max_tokens of 0 or less adds nothing to a budget, and does not lift the limit of an answer", async () => {
    await own.put("/budgets/tenant", { window: "day", max_output_tokens: 500 });
    for (const max_tokens of [-1_000_000, -1, 0]) {
      const [status, problem] = await call({ max_tokens });
      expect([max_tokens, status, problem]).toMatchObject([
        max_tokens,
        402,
        { requested: 8192, spent: 0, reserved: 0 },
      ]);
    }
    expect((await call({ max_tokens: 100 }))[0]).toBe(200);
  });

  it("a call's own budget counts an attempt whose answer was empty before another one", async () => {
    for (const [total_budget_usd, asked] of [
      [0.02, 2],
      [0.009, 1],
    ]) {
      const caller = await tenant();
      const options = {
        provider: "openai",
        model: "gpt-4o",
        llm_backoff_ms: 0,
        budget: { total_budget_usd },
        mock: [{ text: "", output_tokens: 1000 }, { text: "said" }],
      };
      const response = await caller.send("POST", "/llm/call", { prompt: "hello", options });
      const said = await response.json<{ mock_calls: unknown[]; text: string }>();
      expect([response.status, said.mock_calls.length, said.text]).toEqual([
        200,
        asked,
        asked === 2 ? "said" : "",
      ]);
    }
  });

  it.each<[limits: object, asked: number]>([
    [{ max_output_tokens: 1100 }, 2],
    [{ max_output_tokens: 1099 }, 1],
    [{ max_input_tokens: 2000 }, 2],
    [{ max_input_tokens: 1000 }, 1],
    [{ max_cost_usd: 0.015 }, 2],
    [{ max_cost_usd: 0.0134 }, 1],
  ])("a tenant's budget %j has room for %i attempts if the first answer is empty", async (limits, asked) => {
    await own.put("/budgets/tenant", { window: "day", ...limits });
    const [status, said] = await call({
      provider: "openai",
      model: "gpt-4o",
      llm_backoff_ms: 0,
      max_tokens: 100,
      mock: [{ text: "", input_tokens: 1000, output_tokens: 1000 }, { text: "said" }],
    });
    expect([status, Reflect.get(said, "text")]).toEqual([200, asked === 2 ? "said" : ""]);
  });

  it("a budget without any output refuses the call", async () => {
    const [status, problem] = await call({ budget: { max_output_tokens: 0 } });
    expect([status, problem]).toMatchObject([402, { code: "budget_exceeded", limit: "max_output_tokens" }]);
    expect((await call({ max_tokens: -5, budget: { max_output_tokens: 100 } }))[0]).toBe(402);
  });
});

describe("/usage", () => {
  it("sums the usage of the tenant's calls, immediately for a request here", async () => {
    const today = new Date(NOON).toISOString().slice(0, 10);
    await own.run("cat");
    await own.run("cat");
    await own.run("dog");
    const one = {
      calls: 1,
      input_tokens: 11,
      output_tokens: 30,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      cost_usd: 0,
      price_known: false,
      estimated_calls: 0,
      duration_ms: expect.any(Number),
    };
    const times = (n: number) => ({ ...one, calls: n, input_tokens: 11 * n, output_tokens: 30 * n });
    const page = (rows: object[], next_cursor: string | null = null) => ({ data: rows, next_cursor });
    expect(await own.get("/usage")).toEqual(page([{ day: today, ...times(3) }]));
    expect(await own.get("/usage?group_by=skill")).toEqual(
      page([
        { skill: "cat", ...times(2) },
        { skill: "dog", ...one },
      ]),
    );
    const first = page([{ skill: "cat", ...times(2) }], '["cat"]');
    expect(await own.get("/usage?group_by=skill&limit=1")).toEqual(first);
    const next = `/usage?group_by=skill&limit=1&cursor=${encodeURIComponent('["cat"]')}`;
    expect(await own.get(next)).toEqual(page([{ skill: "dog", ...one }]));
    expect(await own.get("/usage?group_by=session")).toEqual(page([{ session: null, ...times(3) }]));
    expect(await own.get("/usage?group_by=model")).toEqual(
      page([{ provider: "mock", model: "mock", ...times(3) }]),
    );
    expect(await own.get(`/usage?from=${today}&to=${today}`)).toEqual(page([{ day: today, ...times(3) }]));
    expect(await own.get("/usage?to=2020-01-01")).toEqual(page([]));
    expect(await own.get("/llm/usage")).toEqual({
      input_tokens: 33,
      output_tokens: 90,
      total_duration_ms: expect.any(Number),
      call_count: 3,
    });
    expect(await (await tenant()).get("/usage")).toEqual(page([]));
  });

  it("counts the cost that the call's result has: of the model that was asked, cached tokens separately from the input", async () => {
    const options = {
      provider: "anthropic",
      model: "claude-sonnet-4-20250514",
      mock: [{ text: "said", input_tokens: 100, output_tokens: 10, cache_read_tokens: 900 }],
    };
    const cost_usd = (100 * 3 + 900 * 0.3 + 10 * 15) / 1e6;
    const called = await own.send("POST", "/llm/call", { prompt: "hello", options });
    expect(await called.json()).toMatchObject({ usage: { cost_usd, price_known: true } });
    const ran = await own.send("POST", "/runs", { prompt: "hello", options });
    expect(await ran.json()).toMatchObject({ cost_usd });
    expect(await own.get("/usage")).toMatchObject({
      data: [{ calls: 2, cost_usd: (2 * cost_usd * 1e9) / 1e9 }],
    });
  });

  it.each(["group_by=week", "from=yesterday", "to=2026-02-30", "limit=0", "cursor=x", "cursor=[1]"])(
    "?%s is 400",
    async (query) => {
      const response = await own.send("GET", `/usage?${query}`);
      expect([response.status, (await response.json<Problem>()).code]).toEqual([400, "bad_request"]);
    },
  );

  it("of a session apply below it too, and callers that wait for a task or sub-agent get the error", async () => {
    const post = (path: string, body: unknown) => own.send("POST", path, body);
    expect((await post("/sessions", { id: "desk" })).status).toBe(201);
    await own.put("/budgets/session:desk", { window: "total", max_input_tokens: 1 });
    const below = { task: "Look at all of it.", parent_session_id: "desk" };
    const node = { model_policy: { provider: "mock" } };
    const task = await (await post("/tasks", { ...below, node })).json<{ id: string }>();
    const waited = await post("/tasks/wait", { ids: task.id });
    expect([waited.status, await waited.json()]).toMatchObject([
      402,
      { code: "budget_exceeded", scope: "session:desk" },
    ]);
    const envelope = await post("/sub-agents", { ...below, options: { provider: "mock" } });
    expect([envelope.status, await envelope.json()]).toMatchObject([
      200,
      { ok: false, error: { category: "budget_exceeded" } },
    ]);
  });
});

describe("/llm/budget and /llm/session-cost", () => {
  it("no budget is null; one is the caller's own, or a session's", async () => {
    const none = { budget: null, remaining: null };
    expect(await own.get("/llm/budget")).toEqual(none);
    expect(await own.put("/llm/budget", { max_cost: 0.5 })).toEqual([200, { budget: 0.5, remaining: 0.5 }]);
    expect(await own.get("/llm/budget")).toEqual({ budget: 0.5, remaining: 0.5 });
    const missing = await own.send("PUT", "/llm/budget?session_id=s1", { max_cost: 2 });
    expect([missing.status, (await missing.json<Problem>()).code]).toEqual([404, "not_found"]);
    expect((await own.send("GET", "/llm/session-cost?session_id=s1")).status).toBe(404);
    await own.send("POST", "/sessions", { id: "s1" });
    expect(await own.get("/llm/budget?session_id=s1")).toEqual(none);
    await own.put("/llm/budget?session_id=s1", { max_cost: 2 });
    expect(await own.get("/llm/budget?session_id=s1")).toEqual({ budget: 2, remaining: 2 });
    await own.put("/llm/budget", { max_cost: 0 });
    expect((await own.run("cat")).status).toBe(200);
    expect((await own.send("DELETE", "/llm/budget")).status).toBe(204);
    expect(await own.get("/llm/budget")).toEqual(none);
    expect(await own.get("/llm/session-cost?session_id=s1")).toEqual({
      total_cost: 0,
      input_tokens: 0,
      output_tokens: 0,
      call_count: 0,
    });
  });

  it.each([[{ max_cost: "x" }], [{ max_cost: -1 }], [{ max_cost: null }], [{}]])(
    "PUT %j is 422",
    async (body) => {
      const [status, problem] = await own.put("/llm/budget", body);
      expect([status, problem]).toMatchObject([422, { errors: [{ path: "max_cost" }] }]);
    },
  );

  it("callers without a key cannot set a budget for each other", async () => {
    const open = new Client({ HULL_PUBLIC: "1" });
    expect((await open.fetch("/llm/budget")).status).toBe(200);
    const put = { method: "PUT", body: JSON.stringify({ max_cost: 0 }) };
    expect((await open.fetch("/llm/budget", put)).status).toBe(401);
  });
});

describe("/llm/rate-limit/:provider", () => {
  it("is null, then the stored value, then null again", async () => {
    const path = "/llm/rate-limit/mock";
    const none = { provider: "mock", rpm: null, source: null };
    expect(await own.get(path)).toEqual(none);
    expect(await own.put(path, { rpm: 100 })).toEqual([
      200,
      { provider: "mock", rpm: 100, source: "tenant" },
    ]);
    expect(await own.get(path)).toMatchObject({ rpm: 100 });
    expect(await (await tenant()).get(path)).toEqual(none);
    expect((await own.run("cat")).status).toBe(200);
    expect(await own.put(path, { rpm: 0 })).toEqual([200, none]);
    expect((await own.put(path, { rpm: 1.5 }))[0]).toBe(422);
    expect((await own.put("/llm/rate-limit/not%20one", { rpm: 1 }))[0]).toBe(400);
    // A rate under another name would limit nothing.
    expect(await own.put("/llm/rate-limit/opnai", { rpm: 1 })).toMatchObject([
      404,
      { code: "provider_not_found", near: ["openai"] },
    ]);
    expect(await own.put("/llm/rate-limit/gemini", { rpm: 9 })).toMatchObject([
      200,
      { provider: "google", rpm: 9 },
    ]);
  });

  it("reports the deployment's configuration", async () => {
    const local = new Client({ HULL_ENV: "local", HULL_RATE_LIMIT_WORKERS_AI: "7" });
    const answer = await local.fetch("/llm/rate-limit/workers-ai");
    expect(await answer.json()).toEqual({ provider: "workers-ai", rpm: 7, source: "deployment" });
  });

  it("a skill that would wait beyond its deadline gets 429 immediately, with the time to retry", async () => {
    await own.put("/llm/rate-limit/mock", { rpm: 1 });
    await new Client().publish({ hasty: mockSkill("hasty", "timeout_ms: 20000\ndeadline_ms: 20000\n") });
    expect((await own.run("hasty")).status).toBe(200);
    const refused = await own.run("hasty");
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(20);
    expect(await refused.json()).toMatchObject({
      code: "provider_rate_limited",
      provider: "mock",
      detail: expect.stringContaining("GET /llm/rate-limit/mock shows it."),
    });
  });
});
