import { describe, expect, it } from "vitest";
import {
  type Clock,
  type DriveOptions,
  type Effects,
  resumeRun,
  startRun,
} from "../../../src/engine/drive.ts";
import type { RunOutcome, RunRecord, RunSpec } from "../../../src/engine/records.ts";
import { applyRecord, type RunState, startState } from "../../../src/engine/state.ts";
import type { ToolOutcome } from "../../../src/engine/tool-result.ts";
import { RunnerBusy } from "../../../src/errors/run.ts";
import { SCENARIOS, type Scenario, ScriptedModel } from "./scenarios.ts";

const clock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after: (ms, fire) => {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },
};

const outcomeOf = (content: string): ToolOutcome => ({
  ok: true,
  exit_code: 0,
  content,
  bytes: content.length,
  truncated: false,
  duration_ms: 1,
});

function specOf(scenario: Partial<Scenario>, deadline_ms = 10_000): RunSpec {
  return {
    system: "system",
    tools: scenario.tools === false ? [] : [{ name: "a", description: "a", parameters: {} }],
    max_tokens: 100,
    max_tool_rounds: scenario.max_tool_rounds ?? 10,
    json: false,
    deadline_ms,
    deadline_at: clock.now() + deadline_ms,
  };
}

function harness(model: ScriptedModel, runTool: Effects["runTool"], signal = new AbortController().signal) {
  const records: RunRecord[] = [];
  const options: DriveOptions = {
    effects: { callModel: async (request) => model.answer(request), runTool },
    log: { append: (record) => void records.push(record) },
    clock,
    signal,
  };
  return { records, options };
}

function foldAll(records: RunRecord[]): RunState {
  const [first, ...rest] = records;
  if (first?.type !== "run_started") throw new TypeError("a log begins with run_started");
  return rest.reduce(applyRecord, startState(first));
}

function check(scenario: Scenario, outcome: RunOutcome, model: ScriptedModel, ran: string[]): void {
  const { expect: wanted } = scenario;
  expect(outcome.ok ? outcome.text : undefined).toBe(wanted.text);
  expect(outcome.ok ? undefined : outcome.error.code).toBe(wanted.code);
  if (wanted.finish_reason !== undefined)
    expect(outcome).toMatchObject({ finish_reason: wanted.finish_reason });
  expect(model.requests.length).toBe(wanted.model_calls);
  expect(ran.toSorted()).toEqual(wanted.tool_calls.toSorted());
  if (wanted.choices) expect(model.requests.map((r) => r.tool_choice)).toEqual(wanted.choices);
  expect(outcome.totals.usage.input_tokens).toBe(10 * wanted.model_calls);
  expect(outcome.totals.tool_calls).toBe(wanted.tool_calls.length);
}

describe("the in-memory driver", () => {
  it.each(SCENARIOS)("$name", async (scenario) => {
    const model = new ScriptedModel(scenario.turns);
    const ran: string[] = [];
    const { records, options } = harness(model, async (call) => {
      ran.push(call.name);
      return outcomeOf(`result of ${call.name}`);
    });
    const outcome = await startRun(specOf(scenario), [{ type: "text", text: "go" }], options);
    check(scenario, outcome, model, ran);
    expect(records.filter((r) => r.type === "run_settled")).toHaveLength(1);
    expect(foldAll(records).outcome).toEqual(outcome);
  });

  it.each(SCENARIOS)("goes on from every prefix of its records: $name", async (scenario) => {
    const model = new ScriptedModel(scenario.turns);
    const { records, options } = harness(model, async (call) => outcomeOf(call.name));
    const whole = await startRun(specOf(scenario), [{ type: "text", text: "go" }], options);
    for (let length = 1; length < records.length; length++) {
      const prefix = records.slice(0, length);
      const resumed = harness(new ScriptedModel(scenario.turns), async (call) => outcomeOf(call.name));
      const outcome = await resumeRun(prefix, resumed.options);
      expect(outcome).toEqual(whole);
      expect(resumed.records.filter((r) => r.type === "run_settled")).toHaveLength(1);
    }
  });

  it("answers tool results in call order, whatever order they finish in, at most six at once", async () => {
    const model = new ScriptedModel([{ calls: [..."abcdefgh"] }, { text: "done" }]);
    let running = 0;
    let most = 0;
    const { options } = harness(model, async (call) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, call.name === "a" ? 30 : 5));
      running -= 1;
      return outcomeOf(call.name);
    });
    await startRun(specOf({}), [{ type: "text", text: "go" }], options);
    const last = model.requests[1]?.messages.at(-1);
    expect(last?.role === "tool" && last.results.map((r) => r.content)).toEqual([..."abcdefgh"]);
    expect(most).toBe(6);
  });

  it("records an effect before it starts and settles it after", async () => {
    const model = new ScriptedModel([{ calls: ["a"] }, { text: "done" }]);
    const order: string[] = [];
    const { options } = harness(model, async () => {
      order.push("effect");
      return outcomeOf("x");
    });
    const log = { append: (record: RunRecord) => void order.push(record.type) };
    await startRun(specOf({}), [{ type: "text", text: "go" }], { ...options, log });
    expect(order).toEqual([
      "run_started",
      "model_call_started",
      "model_call_settled",
      "tool_call_started",
      "effect",
      "tool_call_settled",
      "model_call_started",
      "model_call_settled",
      "run_settled",
    ]);
  });

  it("S91: the deadline stops a running tool and says what was under way", async () => {
    const model = new ScriptedModel([{ calls: ["slow"] }]);
    let stopped = false;
    const { options } = harness(model, (_, { signal }) => {
      const { promise, reject } = Promise.withResolvers<ToolOutcome>();
      signal.addEventListener("abort", () => {
        stopped = true;
        reject(signal.reason);
      });
      return promise;
    });
    const outcome = await startRun(specOf({}, 50), [{ type: "text", text: "go" }], options);
    expect(outcome).toMatchObject({
      ok: false,
      error: { code: "deadline_exceeded", members: { timeout_ms: 50 } },
    });
    expect(!outcome.ok && outcome.error.detail).toContain("tool slow");
    expect(stopped).toBe(true);
  });

  it("a client that leaves ends the run once, with its tools stopped", async () => {
    const client = new AbortController();
    const model = new ScriptedModel([{ calls: ["a", "b"] }]);
    const { options, records } = harness(
      model,
      (_, { signal }) => {
        const { promise, reject } = Promise.withResolvers<ToolOutcome>();
        signal.addEventListener("abort", () => reject(signal.reason));
        setTimeout(() => client.abort(), 5);
        return promise;
      },
      client.signal,
    );
    const outcome = await startRun(specOf({}), [{ type: "text", text: "go" }], options);
    expect(outcome).toMatchObject({ ok: false, error: { code: "client_closed_request" } });
    expect(records.filter((r) => r.type === "run_settled")).toHaveLength(1);
  });

  it("a runner fault ends the run and stops the other tools", async () => {
    const model = new ScriptedModel([{ calls: ["a", "b"] }]);
    let stopped = false;
    const { options } = harness(model, async (call, { signal }) => {
      if (call.name === "a") throw new RunnerBusy({ retry_after_s: 3 });
      const { promise, reject } = Promise.withResolvers<ToolOutcome>();
      signal.addEventListener("abort", () => {
        stopped = true;
        reject(signal.reason);
      });
      return promise;
    });
    const outcome = await startRun(specOf({}), [{ type: "text", text: "go" }], options);
    expect(outcome).toMatchObject({ ok: false, error: { code: "runner_busy", retry_after_s: 3 } });
    expect(stopped).toBe(true);
  });
});
