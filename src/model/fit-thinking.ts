/** How each kind of provider accepts a request for reasoning, and what that excludes. */
import type { ModelRequest, Thinking } from "../engine/messages.ts";
import { THINKING_BUDGET, tokensToAsk } from "./anthropic.ts";
import type { Draft } from "./fit-draft.ts";
import { claudeVersion, isAtLeast } from "./model-version.ts";

const MIN_BUDGET = 1024;
/** Anthropic answers 400 to less together with thinking. */
const MIN_TOP_P = 0.95;

/** Up to this many tokens of thinking count as that effort. */
const LOW_BUDGET = 4096;
const MEDIUM_BUDGET = 16_384;
const BUDGETS = { low: LOW_BUDGET, medium: MEDIUM_BUDGET, high: 2 * MEDIUM_BUDGET };

/** The rules of Anthropic's models: thinking, sampling with it, forced tools, prefilled answers, caching. */
export function fitAnthropic(draft: Draft): void {
  const { model, capabilities } = draft.target;
  const version = claudeVersion(model);
  const modes = capabilities.thinking_modes ?? [];
  const adaptiveOnly =
    isAtLeast(version, [4, 7]) || (modes.includes("adaptive") && !modes.includes("enabled"));
  if (adaptiveOnly) draft.dropSampling(["temperature", "top_p", "top_k"], "this model takes none", true);
  const { thinking, cache, interleaved_thinking } = draft.request;
  if (thinking?.mode === "enabled") fitBudget(draft, thinking, adaptiveOnly);
  else if (thinking !== undefined && refusesAdaptive(draft)) fitToBudget(draft, thinking);
  else if (thinking?.mode === "effort" && !isAtLeast(version, [4, 6])) {
    draft.setThinking({ mode: "adaptive" }, "this model sets the effort of its thinking by itself");
  }
  if (draft.request.thinking !== undefined) {
    draft.dropSampling(["temperature", "top_k"], "it cannot be combined with thinking", true);
    if ((draft.request.sampling?.top_p ?? 1) < MIN_TOP_P)
      draft.dropSampling(["top_p"], `with thinking it is at least ${MIN_TOP_P}`);
    draft.freeChoice("no tool can be forced together with thinking");
    draft.drop(["prefill"], "a request with thinking cannot begin the answer");
  } else if (interleaved_thinking === true) {
    draft.drop(["interleaved_thinking"], "thinking is off");
  }
  if (cache === true && capabilities.matched && !capabilities.prompt_caching) {
    draft.drop(["cache"], "this model has no prompt cache");
  }
}

/** Claude models before 4.6 answer 400 to adaptive thinking: they only know a budget. */
function refusesAdaptive({ target: { model, capabilities } }: Draft): boolean {
  if (capabilities.thinking_modes?.includes("adaptive") === true) return false;
  const version = claudeVersion(model);
  return version === null ? FIRST_CLAUDES.test(model) : !isAtLeast(version, [4, 6]);
}

/** Their version precedes the family: `claude-3-7-sonnet`. */
const FIRST_CLAUDES = /(?:^|\/)claude-[1-3]\b/i;

function fitToBudget(draft: Draft, thinking: Exclude<Thinking, { mode: "enabled" }>): void {
  const asked = thinking.mode === "effort" ? BUDGETS[thinking.level] : THINKING_BUDGET;
  const budget_tokens = budgetWithin(asked, draft);
  if (budget_tokens === null) return;
  const changed = `this model thinks with a budget only, which is ${budget_tokens}`;
  draft.setThinking({ mode: "enabled", budget_tokens }, changed);
}

/** A budget is at least 1024 tokens and leaves part of `max_tokens` for the answer. */
function fitBudget(draft: Draft, thinking: Thinking & { mode: "enabled" }, adaptiveOnly: boolean): void {
  if (adaptiveOnly) {
    draft.setThinking({ mode: "adaptive" }, "this model sets the budget of its thinking by itself");
    return;
  }
  const asked = thinking.budget_tokens ?? THINKING_BUDGET;
  const budget_tokens = budgetWithin(asked, draft);
  if (budget_tokens === null) return;
  const changed =
    thinking.budget_tokens === undefined || budget_tokens === asked
      ? null
      : `the thinking budget is ${budget_tokens}: at least ${MIN_BUDGET}, and less than max_tokens`;
  draft.setThinking({ mode: "enabled", budget_tokens }, changed);
}

/** The budget that `max_tokens` leaves room for; `null`: there is none, and the request has lost its thinking. */
function budgetWithin(asked: number, draft: Draft): number | null {
  const limit = tokensToAsk(draft.request.max_tokens);
  if (limit <= MIN_BUDGET) {
    draft.drop(["thinking"], `it needs max_tokens above ${MIN_BUDGET}`);
    return null;
  }
  const most = Math.max(MIN_BUDGET, Math.floor(limit * 0.75));
  return Math.max(MIN_BUDGET, asked < limit ? asked : most);
}

/** For providers that know only levels of effort. */
export function fitEffort(draft: Draft): void {
  const { thinking } = draft.request;
  if (thinking === undefined || thinking.mode === "effort") return;
  const budget = thinking.mode === "enabled" ? thinking.budget_tokens : undefined;
  const level = budget === undefined ? "medium" : levelOf(budget);
  const changed = budget === undefined ? null : `the thinking budget is sent as the effort ${level}`;
  draft.setThinking({ mode: "effort", level }, changed);
}

/** For OpenRouter, which accepts a budget directly. A budget not below `max_tokens` would exceed what is accounted. */
export function fitReasoningBudget(draft: Draft): void {
  const { thinking, max_tokens } = draft.request;
  if (thinking?.mode !== "enabled" || thinking.budget_tokens === undefined) return;
  const most = Math.max(1, Math.floor(tokensToAsk(max_tokens) * 0.75));
  if (thinking.budget_tokens < tokensToAsk(max_tokens)) return;
  const changed = `the thinking budget is ${most}: less than max_tokens`;
  draft.setThinking({ mode: "enabled", budget_tokens: most }, changed);
}

const levelOf = (budget: number): "low" | "medium" | "high" =>
  budget <= LOW_BUDGET ? "low" : budget <= MEDIUM_BUDGET ? "medium" : "high";

/** For providers that can only turn thinking on; those that also accept levels keep a level. */
export function fitThinkingSwitch(draft: Draft): void {
  const { thinking } = draft.request;
  if (thinking === undefined) return;
  if (thinking.mode === "effort" && draft.target.capabilities.reasoning_effort_supported === true) return;
  draft.setThinking(
    { mode: "enabled" },
    saysHowMuch(thinking) ? "thinking is on; how much cannot be set" : null,
  );
}

const saysHowMuch = (thinking: NonNullable<ModelRequest["thinking"]>): boolean =>
  thinking.mode === "effort" || (thinking.mode === "enabled" && thinking.budget_tokens !== undefined);
