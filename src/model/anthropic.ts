/**
 * The Anthropic Messages protocol: turns the canonical request into body and headers. `anthropic-answer.ts` reads the
 * answer.
 */

import type {
  Base64ImageSource,
  Base64PDFSource,
  ContentBlockParam,
  MessageCreateParamsBase,
  PlainTextSource,
  ThinkingConfigParam,
  Tool,
  ToolResultBlockParam,
  ToolChoice as WireToolChoice,
} from "@anthropic-ai/sdk/resources/messages";
import { base64OrNull, unmarkedUtf8 } from "../bytes.ts";
import type {
  Block,
  Message,
  ModelRequest,
  Native,
  Part,
  Thinking,
  ToolDefinition,
  ToolResultMessage,
} from "../engine/messages.ts";
import { BadEncoding, UnsupportedMediaType } from "../errors/request.ts";
import { withSentDigits } from "../skill/exact-json.ts";
import { isObject, objectOf, present, textsIn } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { isTextType } from "../skill/media.ts";
import { parseMessage } from "./anthropic-answer.ts";
import { AnthropicStream } from "./anthropic-stream.ts";
import { withSchema } from "./json-instruction.ts";
import { rootObject } from "./root-schema.ts";
import { type AnthropicSearchTool, anthropicSearchTool } from "./search-tools.ts";
import { systemList } from "./system-blocks.ts";
import { callIdForm, sendableIds, sendableName, type Wire, type WireTarget } from "./wire.ts";

const CALL_IDS = callIdForm(64);
/** Replaces a `max_tokens` of 0 or less. */
const DEFAULT_MAX_TOKENS = 8192;
/** Default tokens for thinking. */
export const THINKING_BUDGET = 10_000;
const INTERLEAVED_THINKING = "interleaved-thinking-2025-05-14";
/** The tool whose arguments are the JSON answer. */
export const JSON_TOOL = "json_response";

/** A typed block, or one of Anthropic's own that goes back unchanged. */
type WireBlock = ContentBlockParam | JsonObject;

interface WireMessage {
  role: "user" | "assistant";
  content: WireBlock[];
}

type WireTool = Tool | AnthropicSearchTool;
type WireBody = Omit<MessageCreateParamsBase, "messages" | "tools" | "system"> & {
  system?: string | JsonObject[];
  messages: WireMessage[];
  tools?: WireTool[];
};

export const anthropic: Wire = {
  framing: "sse",
  body: anthropicBody,
  headers: betaHeader,
  parse: parseMessage,
  stream: (target, sink) => new AnthropicStream(target, sink),
};

/** The `max_tokens` sent to every provider. */
export const tokensToAsk = (asked: number): number => (asked > 0 ? asked : DEFAULT_MAX_TOKENS);

function anthropicBody(request: ModelRequest, target: WireTarget, stream: boolean): WireBody {
  const to: Addressee = {
    provider: target.provider,
    sendableId: sendableIds(request.messages, CALL_IDS),
    searches: request.tool_search !== undefined,
  };
  const { sampling = {}, thinking, prefill } = request;
  const { temperature, top_p, top_k, stop } = sampling;
  const messages = request.messages.flatMap((message) => wireMessage(message, to));
  if (messages.length === 0) messages.push({ role: "user", content: [EMPTY_MESSAGE] });
  if (prefill !== undefined && !isBlank(prefill))
    messages.push({ role: "assistant", content: [{ type: "text", text: prefill }] });
  return {
    model: target.model,
    max_tokens: tokensToAsk(request.max_tokens),
    messages: withoutTrailingBlanks(messages),
    ...systemMember(request),
    ...toolMembers(request),
    ...present({
      temperature,
      top_p,
      top_k,
      stop_sequences: stop,
      thinking: thinking && wireThinking(thinking),
    }),
    ...(thinking?.mode === "effort" ? { output_config: { effort: thinking.level } } : {}),
    ...(request.cache === true ? { cache_control: { type: "ephemeral" } } : {}),
    ...(stream ? { stream: true } : {}),
  };
}

function wireThinking(thinking: Thinking): ThinkingConfigParam {
  return thinking.mode === "enabled"
    ? { type: "enabled", budget_tokens: thinking.budget_tokens ?? THINKING_BUDGET }
    : { type: "adaptive" };
}

/**
 * The search tool first, then the user's tools, then the JSON tool. A JSON tool without other tools is forced,
 * otherwise only offered; with thinking nothing may be forced.
 */
function toolMembers(request: ModelRequest): Pick<WireBody, "tools" | "tool_choice"> {
  const { tool_search: search, thinking } = request;
  const jsonTool = answersByTool(request) ? [wireTool(jsonToolOf(request))] : [];
  const tools: WireTool[] = [
    ...(search === undefined ? [] : [anthropicSearchTool(search)]),
    ...request.tools.map(wireTool),
    ...jsonTool,
  ];
  if (tools.length === 0) return {};
  const forced = jsonTool.length === tools.length && thinking === undefined;
  return { tools, tool_choice: forced ? { type: "tool", name: JSON_TOOL } : wireChoice(request) };
}

/**
 * Anthropic has no other JSON mode for all its models. A user's tool of that name takes precedence; arguments are an
 * object.
 */
export const answersByTool = (request: ModelRequest): boolean =>
  request.json &&
  request.json_as_text !== true &&
  describesObject(request.schema?.schema) &&
  !request.tools.some(({ name }) => name === JSON_TOOL);

const describesObject = (schema: JsonObject = {}): boolean =>
  schema.type === undefined || schema.type === "object";

/** The prompt as one text, or as blocks if the caller sent some. */
function systemMember(request: ModelRequest): Pick<WireBody, "system"> {
  const system = systemText(request);
  if (isBlank(system)) return {};
  const blocks = systemList(system, request.system_blocks);
  return { system: blocks?.map((block) => ({ type: "text", ...block })) ?? system };
}

/** If no tool's arguments can have the schema, Hull asks for it in words. */
function systemText({ system, json, schema }: ModelRequest): string {
  return json && schema !== undefined && !describesObject(schema.schema)
    ? withSchema(system, schema.schema)
    : system;
}

function jsonToolOf({ schema }: ModelRequest): ToolDefinition {
  return {
    name: JSON_TOOL,
    description: "Takes the final answer, as JSON. Call it once, with the whole answer as its arguments.",
    parameters: schema?.schema ?? { type: "object", additionalProperties: true },
  };
}

function wireChoice({ tool_choice: choice = "auto", parallel_tool_calls }: ModelRequest): WireToolChoice {
  if (choice === "none") return { type: "none" };
  const single = parallel_tool_calls === false ? { disable_parallel_tool_use: true } : {};
  if (typeof choice === "object") return { type: "tool", name: sendableName(choice.name), ...single };
  return { type: choice === "required" ? "any" : "auto", ...single };
}

function betaHeader(request: ModelRequest, target: WireTarget): { [name: string]: string } {
  const { interleaved_thinking_supported: supported, anthropic_beta_features: known } = target.capabilities;
  const { interleaved_thinking: asked = supported === true } = request;
  const betas = new Set([
    ...(known ?? []),
    ...(request.beta_features ?? []),
    ...(asked && request.thinking !== undefined ? [INTERLEAVED_THINKING] : []),
  ]);
  return betas.size === 0 ? {} : { "anthropic-beta": Array.from(betas).join(",") };
}

interface Addressee {
  provider: string;
  sendableId: (id: string) => string;
  /** Whether tool search is on; otherwise the provider does not understand its results. */
  searches: boolean;
}

/**
 * The messages for a message. An assistant turn without sendable content gives none, since Anthropic refuses empty
 * content.
 */
function wireMessage(message: Message, to: Addressee): WireMessage[] {
  if (message.role === "user") {
    const content = message.content.filter((part) => part.type !== "text" || !isBlank(part.text));
    return [{ role: "user", content: content.length === 0 ? [EMPTY_MESSAGE] : content.map(wirePart) }];
  }
  if (message.role === "tool") {
    return [{ role: "user", content: message.results.map((result) => wireResult(result, to)) }];
  }
  const content = message.content.flatMap((block) => wireBlock(block, to));
  return content.length === 0 ? [] : [{ role: "assistant", content }];
}

/** Anthropic refuses white space at the end of an answer that the request begins. */
function withoutTrailingBlanks(messages: WireMessage[]): WireMessage[] {
  const last = messages.at(-1);
  const block = last?.content.at(-1);
  if (last?.role !== "assistant" || block?.type !== "text") return messages;
  const content = [...last.content.slice(0, -1), { ...block, text: String(block.text).trimEnd() }];
  return [...messages.slice(0, -1), { ...last, content }];
}

/** Replaces an empty user message, and a conversation without messages, which Anthropic refuses. */
const EMPTY_MESSAGE: ContentBlockParam = { type: "text", text: "(empty message)" };

function wirePart(part: Part): ContentBlockParam {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image": {
      if ("url" in part) return { type: "image", source: { type: "url", url: part.url } };
      const { media_type, data } = part;
      if (!isImageType(media_type)) {
        throw new UnsupportedMediaType({ type: media_type, accepted: [...IMAGE_TYPES] });
      }
      return { type: "image", source: { type: "base64", media_type, data } };
    }
    case "document": {
      const title = part.filename === undefined ? {} : { title: part.filename };
      if ("url" in part) return { type: "document", source: { type: "url", url: part.url }, ...title };
      return { type: "document", source: documentSource(part.media_type, part.data), ...title };
    }
    case "audio":
      throw refusedType(part.media_type);
  }
}

/** Documents are PDF files, in Base64, or texts. */
function documentSource(type: string, data: string): Base64PDFSource | PlainTextSource {
  if (type === "application/pdf") return { type: "base64", media_type: type, data };
  if (!isTextType(type)) throw refusedType(type);
  return { type: "text", media_type: "text/plain", data: textIn(data, type) };
}

function textIn(data: string, type: string): string {
  const bytes = base64OrNull(data);
  const text = bytes === null ? null : unmarkedUtf8(bytes);
  if (text === null) throw new BadEncoding({ what: `A document of type ${type}` });
  return text;
}

const refusedType = (type: string) =>
  new UnsupportedMediaType({ type, accepted: ["text/*", "application/pdf", ...IMAGE_TYPES] });

const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
const isImageType = (type: string): type is Base64ImageSource["media_type"] =>
  IMAGE_TYPES.some((known) => known === type);

function wireResult(result: ToolResultMessage, { sendableId }: Addressee): ToolResultBlockParam {
  return {
    type: "tool_result",
    tool_use_id: sendableId(result.call_id),
    ...(isBlank(result.content) ? {} : { content: result.content }),
    ...(result.is_error ? { is_error: true } : {}),
  };
}

function wireBlock(block: Block, { provider, sendableId, searches }: Addressee): WireBlock[] {
  const own = (native: Native | undefined): WireBlock[] =>
    native?.provider === provider && isObject(native.value) ? [native.value] : [];
  switch (block.type) {
    case "output_text":
      return isBlank(block.text) ? [] : [{ type: "text", text: block.text }];
    case "reasoning":
      return block.signature === undefined
        ? []
        : [{ type: "thinking", thinking: block.text, signature: block.signature }];
    case "tool_call":
      return [
        {
          type: "tool_use",
          id: sendableId(block.id),
          name: sendableName(block.name),
          input: withSentDigits(block.arguments ?? {}, block.raw),
        },
      ];
    case "opaque":
      return own(block);
    case "reasoning_summary":
      return own(block.native);
    case "tool_search_query":
    case "tool_search_result":
      return searches ? own(block.native) : [];
  }
}

/** The names of a tool's properties that Anthropic accepts; another one costs the whole request. */
const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

/**
 * A tool for Anthropic. Leaves out the namespace, which only some providers support. Properties with other names, which
 * tools of MCP servers have (`$top`), are described in words: the model can still give them.
 */
function wireTool(tool: ToolDefinition): Tool {
  const { properties, required, ...rest } = rootObject(tool.parameters);
  const all = Object.entries(objectOf(properties));
  const needed = textsIn(required);
  const part = (accepted: boolean) => {
    const fits = (name: string): boolean => PROPERTY_NAME.test(name) === accepted;
    return {
      properties: Object.fromEntries(all.filter(([name]) => fits(name))),
      ...(needed === null ? {} : { required: needed.filter(fits) }),
    };
  };
  const others = part(false);
  const further = Object.keys(others.properties).length > 0;
  return {
    name: tool.name,
    description: tool.description + (further ? `\n\nFurther arguments: ${JSON.stringify(others)}` : ""),
    input_schema: {
      ...rest,
      type: "object",
      ...part(true),
      ...(further ? { additionalProperties: true } : {}),
    },
    ...(tool.defer_loading === true ? { defer_loading: true } : {}),
  };
}

const isBlank = (text: string): boolean => text.trim() === "";
