import { expect, test } from "vitest";
import type { AgentRecord } from "../../../../src/engine/agent/records.ts";
import { Redactor } from "../../../../src/redact.ts";
import { recordedCalls } from "../../../../src/session/conversation/recorded-calls.ts";
import { started } from "../../engine/agent/harness.ts";

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
