/** What a run or a call took, read from every place that shows it: every place shows the same sum. */
import { beforeAll, describe, expect, it } from "vitest";
import { sumUsd } from "../../src/engine/usd.ts";
import { edge } from "../support/workflow-graphs.ts";
import { Client, mockSkill } from "./served.ts";
import { ADMIN, Tenant, tenant } from "./tenant.ts";

type Body = Record<string, unknown>;
type Sum = { input_tokens: number; output_tokens: number; cost_usd: number };
interface Listed extends Sum {
  id: string;
  kind: string;
  session: string | null;
  state: string;
}
interface Run extends Sum {
  run_id: string;
  own_cost_usd: number;
}

const PRICED = { provider: "mock" };
const USAGE = { input_tokens: 1000, output_tokens: 100 };
const said = (text: string, more: Body = {}) => ({ text, ...USAGE, ...more });

const total = (all: readonly Sum[]): Sum => ({
  input_tokens: all.reduce((sum, { input_tokens }) => sum + input_tokens, 0),
  output_tokens: all.reduce((sum, { output_tokens }) => sum + output_tokens, 0),
  cost_usd: sumUsd(...all.map(({ cost_usd }) => cost_usd)),
});

let owners = 0;
const priced = new Client({
  HULL_ADMIN_KEY: ADMIN,
  HULL_LLM: JSON.stringify({ llm: { prices: { mock: { in: 3, out: 15 } } } }),
});
/** A tenant that has no other account. */
async function owner(): Promise<Tenant> {
  const body = JSON.stringify({ tenant: `accounts-${++owners}`, scopes: ["invoke", "admin"] });
  const made = await new Tenant(priced, ADMIN).fetch("/admin/keys", { method: "POST", body });
  return new Tenant(priced, (await made.json<{ key: string }>()).key);
}
const post = (own: Tenant, path: string, body: unknown, headers: Record<string, string> = {}) =>
  own.fetch(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
const ledger = async (own: Tenant, query = ""): Promise<Sum> =>
  total((await own.get<{ data: Sum[] }>(`/usage?group_by=day${query}`)).data);
const listed = async (own: Tenant): Promise<Listed[]> =>
  (await own.get<{ data: Listed[] }>("/runs?limit=100")).data;

/** The sum over the steps of a run. */
async function stepsOf(own: Tenant, session: string, run: string): Promise<Sum> {
  const { data } = await own.get<{ data: { usage?: Sum; cost_usd?: number }[] }>(
    `/sessions/${session}/runs/${run}/trace?limit=1000`,
  );
  return total(
    data.flatMap(({ usage, cost_usd = 0 }) => (usage === undefined ? [] : [{ ...usage, cost_usd }])),
  );
}

const CHILD = { tool_calls: [{ name: "sub_agent", arguments: { task: "Dig." } }], ...USAGE };
const SCHEMA = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const SHORT = { auto_compact: true, compact_threshold: 1, compact_keep_last: 1, compact_strategy: "llm" };

describe("a session's runs", () => {
  it.each<[string, Body]>([
    ["one answer", { mock: [said("Yes.")] }],
    [
      "an answer that the model corrected",
      { json_schema: SCHEMA, schema_retries: 1, mock: [said("no"), said('{"n": 1}')] },
    ],
    [
      "an answer that stayed wrong",
      { json_schema: SCHEMA, schema_retries: 1, output_validation: "error", mock: [said("no"), said("no")] },
    ],
    ["a summary of older messages", { ...SHORT, mock: [said("Earlier: hello."), said("Yes.")] }],
    ["sub-agents", { sub_agents: true, mock: [CHILD, CHILD, said("Done.")] }],
  ])("agree about %s", async (_, options) => {
    const own = await owner();
    await post(own, "/sessions", { id: "desk" });
    for (const n of [1, 2])
      await post(own, "/sessions/desk/runs", {
        prompt: `Hello ${n}.`,
        options: { ...PRICED, mock: [said("Hello.")] },
      });
    const answer = await post(own, "/sessions/desk/runs", {
      prompt: "Go.",
      options: { ...PRICED, ...options },
    });
    const result = await answer.json<Run>();
    const rows = await listed(own);
    const runs = rows.filter(({ session }) => session === "desk");
    expect(runs).toHaveLength(3);
    const [last = expect.fail()] = runs;
    const { cost_usd, ...steps } = await stepsOf(own, "desk", last.id);
    expect(steps).toEqual({ input_tokens: last.input_tokens, output_tokens: last.output_tokens });
    if (answer.ok) {
      expect(last).toMatchObject({
        id: result.run_id,
        input_tokens: result.input_tokens,
        output_tokens: result.output_tokens,
        cost_usd: result.cost_usd,
      });
      expect(cost_usd).toBe(result.own_cost_usd);
    } else expect(cost_usd).toBe(last.cost_usd);
    // The runs of sub-agents have rows of their own, and their tokens are theirs.
    expect(await ledger(own)).toEqual({ ...total(rows), cost_usd: total(runs).cost_usd });
    expect(await ledger(own, "&session=desk")).toEqual(await ledger(own));
    const { total_cost } = await own.get<Body>("/llm/session-cost?session_id=desk");
    expect(total_cost).toBe(total(runs).cost_usd);
  });
});

describe("a session", () => {
  it("agrees about calls and summaries that belong to no run", async () => {
    const own = await owner();
    await post(own, "/sessions", { id: "desk" });
    const options = { ...PRICED, session_id: "desk", mock: [said("Hello.")] };
    expect((await post(own, "/llm/call", { prompt: "Hello.", options })).status).toBe(200);
    const called = await ledger(own);
    const [row] = await listed(own);
    expect(row).toMatchObject({ kind: "call", name: "llm/call", ...called });
    const call = { strategy: "llm", keep_last: 0, options: { ...PRICED, mock: [said("Earlier: hello.")] } };
    const compacted = await post(own, "/sessions/desk/compact", call);
    expect(await compacted.json()).toMatchObject({ compacted: { engine_strategy: "llm" } });
    expect(await ledger(own, "&session=desk")).toEqual(total([called, called]));
    const { total_cost } = await own.get<Body>("/llm/session-cost?session_id=desk");
    expect(total_cost).toBe(total([called, called]).cost_usd);
  });
});

describe("work in sessions of its own", () => {
  const wrong = {
    mock: [said("no"), said("no")],
    json_schema: SCHEMA,
    schema_retries: 1,
    output_validation: "error",
  };
  const graph = {
    entry: "plain",
    nodes: {
      plain: { model_policy: { ...PRICED, mock: [said("One.")] } },
      wrong: { model_policy: { ...PRICED, ...wrong }, retry_policy: { max_attempts: 2, backoff_ms: 1 } },
      dug: { kind: "subagent", model_policy: { ...PRICED, sub_agents: true, mock: [CHILD, said("Dug.")] } },
      each: {
        kind: "map",
        map_policy: { items: ["a", "b"] },
        model_policy: { ...PRICED, mock: [said("Item.")] },
      },
    },
    edges: [edge("plain", "wrong"), edge("wrong", "dug", "error"), edge("dug", "each")],
  };

  it("agrees about a workflow: its record, its row, its stages, the ledger", async () => {
    const own = await owner();
    const answer = await post(own, "/workflows/execute", { task: "Go.", graph });
    const text = await answer.text();
    const { run } = JSON.parse(text);
    expect([answer.status, text]).toEqual([200, expect.any(String)]);
    expect([run.status, run.stages.map(({ node_id }: { node_id: string }) => node_id)]).toEqual([
      "completed",
      ["plain", "wrong", "dug", "each"],
    ]);
    const spent = await ledger(own);
    expect(run.usage.total_cost).toBe(spent.cost_usd);
    const rows = await listed(own);
    const row = rows.find(({ kind }) => kind === "workflow") ?? expect.fail();
    const { input_tokens, output_tokens } = run.usage;
    expect(row).toMatchObject({ input_tokens, output_tokens, cost_usd: spent.cost_usd });
    expect(total(rows.filter(({ kind }) => kind !== "workflow"))).toMatchObject({
      input_tokens: spent.input_tokens,
      output_tokens: spent.output_tokens,
    });
    expect(await ledger(own, `&session=${row.id}`)).toEqual(spent);
  });

  it.each<[string, Body]>([
    ["that goes well", { sub_agents: true, mock: [CHILD, said("Dug.")] }],
    ["that fails", wrong],
  ])(
    "agrees about a sub-agent %s: its envelope, its row, the events above, the ledger",
    async (_, options) => {
      const own = await owner();
      await post(own, "/sessions", { id: "desk" });
      const body = { task: "Dig.", parent_session_id: "desk", options: { ...PRICED, ...options } };
      const envelope = await (await post(own, "/sub-agents", body)).json<{
        tokens_used: number;
        session_id: string;
      }>();
      const spent = await ledger(own, "&session=desk");
      expect(envelope.tokens_used).toBe(spent.input_tokens + spent.output_tokens);
      const rows = await listed(own);
      const row = rows.find(({ session }) => session === envelope.session_id) ?? expect.fail();
      expect(row.cost_usd).toBe(spent.cost_usd);
      const { data } = await own.get<{ data: { event: string; data: Body }[] }>(
        "/sessions/desk/events/list?limit=1000",
      );
      const told = data.filter(
        ({ event, data }) => event === "sub_agent_result" && data.session_id === envelope.session_id,
      );
      expect(told).toMatchObject([{ data: { cost_usd: spent.cost_usd } }]);
    },
  );
});

describe("a model without a known price", () => {
  it("costs 0 in a sum that is marked as incomplete", async () => {
    const own = await tenant("accounts-unpriced", "invoke");
    await post(own, "/sessions", { id: "desk" });
    const model = "claude-sonnet-4-20250514";
    const told: unknown[] = [];
    for (const options of [
      { ...PRICED, model, mock: [said("Yes.")] },
      { ...PRICED, mock: [said("Yes.")] },
      { ...PRICED, json_schema: SCHEMA, schema_retries: 1, mock: [said("no"), said('{"n": 1}')] },
      { ...PRICED, sub_agents: true, mock: [CHILD, said("Done.")] },
    ]) {
      const run = await (await post(own, "/sessions/desk/runs", { prompt: "Go.", options })).json<Body>();
      told.push(`${run.cost_usd} ${run.price_known}`);
    }
    expect(told).toEqual(["0.0045 true", ...Array(3).fill("0 false")]);
    expect((await own.get<{ data: Body[] }>("/usage")).data).toMatchObject([{ price_known: false }]);
    const listed = async (path: string) =>
      (await own.get<{ data: Body[] }>(`/runs?${path}`)).data.map(
        (run) => `${run.cost_usd} ${run.price_known}`,
      );
    await expect.poll(() => listed("session=desk")).toEqual(told.toReversed());
    for (const named of [{ model }, {}])
      await post(own, "/llm/call", { prompt: "Go.", options: { ...PRICED, ...named, mock: [said("Yes.")] } });
    await expect.poll(() => listed("name=llm/call")).toEqual(["0 false", "0.0045 true"]);
  });
});

describe("a workflow", () => {
  const priced = { model: "claude-sonnet-4-20250514", mock: [said("Yes.")] };
  const nodes = { a: { model_policy: priced }, b: { model_policy: { mock: [said("No.")] } } };
  const graph = { nodes, edges: [edge("a", "b")] };

  it("shows for each stage and for the whole run whether a price is unknown", async () => {
    const own = await tenant("accounts-workflow", "invoke");
    const ask = async (graph: object) => {
      const response = await post(own, "/workflows/execute", { task: "Go.", graph, options: PRICED });
      return (await response.json<{ run: { stages: Body[]; usage: Body } }>()).run;
    };
    const known = await ask({ nodes: { a: nodes.a } });
    expect(known.usage).toMatchObject({ total_cost: 0.0045 });
    expect(known.usage).not.toHaveProperty("price_known");
    const { stages, usage } = await ask(graph);
    expect(usage).toMatchObject({ total_cost: 0.0045, price_known: false });
    expect(stages.map(({ usage }) => Object(usage).price_known)).toEqual([undefined, false]);
    const { data } = await own.get<{ data: Body[] }>("/runs?kind=workflow");
    expect(data.map(({ price_known }) => price_known)).toEqual([false, true]);
  });

  it("reports an unknown price to the run that gave it a share of its budget", async () => {
    const own = await tenant("accounts-shared", "invoke");
    await post(own, "/sessions", { id: "desk" });
    const ASK = { name: "ask", description: "Asks.", parameters: {} };
    const mock = [{ tool_calls: [{ name: "ask", arguments: {} }], ...USAGE }, said("Done.")];
    const above = { ...PRICED, ...priced, mock, tools: [ASK], token_budget: 9000 };
    const later = { prefer: "respond-async" };
    const begun = await post(own, "/sessions/desk/runs", { prompt: "Go.", options: above }, later);
    const at = `/sessions/desk/runs/${(await begun.json<Run>()).run_id}`;
    const shown = () => own.get<Body>(at);
    await expect.poll(shown).toMatchObject({ status: "awaiting_tool" });
    const options = { ...PRICED, token_budget: 5000 };
    const task = { task: "Go.", graph, options, parent_session_id: "desk", wait: true };
    expect((await post(own, "/tasks", task)).status).toBe(201);
    await post(own, "/sessions/desk/tool-results", { tool_call_id: "mock_call_1", content: "Yes." });
    await expect
      .poll(shown)
      .toMatchObject({ status: "done", result: { cost_usd: sumUsd(0.009, 0.0045), price_known: false } });
  });
});

describe("the option budget", () => {
  const budget = { max_cost_usd: 0.000001 };

  it("holds for a summary on request, which then changes nothing", async () => {
    const own = await owner();
    await post(own, "/sessions", { id: "desk" });
    const options = { ...PRICED, mock: [said("Hello.")] };
    await post(own, "/sessions/desk/runs", { prompt: "Hello.", options });
    const before = await ledger(own);
    const asked = { strategy: "llm", keep_last: 0, options: { ...options, budget } };
    const refused = await post(own, "/sessions/desk/compact", asked);
    expect([refused.status, await refused.json()]).toMatchObject([
      402,
      { code: "budget_exceeded", limit: "max_cost_usd" },
    ]);
    expect(await own.get("/sessions/desk")).toMatchObject({ length: 2, summary: null });
    expect(await ledger(own)).toEqual(before);
  });

  it("holds for the summary within a run, which then continues with what it has", async () => {
    const own = await owner();
    await post(own, "/sessions", { id: "desk" });
    const long = "word ".repeat(2000);
    await post(own, "/sessions/desk/runs", { prompt: long, options: { ...PRICED, mock: [said("Hello.")] } });
    // The whole conversation is too dear for one call; what is left of it is not.
    const options = { ...SHORT, budget: { max_cost_usd: 0.003 }, mock: [said("Yes.")] };
    const answer = await post(own, "/sessions/desk/runs", {
      prompt: "Go.",
      options: { ...PRICED, ...options },
    });
    const warnings = [{ code: "compaction_truncated", message: expect.stringContaining("budget_exceeded") }];
    expect(await answer.json()).toMatchObject({ status: "done", text: "Yes.", warnings });
  });
});

describe("a daemon", () => {
  it("counts in each wake what its sub-agents took, and no earlier wake", async () => {
    const own = await owner();
    const body = {
      task: "Watch.",
      name: "mail",
      ...PRICED,
      sub_agents: true,
      wake_budget: { max_cost_usd: 0.0092 },
      // Its own two calls cost 0.009 USD, and the sub-agent's one some more.
      mock: [said("Ready."), CHILD, CHILD, said("In the next wake.")],
    };
    const begun = await (await post(own, "/daemons", body)).json<{ id: string }>();
    const rests = (total_iterations: number) =>
      expect
        .poll(() => own.get(`/daemons/${begun.id}`), { timeout: 20_000 })
        .toMatchObject({ daemon_state: "idle", total_iterations });
    await rests(1);
    await post(own, `/daemons/${begun.id}/events`, { n: 1 });
    await rests(3);
    expect(await own.get(`/daemons/${begun.id}`)).toMatchObject({ wake_budget_reached: "max_cost_usd" });
    await post(own, `/daemons/${begun.id}/events`, { n: 2 });
    await rests(4);
    expect(await own.get(`/daemons/${begun.id}`)).toMatchObject({ wake_budget_reached: null });
  });
});

describe("calls without a session", () => {
  beforeAll(() => new Client().publish({ cat: mockSkill("cat") }));

  const MODEL = "mock";
  const messages = [{ role: "user", content: "Hi." }];
  const message = { max_tokens: 9, messages };
  const response = { input: "Hi.", store: false };
  const mcp = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "cat", arguments: { input: "Hi." } },
  };
  const options = PRICED;

  it.each<[string, string, Body]>([
    ["a skill", "/skills/cat", { input: "Hi." }],
    ["a skill's stream", "/skills/cat?stream=1", { input: "Hi." }],
    ["a skill over MCP", "/mcp", mcp],
    ["a model call", "/llm/call", { prompt: "Hi.", options }],
    ["a model call's stream", "/llm/stream", { prompt: "Hi.", options }],
    ["a completion", "/llm/completion", { prefix: "one ", options }],
    [
      "a corrected answer",
      "/llm/structured",
      {
        prompt: "Hi.",
        schema: SCHEMA,
        options: { ...options, schema_retries: 1, mock: [said("no"), said('{"n": 1}')] },
      },
    ],
    ["a summary", "/transcripts/summarize", { messages, keep_last: 0, ...options }],
    ["a run", "/runs", { prompt: "Hi.", options }],
    ["a run's stream", "/runs?stream=1", { prompt: "Hi.", options }],
    [
      "a run with sub-agents",
      "/runs",
      { prompt: "Hi.", options: { ...options, sub_agents: true, mock: [CHILD, said("Done.")] } },
    ],
    ["a message", "/v1/messages", { ...message, model: MODEL }],
    ["a streamed message", "/v1/messages", { ...message, model: MODEL, stream: true }],
    ["a skill's message", "/v1/messages", { ...message, model: "skill/cat" }],
    ["a chat completion", "/v1/chat/completions", { messages, model: MODEL }],
    ["a skill's chat completion", "/v1/chat/completions", { messages, model: "skill/cat" }],
    ["a response", "/v1/responses", { ...response, model: MODEL }],
    ["a streamed response", "/v1/responses", { ...response, model: MODEL, stream: true }],
    ["a skill's response", "/v1/responses", { ...response, model: "skill/cat" }],
    ["a compacted response", "/v1/responses/compact", { input: "Hi.", model: MODEL }],
  ])("agree about %s: the answer, its row, the ledger", async (name, path, body) => {
    for (const headers of path.startsWith("/v1") || path === "/mcp" || path.startsWith("/transcripts")
      ? [{}]
      : [{}, { "idempotency-key": name }]) {
      const own = await owner();
      const answer = await post(own, path, body, {
        accept: "application/json, text/event-stream",
        ...headers,
      });
      const text = await answer.text();
      expect([answer.status, text]).toEqual([200, expect.any(String)]);
      const spent = await ledger(own);
      const rows = await listed(own);
      const [row] = rows.filter(({ kind }) => kind === "call");
      // A call of /transcripts is no run.
      if (row === undefined) expect(path).toMatch(/^\/transcripts/);
      else
        expect([row.cost_usd, spent]).toEqual([spent.cost_usd, { ...total(rows), cost_usd: row.cost_usd }]);
      if (row === undefined || path === "/mcp") continue;
      for (const [names, value] of [
        ["input_tokens|prompt_tokens", row.input_tokens],
        ["output_tokens|completion_tokens", row.output_tokens],
        ["cost_usd", row.cost_usd],
      ] as const)
        if (names !== "cost_usd" || text.includes('"cost_usd"'))
          expect(text).toMatch(new RegExp(`"(${names})":${value}\\b`));
    }
  });
});
