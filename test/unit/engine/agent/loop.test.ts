import { describe, expect, it } from "vitest";
import { BudgetExceeded } from "../../../../src/errors/budget.ts";
import { FAILURES } from "../../../../src/errors/failure-class.ts";
import { ProviderAuthFailed } from "../../../../src/errors/provider.ts";
import type { JsonObject } from "../../../../src/skill/manifest.ts";
import { play, SPEC, tool, toolTexts, userTexts } from "./harness.ts";

const NUDGE =
  "You have not output ##DONE## yet — the task is not complete. Use your tools to continue working. Only output ##DONE## when the task is fully complete and verified.";
const INSTRUCTION =
  "IMPORTANT: You MUST keep working until the task is complete. Do NOT stop to explain or summarize — take action. Output ##DONE## only when the task is fully complete and verified.";
const edit = tool("edit");
const call = (name = "edit", args: JsonObject = {}): { calls: [string, JsonObject][] } => ({
  calls: [[name, args]],
});

describe("text-only turns", () => {
  it("a persistent run is nudged until its sentinel", async () => {
    const { run, requests } = await play({ spec: { persistent: true }, replies: ["working", "ok ##DONE##"] });
    expect([run.status, run.iterations]).toEqual(["done", 2]);
    expect(requests[0]?.system.endsWith(INSTRUCTION)).toBe(true);
    expect(requests[1] && userTexts(requests[1])).toEqual(["go", NUDGE]);
  });

  it("after max_nudges nudges the next text-only turn makes it stuck", async () => {
    const { run, requests } = await play({ spec: { persistent: true }, replies: ["a", "b", "c", "d", "e"] });
    expect([run.status, run.iterations]).toEqual(["stuck", 4]);
    expect(
      requests.at(-1) && userTexts(requests.at(-1) ?? SPEC_REQUEST).filter((text) => text === NUDGE),
    ).toHaveLength(3);
    const none = await play({ spec: { persistent: true, max_nudges: 0 }, replies: ["a", "b"] });
    expect([none.run.status, none.run.iterations]).toEqual(["stuck", 1]);
    const reset = await play({
      spec: { persistent: true, max_nudges: 1, tools: [edit] },
      replies: ["a", call(), "b", "c", "d"],
    });
    expect([reset.run.status, reset.run.iterations]).toEqual(["stuck", 4]);
  });

  it("a run that is not persistent ends at its first text", async () => {
    const { run, requests } = await play({ spec: { tools: [edit] }, replies: [call(), "all done"] });
    expect([run.status, run.iterations, run.texts.join("")]).toEqual(["done", 2, "all done"]);
    expect(requests[1] && toolTexts(requests[1])).toEqual(["ok"]);
  });

  it("a sentinel without action counts, unless action is required", async () => {
    const spec = { persistent: true, tools: [edit] };
    expect((await play({ spec, replies: ["##DONE##"] })).run.status).toBe("done");
    const turn_policy = { require_action_or_yield: true, allow_done_sentinel: true, max_prose_chars: null };
    const gated = await play({ spec: { ...spec, turn_policy }, replies: ["##DONE##", call(), "##DONE##"] });
    expect([gated.run.status, gated.run.iterations]).toEqual(["done", 3]);
    expect(gated.run.feedback.map(({ kind }) => kind)).toEqual(["sentinel_without_action"]);
    expect(gated.requests[0]?.tool_choice).toBe("required");
  });

  it("a text in place of a required action leaves the history, and the model reads why", async () => {
    const turn_policy = { require_action_or_yield: true, allow_done_sentinel: true, max_prose_chars: null };
    const { run, state } = await play({
      spec: { tools: [edit], turn_policy },
      replies: ["Soon.", call(), "end"],
    });
    expect(run.feedback.map(({ kind }) => kind)).toEqual(["action_required"]);
    expect(JSON.stringify(state.visible)).not.toContain("Soon.");
  });

  it("if the sentinel is not allowed, nothing mentions it", async () => {
    const turn_policy = { require_action_or_yield: false, allow_done_sentinel: false, max_prose_chars: 3 };
    const { requests } = await play({
      spec: { persistent: true, tools: [edit], turn_policy },
      replies: ["working", "##DONE##"],
    });
    const shown = requests.flatMap((request) => [request.system, ...userTexts(request)]).join("\n");
    expect(shown).not.toContain("##DONE##");
    expect(shown).toContain("within 3 visible characters");
  });

  it("exit_when_verified waits for a passing run", async () => {
    const { run } = await play({
      spec: { persistent: true, exit_when_verified: true, tools: [tool("run")] },
      replies: [call("run"), "##DONE##", call("run"), "##DONE##"],
      results: { run: [{ status: "error", exit_code: 2 }, { exit_code: 0 }] },
    });
    expect([run.status, run.iterations]).toEqual(["done", 4]);
    expect(run.feedback.map(({ kind, content }) => [kind, content.includes("exit code 2")])).toEqual([
      ["verification_gate", true],
    ]);
  });

  it("a turn with calls and a sentinel runs the calls, then ends", async () => {
    const { run, executed } = await play({
      spec: { persistent: true, tools: [edit] },
      replies: [{ text: "##DONE##", calls: [["edit", {}]] }],
    });
    expect([run.status, run.iterations, executed.length]).toEqual(["done", 1, 1]);
  });
});

const SPEC_REQUEST = { system: "", messages: [], tools: [] };

describe("status", () => {
  it.each([
    [
      "iterations used up",
      { max_iterations: 2, tools: [edit] },
      [call(), call("edit", { a: 1 })],
      "budget_exhausted",
      2,
    ],
    [
      "sentinel in the last one",
      { max_iterations: 2, persistent: true, tools: [edit] },
      [call(), "##DONE##"],
      "done",
      2,
    ],
    ["none allowed", { max_iterations: 0 }, [], "done", 0],
    [
      "tokens used up on the sentinel's turn",
      { persistent: true, token_budget: 15 },
      ["##DONE##"],
      "budget_exhausted",
      1,
    ],
    ["a required tool never ran", { tools: [edit], require_successful_tools: ["edit"] }, ["no"], "failed", 1],
  ] as const)("%s", async (_, spec, replies, status, iterations) => {
    const { run } = await play({ spec: { ...spec, ...copy(spec) }, replies: [...replies] });
    expect([run.status, run.iterations]).toEqual([status, iterations]);
  });

  it("a required tool that is always denied", async () => {
    const { run } = await play({
      spec: {
        tools: [edit],
        require_successful_tools: ["edit"],
        policies: { ...SPEC.policies, policy: { tools: [] } },
      },
      replies: [call(), "gave up"],
    });
    expect([run.status, run.rejected_tools, run.successful_tools]).toEqual(["failed", ["edit"], []]);
  });

  it("cost used up", async () => {
    const { run } = await play({
      spec: { tools: [edit], total_budget_usd: 1 },
      replies: [call(), call()],
      cost_usd: 0.6,
    });
    expect([run.status, run.iterations]).toEqual(["budget_exhausted", 2]);
  });

  it("cost is summed to a nano-USD", async () => {
    const replies = [call(), call(), "end"];
    const { run } = await play({ spec: { tools: [edit], total_budget_usd: 0.4 }, replies, cost_usd: 0.1 });
    expect([run.status, run.totals.cost_usd]).toEqual(["done", 0.3]);
  });

  it.each([0, 1])("a model call that a budget refuses is no iteration: after %d calls", async (calls) => {
    const limit = {
      budget: "option" as const,
      limit: "max_cost_usd",
      limit_value: 1,
      provider: "p",
      model: "m",
    };
    const figures = {
      projected_cost_usd: 2,
      session_cost_usd: 0,
      projected_input_tokens: 1,
      projected_output_tokens: 1,
    };
    const refusal = new BudgetExceeded({ ...limit, ...figures });
    const { run } = await play({ spec: { tools: [edit] }, replies: [...Array(calls).fill(call()), refusal] });
    expect([run.status, run.iterations, run.error]).toEqual(["budget_exhausted", calls, null]);
  });

  it("a provider's error is an error, not a status of the loop", async () => {
    const { run } = await play({
      replies: [
        new ProviderAuthFailed({
          provider: "p",
          variable: "V",
          provider_status: 401,
          failure: FAILURES.auth_failure,
        }),
      ],
    });
    expect([run.status, run.error?.code]).toEqual(["error", "provider_auth_failed"]);
  });
});

/** Lists of a table are read-only. */
const copy = (spec: object) => JSON.parse(JSON.stringify(spec));

describe("tools", () => {
  it("stop_after_successful_tools ends the turn after all of its calls, without the hook", async () => {
    const { run, executed, hooks } = await play({
      spec: { tools: [edit], stop_after_successful_tools: ["edit"], post_turn_callback: "post" },
      replies: [
        {
          calls: [
            ["edit", {}],
            ["edit", { a: 1 }],
          ],
        },
      ],
    });
    expect([run.status, executed.length, hooks.length]).toEqual(["done", 2, 0]);
    expect(run.tools_used).toEqual(["edit", "edit"]);
  });

  it("a failing tool is tried again, a denied one is not", async () => {
    const failed = { status: "error" as const, error_category: "tool_error" as const };
    const { executed, pauses, run } = await play({
      spec: { tools: [edit], tool_retries: 1 },
      replies: [call(), "end"],
      results: { edit: [failed, "fine"] },
    });
    expect([executed.length, pauses, run.successful_tools]).toEqual([2, [1000], ["edit"]]);
    const denied = await play({
      spec: { tools: [edit], tool_retries: 3, policies: { ...SPEC.policies, policy: { tools: [] } } },
      replies: [call(), "end"],
    });
    expect(denied.executed).toEqual([]);
    expect(denied.requests[1] && JSON.parse(toolTexts(denied.requests[1])[0] ?? "")).toMatchObject({
      error: "permission_denied",
      tool: "edit",
    });
  });

  it("an attempt that ended has another one after it; one that did not reach the tool is made again", async () => {
    const ends = ["unavailable", "tool_error", "network", "timeout", null] as const;
    const attempts: number[] = [];
    const { run } = await play({
      spec: { tools: [edit], tool_retries: 4 },
      replies: [call(), "end"],
      async runTool(_, __, attempt) {
        const error_category = ends[attempts.push(attempt) - 1] ?? null;
        return { status: error_category === null ? "ok" : "error", error_category };
      },
    });
    expect([attempts, run.successful_tools]).toEqual([[0, 0, 1, 1, 2], ["edit"]]);
  });

  it("the same call with the same result: first a hint, then a redirect, then Hull does not make the call", async () => {
    const four = [call(), call(), call(), call(), "end"];
    const { requests, executed } = await play({ spec: { tools: [edit] }, replies: four });
    const texts = requests.at(-1) === undefined ? [] : toolTexts(requests.at(-1) ?? SPEC_REQUEST);
    expect(executed).toHaveLength(3);
    expect(texts[0]).toBe("ok");
    expect(texts[1]).toMatch(/^ok\n\n\[hull: .*2 of edit/);
    expect(texts[2]).toMatch(/^\[hull: edit was called 3 times/);
    expect(texts[3]).toMatch(/not executed/);
    const other = await play({
      spec: { tools: [edit] },
      replies: four,
      results: { edit: ["a", "a", "b", "b"] },
    });
    expect(other.executed).toHaveLength(4);
  });

  it("unparsable arguments, unknown tools and missing parameters are reported, not executed", async () => {
    const { requests, executed, run } = await play({
      spec: { tools: [tool("edit", {}, ["path"])] },
      replies: [
        {
          calls: [
            ["edit", "not json"],
            ["other", {}],
            ["edit", {}],
            ["edit", { path: "a" }],
          ],
        },
        "end",
      ],
    });
    const texts = requests[1] === undefined ? [] : toolTexts(requests[1]);
    expect(texts[0]).toContain("not json");
    expect(texts[1]).toContain('"other" is not available');
    expect(texts[2]).toContain("needs path");
    expect(executed.map(({ args }) => args)).toEqual([{ path: "a" }]);
    expect([run.rejected_tools, run.tools_used]).toEqual([["other"], ["edit", "other", "edit", "edit"]]);
  });

  it("a round takes at most four rows, and a call is stored before it is made", async () => {
    const { rows } = await play({
      spec: { tools: [edit] },
      replies: [call(), call("edit", { n: 2 }), "end"],
    });
    expect(rows.length).toBeLessThanOrEqual(2 * 4);
    const kinds = rows.map((row) => row.map(({ type }) => type));
    expect(kinds[1]).toEqual(["model_call_settled", "turn_taken", "tools_started"]);
  });

  it("post_turn_callback: a text goes to the model, an empty one does not, stop ends the run", async () => {
    const spec = { tools: [edit], post_turn_callback: "post" };
    const said = await play({ spec, replies: [call(), "end"], hooks: { post: () => "look again" } });
    expect(said.requests[1] && userTexts(said.requests[1]).at(-1)).toBe(
      '<hull_feedback kind="post_turn_callback">look again</hull_feedback>',
    );
    expect(said.hooks[0]?.payload).toMatchObject({
      tool_names: ["edit"],
      iteration: 1,
      tool_count: 1,
      failed: false,
    });
    const empty = await play({ spec, replies: [call(), "end"], hooks: { post: () => "" } });
    expect(empty.run.feedback).toEqual([]);
    const stop = await play({ spec, replies: [call(), "end"], hooks: { post: () => ({ stop: true }) } });
    expect([stop.run.status, stop.run.iterations]).toEqual(["done", 1]);
  });

  it("context_callback changes the request, not the stored messages", async () => {
    const { requests, state } = await play({
      spec: { tools: [edit], context_callback: "context" },
      replies: [call(), "end"],
      hooks: { context: () => [{ role: "user", content: [{ type: "text", text: "only this" }] }] },
    });
    expect(requests.map((request) => userTexts(request))).toEqual([["only this"], ["only this"]]);
    expect(state.visible).toHaveLength(4);
  });

  it("text calls of a native-format model", async () => {
    const text = '<tool_call>{"name":"edit","arguments":{"a":1}}</tool_call>';
    const allowed = await play({ spec: { tools: [edit] }, replies: [text, "end"] });
    expect(allowed.executed).toHaveLength(1);
    const once = await play({
      spec: { tools: [edit], native_tool_fallback: "allow_once" },
      replies: [text, text, "end"],
    });
    expect(once.executed).toHaveLength(1);
    const rejected = await play({
      spec: { tools: [edit], native_tool_fallback: "reject" },
      replies: [text, "end"],
    });
    expect([rejected.executed.length, rejected.run.feedback[0]?.kind]).toEqual([0, "native_tool_contract"]);
  });

  it("text format: calls in the text, results in one user message", async () => {
    const text =
      'Look.\n<tool_call>{"name":"edit","arguments":{}}</tool_call>\n<tool_call>{"name":"edit","arguments":{"a":1}}</tool_call>';
    const { requests, run } = await play({
      spec: { tools: [edit], tool_format: "text", persistent: true },
      replies: [text, "<user_response>all done</user_response>"],
    });
    expect(requests[0]?.tools).toEqual([]);
    expect(requests[0]?.system).toContain("function edit");
    const last = requests[1] === undefined ? "" : (userTexts(requests[1]).at(-1) ?? "");
    expect(last.match(/<tool_result name="edit"/g)).toHaveLength(2);
    expect(run.status).toBe("done");
  });
});
