/** Hooks around the tool calls of a run, and the shortening of long outputs. Pure. */
import { canonicalJson } from "../../skill/canonical.ts";
import { nameMatches } from "../../skill/glob.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { isWorkspaceTool } from "../workspace-tools/definitions.ts";
import { shortenOutput } from "./compaction.ts";
import type { AgentToolResult } from "./records.ts";
import type { AgentSpec, ToolHook } from "./spec.ts";
import { effects, type OpenCall, type RunState } from "./state.ts";
import { askHook, type HookStep } from "./step.ts";

/** Whose hooks replaced the model's arguments: only the deployment's own, or also those of an upload. */
export type ChangedBy = "deployment" | "upload";

/** The decision of the hooks before a call: other arguments, a refusal, or a question that Hull must still ask. */
type Before = { args: JsonObject; changedBy: ChangedBy | null } | { deny: string } | { ask: HookStep };

/** Asks the hooks before a call, in their order. Each sees the arguments that the previous one left. */
export function beforeCall(run: RunState, { call, effect }: OpenCall, given: JsonObject): Before {
  let args = given;
  let changedBy: ChangedBy | null = null;
  for (const [index, { deny, pre }] of hooksOf(run.spec, call.name).entries()) {
    if (deny !== null) return { deny };
    if (pre === null) continue;
    const question = { effect: effects.preTool(effect, index), hook: pre, purpose: "pre_tool" as const };
    const asked = askHook(run, question, () => ({ ...of(run, call.id, call.name), args }));
    if ("ask" in asked) return asked;
    const { answer } = asked;
    if (!isObject(answer)) continue;
    if (typeof answer.deny === "string") return { deny: answer.deny };
    if (!isObject(answer.args) || canonicalJson(answer.args) === canonicalJson(args)) continue;
    args = answer.args;
    const uploaded = run.spec.hooks?.[pre]?.fresh === true;
    changedBy = uploaded || changedBy === "upload" ? "upload" : "deployment";
  }
  return { args, changedBy };
}

/** Whether a result must still pass through hooks before it counts. */
export function goesThroughHooks(spec: AgentSpec, tool: string, { content }: AgentToolResult): boolean {
  const hooks = hooksOf(spec, tool);
  const { compress_callback, tool_output_max_chars } = spec.compaction;
  const compressed = compress_callback !== null && content.length > tool_output_max_chars;
  return compressed || hooks.some(({ post, max_output }) => post !== null || max_output !== null);
}

/** The result after the hooks that follow a call, or a hook that must be called first. */
export function afterCall(
  run: RunState,
  { call, effect }: OpenCall,
  given: AgentToolResult,
): { result: AgentToolResult } | { ask: HookStep } {
  const hooks = hooksOf(run.spec, call.name);
  const { compress_callback, tool_output_max_chars } = run.spec.compaction;
  // Workspace tools have limits of their own.
  const limit = isWorkspaceTool(run.spec, call.name) ? Number.POSITIVE_INFINITY : tool_output_max_chars;
  const most = Math.min(limit, ...hooks.flatMap(({ max_output }) => max_output ?? []));
  const about = { ...of(run, call.id, call.name), args: call.arguments ?? {} };
  let result = given;
  if (compress_callback !== null && given.content.length > tool_output_max_chars) {
    const question = {
      effect: effects.compress(effect),
      hook: compress_callback,
      purpose: "compress" as const,
    };
    const max_chars = Math.min(most, tool_output_max_chars);
    const asked = askHook(run, question, () => ({ ...about, output: given.content, max_chars }));
    if ("ask" in asked) return asked;
    if (typeof asked.answer === "string") result = { ...result, content: asked.answer };
  }
  result = { ...result, content: shortenOutput(result.content, most) };
  for (const [index, { post }] of hooks.entries()) {
    if (post === null) continue;
    const question = { effect: effects.postTool(effect, index), hook: post, purpose: "post_tool" as const };
    const { status, content, error_category } = result;
    const asked = askHook(run, question, () => ({ ...about, result: { status, content, error_category } }));
    if ("ask" in asked) return asked;
    result = rewritten(result, asked.answer);
  }
  return { result };
}

function rewritten(result: AgentToolResult, answer: Json): AgentToolResult {
  if (typeof answer === "string") return { ...result, content: answer };
  if (!isObject(answer)) return result;
  const { content, status } = answer;
  const failed = status === "error" && result.status === "ok";
  return {
    ...result,
    ...(typeof content === "string" ? { content } : {}),
    ...(failed ? { status: "error" as const, error_category: "tool_error" } : {}),
    ...(status === "ok" ? { status: "ok" as const, error_category: null } : {}),
  };
}

function hooksOf({ tool_hooks = [] }: AgentSpec, tool: string): ToolHook[] {
  return tool_hooks.filter(({ pattern }) => nameMatches(pattern, tool));
}

const of = ({ spec, iterations }: RunState, call_id: string, tool: string): JsonObject => ({
  tool,
  call_id,
  session_id: spec.session_id,
  iteration: iterations,
});
