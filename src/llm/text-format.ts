/** Tool calls in text, for models without a native channel (agent-runtime.md §7.4). */
import type { Message, ModelTurn, ToolDefinition } from "../engine/messages.ts";
import { renderTextResults } from "../engine/text-tools/contract.ts";
import { parseTextTurn } from "../engine/text-tools/parse.ts";
import { type CallTurn, turnText } from "./result.ts";

/** A conversation as such a model can read it: calls as they are written in text, results as a user's message. */
export function asTextFormat(messages: readonly Message[]): Message[] {
  return messages.map((message): Message => {
    if (message.role === "tool") {
      return { role: "user", content: [{ type: "text", text: renderTextResults(message.results) }] };
    }
    if (message.role === "user" || !message.content.some((block) => block.type === "tool_call"))
      return message;
    const written = message.content.flatMap((block) => {
      if (block.type === "output_text") return [block.text];
      if (block.type !== "tool_call") return [];
      const call = JSON.stringify({ name: block.name, arguments: block.arguments ?? {} });
      return [`<tool_call>${call}</tool_call>`];
    });
    return { role: "assistant", content: [{ type: "output_text", text: written.join("\n") }] };
  });
}

/** A turn with the calls that its text holds. Calls in the provider's native form count too. */
export function readTextTurn(turn: ModelTurn, tools: readonly ToolDefinition[]): CallTurn {
  const text = turnText(turn.blocks);
  const read = parseTextTurn(
    text,
    tools.map(({ name }) => name),
  );
  const taken = turn.blocks.filter((block) => block.type === "tool_call").length;
  const calls = read.calls.map((call, n) => ({
    type: "tool_call" as const,
    id: `call_${taken + n + 1}`,
    name: call.name,
    arguments: call.arguments,
    raw: JSON.stringify(call.arguments),
  }));
  const blocks = [...turn.blocks, ...calls];
  return {
    ...turn,
    blocks,
    text,
    stop_reason: blocks.some((block) => block.type === "tool_call") ? "tool_use" : turn.stop_reason,
    text_format: {
      prose: read.prose,
      canonical_text: read.canonical,
      protocol_violations: read.violations,
      tool_parse_errors: read.errors,
      done_marker: read.done,
    },
  };
}
