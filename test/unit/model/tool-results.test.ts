/** How each protocol carries that a tool failed. */
import { expect, test } from "vitest";
import type { Message } from "../../../src/engine/messages.ts";
import { WIRES } from "../../../src/model/call.ts";
import { HTTP_PROTOCOLS } from "../../../src/model/protocols.ts";
import { call, request, target } from "../../fixtures/wires/fixture.ts";

const body = (protocol: (typeof HTTP_PROTOCOLS)[number], content: string, is_error: boolean): string => {
  const messages: Message[] = [
    { role: "assistant", content: [call("c1", "look", {})] },
    { role: "tool", results: [{ call_id: "c1", name: "look", content, is_error }] },
  ];
  return JSON.stringify(WIRES[protocol].body(request("hi", { messages }), target("p", protocol, "m"), false));
};

const said = (content: string): string => JSON.stringify(`The tool failed:\n${content}`);

test.each(HTTP_PROTOCOLS)("%s: the model learns that a tool failed, once", (protocol) => {
  const marked = protocol === "anthropic";
  expect(body(protocol, "42", true)).toContain(marked ? '"is_error":true' : said("42"));
  expect(body(protocol, "", true)).toContain(marked ? '"is_error":true' : said(""));
  expect(body(protocol, "42", false)).not.toMatch(/is_error|failed/);
  for (const own of ["[tool_error code=killed exit=none]", '{"error": "x"}', "TypeError: x", "Error: x"])
    expect(body(protocol, own, true)).not.toContain("The tool failed");
});
