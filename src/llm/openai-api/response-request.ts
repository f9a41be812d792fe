/** The body of `POST /v1/responses` as a canonical request, and its further members. */
import * as z from "zod/mini";
import type { ModelRequest } from "../../engine/messages.ts";
import { isObject, objectOf, present } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import {
  flag,
  lenient,
  listOf,
  loosely,
  modelName,
  number,
  object,
  readShape,
  text,
  tokens,
  wrong,
} from "../members.ts";
import { checkToolNames } from "../tool-call-ids.ts";
import { clientTools, readTools } from "./client-tools.ts";
import { withCallId } from "./own-calls.ts";
import { readItems } from "./response-items.ts";
import { type ShellEnvironment, shellEnvironment } from "./shell-environment.ts";
import { LOCAL_SHELL, SHELL } from "./shell-items.ts";
import {
  callTerms,
  checkFurther,
  effort,
  format,
  membersOutside,
  namedFormat,
  ownEffort,
  toolChoice,
} from "./terms.ts";

const MOST_METADATA = 16;

/** What a client notes of a response or a conversation. */
export const metadata = () => {
  const words = `an object of at most ${MOST_METADATA} strings of up to 512 characters is expected`;
  const value = "a string of up to 512 characters is expected";
  const few = (given: object) => Object.keys(given).length <= MOST_METADATA;
  const key = z.string().check(z.maxLength(64, "a name of up to 64 characters is expected"));
  return z.nullish(
    z.record(key, z.string(value).check(z.maxLength(512, value)), words).check(z.refine(few, words)),
  );
};

const reasoning = z.lazy(() =>
  z.nullish(loosely(z.object({ effort: effort(), summary: lenient(z.string()) }))),
);

export const responseBody = z.lazy(() =>
  z.object({
    model: modelName(),
    input: z.nullish(
      z.union([
        z.string(),
        z.array(object("an item is an object"), "a string or a list of items is expected"),
      ]),
    ),
    instructions: text(),
    stream: flag(),
    stream_options: z.nullish(z.custom<Json>()),
    store: flag(),
    background: flag(),
    previous_response_id: text(),
    conversation: z.nullish(z.union([z.string(), z.object({ id: text() }, "a string is expected")])),
    include: listOf(z.custom<Json>()),
    max_output_tokens: z.nullish(tokens()),
    temperature: number(),
    top_p: number(),
    text: z.nullish(
      loosely(z.object({ format: format(z.object({ type: z.literal("json_schema"), ...namedFormat() })) })),
    ),
    reasoning,
    /** As they came: only a model's call reads them all, each as a `responseTool`. */
    tools: listOf(z.custom<Json>()),
    tool_choice: toolChoice(z.object({ type: z.literal("function"), name: z.string() })),
    parallel_tool_calls: lenient(z.boolean()),
    metadata: metadata(),
  }),
);
type ResponseTools = z.infer<typeof responseBody>["tools"];

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
  shell: ShellEnvironment | null;
  metadata: JsonObject;
}

/** Members without a canonical form, and the whole of `reasoning` or `text` where a part of it has none. */
export function furtherMembers(body: JsonObject): JsonObject {
  const { verbosity } = objectOf(body.text);
  const text = verbosity == null ? {} : { text: body.text ?? null };
  const further = { ...membersOutside(body, responseBody), ...text };
  const { effort: asked, summary } = readShape(reasoning, body.reasoning, "reasoning") ?? {};
  if (ownEffort(asked) === null && summary == null) return further;
  return { ...further, reasoning: present({ effort: asked, summary }) };
}

/** The names of those members, for the client. */
export const extraMemberNames = (body: JsonObject): string[] =>
  Object.keys(furtherMembers(body)).map((name) => (name === "text" ? "text.verbosity" : name));

/** @throws InvalidRequest for a member that is missing, has another type, is not accounted, or cannot be carried */
export function readResponses(body: JsonObject): ResponsesAsk {
  if (body.prompt != null) throw wrong("prompt", "prompts are not stored here; send instructions and input");
  if (body.context_management != null)
    throw wrong(
      "context_management",
      "a response compacts nothing; send the conversation to POST /v1/responses/compact",
    );
  checkFurther(furtherMembers(body));
  const given = readShape(responseBody, body);
  const { model, stream, include, previous_response_id: previous = null, tools } = given;
  const store = given.store !== false;
  const background = given.background === true;
  if (background && !store) throw wrong("store", "a background response is stored");
  const named = given.conversation;
  const conversation = (typeof named === "string" ? named : named?.id) ?? null;
  if (previous !== null && conversation !== null)
    throw wrong("conversation", "it cannot be given together with previous_response_id");
  const input = itemsOf(given.input);
  // A fault in one of the request's own items has that item's path.
  const own = [...input.entries()].filter(([, { type }]) => type !== "item_reference");
  readItems(
    own.map(([, item]) => withoutFile(item)),
    (n) => `input.${own[n]?.[0]}`,
  );
  checkToolNames(namedTools(tools));
  return {
    model,
    stream: stream === true,
    store,
    background,
    previous,
    conversation,
    include: (include ?? []).map(String),
    input,
    shell: shellOf(tools),
    metadata: given.metadata ?? {},
  };
}

function itemsOf(input: z.infer<typeof responseBody>["input"]): JsonObject[] {
  if (typeof input === "string")
    return [{ type: "message", role: "user", content: [{ type: "input_text", text: input }] }];
  return (input ?? []).map(typedItem);
}

/** An item with its type and, if it is an output, the id of its call. An item without a type is a message. */
export const typedItem = (item: JsonObject): JsonObject =>
  item.type === undefined ? { type: "message", ...item } : withCallId(item);

/** The canonical request. @param items the whole conversation, files by content. @throws InvalidRequest */
export function responseRequest(body: JsonObject, items: readonly JsonObject[]): ModelRequest {
  const { system, messages } = readItems(items, (n) => `input.${n}`);
  const given = readShape(responseBody, body);
  const tools = clientTools(body.tools, items, (n) => `input.${n}`);
  const shell = shellOf(given.tools);
  const second = shell === null ? undefined : tools.get(SHELL);
  if (second !== undefined)
    throw wrong(`${second.path}.name`, `the shell of tools has the name ${JSON.stringify(SHELL)} already`);
  const local = shell?.type === "local" ? [LOCAL_SHELL] : [];
  const { tool_choice: choice, parallel_tool_calls: parallel } = given;
  const { max_output_tokens: limit, temperature, top_p } = given;
  return {
    system: [given.instructions ?? "", ...system, localText(shell)]
      .filter((part) => part !== "")
      .join("\n\n"),
    messages,
    tools: [...Array.from(tools.values(), ({ definition }) => definition), ...local],
    ...callTerms({
      choice,
      parallel,
      limit,
      format: given.text?.format,
      effort: given.reasoning?.effort,
      sampling: { temperature, top_p },
    }),
  };
}

function localText(shell: ShellEnvironment | null): string {
  const skills = (shell?.type === "local" ? shell.skills : null) ?? [];
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

/** @throws InvalidRequest */
function shellOf(tools: ResponseTools): ShellEnvironment | null {
  const at = tools?.findIndex((tool) => isObject(tool) && tool.type === "shell") ?? -1;
  if (at === -1) return null;
  return readShape(shellEnvironment, objectOf(tools?.[at]).environment, `tools.${at}.environment`);
}

/** Every tool with its name; a shell has one too. @throws InvalidRequest */
function namedTools(tools: ResponseTools): { name: string; path: string }[] {
  const shells = (tools ?? []).flatMap((tool, n) =>
    isObject(tool) && tool.type === "shell" ? [{ name: SHELL, path: `tools.${n}` }] : [],
  );
  return [
    ...shells,
    ...readTools(tools ?? [], "tools").map(({ definition: { name }, path }) => ({ name, path })),
  ];
}
