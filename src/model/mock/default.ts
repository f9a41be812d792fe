/** The mock's answers when nothing is queued: deterministic, without network or key. */
import { utf8Length } from "../../bytes.ts";
import type {
  Message,
  ModelRequest,
  ModelTurn,
  ToolChoice,
  ToolDefinition,
  ToolResultMessage,
} from "../../engine/messages.ts";
import { counted } from "../../plural.ts";
import { isObject, textsIn } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { type Asked, toolCall } from "../provider-document.ts";
import type { Sink } from "../wire.ts";
import { mockIds, streamText } from "./answer.ts";

const ECHO_CHARACTERS = 100;
const TEXT_TOKENS = 30;
const CALL_TOKENS = 20;
const COMPLETION_TOKENS = 16;
const DONE = "##DONE##";

/**
 * The kind of caller. `call`: wants one answer; the mock calls the first tool, whatever the tool format. `run`: an
 * agent run, which offers tools in text to get text back. `demo`: a skill that should end well without a key; required
 * strings of a tool get the prompt, and once a tool has answered, the mock reports its result.
 */
export type Asker = "call" | "run" | "demo";

export interface Manner {
  asker: Asker;
  /** Whether the prompt was sent before, for requests with `cache`. */
  seen: boolean;
}

/** A call of the first tool with placeholders, or a text about the prompt. */
export function defaultTurn(
  request: ModelRequest,
  asked: Asked,
  { asker, seen }: Manner,
  sink: Sink,
): ModelTurn {
  if (request.completion !== undefined) return completion(request.completion, asked, sink);
  const demo = asker === "demo";
  const prompt = lastPrompt(request.messages);
  const result = demo ? lastToolResult(request.messages) : null;
  const tokens = utf8Length(prompt);
  const base = {
    raw_stop_reason: null,
    ...asked,
    usage: {
      input_tokens: tokens,
      output_tokens: TEXT_TOKENS,
      cache_read_tokens: request.cache === true && seen ? tokens : 0,
      cache_write_tokens: request.cache === true && !seen ? tokens : 0,
    },
  };
  const offered = asker === "call" ? [...request.tools, ...(request.tools_in_text ?? [])] : request.tools;
  const tool = result === null ? toolToCall(offered, request.tool_choice) : undefined;
  if (tool !== undefined) {
    const args = placeholders(tool, demo ? prompt : "");
    return {
      ...base,
      blocks: [toolCall(mockIds(request.messages)(), tool.name, args)],
      stop_reason: demo ? "tool_use" : "other",
      usage: { ...base.usage, output_tokens: CALL_TOKENS },
    };
  }
  const text = textOf(request, prompt, result);
  streamText(text, sink.onText);
  return { ...base, blocks: [{ type: "output_text", text }], stop_reason: demo ? "end_turn" : "other" };
}

function completion(
  { prefix, suffix = "" }: { prefix: string; suffix?: string },
  asked: Asked,
  sink: Sink,
): ModelTurn {
  const text = `Mock completion between ${length(prefix)} characters before and ${length(suffix)} after.`;
  streamText(text, sink.onText);
  return {
    blocks: [{ type: "output_text", text }],
    stop_reason: "end_turn",
    raw_stop_reason: null,
    ...asked,
    usage: {
      input_tokens: utf8Length(prefix) + utf8Length(suffix),
      output_tokens: COMPLETION_TOKENS,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
    },
  };
}

const length = (text: string): number => Array.from(text).length;

/** The named tool, else the first that a provider would have shown its model. */
function toolToCall(
  tools: readonly ToolDefinition[],
  tool_choice: ToolChoice | undefined,
): ToolDefinition | undefined {
  if (tool_choice === "none") return undefined;
  const named = typeof tool_choice === "object" ? tool_choice.name : null;
  return (
    tools.find(({ name }) => name === named) ??
    tools.find(({ defer_loading }) => defer_loading !== true) ??
    tools[0]
  );
}

function textOf({ system, json }: ModelRequest, prompt: string, result: ToolResultMessage | null): string {
  if (json) return answerJson(prompt, result);
  const prose = answerText(prompt, result);
  return system.includes("<done>") ? `${prose}\n<done>${DONE}</done>` : prose;
}

function answerText(prompt: string, result: ToolResultMessage | null): string {
  if (result !== null) {
    const about = prompt === "" ? "" : `\n\nYou asked: ${prompt}`;
    return `The tool ${result.name} ${result.is_error ? "failed" : "answered"}:\n${result.content}${about}`;
  }
  if (prompt === "") return "The mock model got an empty prompt.";
  const words = wordCount(prompt);
  return `The mock model got a prompt of ${counted(words, "word")}: ${echo(prompt)}`;
}

function answerJson(prompt: string, result: ToolResultMessage | null): string {
  const about = { words: wordCount(prompt), prompt: echo(prompt) };
  return JSON.stringify(
    result === null ? about : { ...about, tool: result.name, tool_result: result.content },
  );
}

const wordCount = (text: string): number => text.match(/\S+/g)?.length ?? 0;

/** The beginning of a text, without the sentinel that would end a run. A character has at most two UTF-16 units. */
const echo = (text: string): string =>
  Array.from(text.slice(0, 2 * ECHO_CHARACTERS))
    .slice(0, ECHO_CHARACTERS)
    .join("")
    .replaceAll(DONE, "");

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

/** A value for each required parameter, according to its schema. */
function placeholders(tool: ToolDefinition, text: string): JsonObject {
  const { properties, required } = tool.parameters;
  const names = textsIn(required) ?? [];
  return Object.fromEntries(
    names.map((name) => [name, placeholder(isObject(properties) ? properties[name] : undefined, text)]),
  );
}

function placeholder(schema: Json | undefined, text: string): Json {
  if (!isObject(schema)) return text;
  if (Array.isArray(schema.enum) && schema.enum[0] !== undefined) return schema.enum[0];
  switch (schema.type) {
    case "number":
    case "integer":
      return nearestToZero(schema);
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return text;
  }
}

/** 0, or the nearest number that the schema permits. */
function nearestToZero({ minimum, exclusiveMinimum, maximum }: JsonObject): number {
  if (typeof minimum === "number" && minimum > 0) return minimum;
  if (typeof exclusiveMinimum === "number" && exclusiveMinimum >= 0) return exclusiveMinimum + 1;
  return typeof maximum === "number" && maximum < 0 ? maximum : 0;
}
