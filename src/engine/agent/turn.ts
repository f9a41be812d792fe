/** Decides what a model's turn means to the loop. Pure. */

import { firstWords } from "../../cut.ts";
import type { ErrorData } from "../../errors.ts";
import { asJson } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import {
  type Block,
  type Message,
  type ModelTurn,
  type ToolCallBlock,
  textOfBlocks,
  toolCallIds,
} from "../messages.ts";
import type { RunStatus } from "../run-status.ts";
import { parseTextTurn, type TextCall, writtenArguments } from "../text-tools/parse.ts";
import type { SearchTool } from "./calls.ts";
import type { AgentRecordBody, Feedback, ModelCost } from "./records.ts";
import { RUNTIME_TOOLS } from "./runtime-calls.ts";
import { scopedTools } from "./skills.ts";
import type { AgentSpec } from "./spec.ts";
import { type AgentState, entersNextCall, type RunState, type TakenTurn } from "./state.ts";
import {
  answersCaller,
  finalStatus,
  iterationsUsedUp,
  mayCallTools,
  roundsUsedUp,
  wakeLimitReached,
} from "./status.ts";
import { openItems } from "./task-ledger.ts";
import {
  actionRequired,
  handWrittenCall,
  nudgeText,
  openLedger,
  sentinelWithoutAction,
  verificationGate,
} from "./texts.ts";

interface ReadTurn {
  /** The visible text of the turn. */
  text: string;
  calls: ToolCallBlock[];
  /** Calls that could not be read. */
  errors: string[];
  violations: string[];
  /** Whether a model that should call natively wrote calls into its text. */
  handWritten: boolean;
  /** The sentinel appears outside of reasoning and calls. */
  sentinel: boolean;
  /** The blocks that the history keeps. */
  blocks: Block[];
}

/** The records that take in a turn, up to the next effect. */
export function takeTurn(
  state: AgentState,
  run: RunState,
  turn: ModelTurn,
  search: SearchTool | null,
): AgentRecordBody[] {
  const read = readTurn(state, run, turn);
  const { spec } = run;
  if (spec.single === true) return takeAnswer(run, turn, read, search);
  const fallback = read.handWritten && mayFallBack(run);
  const calls = (read.handWritten && !fallback) || !mayCallTools(run) ? [] : read.calls;
  const taken: Taken = {
    type: "turn_taken",
    run: spec.run_id,
    message: { role: "assistant", content: read.blocks },
    calls,
    text: read.text,
    fallback,
    finished: false,
    text_only: 0,
  };
  if (calls.length > 0) {
    const finished = read.sentinel || otherPhase(spec, read.text) !== null;
    const remarks = fallback ? [] : remarksOn(read);
    return [{ ...taken, finished, ...(remarks.length === 0 ? {} : { remarks }) }];
  }
  // The provider wants another call with the turn so far.
  if (turn.stop_reason === "pause") return [{ ...taken, text_only: run.textOnly }];
  return takeText(state, run, read, taken);
}

/** A turn without calls ends the run, lets it rest, or gets a reply that says why it does neither. */
function takeText(state: AgentState, run: RunState, read: ReadTurn, taken: Taken): AgentRecordBody[] {
  const { spec } = run;
  const ends = (status: RunStatus, text_only = run.textOnly): AgentRecordBody[] => [
    { ...taken, finished: true, text_only },
    settled(run, status),
  ];
  const gate = read.sentinel ? sentinelGate(run) : null;
  const more = takesMore(state, run);
  if (read.sentinel && gate === null) return more ? [taken] : ends("done");
  if (read.errors.length > 0) {
    const note: Message = { role: "assistant", content: [{ type: "output_text", text: UNREADABLE }] };
    const replies = read.errors.map((content) => replied(run, { kind: "parse_error", content }));
    return [{ ...taken, message: note }, ...replies];
  }
  if (gate !== null) return counted(run, taken, gate);
  if (read.handWritten)
    return counted(run, taken, { kind: "native_tool_contract", content: handWrittenCall() });
  if (mustActFirst(run))
    return counted(run, { ...taken, message: null }, { kind: "action_required", content: actionRequired() });
  if (more) return [taken];
  if (otherPhase(spec, read.text) !== null) return ends("done");
  if (spec.persistent) {
    const content = nudgeText(spec, { tools: spec.tools.length > 0, prose: read.text.length });
    return counted(run, taken, { kind: "nudge", content });
  }
  if (spec.daemon === null) return ends(onlyCalls(run, read) ? "budget_exhausted" : "done", run.textOnly + 1);
  const rest: AgentRecordBody = overBudget(run)
    ? settled(run, "done")
    : { type: "went_idle", run: spec.run_id };
  return [{ ...taken, text_only: run.textOnly }, rest];
}

/** Whether a model without further rounds of tools answers with nothing but calls. */
const onlyCalls = (run: RunState, { calls, blocks }: ReadTurn): boolean =>
  roundsUsedUp(run) &&
  calls.length > 0 &&
  !blocks.some((block) => block.type === "output_text" && block.text.trim() !== "");

/**
 * The turn is the answer, unless it only searches for tools, or the provider wants another call with the turn so far.
 * Hull makes the searches; the caller executes other calls.
 */
function takeAnswer(
  run: RunState,
  { stop_reason }: ModelTurn,
  { blocks, calls, text }: ReadTurn,
  search: SearchTool | null,
): AgentRecordBody[] {
  const searches = calls.filter(({ name }) => search?.owns(name, run) === true);
  const none = searches.length === 0;
  const pauses = none && stop_reason === "pause";
  const taken: Taken = {
    type: "turn_taken",
    run: run.spec.run_id,
    message: { role: "assistant", content: blocks },
    calls: searches,
    text,
    finished: !pauses && (none || searches.length < calls.length),
    text_only: 0,
    fallback: false,
  };
  return none && !pauses ? [taken, settled(run, "done")] : [taken];
}

/** Remarks to the model about a turn whose calls were carried out in spite of faults. */
const remarksOn = ({ violations, errors }: ReadTurn): Feedback[] => [
  ...violations.map((content) => ({ kind: "protocol_violation", content })),
  ...errors.map((content) => ({ kind: "parse_error", content })),
];

const UNREADABLE = "(A tool call of this turn could not be read and was left out.)";

type Taken = Extract<AgentRecordBody, { type: "turn_taken" }>;

/** Counts one more text-only turn. After too many the run is stuck; otherwise it continues with the reply. */
function counted(run: RunState, taken: Taken, reply: Feedback): AgentRecordBody[] {
  const text_only = run.textOnly + 1;
  const stuck = text_only > run.spec.max_nudges;
  return [{ ...taken, text_only }, stuck ? settled(run, "stuck") : replied(run, reply)];
}

const replied = ({ spec }: RunState, feedback: Feedback): AgentRecordBody => ({
  type: "feedback_added",
  run: spec.run_id,
  feedback,
});

/**
 * Whether a message or feedback that arrived during the turn keeps the run going. If the run may not begin another
 * iteration, the next run reads it; if the wake has used up its budget, the next wake does.
 */
export function takesMore({ waiting, feedback }: AgentState, run: RunState): boolean {
  return (feedback.length > 0 || waiting.some(entersNextCall)) && mayGoOn(run);
}

/** Whether the run may begin another iteration. */
export const mayGoOn = (run: RunState): boolean =>
  !iterationsUsedUp(run) && wakeLimitReached(run) === null && !overBudget(run);

export function settled(run: RunState, status: RunStatus): AgentRecordBody {
  return { type: "run_settled", run: run.spec.run_id, status: finalStatus(run, status), error: null };
}

/**
 * The end of a run by a budget that leaves nothing for the next step. For the caller of a skill it is an error.
 * @param spent what the refused call had already cost; `null`: nothing
 */
export function refused(run: RunState, refusal: ErrorData, spent: ModelCost | null = null): AgentRecordBody {
  const status = finalStatus(run, "budget_exhausted");
  const uncalled = CALLS.has(run.stage) && run.turn === null;
  const { scope = "options.budget", limit, limit_value } = asJson<JsonObject>(refusal.members);
  const refused_by = typeof limit === "string" ? { scope, [limit]: limit_value ?? null } : {};
  const error = run.spec.called === undefined ? null : refusal;
  const end = { type: "run_settled" as const, run: run.spec.run_id, status, error, refused_by };
  if (spent !== null) return { ...end, spent };
  return uncalled ? { ...end, uncalled } : end;
}

/** Stages of an iteration up to its model call. */
const CALLS = new Set<RunState["stage"]>(["match", "skill_hooks", "compact", "context", "model", "turn"]);

const overBudget = (run: RunState): boolean => finalStatus(run, "done") === "budget_exhausted";

function readTurn({ visible }: AgentState, run: RunState, turn: ModelTurn): ReadTurn {
  const { spec } = run;
  const named = writtenCalls(run, visible);
  const names = [...new Set([...spec.tools, ...scopedTools(run)].map(({ definition }) => definition.name))];
  const said = textOfBlocks(turn.blocks);
  const native = turn.blocks.filter((block) => block.type === "tool_call");
  if (spec.tool_format === "text") {
    const read = parseTextTurn(said, [...names, ...RUNTIME_TOOLS]);
    const calls = [...native, ...named(read.calls)];
    const answered = spec.turn_policy?.allow_done_sentinel !== false && read.response !== null;
    const outside = `${read.prose}\n${read.done ?? ""}\n${read.response ?? ""}`;
    return {
      text: said,
      calls,
      errors: read.errors,
      violations: read.violations,
      handWritten: false,
      sentinel: spec.persistent && (answered || outside.includes(spec.done_sentinel)),
      blocks: [...reasoning(turn), ...textBlock(cutProse(run, textPart(read))), ...calls],
    };
  }
  const looked = native.length === 0 && names.length > 0 && !answersCaller(spec) && mayCallTools(run);
  const handWritten = looked ? parseTextTurn(said, names) : null;
  const written = named(handWritten?.calls ?? []);
  const fallback = written.length > 0 && mayFallBack(run);
  return {
    text: said,
    calls: written.length > 0 ? written : native,
    errors: [],
    violations: [],
    handWritten: written.length > 0,
    sentinel: spec.persistent && said.includes(spec.done_sentinel),
    blocks: fallback
      ? [...reasoning(turn), ...textBlock(handWritten?.prose ?? ""), ...written]
      : turn.blocks.map((block) =>
          block.type === "output_text" ? { ...block, text: cutProse(run, block.text) } : block,
        ),
  };
}

/**
 * Turns calls in a text into blocks. Their ids must be new in the conversation, since other runs may have written calls,
 * too.
 */
function writtenCalls({ iterations }: RunState, visible: readonly Message[]) {
  return (calls: readonly TextCall[]): ToolCallBlock[] => {
    if (calls.length === 0) return [];
    const taken = new Set(toolCallIds(visible));
    let n = 0;
    return calls.map((call) => {
      do n++;
      while (taken.has(`call_${iterations}_${n}`));
      const id = `call_${iterations}_${n}`;
      const { name, arguments: args } = call;
      return { type: "tool_call", id, name, arguments: args, raw: writtenArguments(call) };
    });
  };
}

const reasoning = (turn: ModelTurn): Block[] => turn.blocks.filter((block) => block.type === "reasoning");
const textBlock = (text: string): Block[] => (text === "" ? [] : [{ type: "output_text", text }]);

function textPart({ prose, response, done }: ReturnType<typeof parseTextTurn>): string {
  const said = response === null ? prose : `<user_response>${response}</user_response>`;
  return [said, ...(done === null ? [] : [`<done>${done}</done>`])].filter((part) => part !== "").join("\n");
}

function cutProse({ spec }: RunState, text: string): string {
  const limit = spec.turn_policy?.max_prose_chars ?? null;
  if (limit === null || text.length <= limit) return text;
  return `${firstWords(text, limit)}\n[hull: cut after ${limit} characters]`;
}

function mayFallBack({ spec, fallbackUsed }: RunState): boolean {
  return (
    spec.native_tool_fallback === "allow" || (spec.native_tool_fallback === "allow_once" && !fallbackUsed)
  );
}

function mustActFirst({ spec, tools_used }: RunState): boolean {
  const required = spec.turn_policy?.require_action_or_yield === true;
  return required && spec.tool_format === "native" && spec.tools.length > 0 && tools_used.length === 0;
}

/** Why a sentinel does not count yet; `null`: it counts. For a turn with calls, asked after the calls have run. */
function sentinelGate(run: RunState): Feedback | null {
  const { spec, tools_used, verification } = run;
  const required = spec.turn_policy?.require_action_or_yield === true && spec.tools.length > 0;
  if (required && tools_used.length === 0) {
    return { kind: "sentinel_without_action", content: sentinelWithoutAction(spec) };
  }
  if (spec.exit_when_verified && verification?.ok !== true) {
    return { kind: "verification_gate", content: verificationGate(verification?.exit_code ?? null) };
  }
  const open = openItems(run.ledger).map(({ id, title }) => `${id}: ${title}`);
  return open.length === 0 ? null : { kind: "ledger_not_satisfied", content: openLedger(open) };
}

/** Why a turn with calls does not end the run as it claims to, now that its calls have run; `null`: it does. */
export function keptFromEnding(run: RunState, { text }: TakenTurn): Feedback | null {
  return otherPhase(run.spec, text) === null ? sentinelGate(run) : null;
}

/**
 * The other phase that the last line `next_phase: X` names, which ends a persistent run of a phase; `null`: there is
 * none.
 */
export function otherPhase(
  { persistent, break_unless_phase }: Pick<AgentSpec, "persistent" | "break_unless_phase">,
  text: string,
): string | null {
  if (!persistent || break_unless_phase === null) return null;
  const named = [...text.matchAll(/^[ \t]*next_phase:[ \t]*(\S+)[ \t]*$/gm)].at(-1)?.[1];
  return named === undefined || named === break_unless_phase ? null : named;
}

/** What hooks and the trace learn about the end of a turn. Skipped and incomplete calls are not results. */
export function turnEnd({ calls, iterations, ...run }: RunState): JsonObject {
  const tool_results = calls.flatMap(({ call, result }) => {
    const counts =
      result?.error_category !== "rejected_loop" && result?.error_category !== "schema_validation";
    if (result === null || !counts) return [];
    return [{ tool_name: call.name, status: result.status, rejected: result.status === "rejected" }];
  });
  const successful = tool_results.filter(({ status }) => status === "ok");
  return {
    tool_names: calls.map(({ call }) => call.name),
    tool_results,
    successful_tool_names: successful.map(({ tool_name }) => tool_name),
    tool_count: calls.length,
    iteration: iterations,
    consecutive_single_tool_turns: run.singleToolTurns,
    session_tools_used: run.tools_used,
    session_successful_tools: run.successful_tools,
    failed: tool_results.some(({ status }) => status !== "ok"),
  };
}
