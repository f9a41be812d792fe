/** What follows the calls of a turn: sentinels that count only now, remarks, ids. */
import { describe, expect, it } from "vitest";
import type { AgentSpec } from "../../../../src/engine/agent/spec.ts";
import type { Message } from "../../../../src/engine/messages.ts";
import { goOn, play, type Reply, received, tool, toolTexts, userTexts } from "./harness.ts";

const DONE = "##DONE##";
const verified: Partial<AgentSpec> = {
  persistent: true,
  exit_when_verified: true,
  tools: [tool("run")],
};
const run: Reply = { text: DONE, calls: [["run", {}]] };
const open: Partial<AgentSpec> = {
  persistent: true,
  task_ledger: { root_task: null, items: [{ id: "1", title: "build", status: "open" }] },
};
const closes: Reply = { text: DONE, calls: [["task_ledger", { items: [{ id: "1", status: "done" }] }]] };

describe("a turn with calls and a sentinel", () => {
  it.each<[string, Partial<AgentSpec>, Reply[], object, unknown[]]>([
    ["ends the run with the calls that satisfy its gate: verification", verified, [run], {}, ["done", 1, []]],
    [
      "ends the run with the calls that satisfy its gate: the task ledger",
      open,
      [closes],
      {},
      ["done", 1, []],
    ],
    [
      "does not end it where verification fails now, though it passed before",
      verified,
      [
        { calls: [["run", {}]] },
        { text: DONE, calls: [["run", { again: true }]] },
        { calls: [["run", {}]] },
        DONE,
      ],
      { run: [{ exit_code: 0 }, { exit_code: 3, status: "error" }, { exit_code: 0 }] },
      ["done", 4, ["verification_gate"]],
    ],
    [
      "does not end it where the result of the verification holds a failure, until it holds a success",
      verified,
      [run, run],
      {
        run: [
          { exit_code: null, value: { exit_code: 2 } },
          { exit_code: null, value: { exit_code: 0 } },
        ],
      },
      ["done", 2, ["verification_gate"]],
    ],
    [
      "does not end it where items are open",
      { ...open, tools: [tool("edit")] },
      [{ text: DONE, calls: [["edit", {}]] }, closes],
      {},
      ["done", 2, ["ledger_not_satisfied"]],
    ],
    [
      "ends it for another phase, too, after the calls",
      { persistent: true, break_unless_phase: "plan", tools: [tool("edit")] },
      [{ text: "next_phase: act", calls: [["edit", {}]] }],
      {},
      ["done", 1, []],
    ],
  ])("%s", async (_, spec, replies, results, expected) => {
    const played = await play({ spec, replies, results: { ...results } });
    const kinds = played.run.feedback.map(({ kind }) => kind);
    expect([played.run.status, played.run.iterations, kinds]).toEqual(expected);
  });

  it("the model learns what is missing after its results", async () => {
    const results = { run: [{ exit_code: 3, status: "error" as const }] };
    const { requests } = await play({
      spec: { ...verified, max_iterations: 2 },
      replies: [run, "x"],
      results,
    });
    expect(requests[1] && userTexts(requests[1]).at(-1)).toContain("exit code 3");
  });
});

describe("calls in text", () => {
  const text: Partial<AgentSpec> = { tool_format: "text", tools: [tool("edit")] };
  const roles = (messages: readonly Message[]): string[] => messages.map(({ role }) => role);

  it("feedback on their form comes after their results", async () => {
    const { state, run: played } = await play({ spec: text, replies: ['edit({"a": 1})', "end"] });
    expect(roles(state.visible)).toEqual(["user", "assistant", "tool", "user", "assistant"]);
    expect(played.feedback.map(({ kind }) => kind)).toEqual(["protocol_violation"]);
  });

  it("feedback names an unreadable call even if another call was executed", async () => {
    const good = '<tool_call>{"name":"edit","arguments":{}}</tool_call>';
    const { run: played, executed } = await play({
      spec: text,
      replies: [`${good}<tool_call>{"name": </tool_call>`, "end"],
    });
    expect([executed.length, played.feedback.map(({ kind }) => kind)]).toEqual([1, ["parse_error"]]);
  });

  it("feedback names each unreadable call of a turn that has no others", async () => {
    const { run: played } = await play({
      spec: text,
      replies: ["<tool_call>{one</tool_call><tool_call>{two</tool_call>", "end"],
    });
    expect(played.feedback).toEqual(
      ["{one", "{two"].map((said) => ({ kind: "parse_error", content: expect.stringContaining(said) })),
    );
  });

  it("JSON that stands alone is a call where it names a tool and its arguments", async () => {
    const call = '{"name": "edit", "arguments": {"a": 1}}';
    expect((await play({ spec: text, replies: [call, "end"] })).executed).toHaveLength(1);
    for (const answer of ['{"name": "edit"}', '{"name": "Ada", "arguments": {}}', `So: ${call}`])
      expect((await play({ spec: text, replies: [answer, "end"] })).executed).toEqual([]);
  });

  it.each(["text", "native"] as const)(
    "ids are new in the conversation, whichever run it is: %s",
    async (tool_format) => {
      const spec = { ...text, tool_format };
      const replies = ['<tool_call>{"name":"edit","arguments":{}}</tool_call>', "end"];
      const first = await play({ spec, replies });
      const second = await play({ spec, replies, state: goOn(first, { ...spec, run_id: "run_2" }) });
      const ids = second.state.visible.flatMap((message) =>
        message.role === "tool" ? message.results.map(({ call_id }) => call_id) : [],
      );
      expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
    },
  );
});

it("prose is cut between characters", async () => {
  const turn_policy = { require_action_or_yield: false, allow_done_sentinel: true, max_prose_chars: 3 };
  const { state } = await play({ spec: { turn_policy }, replies: ["ab😀😀"] });
  expect(JSON.stringify(state.visible.at(-1))).toContain("ab\\n[hull: cut after 3 characters]");
});

it("a repeated result is quoted in whole characters", async () => {
  const call: Reply = { calls: [["edit", {}]] };
  const { requests } = await play({
    spec: { tools: [tool("edit")] },
    replies: [call, call, "end"],
    results: { edit: [`${"a".repeat(119)}😀`] },
  });
  expect(requests[2] && toolTexts(requests[2]).at(-1)?.isWellFormed()).toBe(true);
});

it.each<[string, Partial<AgentSpec>, string[], string[]]>([
  ["a plain run", {}, ["native tool channel", "answer without a call"], ["##DONE##"]],
  ["a persistent one", { persistent: true }, ["native tool channel", DONE], ["answer without a call"]],
  ["one without tools", { tools: [] }, [], ["native tool channel"]],
])("the contract of native tools says how to use them, and how to end: %s", async (_, spec, said, unsaid) => {
  const { requests } = await play({ spec: { tools: [tool("edit")], ...spec }, replies: [DONE] });
  const system = requests[0]?.system ?? "";
  expect([
    said.filter((text) => !system.includes(text)),
    unsaid.filter((text) => system.includes(text)),
  ]).toEqual([[], []]);
});

it("another phase does not end a run for which a message waits", async () => {
  const spec = { persistent: true, break_unless_phase: "plan" };
  const replies = ["next_phase: act", "next_phase: act"];
  const { run, requests } = await play({ spec, replies, incoming: { 1: [received("wait")] } });
  expect([run.status, requests.length]).toEqual(["done", 2]);
});
