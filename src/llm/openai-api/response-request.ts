/** The body of `POST /v1/responses` as a canonical request, and its further members. */
import type { ModelRequest, Sampling, ToolDefinition } from "../../engine/messages.ts";
import { reservedMembers } from "../../model/reserved.ts";
import { isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { modelMember, numberMember, tokensMember } from "../members.ts";
import { checkToolNames } from "../tool-call-ids.ts";
import { wrong } from "../wrong.ts";
import { readItems } from "./response-items.ts";
import { readShellEnvironment, type ShellEnvironment } from "./shell-environment.ts";
import { LOCAL_SHELL, SHELL } from "./shell-items.ts";
import { DEFAULT_MAX_TOKENS, effortOf, FREE_MEMBERS, formatOf, functionTool, toolChoiceOf } from "./terms.ts";

export interface ResponsesAsk {
  model: string;
  stream: boolean;
  store: boolean;
  background: boolean;
  /** Id of the response that it continues; `null`: none. */
  previous: string | null;
  /** Id of the conversation to which it belongs; `null`: none. */
  conversation: string | null;
  /** What the answer should also contain. */
  include: string[];
  /** Its own input, as items. */
  input: JsonObject[];
  /** A shell, in a container of Hull's or the client's own; `null`: none. */
  shell: ShellEnvironment | "local" | null;
  /** Names and descriptions of skills that the client's own shell has. */
  local_skills: { name: string; description: string; path: string }[];
  metadata: JsonObject;
}

const CANONICAL = new Set([
  "model",
  "input",
  "instructions",
  "stream",
  "stream_options",
  "store",
  "background",
  "previous_response_id",
  "conversation",
  "include",
  "max_output_tokens",
  "temperature",
  "top_p",
  "text",
  "reasoning",
  "tools",
  "tool_choice",
  "metadata",
]);
const MOST_METADATA = 16;

/** Members without a canonical form: targets of the same protocol get them unchanged. */
export const furtherMembers = (body: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([name, value]) => !CANONICAL.has(name) && value !== null));

/** @throws InvalidRequest for a member that is missing, has another type, is not accounted, or cannot be carried */
export function readResponses(body: JsonObject): ResponsesAsk {
  const further = Object.entries(furtherMembers(body)).filter(([name]) => !FREE_MEMBERS.has(name));
  for (const { path, reason } of reservedMembers(Object.fromEntries(further)))
    throw wrong(path, `it cannot be set here: ${reason}`);
  if (body.prompt != null) throw wrong("prompt", "prompts are not stored here; send instructions and input");
  const store = body.store !== false;
  const background = body.background === true;
  if (background && !store) throw wrong("store", "a background response is stored");
  const previous = textOrNull("previous_response_id", body.previous_response_id);
  const conversation = conversationOf(body.conversation);
  if (previous !== null && conversation !== null)
    throw wrong("conversation", "it cannot be given together with previous_response_id");
  const include = body.include ?? [];
  if (!Array.isArray(include)) throw wrong("include", "a list is expected");
  const input = inputItems(body.input);
  // A fault in one of the request's own items has that item's path.
  const own = [...input.entries()].filter(([, { type }]) => type !== "item_reference");
  readItems(
    own.map(([, item]) => withoutFile(item)),
    (n) => `input.${own[n]?.[0]}`,
  );
  checkToolNames(namedTools(body.tools));
  return {
    model: modelMember(body.model),
    stream: body.stream === true,
    store,
    background,
    previous,
    conversation,
    include: include.map(String),
    input,
    ...shellOf(body.tools),
    metadata: metadataOf(body.metadata),
  };
}

/** @throws InvalidRequest */
export function inputItems(input: Json | undefined): JsonObject[] {
  if (input === undefined || input === null) return [];
  if (typeof input === "string")
    return [{ type: "message", role: "user", content: [{ type: "input_text", text: input }] }];
  if (!Array.isArray(input)) throw wrong("input", "a text or a list of items is expected");
  return input.map((item, n) => {
    if (!isObject(item)) throw wrong(`input.${n}`, "an item is an object");
    return item.type === undefined ? { type: "message", ...item } : item;
  });
}

/** @throws InvalidRequest */
export function metadataOf(given: Json | undefined): JsonObject {
  if (given === undefined || given === null) return {};
  const fits =
    isObject(given) &&
    Object.keys(given).length <= MOST_METADATA &&
    Object.values(given).every((value) => typeof value === "string" && value.length <= 512);
  if (fits) return given;
  throw wrong("metadata", `an object of at most ${MOST_METADATA} texts of up to 512 characters is expected`);
}

/** The canonical request. @param items the whole conversation, files by content. @throws InvalidRequest */
export function responseRequest(body: JsonObject, items: readonly JsonObject[]): ModelRequest {
  const { system, messages } = readItems(items, (n) => `input.${n}`);
  const instructions = textOrNull("instructions", body.instructions) ?? "";
  const { shell, local_skills } = shellOf(body.tools);
  const local = shell === "local" ? [LOCAL_SHELL] : [];
  const sampling: Sampling = {
    ...numberMember("temperature", body.temperature),
    ...numberMember("top_p", body.top_p),
  };
  const thinking = effortOf(objectOf(body.reasoning).effort, "reasoning.effort");
  const limit = body.max_output_tokens ?? null;
  return {
    system: [instructions, ...system, localText(local_skills)].filter((text) => text !== "").join("\n\n"),
    messages,
    tools: [...functionsOf(body.tools), ...local],
    ...toolChoiceOf(body.tool_choice, ({ type, name }) => (type === "function" ? name : null)),
    max_tokens: limit === null ? DEFAULT_MAX_TOKENS : tokensMember("max_output_tokens", limit),
    ...formatOf(objectOf(body.text).format, "text.format", (format) => format),
    ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
    ...(thinking === null ? {} : { thinking }),
  };
}

function localText(skills: ResponsesAsk["local_skills"]): string {
  if (skills.length === 0) return "";
  const lines = skills.map(({ name, description, path }) => `- ${name}: ${description} (${path})`);
  return `# Skills\n\nRead a skill's SKILL.md with the shell before you do what it is for.\n\n${lines.join("\n")}`;
}

/** The item with some address in place of files that it names by id, which suffices to check its form. */
export function withoutFile(item: JsonObject): JsonObject {
  if (!Array.isArray(item.content)) return item;
  const content = item.content.map((part) => {
    if (!isObject(part) || typeof part.file_id !== "string") return part;
    if (part.type === "input_image") return { ...part, image_url: "https://file" };
    return part.type === "input_file" ? { ...part, file_url: "https://file" } : part;
  });
  return { ...item, content };
}

function textOrNull(name: string, value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return value;
  throw wrong(name, "a text is expected");
}

function conversationOf(given: Json | undefined): string | null {
  if (isObject(given)) return textOrNull("conversation.id", given.id);
  return textOrNull("conversation", given);
}

function toolList(list: Json | undefined): Json[] {
  if (list === undefined || list === null) return [];
  if (Array.isArray(list)) return list;
  throw wrong("tools", "a list is expected");
}

function shellOf(list: Json | undefined): Pick<ResponsesAsk, "shell" | "local_skills"> {
  const tools = toolList(list);
  const at = tools.findIndex((tool) => isObject(tool) && tool.type === "shell");
  const tool = tools[at];
  if (!isObject(tool)) return { shell: null, local_skills: [] };
  return readShellEnvironment(tool.environment, `tools.${at}.environment`);
}

/** Every named tool; a client's own shell has its name too. */
function namedTools(list: Json | undefined): { name: string; path: string }[] {
  return toolList(list).flatMap((tool, n) => {
    const path = `tools.${n}`;
    const { type, name, environment } = objectOf(tool);
    if (type === "shell") return objectOf(environment).type === "local" ? [{ name: SHELL, path }] : [];
    return typeof name === "string" ? [{ name, path }] : [];
  });
}

/** The client's own functions. @throws InvalidRequest for tools that Hull cannot carry */
function functionsOf(list: Json | undefined): ToolDefinition[] {
  return toolList(list).flatMap((tool, n): ToolDefinition[] => {
    const path = `tools.${n}`;
    if (!isObject(tool)) throw wrong(path, "a tool is an object with a type");
    if (tool.type === "shell") return [];
    if (tool.type !== "function") {
      const type = JSON.stringify(tool.type ?? null);
      throw wrong(`${path}.type`, `tools of type ${type} are not carried; there are function and shell`);
    }
    return [functionTool(tool, path)];
  });
}
