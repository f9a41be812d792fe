/** What reaches a run from outside while it continues. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { applyAgentRecord, fold } from "../../../../src/engine/agent/apply.ts";
import { clientCalls } from "../../../../src/engine/agent/calls.ts";
import type { AgentRecord, Delivery } from "../../../../src/engine/agent/records.ts";
import type { AgentState } from "../../../../src/engine/agent/state.ts";
import { sha256 } from "../../../../src/engine/sha256.ts";
import { historyOf } from "../../../../src/llm/history.ts";
import { emptyTranscript } from "../../../../src/llm/transcript.ts";
import { eventsOf } from "../../../../src/run/agent/events.ts";
import { RecordedResults } from "../../../../src/session/conversation/recorded-calls.ts";
import { DAEMON, type Played, play, type Reply, started, tool, toolTexts, userTexts } from "./harness.ts";

const says = (text: string, delivery: Delivery): AgentRecord & { type: "message_received" } => ({
  v: 1,
  at: 0,
  type: "message_received",
  run: "run_1",
  delivery,
  message: { role: "user", content: [{ type: "text", text }] },
});
const hint: AgentRecord = {
  v: 1,
  at: 0,
  type: "feedback_received",
  feedback: { kind: "hint", content: "x" },
};

describe("a message during the last model call", () => {
  it.each([
    ["a plain run", {}, ["one", "two"]],
    ["one with a sentinel", { persistent: true }, ["##DONE##", "again ##DONE##"]],
  ])("keeps %s going", async (_, spec, replies) => {
    for (const delivery of ["interrupt_immediate", "finish_step"] as const) {
      const { run, requests } = await play({ spec, replies, incoming: { 1: [says("wait", delivery)] } });
      expect([run.status, run.iterations]).toEqual(["done", 2]);
      expect(requests[1] && userTexts(requests[1])).toContain("wait");
    }
  });

  it("keeps a run going if the call ends with tools and the sentinel; so does feedback", async () => {
    const replies: Reply[] = [{ text: "##DONE##", calls: [["edit", {}]] }, "##DONE##"];
    const spec = { persistent: true, tools: [tool("edit")] };
    const { run, requests } = await play({ spec, replies, incoming: { 1: [hint] } });
    expect([run.status, run.iterations]).toEqual(["done", 2]);
    expect(requests[1] && userTexts(requests[1])).toContain('<hull_feedback kind="hint">x</hull_feedback>');
  });

  it("waits for the next run if this one may not continue, or if its delivery says so", async () => {
    const late = { 1: [says("late", "finish_step")] };
    const used = await play({ spec: { max_iterations: 1 }, replies: ["one"], incoming: late });
    expect([used.run.status, used.state.waiting.length]).toEqual(["done", 1]);
    const last = { 1: [says("last", "wait_for_completion")] };
    const kept = await play({ replies: ["one"], incoming: last });
    expect([kept.run.iterations, kept.state.waiting, kept.run.deferred]).toEqual([
      1,
      [],
      [expect.anything()],
    ]);
  });

  it("joins the conversation when a daemon goes idle, if it is of a model call outside of the run", async () => {
    const outside = { ...says("outside", "wait_for_completion"), at_rest: true as const };
    const incoming = { 1: [says("last", "wait_for_completion"), outside] };
    const { run, state } = await play({ spec: { daemon: DAEMON }, replies: ["one"], incoming });
    expect([run.stage, run.deferred]).toEqual(["idle", []]);
    expect(state.waiting).toMatchObject([{ message: { content: [{ text: "last" }] } }]);
    expect(state.visible.at(-1)).toEqual(outside.message);
  });

  it("feedback of the kind prefill_assistant begins the next answer", async () => {
    const prefill: AgentRecord = {
      v: 1,
      at: 0,
      type: "feedback_received",
      feedback: { kind: "prefill_assistant", content: "Sure, " },
    };
    const { requests } = await play({ replies: ["one", "two"], incoming: { 1: [prefill] } });
    expect(requests.map(({ prefill: text }) => text)).toEqual([undefined, "Sure, "]);
  });
});

describe("a run that ends in the middle of its tools", () => {
  it("leaves no call without a result", async () => {
    const client = { ...tool("ask"), executor: "client" as const };
    const turn: Reply = {
      calls: [
        ["edit", {}],
        ["ask", {}],
      ],
    };
    const { state } = await play({ spec: { tools: [tool("edit"), client] }, replies: [turn] });
    const end = (of: AgentState): AgentState =>
      applyAgentRecord(of, {
        v: 1,
        at: 0,
        type: "run_settled",
        run: "run_1",
        status: "cancelled",
        error: null,
      });
    const last = end(state).visible.at(-1);
    expect(last?.role === "tool" && last.results.map(({ content, is_error }) => [content, is_error])).toEqual(
      [
        ["ok", false],
        [expect.stringContaining("interrupted"), true],
      ],
    );
    expect(end(end(state)).visible).toEqual(end(state).visible);
    expect(clientCalls(state, 0).map(({ call }) => call.name)).toEqual(["ask"]);
    expect(clientCalls(end(state), 0)).toEqual([]);
  });

  it("the client cannot answer a call that is denied or still to be approved", async () => {
    const client = { ...tool("ask"), executor: "client" as const };
    const approval_policy = { require_approval: ["ask"] };
    const policies = { policy: null, permissions: null, approval_timeout_s: 10, approval_policy };
    const replies: Reply[] = [{ calls: [["ask", {}]] }];
    const { state, step } = await play({ spec: { tools: [client], policies }, replies });
    expect([step.type === "wait" && step.for, clientCalls(state, 0)]).toEqual(["approval", []]);
  });
});

describe("a call that the client answers", () => {
  const client = (name: string) => ({ ...tool(name), executor: "client" as const });
  const answered = ({ state, step }: Played, content: string): AgentState => {
    const call_id = clientCalls(state, 0)[0]?.call.id ?? "";
    expect(step).toMatchObject({ type: "wait", for: "tool" });
    return applyAgentRecord(state, {
      v: 1,
      at: 0,
      type: "client_tool_answered",
      run: "run_1",
      call_id,
      content,
      is_error: false,
    });
  };

  it("is repeated no longer than any other one, however its numbers are written", async () => {
    const ask = client("ask");
    ask.definition.parameters = { type: "object", properties: { n: { type: "integer" } } };
    const spec = { tools: [ask] };
    const replies: Reply[] = ["1", 1, "1", 1].map((n) => ({ calls: [["ask", { n }]] }));
    let played = await play({ spec, replies: replies.slice(0, 1) });
    for (const reply of replies.slice(1, 3))
      played = await play({ spec, replies: [reply], state: answered(played, "same") });
    const last = [...replies.slice(3), "end"];
    const { requests, run } = await play({ spec, replies: last, state: answered(played, "same") });
    expect([run.status, run.tools_used.length]).toEqual(["done", 4]);
    const shown = requests[1] === undefined ? [] : toolTexts(requests[1]);
    expect(shown.map((text) => /this is call|not repeated here|was not executed/.exec(text)?.[0])).toEqual([
      undefined,
      "this is call",
      "not repeated here",
      "was not executed",
    ]);
  });

  it("may be the verification that a sentinel waits for", async () => {
    const spec = { tools: [client("run")], persistent: true, exit_when_verified: true };
    const asked = await play({ spec, replies: [{ calls: [["run", {}]] }] });
    const { run } = await play({ spec, replies: ["##DONE##"], state: answered(asked, "exit_code=0") });
    expect(run.status).toBe("done");
  });

  it("is shown with the arguments from hooks, and sent once, as hooks left its result", async () => {
    const tool_hooks = [{ pattern: "ask", pre: "change", post: "shorten", deny: null, max_output: null }];
    const spec = { tools: [client("ask")], tool_hooks };
    const hooks = { change: () => ({ args: { q: "changed" } }), shorten: () => "short" };
    const asked = await play({ spec, hooks, replies: [{ calls: [["ask", { q: "mine" }]] }] });
    const [open] = clientCalls(asked.state, 0);
    expect(open?.call.arguments).toEqual({ q: "changed" });
    const state = answered(asked, "long");
    const call_id = open?.call.id ?? "";
    const answer: AgentRecord = {
      v: 1,
      at: 0,
      type: "client_tool_answered",
      run: "run_1",
      call_id,
      content: "long",
      is_error: false,
    };
    const rest = await play({ spec, hooks, replies: ["end"], state });
    const records = [started(spec), ...asked.records, answer, ...rest.records];
    const told = [...fold(records)].flatMap(eventsOf);
    const results = told.filter(({ event }) => event === "tool_result");
    expect(results).toMatchObject([{ data: { name: "ask", ok: true, status: "ok", bytes: 5 } }]);
    const { transcript, trace } = historyOf(emptyTranscript("t"), records, () => "m");
    const { messages } = transcript;
    expect(messages.filter(({ role }) => role === "tool")).toMatchObject([{ content: "short" }]);
    const reader = new RecordedResults();
    const kept = [...fold(records)].flatMap((applied) => reader.read(applied) ?? []);
    expect(kept).toMatchObject([{ name: "ask", status: "ok", content: "short" }]);
    const ends = trace.filter(({ kind }) => kind === "TurnEnd");
    expect(ends).toMatchObject([{ successful_tool_names: ["ask"], session_tools_used: ["ask"] }]);
  });
});

it("a message that comes while calls are open follows their results in the transcript", async () => {
  const incoming = { 1: [says("hurry", "interrupt_immediate")] };
  const { records } = await play({
    spec: { tools: [tool("edit")] },
    replies: [{ calls: [["edit", {}]] }, "end"],
  });
  const taken = records.findIndex(({ type }) => type === "turn_taken") + 1;
  const all = [started({}), ...records.slice(0, taken), ...incoming[1], ...records.slice(taken)];
  const { transcript, trace } = historyOf(emptyTranscript("t"), all, () => "m");
  const kinds = trace.map(({ kind, iteration }) => [kind, iteration]);
  expect(kinds).toEqual([
    ["TurnEnd", 1],
    ["host_input", 2],
  ]);
  expect(transcript.messages.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
    "user",
    "assistant",
  ]);
});

it("SHA-256 equals the platform's, for texts of all lengths around a block", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000]) {
    const text = "aé".repeat(length).slice(0, length);
    expect([length, sha256(text)]).toEqual([length, createHash("sha256").update(text).digest("hex")]);
  }
});
