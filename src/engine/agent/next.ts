/** Decides what an agent run does next, from its state alone. Pure. */
import { asJson, fromJson, isObject, textOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { Message, ToolDefinition } from "../messages.ts";
import { withResults } from "../open-calls.ts";
import { asTextFormat, textToolContract } from "../text-tools/contract.ts";
import { nextCallStep, type SearchTool } from "./calls.ts";
import { aboutPrompt, unlessSentOn } from "./command-hooks.ts";
import {
  type CompactionPlan,
  compactionRecord,
  dueCompaction,
  maskedSummary,
  summaryInstructions,
} from "./compaction.ts";
import { skillOutputs } from "./known-skills.ts";
import type { AgentRecordBody, Feedback } from "./records.ts";
import { runtimeTools } from "./runtime-calls.ts";
import { laterTools } from "./session-tools.ts";
import { dueCommands } from "./skill-commands.ts";
import { dueBinding } from "./skill-servers.ts";
import { ownSystem } from "./skill-text.ts";
import { dueMatch, latestRequest, scopedTools, shownSkills, skillSections } from "./skills.ts";
import type { CompactionOptions, WakeLimit } from "./spec.ts";
import { type AgentState, effects, entersNextCall, type RunState } from "./state.ts";
import {
  answersCaller,
  deadlineError,
  finalStatus,
  isOverdue,
  iterationsUsedUp,
  roundsUsedUp,
  wakeLimitReached,
} from "./status.ts";
import { type AgentRequest, type AgentStep, askHook, recorded } from "./step.ts";
import { ledgerMessage } from "./task-ledger.ts";
import { nativeToolContract, persistentInstruction, wakeBudgetText } from "./texts.ts";
import { keptFromEnding, mayGoOn, settled, takesMore, takeTurn, turnEnd } from "./turn.ts";
import { wakeSources } from "./wake.ts";

/** What a run's tool search adds to its requests. */
export interface Vault extends SearchTool {
  /** @param messages those of the conversation, which the request will hold */
  offer(run: RunState, tools: readonly ToolDefinition[], messages: readonly Message[]): VaultOffer;
}

export interface VaultOffer {
  tools: ToolDefinition[];
  tool_search?: AgentRequest["tool_search"];
  /** Additional sections of the text about the tools. */
  further: string[];
}

const NOTHING: ReadonlySet<string> = new Set();

/**
 * The next step of the session's run at time `now` (Unix ms).
 * @param inFlight the effects of tool calls that are under way
 */
export function nextAgentStep(
  state: AgentState,
  vault: Vault | null,
  now: number,
  inFlight: ReadonlySet<string> = NOTHING,
): AgentStep {
  const { run } = state;
  if (run === null) return { type: "settled", status: "done", error: null };
  if (inFlight.size === 0 && isOverdue(run, now)) {
    const error = deadlineError(run).data;
    return recorded({ type: "run_settled", run: run.spec.run_id, status: "error", error });
  }
  switch (run.stage) {
    case "ended":
      return { type: "settled", status: run.status, error: run.error };
    case "open":
      return orPause(recorded(...opening(state, run)), run, now);
    case "match": {
      const due = dueMatch(state, run);
      if ("ask" in due) return due.ask;
      return due.length > 0 ? recorded(...due) : fromSkillHooks(state, run, vault);
    }
    case "skill_hooks":
      return fromSkillHooks(state, run, vault);
    case "compact":
    case "context":
      return fromContext(state, run, askingOf(state, run, vault));
    case "model":
      return modelStep(state, run, askingOf(state, run, vault));
    case "turn":
      return run.turn === null
        ? modelStep(state, run, askingOf(state, run, vault))
        : endOfTurn(run, takeTurn(state, run, run.turn, vault));
    case "tools":
      return (
        nextCallStep(state, run, vault, now, inFlight) ?? orPause(afterTools(state, run, vault), run, now)
      );
    case "after":
    case "shortened":
      return orPause(afterTools(state, run, vault), run, now);
    case "idle":
      return idleStep(state, run);
  }
}

/** The step; or the end of the run, if `pause_at` forbids another model call. */
function orPause(step: AgentStep, run: RunState, now: number): AgentStep {
  const { pause_at = Number.POSITIVE_INFINITY } = run.spec;
  if (step.type !== "record" || now < pause_at || run.iterations === 0) return step;
  const records = step.records.map((record) =>
    record.type === "iteration_started" ? settled(run, "budget_exhausted") : record,
  );
  return { ...step, records };
}

/** The records of a turn. Hooks may send a run on that would end with it, unless nothing is left for another step. */
function endOfTurn(run: RunState, records: AgentRecordBody[]): AgentStep {
  const ends = records.some((record) => record.type === "run_settled" && record.status === "done");
  return ends && run.spec.single !== true && mayGoOn(run) ? unlessSentOn(run, records) : recorded(...records);
}

function opening(state: AgentState, run: RunState): AgentRecordBody[] {
  const { spec } = run;
  const finished = run.taken?.finished === true && run.calls.length === 0;
  if (finished || spec.max_iterations === 0) return [settled(run, "done")];
  if (finalStatus(run, "done") === "budget_exhausted" && run.iterations > 0)
    return [settled(run, "budget_exhausted")];
  if (iterationsUsedUp(run)) {
    const more = run.iterations > 0 || state.waiting.some(entersNextCall);
    return [settled(run, more ? "budget_exhausted" : "done")];
  }
  const reached = wakeLimitReached(run);
  if (reached !== null) return endOfWake(run, reached);
  return [{ type: "iteration_started", run: spec.run_id, iteration: run.iterations }];
}

/**
 * The records that end a wake whose budget is used up. The daemon then waits for the next wake, unless the run is
 * persistent.
 */
function endOfWake(run: RunState, reached: WakeLimit): AgentRecordBody[] {
  const { spec } = run;
  if (spec.persistent || wakeSources(spec).length === 0) return [settled(run, "budget_exhausted")];
  const feedback = { kind: "wake_budget", content: wakeBudgetText(reached) };
  return [
    { type: "feedback_added", run: spec.run_id, feedback },
    { type: "went_idle", run: spec.run_id, reached },
  ];
}

function fromSkillHooks(state: AgentState, run: RunState, vault: Vault | null): AgentStep {
  const binding = dueBinding(run);
  if (binding !== null) return binding;
  for (const skill of shownSkills(state, run)) {
    const commands = dueCommands(state, run, skill);
    if (commands !== null) return commands;
  }
  const [hook] = run.skillHooks;
  if (hook === undefined)
    return aboutPrompt(run, latestRequest(state.visible)) ?? fromCompaction(state, run, vault);
  const effect = effects.skillHook(run.iterations - 1, `${run.skillHooks.length}-${hook}`);
  return { type: "call_hook", effect, hook, purpose: "skill", payload: null };
}

function fromCompaction(state: AgentState, run: RunState, vault: Vault | null): AgentStep {
  const { compaction, model } = run.spec;
  const asking = askingOf(state, run, vault);
  const plan = dueCompaction(state.visible, asking.system, compaction, model.context_window, "preflight");
  return plan === null ? fromContext(state, run, asking) : compactionStep(state, run, plan);
}

/** A summary that Hull makes itself is recorded immediately; others are requested first. */
function compactionStep(state: AgentState, run: RunState, plan: CompactionPlan): AgentStep {
  const { run_id, compaction } = run.spec;
  const effect = effects.summary(run.iterations, run.stage);
  const by = summaryHook(plan, compaction);
  let { summary } = plan;
  if (by !== null) {
    const asked = askHook(run, { effect, ...by }, () => asJson<Json[]>(plan.archived));
    if ("ask" in asked) return asked.ask;
    const { answer } = asked;
    summary = by.purpose === "mask" ? maskedSummary(plan.archived, answer) : summaryIn(answer);
  }
  if (summary !== null) return recorded(compactionRecord(state.visible, run_id, plan, summary));
  return { type: "summarize", effect, instructions: summaryInstructions(plan.archived), plan };
}

/** The hook that helps to make a summary; `null`: none. */
function summaryHook(
  { engine_strategy }: CompactionPlan,
  { compact_callback, mask_callback }: CompactionOptions,
): { hook: string; purpose: "compact" | "mask" } | null {
  if (engine_strategy === "custom" && compact_callback !== null) {
    return { hook: compact_callback, purpose: "compact" };
  }
  const masks = engine_strategy === "observation_mask" && mask_callback !== null;
  return masks ? { hook: mask_callback, purpose: "mask" } : null;
}

function summaryIn(answer: Json): string {
  if (typeof answer === "string") return answer;
  const text = isObject(answer) ? answer.summary : undefined;
  return typeof text === "string" ? text : JSON.stringify(answer);
}

function fromContext(state: AgentState, run: RunState, asking: Asking): AgentStep {
  const hook = run.spec.context_callback;
  if (hook === null) return modelStep(state, run, asking);
  const question = { effect: effects.context(run.iterations - 1), hook, purpose: "context" as const };
  const asked = askHook(run, question, () => contextPayload(state, run, asking.system));
  return "ask" in asked ? asked.ask : modelStep(state, run, asking);
}

function modelStep(state: AgentState, run: RunState, { offer, system }: Asking): AgentStep {
  const { spec } = run;
  const iteration = run.iterations - 1;
  const changed = changedContext(run.hookResults[effects.context(iteration)]);
  const said = changed?.messages ?? state.visible;
  // For this call only: the history does not keep it.
  const answered = withResults(said);
  const messages = run.ledger === null ? answered : [...answered, ledgerMessage(run.ledger)];
  const text = spec.tool_format === "text";
  const inText = text && offer.tools.length > 0 && !roundsUsedUp(run);
  const request: AgentRequest = {
    system: changed?.system ?? system,
    messages: text ? asTextFormat(messages) : messages,
    tools: text ? [] : offer.tools,
    ...(inText ? { tools_in_text: offer.tools } : {}),
    ...(text ? {} : toolChoice(run, offer.tools)),
    ...(offer.tool_search === undefined ? {} : { tool_search: offer.tool_search }),
    ...(run.prefill === null ? {} : { prefill: run.prefill }),
  };
  return { type: "call_model", effect: effects.model(iteration), iteration, request, found: run.vault };
}

/** The parts of the next request other than the messages. */
interface Asking {
  offer: VaultOffer;
  system: string;
}

function askingOf(state: AgentState, run: RunState, vault: Vault | null): Asking {
  const offer = offered(state, run, vault);
  return { offer, system: systemText(state, run, offer) };
}

/** The tools of the next request: scoped by skills, then reduced by the vault. */
function offered({ visible }: AgentState, run: RunState, vault: Vault | null): VaultOffer {
  const scoped = scopedTools(run).map(({ definition }) => definition);
  const offer = vault === null ? { tools: scoped, further: [] } : searchable(run, vault, scoped, visible);
  return { ...offer, tools: [...offer.tools, ...runtimeTools(run)] };
}

/** The vault contains the tools that existed when the run began. Later tools are always on offer. */
function searchable(
  run: RunState,
  vault: Vault,
  tools: readonly ToolDefinition[],
  visible: readonly Message[],
): VaultOffer {
  const later = new Set(laterTools(run).map(({ definition }) => definition));
  const known = tools.filter((tool) => !later.has(tool));
  const offer = vault.offer(run, known, visible);
  return { ...offer, tools: [...offer.tools, ...tools.filter((tool) => later.has(tool))] };
}

/**
 * The system text, parts joined by blank lines: the caller's text, active skills, tools, the instruction of a persistent
 * run.
 */
function systemText(state: AgentState, run: RunState, offer: VaultOffer): string {
  const { spec } = run;
  return [
    ownSystem(spec.system, spec.own_skill, skillOutputs(state, spec.own_skill?.name ?? "")),
    ...skillSections(state, run),
    ...toolContract(run, offer),
    ...(spec.persistent ? [persistentInstruction(spec)] : []),
  ]
    .filter((part) => part.trim() !== "")
    .join("\n\n");
}

function toolContract(run: RunState, { tools, further }: VaultOffer): string[] {
  const { spec } = run;
  // A model that calls tools in text must not call tools that the system text does not describe.
  if (tools.length === 0 || (spec.tool_format === "text" && roundsUsedUp(run))) return [];
  if (answersCaller(spec) && spec.tool_format === "native") return [...further];
  if (spec.tool_format === "text") {
    const sentinel = spec.persistent && spec.turn_policy?.allow_done_sentinel !== false;
    return [
      textToolContract(tools, {
        ...(sentinel ? { sentinel: spec.done_sentinel } : {}),
        ...(spec.tool_examples === null ? {} : { examples: spec.tool_examples }),
        further,
      }),
    ];
  }
  return [nativeToolContract(spec), ...further];
}

function toolChoice(run: RunState, tools: readonly ToolDefinition[]): Pick<AgentRequest, "tool_choice"> {
  const { spec } = run;
  if (tools.length > 0 && roundsUsedUp(run)) return { tool_choice: "none" };
  const given = spec.tool_choice;
  if (given === "auto" || given === "none" || given === "required") return { tool_choice: given };
  if (isObject(given) && typeof given.name === "string") return { tool_choice: { name: given.name } };
  const forced = given === null && spec.turn_policy?.require_action_or_yield === true && tools.length > 0;
  return forced ? { tool_choice: "required" } : {};
}

/** The step after the tools of a turn. */
function afterTools(state: AgentState, run: RunState, vault: Vault | null): AgentStep {
  const { spec, taken } = run;
  const ok = run.calls.filter(({ result }) => result?.status === "ok").map(({ call }) => call.name);
  if (ok.some((name) => spec.stop_after_successful_tools.includes(name)))
    return recorded(settled(run, "done"));
  const ends = taken?.finished === true;
  const kept = ends ? keptFromEnding(run, taken) : null;
  if (ends && kept === null && !takesMore(state, run)) return recorded(settled(run, "done"));
  const plan = run.stage === "shortened" ? null : compactionAfterTools(state, run, vault);
  if (plan !== null) return compactionStep(state, run, plan);
  const remarks = [...(taken?.remarks ?? []), ...(kept === null ? [] : [kept])];
  const hook = spec.post_turn_callback;
  if (hook === null) return recorded(...feedbackRecords(run, remarks), ...continuing(state, run));
  const question = { effect: effects.postTurn(run.iterations - 1), hook, purpose: "post_turn" as const };
  const asked = askHook(run, question, () => turnEnd(run));
  if ("ask" in asked) return asked.ask;
  const { message, stop } = postTurnAnswer(asked.answer);
  const feedback = message === "" ? [] : [{ kind: "post_turn_callback", content: message }];
  const said = feedbackRecords(run, [...remarks, ...feedback]);
  return recorded(...said, ...(stop ? [settled(run, "done")] : continuing(state, run)));
}

function feedbackRecords({ spec }: RunState, feedback: readonly Feedback[]): AgentRecordBody[] {
  return feedback.map((each) => ({ type: "feedback_added", run: spec.run_id, feedback: each }));
}

function compactionAfterTools(state: AgentState, run: RunState, vault: Vault | null): CompactionPlan | null {
  const { compaction, model } = run.spec;
  if (compaction.auto === false) return null;
  const { system } = askingOf(state, run, vault);
  return dueCompaction(state.visible, system, compaction, model.context_window, "auto");
}

function continuing(state: AgentState, run: RunState): AgentRecordBody[] {
  return opening(state, { ...run, taken: null, calls: [] });
}

function postTurnAnswer(answer: Json): { message: string; stop: boolean } {
  if (typeof answer === "string") return { message: answer, stop: false };
  if (answer === true) return { message: "", stop: true };
  if (!isObject(answer)) return { message: "", stop: false };
  const { message, stop } = answer;
  return { message: textOf(message), stop: stop === true };
}

/**
 * The part of the payload that the state holds. The driver adds the rest of the hook's thirteen fields, since only the
 * driver knows records that are no longer visible.
 */
function contextPayload(state: AgentState, run: RunState, system: string): JsonObject {
  const { visible } = state;
  const results = visible.flatMap((message) => (message.role === "tool" ? message.results : []));
  return {
    messages: asJson<Json[]>(visible),
    compacted: state.summary !== null,
    latest_tool_result: results.findLast(({ content }) => content !== "")?.content ?? null,
    system,
    iteration: run.iterations,
    provider: run.spec.model.provider,
    model: run.spec.model.model,
    session_id: run.spec.session_id,
    tool_format: run.spec.tool_format,
  };
}

/** The changes that the hook makes to the call; `null`: none. */
function changedContext(answer: Json | undefined): { messages?: Message[]; system?: string } | null {
  if (answer === undefined || answer === null) return null;
  if (Array.isArray(answer)) return { messages: fromJson(answer) };
  if (!isObject(answer)) return null;
  return {
    ...(Array.isArray(answer.messages) ? { messages: fromJson(answer.messages) } : {}),
    ...(typeof answer.system === "string" ? { system: answer.system } : {}),
  };
}

/**
 * A daemon goes idle: it first compacts its history if configured, then waits. If nothing can wake the daemon, the run
 * ends.
 */
function idleStep(state: AgentState, run: RunState): AgentStep {
  const { spec } = run;
  const { compaction, model, daemon } = spec;
  if (daemon?.consolidate_on_idle === true && !run.consolidated) {
    const plan = dueCompaction(state.visible, spec.system, compaction, model.context_window, "idle");
    if (plan !== null) return compactionStep(state, run, plan);
  }
  if (wakeSources(spec).length === 0) return recorded(settled(run, "done"));
  return { type: "wait", for: "wake", status: "idle", until: null, approvals: [] };
}
