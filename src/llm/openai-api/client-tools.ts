/** The tools of a response's client: the names by which a model calls them, and the items that are their calls. */
import * as z from "zod/mini";
import { firstOf } from "../../cut.ts";
import type { ToolCallBlock, ToolDefinition } from "../../engine/messages.ts";
import { closedObject, text } from "../../engine/parameters.ts";
import { sha256 } from "../../engine/sha256.ts";
import { toolCall } from "../../model/provider-document.ts";
import { isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { lenient, object, readShape, requiredText, textMember } from "../members.ts";
import { COMMAND, OWN_TOOLS, ownArguments, ownMembers, PATCH } from "./own-calls.ts";
import { shellEnvironment } from "./shell-environment.ts";
import { functionMembers, functionTool } from "./terms.ts";

const TOOL_SEARCH = "tool_search";

const ownFunction = () => z.object({ type: z.literal("function"), ...functionMembers() });
/** Its input is a text, which a grammar may describe. */
const ownCustom = () =>
  z.object({
    type: z.literal("custom"),
    name: requiredText(),
    description: lenient(z.string()),
    format: lenient(z.object({ syntax: z.string(), definition: z.string() })),
  });

const unknownTool =
  (known: string) =>
  ({ input }: { input?: unknown }): string =>
    isObject(input)
      ? `tools of type ${JSON.stringify(input.type ?? null)} are not carried; there are ${known}`
      : "a tool is an object with a type";

/** Tools that Hull carries. */
export const responseTool = z.lazy(() =>
  z.discriminatedUnion(
    "type",
    [
      ownFunction(),
      z.object({ type: z.literal("shell"), environment: shellEnvironment }),
      ownCustom(),
      z.object({
        type: z.literal("namespace"),
        name: requiredText(),
        tools: z.array(
          z.discriminatedUnion("type", [ownFunction(), ownCustom()], {
            error: unknownTool("function and custom in a namespace"),
          }),
          "a list of tools is expected",
        ),
      }),
      z.object({
        type: z.literal(TOOL_SEARCH),
        execution: z.literal("client", "client is expected: Hull searches for no tools here"),
        description: lenient(z.string()),
        parameters: lenient(object("a JSON Schema")),
      }),
      z.object({ type: z.literal(PATCH) }),
      z.object({ type: z.literal(COMMAND) }),
    ],
    { error: unknownTool("function, custom, namespace, tool_search, shell, local_shell and apply_patch") },
  ),
);

/** A tool as its client knows it. */
interface ClientTool {
  type: "function" | "custom" | typeof TOOL_SEARCH | typeof PATCH | typeof COMMAND;
  name: string;
  /** `null`: it is in none. */
  namespace: string | null;
  definition: ToolDefinition;
  /** Path in the request. */
  path: string;
}

/** Most characters of a name that every provider accepts. */
const MOST_NAME = 64;

/** The name by which the model calls a tool. A namespace can make it too long, so its end becomes a digest then. */
function fullName(namespace: Json | undefined, name: string): string {
  if (typeof namespace !== "string") return name;
  const full = `${namespace}__${name}`;
  if (full.length <= MOST_NAME) return full;
  const end = `_${sha256(full).slice(0, 12)}`;
  return firstOf(full, MOST_NAME - end.length) + end;
}

function freeText(format: { syntax: string; definition: string } | null | undefined): JsonObject {
  const what =
    format == null ? "The input" : `It follows this ${format.syntax} grammar:\n${format.definition}`;
  return closedObject({ input: text(what) }, ["input"]);
}

/** The tools in a list, other than a shell. @param path of the list. @throws InvalidRequest */
export const readTools = (list: readonly Json[], path: string): ClientTool[] =>
  list.flatMap((given, n): ClientTool[] => {
    const at = `${path}.${n}`;
    const tool = readShape(responseTool, given, at);
    switch (tool.type) {
      case "shell":
        return [];
      case "namespace":
        return tool.tools.map((inner, m) => clientTool(inner, tool.name, `${at}.tools.${m}`));
      case TOOL_SEARCH: {
        const { type, description, parameters } = tool;
        const definition = functionTool({ name: TOOL_SEARCH, description, parameters, strict: false });
        return [{ type, name: TOOL_SEARCH, namespace: null, definition, path: at }];
      }
      case PATCH:
      case COMMAND:
        return [
          { type: tool.type, name: tool.type, namespace: null, definition: OWN_TOOLS[tool.type], path: at },
        ];
      default:
        return [clientTool(tool, null, at)];
    }
  });

/** Members of tools that {@link readTools} reads. */
const CARRIED: ReadonlySet<string> = new Set(
  "type name description parameters strict format environment execution tools".split(" "),
);

/** The members of tools that no model gets, e.g. `tools.async`, each once. */
export function extraToolMembers(tools: readonly Json[]): string[] {
  const all = tools
    .filter(isObject)
    .flatMap((tool) => [tool, ...(Array.isArray(tool.tools) ? tool.tools.filter(isObject) : [])]);
  const names = all.flatMap((tool) =>
    Object.keys(tool).filter((name) => !CARRIED.has(name) && tool[name] !== null && tool[name] !== false),
  );
  return [...new Set(names)].map((name) => `tools.${name}`);
}

function clientTool(
  tool: z.infer<ReturnType<typeof ownFunction>> | z.infer<ReturnType<typeof ownCustom>>,
  namespace: string | null,
  path: string,
): ClientTool {
  const { type, description } = tool;
  const name = fullName(namespace ?? undefined, tool.name);
  const definition =
    tool.type === "custom"
      ? { name, description: description ?? "", parameters: freeText(tool.format) }
      : functionTool({ ...tool, name });
  return { type, name: tool.name, namespace, definition, path };
}

/**
 * The tools of a request, by the names by which the model calls them: those of `tools`, and those that items of the
 * conversation brought since. Of one name, the last counts.
 * @throws InvalidRequest
 */
export function clientTools(
  tools: Json | undefined,
  items: readonly JsonObject[],
  pathOf: (index: number) => string,
): Map<string, ClientTool> {
  const all = readTools(Array.isArray(tools) ? tools : [], "tools");
  for (const [n, { type, tools: brought }] of items.entries()) {
    if ((type === "additional_tools" || type === "tool_search_output") && Array.isArray(brought))
      all.push(...readTools(brought, `${pathOf(n)}.tools`));
  }
  return new Map(all.map((tool) => [tool.definition.name, tool]));
}

/** The item of a call, without id and status, and its member that holds what the model wrote. */
interface CallItem {
  item: JsonObject;
  written: { member: "arguments" | "input"; text: string } | null;
}

/** The call as its client knows it. @param tool that it calls; `undefined`: the client has none of this name */
export function callItem(
  { id: call_id, name, arguments: given, raw }: ToolCallBlock,
  tool?: ClientTool,
): CallItem {
  const named = {
    name: tool?.name ?? name,
    ...(tool?.namespace == null ? {} : { namespace: tool.namespace }),
  };
  switch (tool?.type) {
    case "custom": {
      const input = typeof given?.input === "string" ? given.input : raw;
      return {
        item: { type: "custom_tool_call", call_id, ...named },
        written: { member: "input", text: input },
      };
    }
    case TOOL_SEARCH:
      return {
        item: { type: "tool_search_call", call_id, execution: "client", arguments: given ?? {} },
        written: null,
      };
    case PATCH:
    case COMMAND: {
      const members = ownMembers(tool.type, given ?? {});
      return { item: { type: `${tool.type}_call`, call_id, ...members }, written: null };
    }
    default: {
      const text = raw.trim() === "" ? "{}" : raw;
      return { item: { type: "function_call", call_id, ...named }, written: { member: "arguments", text } };
    }
  }
}

/** The types of items that are calls of a client's tools, without those of its shell. */
export const CLIENT_CALLS: ReadonlySet<Json | undefined> = new Set([
  "function_call",
  "custom_tool_call",
  "tool_search_call",
  "apply_patch_call",
  "local_shell_call",
]);
/** The types of items that are the results of these calls. */
export const CLIENT_OUTPUTS: ReadonlySet<Json | undefined> = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "tool_search_output",
  "apply_patch_call_output",
  "local_shell_call_output",
]);

/** The call in an item of these types. @throws InvalidRequest */
export function clientCall(item: JsonObject, path: string): ToolCallBlock {
  const id = textMember(item, "call_id", path);
  if (item.type === "tool_search_call") return toolCall(id, TOOL_SEARCH, objectOf(item.arguments));
  if (item.type === "apply_patch_call") return toolCall(id, PATCH, ownArguments(item));
  if (item.type === "local_shell_call") return toolCall(id, COMMAND, ownArguments(item));
  const name = fullName(item.namespace, textMember(item, "name", path));
  const isCustom = item.type === "custom_tool_call";
  return toolCall(
    id,
    name,
    isCustom ? { input: textMember(item, "input", path) } : textMember(item, "arguments", path),
  );
}

/** What the model reads as the result of its search. @throws InvalidRequest */
export function foundTools({ tools }: JsonObject, path: string): string {
  const names = readTools(Array.isArray(tools) ? tools : [], `${path}.tools`).map(
    ({ definition }) => definition.name,
  );
  return names.length === 0 ? "No tool was found." : `You can call these tools now: ${names.join(", ")}.`;
}
