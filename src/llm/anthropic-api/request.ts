/** The body of `POST /v1/messages` as a canonical request, and the parts that only Anthropic understands. */
import * as z from "zod/mini";
import type {
  ModelRequest,
  ProviderPassthrough,
  Sampling,
  Thinking,
  ToolDefinition,
} from "../../engine/messages.ts";
import type { ContainerTool } from "../../engine/workspace-tools/code-tools.ts";
import { EDITOR_TOOL } from "../../engine/workspace-tools/editor-tool.ts";
import { reservedAmong } from "../../model/reserved.ts";
import { isObject, present, textOf, textsIn } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { type ContainerParams, containerShape, readContainer } from "../container-params.ts";
import {
  flag,
  hasMember,
  lenient,
  listOf,
  messageList,
  modelName,
  number,
  object,
  readShape,
  texts,
  tokens,
  wrong,
} from "../members.ts";
import { isStrict } from "../strict-schema.ts";
import { systemPrompt } from "../system-prompt.ts";
import { checkToolNames, type OwnCall } from "../tool-call-ids.ts";
import {
  type Foreign,
  readConversation,
  type ToolChange,
  textBlocks,
  withoutOthersThinking,
} from "./conversation.ts";

export interface MessagesRequest {
  model: string;
  stream: boolean;
  request: ModelRequest;
  /** Parts that only Anthropic can get, and that the request needs. */
  foreign: Foreign[];
  /** Members for which a provider would charge or run more than is accounted, and why Hull refuses them. */
  unaccounted: { path: string; reason: string }[];
  /** Whether the server is to hold the conversation, or holds what came before these messages. */
  thread: boolean;
  /** Members of the body that only Anthropic gets. */
  ignored: string[];
  container: ContainerParams | null;
  /** The tools for code that the client asked for. */
  code: readonly ContainerTool[];
  /** What Anthropic's models get besides the canonical request when Hull executes the tools. */
  passthrough: ProviderPassthrough;
  /** That tool as it was sent, for a request whose code Anthropic runs. */
  hosted: JsonObject[];
  /** Files that the container should contain. */
  uploads: { file_id: string; path: string }[];
  /** A call of the client's own without a result; `null`: there is none. */
  unanswered: OwnCall | null;
}

const jsonFormat = () => z.object({ type: z.literal("json_schema"), schema: object("a JSON Schema") });

/** Members with a canonical form. */
export const messagesBody = z.lazy(() =>
  z.object({
    model: modelName(),
    messages: messageList(),
    system: z.nullish(
      z.union([z.string(), z.array(z.custom<Json>())], "a string or a list of text blocks is expected"),
    ),
    max_tokens: tokens(),
    stream: flag(),
    tools: listOf(object("a tool is an object")),
    tool_choice: lenient(object("a choice")),
    temperature: number(),
    top_p: number(),
    top_k: number(),
    stop_sequences: texts(),
    thinking: lenient(z.object({ type: lenient(z.string()), budget_tokens: lenient(z.number()) })),
    output_config: lenient(z.object({ effort: lenient(z.string()), format: lenient(jsonFormat()) })),
    output_format: lenient(jsonFormat()),
    cache_control: z.nullish(z.custom<Json>()),
    container: containerShape,
  }),
);
type MessagesBody = z.infer<typeof messagesBody>;

/** Members that Anthropic gets and that cost no more than is accounted. `thread` has a fault of its own. */
const FREE = new Set(["metadata", "context_management", "compaction", "thread", "service_tier", "betas"]);

/** The tools of earlier versions of code execution: Python alone, then bash and files. */
const TOOLS_OF_VERSION: Record<string, readonly ContainerTool[]> = {
  code_execution_20250522: ["code_execution"],
  code_execution_20250825: ["bash_code_execution", EDITOR_TOOL],
};
const ALL_TOOLS: readonly ContainerTool[] = ["bash_code_execution", EDITOR_TOOL, "code_execution"];

/** Kinds of typed tools that the client itself runs, or that cost nothing. */
const CLIENT_TOOLS = /^(?:bash|text_editor|computer|memory|tool_search_tool_(?:bm25|regex))_\d{8}$/;

/**
 * @param counting for `count_tokens`, which needs no `max_tokens`
 * @throws InvalidRequest for a member that is missing, or of another type
 */
export function readMessagesRequest(body: JsonObject, headers: Headers, counting = false): MessagesRequest {
  const given = readShape(messagesBody, counting ? { ...body, max_tokens: 1 } : body);
  const further = Object.entries(body).filter(([name]) => !hasMember(messagesBody, name));
  const own = further.filter(([name]) => !FREE.has(name));
  const reserved = reservedAmong(own).map(({ path, reason }) => ({
    path,
    reason: `it cannot be set here: ${reason}`,
  }));
  const conversation = readConversation(given.messages);
  const { system, messages, foreign, changes, uploads, executed, unanswered } = conversation;
  const tools = readTools(given.tools ?? [], changes);
  const { temperature, top_p, top_k } = given;
  const sampling: Sampling = present({
    temperature,
    top_p,
    top_k,
    stop: [given.stop_sequences ?? []].flat(),
  });
  const thinking = thinkingOf(given);
  const effort = ownEffort(given, thinking);
  const format = (given.output_config?.format ?? given.output_format)?.schema ?? null;
  const sent = sentHeaders(headers, body.betas);
  const beside = Object.fromEntries(further.filter(([name]) => name !== "betas"));
  if (body.cache_control !== undefined) beside.cache_control = body.cache_control;
  if (effort !== null) beside.output_config = { effort };
  const passthrough: ProviderPassthrough = { protocol: "anthropic", body: beside, tools: [], headers: sent };
  return {
    model: given.model,
    stream: given.stream === true,
    request: {
      ...systemPrompt([...textBlocks(given.system ?? [], "system"), ...system], Array.isArray(given.system)),
      messages,
      tools: tools.definitions,
      ...toolChoiceOf(given.tool_choice),
      ...(given.tool_choice?.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}),
      max_tokens: given.max_tokens,
      json: format !== null,
      ...(format === null ? {} : { schema: { schema: format, strict: isStrict(format) } }),
      ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
      ...(thinking === null ? {} : { thinking }),
      ...(executed
        ? { passthrough }
        : {
            verbatim: {
              protocol: "anthropic",
              body: verbatimBody(body, given.messages),
              headers: sent,
            },
          }),
    },
    passthrough,
    hosted: tools.hosted,
    foreign: [...foreign, ...tools.foreign, ...compaction(body)],
    unaccounted: [...reserved, ...tools.unaccounted],
    thread: body.thread !== undefined && body.thread !== null,
    ignored: [...further.map(([name]) => name), ...(effort === null ? [] : ["output_config.effort"])],
    container: readContainer(given.container, sent["anthropic-beta"]?.split(",")),
    code: tools.code,
    uploads,
    unanswered,
  };
}

/** A request to summarize the conversation: an answer of another vendor's model would not be the summary. */
const compaction = (body: JsonObject): Foreign[] =>
  isObject(body.compaction) ? [{ path: "compaction", type: String(body.compaction.type) }] : [];

/** The body as it came, except that betas go out in a header. A body may have many members: they are copied once. */
function verbatimBody(body: JsonObject, messages: Json[]): JsonObject {
  const document: JsonObject = { ...body, messages: withoutOthersThinking(messages) };
  delete document.betas;
  return document;
}

/** Version and betas as the client sent them. */
function sentHeaders(headers: Headers, betas: Json | undefined): { [name: string]: string } {
  const version = headers.get("anthropic-version");
  const sent = headers.get("anthropic-beta")?.split(",") ?? [];
  const all = [...sent, ...(textsIn(betas) ?? [])].map((beta) => beta.trim());
  const beta = [...new Set(all)].filter((name) => name !== "").join(",");
  return present({ "anthropic-version": version, "anthropic-beta": beta });
}

function thinkingOf({ thinking, output_config }: MessagesBody): Thinking | null {
  const effort = output_config?.effort;
  if (thinking?.type === "enabled") {
    const { budget_tokens } = thinking;
    return { mode: "enabled", ...present({ budget_tokens }) };
  }
  if (thinking?.type === "disabled") return null;
  // Anthropic's effort is that of the whole answer.
  if (effort === "low" || effort === "medium") return { mode: "effort", level: effort, adaptive: true };
  if (typeof effort === "string") return { mode: "effort", level: "high", adaptive: true };
  return thinking?.type === "adaptive" ? { mode: "adaptive" } : null;
}

/** An effort that the canonical request does not express. Other targets get the nearest level, or none. */
function ownEffort({ output_config }: MessagesBody, thinking: Thinking | null): string | null {
  const effort = output_config?.effort;
  if (typeof effort !== "string") return null;
  return thinking?.mode === "effort" && thinking.level === effort ? null : effort;
}

function toolChoiceOf(choice: MessagesBody["tool_choice"]): Pick<ModelRequest, "tool_choice"> {
  if (choice === undefined || choice === null) return {};
  switch (choice.type) {
    case "any":
      return { tool_choice: "required" };
    case "none":
      return { tool_choice: "none" };
    case "tool":
      if (typeof choice.name === "string") return { tool_choice: { name: choice.name } };
      throw wrong("tool_choice.name", "the name of a tool is required");
    default:
      return { tool_choice: "auto" };
  }
}

interface ReadTools {
  definitions: ToolDefinition[];
  foreign: Foreign[];
  code: readonly ContainerTool[];
  hosted: JsonObject[];
  unaccounted: MessagesRequest["unaccounted"];
}

/**
 * @param changes of these tools, later in the conversation
 * @throws InvalidRequest for a tool of the client's own without a name or a schema, or two of one name
 */
function readTools(list: readonly JsonObject[], changes: readonly ToolChange[]): ReadTools {
  const given = list.map((tool, n) => ({ tool, path: `tools.${n}` }));
  checkToolNames(
    given.flatMap(({ tool: { name }, path }) => (typeof name === "string" ? [{ name, path }] : [])),
  );
  const added = changes.flatMap(({ definition, path }) =>
    definition === null ? [] : [{ tool: definition, path }],
  );
  const { definitions, ...rest } = toolsIn([...given, ...added]);
  const there = new Map(changes.map(({ name, removed }) => [name, !removed]));
  const last = new Map(definitions.map((tool) => [tool.name, tool]));
  return { definitions: [...last.values()].filter(({ name }) => there.get(name) !== false), ...rest };
}

function toolsIn(list: readonly { tool: JsonObject; path: string }[]): ReadTools {
  const definitions: ToolDefinition[] = [];
  const foreign: Foreign[] = [];
  const hosted: JsonObject[] = [];
  const unaccounted: MessagesRequest["unaccounted"] = [];
  let code: readonly ContainerTool[] = [];
  for (const { tool, path } of list) {
    const { type, name, description, input_schema, strict } = tool;
    if (typeof type === "string" && /^code_execution_\d{8}$/.test(type)) {
      code = TOOLS_OF_VERSION[type] ?? ALL_TOOLS;
      hosted.push(tool);
      continue;
    }
    if (typeof type === "string" && type !== "custom") {
      if (!CLIENT_TOOLS.test(type)) {
        const reason = `the tool type ${type} cannot be used: Hull cannot count what a provider runs itself`;
        unaccounted.push({ path, reason });
      }
      foreign.push({ path, type });
      continue;
    }
    if (typeof name !== "string") throw wrong(`${path}.name`, "a string is required");
    if (!isObject(input_schema)) throw wrong(`${path}.input_schema`, "a JSON Schema object is required");
    definitions.push({
      name,
      description: textOf(description),
      parameters: input_schema,
      ...(strict === true ? { strict } : {}),
    });
  }
  return { definitions, foreign, code, hosted, unaccounted };
}
