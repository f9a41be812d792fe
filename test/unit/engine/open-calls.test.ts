import { expect, test } from "vitest";
import type { Message, ToolCallBlock, ToolResultMessage } from "../../../src/engine/messages.ts";
import { withResults } from "../../../src/engine/open-calls.ts";

const call = (id: string, name = "f"): ToolCallBlock => ({
  type: "tool_call",
  id,
  name,
  arguments: {},
  raw: "",
});
const result = (call_id: string, name = "f"): ToolResultMessage => ({
  call_id,
  name,
  content: "",
  is_error: false,
});

test.each<[string, ToolCallBlock[], ToolResultMessage[], string[]]>([
  ["as they are", [call("a"), call("b", "g")], [result("a"), result("b", "g")], ["a f", "b g"]],
  ["in the order of the calls", [call("a"), call("b")], [result("b"), result("a")], ["a f", "b f"]],
  [
    "with the names of the calls",
    [call("a"), call("b", "g")],
    [result("a", ""), result("b", "f")],
    ["a f", "b g"],
  ],
  [
    "with the last name if calls share an id",
    [call("a"), call("a", "g")],
    [result("a"), result("a", "g")],
    ["a g", "a g"],
  ],
  ["with one for a call that lacks it", [call("a"), call("b")], [result("a")], ["a f", "b f"]],
  ["only if a call has their id", [call("a")], [result("a"), result("b")], ["a f"]],
])("the results of a turn are sent %s", (_, calls, results, sent) => {
  const turn: Message = { role: "assistant", content: calls };
  const [first, second] = withResults([turn, { role: "tool", results }]);
  expect(first).toBe(turn);
  const names =
    second?.role === "tool" ? second.results.map(({ call_id, name }) => `${call_id} ${name}`) : [];
  expect(names).toEqual(sent);
});
