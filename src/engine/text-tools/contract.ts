/** Tools for models without a native channel: how the system text describes them, and how results go back. Pure. */
import { exactJson } from "../../skill/exact-json.ts";
import { objectOf } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import type { Message, ToolDefinition, ToolResultMessage } from "../messages.ts";

interface ContractOptions {
  /** Shown unchanged after the rules. */
  examples?: string;
  /** How the model signals completion; absent: it does not. */
  sentinel?: string;
  /** Further sections, e.g. a list of tools that a search can find. */
  further?: readonly string[];
}

/** The part of the system text that describes the tools and how to call them in text. */
export function textToolContract(tools: readonly ToolDefinition[], options: ContractOptions = {}): string {
  const rules = [
    "## Tools",
    "You act through tools. To call one, write its name and arguments as JSON inside a tool_call element, one element per call:",
    '<tool_call>{"name": "tool_name", "arguments": {"parameter": "value"}}</tool_call>',
    "Write several elements to make several calls. Results come back in the next user message. Call only the tools listed here, with the parameters that they declare, and never make up a result.",
    "Put remarks next to calls into <assistant_prose>…</assistant_prose>, and what the user is to read at the end into <user_response>…</user_response>.",
    ...(options.sentinel === undefined
      ? []
      : [`When the task is complete, write <done>${options.sentinel}</done>.`]),
  ];
  const listed = ["### Available tools", "```ts", ...tools.map(signature), "```"];
  const examples = options.examples === undefined ? [] : ["### Examples", options.examples];
  return [...rules, "", ...listed, ...examples, ...(options.further ?? [])].join("\n");
}

/** A tool as a TypeScript-like declaration, required parameters first. */
export function signature(tool: ToolDefinition): string {
  const properties = Object.entries(objectOf(tool.parameters.properties));
  const required = Array.isArray(tool.parameters.required) ? tool.parameters.required : [];
  const ordered = [
    ...properties.filter(([name]) => required.includes(name)),
    ...properties.filter(([name]) => !required.includes(name)),
  ];
  const parameters = ordered.map(([name, schema]) => {
    const optional = required.includes(name) ? "" : "?";
    const described = objectOf(schema).description;
    const note = typeof described === "string" && described !== "" ? ` /* ${oneLine(described)} */` : "";
    return `${name}${optional}: ${typeText(schema)}${note}`;
  });
  return `/** ${oneLine(tool.description)} */\nfunction ${tool.name}(args: { ${parameters.join("; ")} }): string;`;
}

/** All results of a turn in one user message, each framed with its tool's name. */
function renderTextResults(results: readonly ToolResultMessage[]): string {
  return results
    .map(({ call_id, name, content, is_error }) => {
      const status = is_error ? ' status="error"' : "";
      return `<tool_result name="${name}" id="${call_id}"${status}>\n${content}\n</tool_result>`;
    })
    .join("\n\n");
}

/** The ids of the results that such a message holds. */
export function resultIds(text: string): string[] {
  return [...text.matchAll(/<tool_result name="[^"]*" id="([^"]+)"/g)].map(([, id = ""]) => id);
}

function typeText(schema: Json | undefined, depth = 0): string {
  const { type, enum: members, items, properties, anyOf, const: fixed } = objectOf(schema);
  if (fixed !== undefined) return JSON.stringify(fixed);
  if (Array.isArray(members)) return members.map((member) => JSON.stringify(member)).join(" | ");
  if (Array.isArray(anyOf)) return anyOf.map((part) => typeText(part, depth)).join(" | ");
  if (Array.isArray(type)) return type.map((name) => typeText({ type: name }, depth)).join(" | ");
  switch (type) {
    case "integer":
    case "number":
      return "number";
    case "boolean":
    case "null":
    case "string":
      return type;
    case "array":
      return `${depth > 2 ? "unknown" : wrapped(typeText(items, depth + 1))}[]`;
    case "object": {
      const inner = Object.entries(objectOf(properties));
      if (inner.length === 0 || depth > 2) return "object";
      return `{ ${inner.map(([name, part]) => `${name}: ${typeText(part, depth + 1)}`).join("; ")} }`;
    }
    default:
      return "unknown";
  }
}

const wrapped = (text: string): string => (text.includes(" | ") ? `(${text})` : text);
const oneLine = (text: string): string => text.replace(/\s+/g, " ").replaceAll("*/", "* /").trim();

/** A conversation in the form for such a model: calls written as text, results as a user message. */
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
      const given = exactJson(block.arguments ?? {}, block.raw);
      return [`<tool_call>{"name":${JSON.stringify(block.name)},"arguments":${given}}</tool_call>`];
    });
    return { role: "assistant", content: [{ type: "output_text", text: written.join("\n") }] };
  });
}
