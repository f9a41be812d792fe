/** A conversation as a model without a native tool channel can read it. Pure. */
import type { Message } from "../messages.ts";
import { renderTextResults } from "./contract.ts";

/** Calls as they are written in text, results as a user's message. */
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
