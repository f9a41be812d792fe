/** Hooks around the tool calls of a run, and the shortening of long outputs. Pure. */
import { canonicalJson } from "../../skill/canonical.ts";
import { nameMatches } from "../../skill/glob.ts";
import { isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { isWorkspaceTool } from "../workspace-tools/definitions.ts";
import { type CalledTool, commandsAt, type Question } from "./command-hooks.ts";
import { shortenOutput } from "./compaction.ts";
import type { AgentToolResult } from "./records.ts";
import type { AgentSpec, ToolHook } from "./spec.ts";
import { effects, type OpenCall, type RunState } from "./state.ts";
import { askHook, type HookStep } from "./step.ts";

/** Whose hooks replaced the model's arguments: only the deployment's own, or also those of an upload. */
export type ChangedBy = "deployment" | "upload";

/**
 * The decision of the hooks before a call: other arguments, a refusal, or a question that Hull must still ask.
 * `confirm`: why a person must approve the call; `null`: nobody must.
 */
type Before =
  | { args: JsonObject; changedBy: ChangedBy | null; confirm: string | null }
  | { deny: string }
  | { ask: HookStep };

/** Asks the hooks before a call, in their order. Each sees the arguments that the previous one left. */
export function beforeCall(run: RunState, open: OpenCall, given: JsonObject): Before {
  const { call, effect } = open;
  let args = given;
  let changedBy: ChangedBy | null = null;
  let confirm: string | null = null;
  const questions: (Question | { deny: string })[] = [];
  for (const [index, { deny, pre }] of hooksOf(run.spec, call.name).entries()) {
    if (deny !== null) questions.push({ deny });
    else if (pre !== null) {
      const question = { effect: effects.preTool(effect, index), hook: pre, purpose: "pre_tool" as const };
      questions.push({ question, about: of(run, call.id, call.name) });
    }
  }
  for (const asked of [...questions, ...commandsAt("PreToolUse", run, open)]) {
    if ("deny" in asked) return asked;
    const { question, about } = asked;
    const answered = askHook(run, question, () => ({ ...about, args }));
    if ("ask" in answered) return answered;
    const answer = objectOf(answered.answer);
    if (typeof answer.deny === "string") return { deny: answer.deny };
    if (typeof answer.confirm === "string") confirm = answer.confirm;
    if (!isObject(answer.args) || canonicalJson(answer.args) === canonicalJson(args)) continue;
    args = answer.args;
    const uploaded = run.spec.hooks?.[question.hook]?.fresh === true;
    changedBy = uploaded || changedBy === "upload" ? "upload" : "deployment";
  }
  return { args, changedBy, confirm };
}

/** The command hooks that run after a call. */
const commandsAfter = (run: RunState, open: CalledTool, { status }: AgentToolResult): Question[] =>
  commandsAt(status === "ok" ? "PostToolUse" : "PostToolUseFailure", run, open);

/** What the commands before the call told the model. */
const toldBefore = (run: RunState, open: CalledTool): string[] =>
  commandsAt("PreToolUse", run, open).flatMap(({ question }) =>
    contextOf(question, run.hookResults[question.effect] ?? null),
  );

/** Whether a result must still pass through hooks before it counts. */
export function goesThroughHooks(run: RunState, open: CalledTool, result: AgentToolResult): boolean {
  const hooks = hooksOf(run.spec, open.call.name);
  const { compress_callback, tool_output_max_chars } = run.spec.compaction;
  const compressed = compress_callback !== null && result.content.length > tool_output_max_chars;
  if (compressed || hooks.some(({ post, max_output }) => post !== null || max_output !== null)) return true;
  return commandsAfter(run, open, result).length > 0 || toldBefore(run, open).length > 0;
}

/** The result after the hooks that follow a call, or a hook that must be called first. */
export function afterCall(
  run: RunState,
  open: OpenCall,
  given: AgentToolResult,
): { result: AgentToolResult } | { ask: HookStep } {
  const { call, effect } = open;
  const hooks = hooksOf(run.spec, call.name);
  const { compress_callback, tool_output_max_chars } = run.spec.compaction;
  // Workspace tools have limits of their own.
  const limit = isWorkspaceTool(run.spec, call.name) ? Number.POSITIVE_INFINITY : tool_output_max_chars;
  const most = Math.min(limit, ...hooks.flatMap(({ max_output }) => max_output ?? []));
  const args = call.arguments ?? {};
  const about = { ...of(run, call.id, call.name), args };
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
    const asked = askHook(run, question, () => ({ ...about, result: partOf(result) }));
    if ("ask" in asked) return asked;
    result = rewritten(result, asked.answer);
  }
  const told = toldBefore(run, open);
  for (const { question, about: more } of commandsAfter(run, open, given)) {
    const asked = askHook(run, question, () => ({ ...more, args, result: partOf(result) }));
    if ("ask" in asked) return asked;
    told.push(...contextOf(question, asked.answer));
  }
  return { result: { ...result, content: [result.content, ...told].join("\n") } };
}

/** What a hook sees of a result. */
const partOf = ({ status, content, error_category }: AgentToolResult): JsonObject => ({
  status,
  content,
  error_category,
});

function contextOf({ hook }: Question["question"], answer: Json): string[] {
  const { context } = objectOf(answer);
  return typeof context === "string" ? [`[hook ${hook}: ${context}]`] : [];
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
