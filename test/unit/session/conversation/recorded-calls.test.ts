import { expect, test } from "vitest";
import type { AgentRecord } from "../../../../src/engine/agent/records.ts";
import { Redactor } from "../../../../src/redact.ts";
import { recordedCalls } from "../../../../src/session/conversation/recorded-calls.ts";
import { play, started, tool } from "../../engine/agent/harness.ts";

const SECRET = "canary-0123456789-abcdefghij";
/** The recording cuts texts after 2000 characters, within the secret. */
const ACROSS = `${"x".repeat(1990)}${SECRET}${"y".repeat(100)}`;

test("a secret at the place where a recording is cut is removed whole", () => {
  const at = { v: 1, at: 0, run: "run_1" } as const;
  const call = { type: "tool_call", id: "c1", name: "look", arguments: { q: ACROSS }, raw: "" } as const;
  const records: AgentRecord[] = [
    started({}),
    { ...at, type: "iteration_started", iteration: 0 },
    {
      ...at,
      type: "turn_taken",
      message: null,
      calls: [call],
      text: "",
      finished: false,
      text_only: 0,
      fallback: false,
    },
    { ...at, type: "client_tool_answered", call_id: "c1", content: ACROSS, is_error: false },
  ];
  const redactor = new Redactor([SECRET]);
  const { tools } = recordedCalls(records, (value) => redactor.json(value));
  expect(tools).toMatchObject([{ name: "look", status: "ok" }]);
  expect(JSON.stringify(tools)).not.toContain("canary");
});

test("results of a run with an unreadable beginning are kept", async () => {
  const look = await play({
    spec: { tools: [tool("look")] },
    replies: [{ calls: [["look", { at: 1 }]] }, "end"],
  });
  const ask = { ...tool("ask"), executor: "client" as const };
  const asked = await play({ spec: { tools: [ask] }, replies: [{ calls: [["ask", { q: 2 }]] }] });
  const call_id = asked.state.run?.calls[0]?.call.id ?? "";
  const answer = {
    type: "client_tool_answered",
    run: "run_1",
    call_id,
    content: "Ann",
    is_error: false,
  } as const;
  const lost = [...look.records, ...asked.records, { v: 1 as const, at: 0, ...answer }];
  for (const before of [[], [started({ run_id: "run_0" })]]) {
    const { tools, left_out } = recordedCalls([...before, ...lost], (value) => value);
    expect(tools).toMatchObject([
      { run_id: "run_1", name: "look", arguments: { at: 1 }, status: "ok", content: "ok" },
      { run_id: "run_1", name: "ask", arguments: { q: 2 }, status: "ok", content: "Ann" },
    ]);
    expect(left_out.tools).toBe(0);
  }
});
