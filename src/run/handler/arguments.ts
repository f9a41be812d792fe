/** A call's arguments before its handler gets them, and its result afterwards. */
import { firstOf } from "../../cut.ts";
import { numericArguments } from "../../engine/arguments.ts";
import type { ToolCallBlock } from "../../engine/messages.ts";
import { HullError } from "../../errors.ts";
import { readSchema } from "../../llm/schema.ts";
import { schemaErrors } from "../../llm/validate.ts";
import { memo } from "../../memo.ts";
import type { Json, JsonObject, SkillTool } from "../../skill/manifest.ts";

/** The parsed schemas of tools. The records that hold them never change. */
const schemaOf = memo((schema: JsonObject): { schema: JsonObject } | { error: string } => {
  try {
    return { schema: readSchema(schema, "parameters") };
  } catch (error) {
    if (!(error instanceof HullError)) throw error;
    return { error: error.message };
  }
});

/**
 * The arguments for the handler, or a text that tells the model what is wrong with them. Keys that begin with `__` are
 * Hull's own, so they are dropped. Numbers in text form become numbers. Nothing else changes.
 */
export function checkedArguments(
  call: ToolCallBlock,
  tool: SkillTool,
): { args: JsonObject } | { error: string } {
  if (call.arguments === null) {
    const got = firstOf(call.raw, 200);
    return { error: `The arguments of ${tool.name} are not a JSON object: ${got}` };
  }
  const own = Object.entries(call.arguments).filter(([name]) => !name.startsWith("__"));
  const args = numericArguments(Object.fromEntries(own), tool.parameters);
  const errors = faultsOf(tool.parameters, args);
  if (errors.length === 0) return { args };
  return { error: `The arguments do not fit the parameters of ${tool.name}. ${errors.join(" ")}` };
}

/** The faults of a value according to the schema: one sentence each, which begins with the path. */
export function faultsOf(schema: JsonObject, value: Json): string[] {
  const read = schemaOf(schema);
  return "error" in read ? [read.error] : schemaErrors(read.schema, value);
}
