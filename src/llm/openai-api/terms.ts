/** Request members, other than messages, that chat completions and responses have in common. */
import * as z from "zod/mini";
import type { ModelRequest, Sampling, ToolDefinition } from "../../engine/messages.ts";
import { reservedMembers } from "../../model/reserved.ts";
import { present } from "../../skill/json.ts";
import { EFFORTS, type JsonObject } from "../../skill/manifest.ts";
import type { Reached } from "../host.ts";
import { hasMember, lenient, object, requiredText, wrong } from "../members.ts";

/** The output limit of a request that has none. */
const DEFAULT_MAX_TOKENS = 16_384;

/**
 * Members that the shape does not have, and so no canonical form: targets of the same protocol get them unchanged. A body
 * may have very many, so they are copied only once. @param except names to leave out
 */
export const membersOutside = (
  body: JsonObject,
  shape: z.ZodMiniLazy<z.ZodMiniObject>,
  except: readonly string[] = [],
): JsonObject =>
  Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => value !== null && !hasMember(shape, name) && !except.includes(name),
    ),
  );

/** @param except a member that may be set @throws InvalidRequest for a further member that is not accounted */
export function checkFurther(further: JsonObject, except?: string): void {
  for (const { path, reason } of reservedMembers(further))
    if (path !== except) throw wrong(path, `it cannot be set here: ${reason}`);
}

/** A reasoning effort, or none. */
export const effort = () =>
  z.nullish(
    z.enum(
      ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
      "none, minimal, low, medium, high, xhigh or max is expected",
    ),
  );

/**
 * An effort that only OpenAI's models know by its name. It has no canonical form: other targets get the nearest level.
 * `null`: every protocol has it, or the request names none.
 */
export function ownEffort(asked: z.infer<ReturnType<typeof effort>>): string | null {
  if (asked == null) return null;
  return asked !== "none" && EFFORTS[asked] === asked ? null : asked;
}

/** Which tools the model may or must call. @param named a choice of one function */
export const toolChoice = <T>(named: z.ZodMiniType<T>) =>
  z.nullish(
    z.union(
      [z.enum(["none", "auto", "required"]), named],
      "none, auto, required or a function by name is expected",
    ),
  );

/** The answer's format. @param named a format with a JSON Schema */
export const format = <T>(named: z.ZodMiniType<T>) =>
  z.nullish(
    z.union(
      [z.object({ type: z.enum(["text", "json_object"]) }), named],
      "text, json_object or json_schema with a schema is expected",
    ),
  );

/** Members of a format with a JSON Schema. */
export const namedFormat = () => ({ schema: object("a JSON Schema"), strict: lenient(z.boolean()) });
type NamedFormat = z.infer<z.ZodMiniObject<ReturnType<typeof namedFormat>>>;

interface Terms {
  choice: "none" | "auto" | "required" | { name: string } | null | undefined;
  parallel: boolean | null | undefined;
  limit: number | null | undefined;
  format: { type: "text" | "json_object" } | NamedFormat | null | undefined;
  effort: z.infer<ReturnType<typeof effort>>;
  sampling: { [N in keyof Sampling]: Sampling[N] | null | undefined };
}

/** The members of a canonical request that follow. */
export function callTerms({ choice, parallel, limit, format, effort, sampling }: Terms) {
  const given: Sampling = present(sampling);
  return {
    ...(choice == null ? {} : { tool_choice: typeof choice === "string" ? choice : { name: choice.name } }),
    ...(parallel == null ? {} : { parallel_tool_calls: parallel }),
    max_tokens: limit ?? DEFAULT_MAX_TOKENS,
    ...(format != null && "schema" in format
      ? { json: true, schema: { schema: format.schema, strict: format.strict === true } }
      : { json: format?.type === "json_object" }),
    ...(Object.keys(given).length === 0 ? {} : { sampling: given }),
    ...(effort == null || effort === "none"
      ? {}
      : { thinking: { mode: "effort", level: EFFORTS[effort] } as const }),
  } satisfies Partial<ModelRequest>;
}

/** Whether Anthropic refuses thinking: after a tool call, it wants the earlier thinking back, which the client left out. */
export function lacksThinking({ messages }: Pick<ModelRequest, "messages">): boolean {
  const last = messages.findLast(({ role }) => role === "assistant");
  if (last?.role !== "assistant" || !last.content.some(({ type }) => type === "tool_call")) return false;
  return last.content.every(({ type }) => type !== "reasoning");
}

/** The request without thinking if the target would refuse it. Otherwise the same request. */
export function withoutRefusedThinking(
  request: ModelRequest,
  { protocol }: Pick<Reached, "protocol">,
): ModelRequest {
  if (protocol !== "anthropic" || request.thinking === undefined || !lacksThinking(request)) return request;
  const { thinking: _, ...plain } = request;
  return plain;
}

/** Members of a function that the client carries out itself. */
export const functionMembers = () => ({
  name: requiredText(),
  description: lenient(z.string()),
  parameters: lenient(object("a JSON Schema")),
  strict: lenient(z.boolean()),
});
type FunctionMembers = z.infer<z.ZodMiniObject<ReturnType<typeof functionMembers>>>;

/** A function as a tool. */
export const functionTool = ({ name, description, parameters, strict }: FunctionMembers): ToolDefinition => ({
  name,
  description: description ?? "",
  parameters: parameters ?? { type: "object", properties: {} },
  ...(strict === true ? { strict } : {}),
});
