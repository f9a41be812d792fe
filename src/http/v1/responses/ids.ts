/** Ids of responses and items. A response has the id of the execution that makes it, under another prefix. */
import { CallNotFound } from "../../../errors/llm.ts";
import type { Json, JsonObject } from "../../../skill/manifest.ts";
import type { RequestContext } from "../../context.ts";
import { type ExecutionClient, executionOf } from "../../execution-client.ts";

export const newDigits = (): string => crypto.randomUUID().replaceAll("-", "");

/** The owner of a response is the tenant. @throws CallNotFound for an id that is not a response's */
export function responseExecution(context: RequestContext, id: string): ExecutionClient {
  const digits = /^resp_([0-9a-f]{32})$/.exec(id)?.[1];
  if (digits === undefined) throw new CallNotFound({ what: "response", id });
  return executionOf(context, `ex_${digits}`, `${context.tenant}/`);
}

/** The id of the response that made an item, which is part of the item's id; empty: no response made it. */
export const responseOf = (item: Json | undefined): string[] => {
  const digits = /^[a-z]+_([0-9a-f]{32})[0-9a-f]{4}$/.exec(String(item))?.[1];
  return digits === undefined ? [] : [`resp_${digits}`];
};

const PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  compaction: "cmp",
  function_call: "fc",
  function_call_output: "fco",
  custom_tool_call: "ctc",
  custom_tool_call_output: "ctco",
  tool_search_call: "tsc",
  tool_search_output: "tso",
  apply_patch_call: "apc",
  apply_patch_call_output: "apco",
  local_shell_call: "lsh",
  local_shell_call_output: "lsho",
  additional_tools: "at",
  shell_call: "sh",
  shell_call_output: "sho",
};

/**
 * Items in the form in which Hull stores and shows them: each has an id, and messages have lists of parts.
 * @param digits 32 hex digits for the id of each
 */
export const storedItems = (items: readonly JsonObject[], digits: readonly string[] = []): JsonObject[] =>
  items.map((item, n) => storedItem(item, digits[n] ?? newDigits()));

function storedItem(item: JsonObject, digits: string): JsonObject {
  const { type = "message", id } = item;
  const own =
    typeof id === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(id)
      ? id
      : `${PREFIXES[String(type)] ?? "item"}_${digits}`;
  if (type !== "message") return { status: "completed", ...item, id: own };
  const { content, role } = item;
  const text = role === "assistant" ? "output_text" : "input_text";
  const annotations = role === "assistant" ? { annotations: [] } : {};
  const parts =
    typeof content === "string" ? [{ type: text, text: content, ...annotations }] : (content ?? []);
  return { status: "completed", ...item, id: own, type: "message", content: parts };
}
