/** What reaches a run from outside while it goes on (agent-runtime.md §7.5, §7.11, contract.md "Rulings"). */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { applyAgentRecord } from "../../../../src/engine/agent/apply.ts";
import { clientCalls } from "../../../../src/engine/agent/calls.ts";
import type { AgentRecord, Delivery } from "../../../../src/engine/agent/records.ts";
import type { AgentState } from "../../../../src/engine/agent/state.ts";
import { sha256 } from "../../../../src/engine/sha256.ts";
import { play, type Reply, tool, userTexts } from "./harness.ts";

const says = (text: string, delivery: Delivery): AgentRecord => ({
  ...{ v: 1, at: 0, type: "message_received", run: "run_1", delivery },
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

  it("also where the call ends with tools and the sentinel; feedback does the same", async () => {
    const replies: Reply[] = [{ text: "##DONE##", calls: [["edit", {}]] }, "##DONE##"];
    const spec = { persistent: true, tools: [tool("edit")] };
    const { run, requests } = await play({ spec, replies, incoming: { 1: [hint] } });
    expect([run.status, run.iterations]).toEqual(["done", 2]);
    expect(requests[1] && userTexts(requests[1])).toContain('<hull_feedback kind="hint">x</hull_feedback>');
  });

  it("waits for the next run where this one may not go on, and where it is to wait", async () => {
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

  it("feedback of the kind prefill_assistant is what the next answer starts with", async () => {
    const prefill: AgentRecord = {
      ...{ v: 1, at: 0, type: "feedback_received" },
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

it("SHA-256 is that of the platform, for texts of all lengths around a block", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000]) {
    const text = "aé".repeat(length).slice(0, length);
    expect([length, sha256(text)]).toEqual([length, createHash("sha256").update(text).digest("hex")]);
  }
});
