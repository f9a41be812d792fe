/** The provider `mock`: deterministic answers without network or key (agent-runtime.md §16.2). */
import type {
  Message,
  ModelRequest,
  ModelTurn,
  ToolDefinition,
  ToolResultMessage,
} from "../engine/messages.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { callIdSource, isJsonObject, type Sink, type WireTarget } from "./wire.ts";

const ECHO_CHARACTERS = 100;
const TEXT_TOKENS = 30;
const CALL_TOKENS = 20;

/**
 * Calls the first tool once, with the prompt for every required string; then, or without tools, answers with a text
 * about the prompt. Streams one piece per word, each with the blank that follows it.
 */
export function answerAsMock(request: ModelRequest, target: WireTarget, sink: Sink): ModelTurn {
  const prompt = lastPrompt(request.messages);
  const result = lastToolResult(request.messages);
  const [tool] = request.tools;
  const base = {
    raw_stop_reason: null,
    provider: target.provider,
    model: target.model,
    usage: {
      input_tokens: new TextEncoder().encode(prompt).byteLength,
      output_tokens: TEXT_TOKENS,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
    },
  };
  if (tool !== undefined && request.tool_choice !== "none" && result === null) {
    const args = placeholders(tool, prompt);
    const id = callIdSource(request.messages)(null);
    const raw = JSON.stringify(args);
    return {
      ...base,
      blocks: [{ type: "tool_call", id, name: tool.name, arguments: args, raw }],
      stop_reason: "tool_use",
      usage: { ...base.usage, output_tokens: CALL_TOKENS },
    };
  }
  const text = request.json ? answerJson(prompt, result) : answerText(prompt, result);
  for (const piece of text.split(/(?<=\s)/)) sink.onText?.(piece);
  return { ...base, blocks: [{ type: "output_text", text }], stop_reason: "end_turn" };
}

function answerText(prompt: string, result: ToolResultMessage | null): string {
  if (result !== null) {
    const about = prompt === "" ? "" : `\n\nYou asked: ${prompt}`;
    return `The tool ${result.name} ${result.is_error ? "failed" : "answered"}:\n${result.content}${about}`;
  }
  if (prompt === "") return "The mock model got an empty prompt.";
  return `The mock model got a prompt of ${wordCount(prompt)} words: ${echo(prompt)}`;
}

function answerJson(prompt: string, result: ToolResultMessage | null): string {
  const about = { words: wordCount(prompt), prompt: echo(prompt) };
  return JSON.stringify(
    result === null ? about : { ...about, tool: result.name, tool_result: result.content },
  );
}

const wordCount = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length;

const echo = (text: string): string => Array.from(text).slice(0, ECHO_CHARACTERS).join("");

function lastPrompt(messages: readonly Message[]): string {
  const message = messages.findLast((m) => m.role === "user");
  if (message?.role !== "user") return "";
  return message.content
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n\n")
    .trim();
}

function lastToolResult(messages: readonly Message[]): ToolResultMessage | null {
  const message = messages.findLast((m) => m.role === "tool");
  return message?.role === "tool" ? (message.results.at(-1) ?? null) : null;
}

/** A value for each required parameter, by its schema. */
function placeholders(tool: ToolDefinition, prompt: string): JsonObject {
  const { properties, required } = tool.parameters;
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  return Object.fromEntries(
    names.map((name) => [name, placeholder(isJsonObject(properties) ? properties[name] : undefined, prompt)]),
  );
}

function placeholder(schema: Json | undefined, prompt: string): Json {
  if (!isJsonObject(schema)) return prompt;
  if (Array.isArray(schema.enum) && schema.enum[0] !== undefined) return schema.enum[0];
  switch (schema.type) {
    case "number":
    case "integer":
      return 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return prompt;
  }
}
