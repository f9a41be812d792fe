/** The loop's own texts for the model. Pure. */
import { firstWords } from "../../cut.ts";
import type { AgentSpec, WakeLimit } from "./spec.ts";

/** The part of the system text that keeps a persistent run going. The specification prescribes the exact words. */
export function persistentInstruction({ done_sentinel, turn_policy, exit_when_verified }: AgentSpec): string {
  const keepWorking =
    "IMPORTANT: You MUST keep working until the task is complete. Do NOT stop to explain or summarize — take action.";
  if (turn_policy?.allow_done_sentinel === false) return keepWorking;
  const finish = `Output ${done_sentinel} only when the task is fully complete and verified.`;
  const verified = exit_when_verified
    ? " Completion counts only after your last verification command has passed."
    : "";
  return `${keepWorking} ${finish}${verified}`;
}

/** Tells a model with a native tool channel how to use it. The persistent run's instruction says what ends the run. */
export function nativeToolContract({ persistent }: AgentSpec): string {
  const rules =
    "Call tools through the native tool channel only: no tags and no JSON envelopes in the text. Keep prose next to calls short.";
  return persistent ? rules : `${rules} When nothing is left to do, answer without a call.`;
}

/** The default request to continue. The specification prescribes the exact words. */
function defaultNudge(sentinel: string): string {
  return `You have not output ${sentinel} yet — the task is not complete. Use your tools to continue working. Only output ${sentinel} when the task is fully complete and verified.`;
}

interface NudgeSituation {
  /** Whether the run has tools at all. */
  tools: boolean;
  /** Visible characters of the last turn. */
  prose: number;
}

/** The reply to a text-only turn, as a plain user message without a frame. */
export function nudgeText(spec: AgentSpec, situation: NudgeSituation): string {
  if (spec.turn_policy !== null) return actionNudge(spec, situation);
  if (spec.nudge !== null) return spec.nudge;
  if (spec.persistent) return defaultNudge(spec.done_sentinel);
  return "Use your tools to continue working on the task.";
}

/** Asks for brief prose, then a tool call, another phase, or completion. */
function actionNudge(spec: AgentSpec, { tools, prose }: NudgeSituation): string {
  const { turn_policy: policy, done_sentinel, tool_format } = spec;
  const limit = policy?.max_prose_chars ?? null;
  const brief =
    limit === null ? "Keep your prose brief." : `Keep your prose within ${limit} visible characters.`;
  const channel = tool_format === "text" ? "a <tool_call> element" : "a tool call";
  const act = tools ? `make progress with ${channel}` : "make progress in your reply";
  const next = [act, "switch to the next phase"];
  if (policy?.allow_done_sentinel !== false && spec.persistent)
    next.push(`output ${done_sentinel} if the task is truly complete`);
  const long =
    limit !== null && prose > limit
      ? " Your last turn spent too many characters on prose instead of acting."
      : "";
  const native =
    tools && tool_format === "native" ? " Tool calls written by hand into the text do not count." : "";
  return `${brief} Then either ${next.join(", or ")}.${long}${native}`;
}

/** The reply to a sentinel before the model has tried any tool. */
export function sentinelWithoutAction(spec: AgentSpec): string {
  const opening =
    spec.turn_policy?.allow_done_sentinel === false
      ? "Nothing has been done yet."
      : `You output ${spec.done_sentinel}, but nothing has been done yet.`;
  return `${opening} Act with a tool first, then finish.`;
}

export function verificationGate(exitCode: number | null): string {
  const last =
    exitCode === null ? "no verification has passed yet" : `the last one ended with exit code ${exitCode}`;
  return `Completion counts only after a successful run of your verification: ${last}. Run it, fix what fails, then finish.`;
}

export function openLedger(items: readonly string[]): string {
  return `These items are not finished:\n${items.map((item) => `- ${item}`).join("\n")}\nComplete or resolve them first.`;
}

export function handWrittenCall(): string {
  return "You wrote a tool call into your text. It was not executed: use the native tool channel only.";
}

export function actionRequired(): string {
  return "Your last reply made no tool call, so it was set aside. Act with a tool, or say what you need.";
}

/** Feedback in the frame that the model gets. */
export function feedbackMessage(kind: string, content: string): string {
  return `<hull_feedback kind="${kind}">${content}</hull_feedback>`;
}

/** Tells the model what woke its daemon. @param paths the changed paths, for `watch` */
export function wakeText(
  reason: "watch" | "cron" | "timer" | "resume",
  paths: readonly string[] = [],
): string {
  switch (reason) {
    case "watch":
      return `Files that you watch were changed, made or removed:\n${paths.map((path) => `- ${path}`).join("\n")}\nAct only if something really did change for your task.`;
    case "cron":
      return "Your schedule fired. Do what is due.";
    case "timer":
      return "Your timer fired. Check again what you look after, and act only on what is new.";
    case "resume":
      return "You were woken on request. Check what you look after, and do what is due.";
  }
}

/** Tells the model at its next wake that the budget ended the last one. */
export function wakeBudgetText(reached: WakeLimit): string {
  const of = { max_iterations: "model calls", max_tokens: "tokens", max_cost_usd: "money" };
  return `The budget of ${of[reached]} for one wake is used up: the work stopped here. What is left is for the next wake.`;
}

/** The note on a repeated result. */
export function repeatHint(tool: string, count: number, result: string): string {
  const first = firstWords(result.split("\n", 1)[0] ?? "", 120);
  return `[hull: this is call ${count} of ${tool} with the same arguments and the same result ("${first}"). Change the tool or the parameters.]`;
}

/** The text in place of a result that was repeated too often. */
export function repeatBlocked(tool: string, count: number): string {
  return `[hull: ${tool} was called ${count} times with the same arguments and gave the same result each time. That result is not repeated here. Take another approach.]`;
}

/** Replaces the result of a call that Hull no longer makes. */
export function repeatSkipped(tool: string, count: number): string {
  return `[hull: ${tool} was not executed: it would be call ${count} with the same arguments, and the earlier ones all gave the same result. Take another approach.]`;
}

/** The result of a call whose run ended first. @param begun whether the call may have taken effect */
export function interruptedCall(begun: boolean): string {
  return begun
    ? "[hull: interrupted. The run ended before this call had a result; whether it took effect is unknown.]"
    : "[hull: interrupted. The run ended before this call was made.]";
}

export function unavailableTool(name: string, listed: readonly string[]): string {
  const which =
    listed.length === 0 ? "No tools are available." : `Use only: ${listed.slice(0, 50).join(", ")}.`;
  return `The tool "${name}" is not available. ${which}`;
}

export function missingParameters(tool: string, missing: readonly string[]): string {
  return `The tool ${tool} needs ${missing.join(", ")}. Call it again with ${missing.length === 1 ? "it" : "them"}.`;
}
