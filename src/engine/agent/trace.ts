/**
 * What the loop did beside what messages tell (agent-runtime.md §7.2 `trace`, §7.9, §9.3, §11.3), in the words of the typed
 * events. Pure: a fold over records.
 */
import { objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { lastOf } from "../cut.ts";
import { isGrant, isSessionGrant } from "./calls.ts";
import type { AgentRecord, AgentToolResult } from "./records.ts";
import { clientResult } from "./settle-call.ts";
import { LOAD_SKILL } from "./skills.ts";
import type { AgentSkill, AgentSpec } from "./spec.ts";
import { effects } from "./state.ts";
import { LEDGER_TOOL } from "./task-ledger.ts";
import { goesThroughHooks } from "./tool-hooks.ts";
import { otherPhase } from "./turn.ts";

export type TraceEntry = { kind: string; iteration: number } & { [member: string]: Json };

interface TracedCall {
  effect: string;
  call_id: string;
  tool: string;
  result: Outcome | null;
}

interface Outcome {
  status: string;
  rejected: boolean;
  /** Whether the turn's callback is told of it (§7.9): calls that were skipped or lacked something are no results. */
  counts: boolean;
}

/** Most names of tools that a turn's end repeats of the run's earlier ones. */
const MAX_NAMES = 200;

/** Reads the records of a session or run in their order. */
export class Tracer {
  #spec: AgentSpec | null = null;
  #iteration = 0;
  #active: readonly string[] = [];
  #calls: TracedCall[] = [];
  #singleToolTurns = 0;
  #used: string[] = [];
  #successful: string[] = [];
  readonly #approvals = new Map<string, { tool: string; call_id: string }>();
  #lastText = "";
  #idleSince: number | null = null;

  /** What this record adds. */
  entries(record: AgentRecord): TraceEntry[] {
    switch (record.type) {
      case "run_started":
        this.#spec = record.spec;
        this.#used = [];
        this.#successful = [];
        this.#approvals.clear();
        return [];
      case "iteration_started":
        this.#iteration = record.iteration;
        return [];
      case "model_call_settled":
        return (record.retries ?? []).map((retry) => this.#entry("SchemaRetry", retry));
      case "turn_taken":
        return this.#turn(record);
      case "skills_matched":
        return this.#matched(record);
      case "skill_invoked":
        return this.#activated(record.name, 0, "named by the message");
      case "skill_loaded":
        return [
          this.#entry("skill.loaded", { name: record.name }),
          ...this.#settled(record.effect, record.result),
        ];
      case "tool_settled":
      case "ledger_updated":
        return this.#settled(record.effect, record.result);
      case "tool_searched":
        return this.#counted(record.effect, { status: "ok", rejected: false, counts: true });
      case "client_tool_answered": {
        const open = this.#calls.find(({ call_id, result }) => call_id === record.call_id && result === null);
        if (open === undefined || this.#spec === null) return [];
        const result = clientResult(record);
        // Its hooks have their say first; then it is settled like any other.
        if (goesThroughHooks(this.#spec, open.tool, result)) return [];
        return this.#counted(open.effect, { status: result.status, rejected: false, counts: true });
      }
      case "approval_requested": {
        const { id, tool, tool_call_id: call_id, risk } = record.request;
        this.#approvals.set(id, { tool, call_id });
        return [this.#entry("PermissionEscalation", { tool, call_id, approval: id, risk })];
      }
      case "approval_decided": {
        if (record.decision === "deny") return [];
        const { approval, scope, reason } = record;
        const why = reason === null ? {} : { reason };
        const call = this.#approvals.get(approval) ?? {};
        return [this.#entry("PermissionGrant", { ...call, approval, scope, by: "approval", ...why })];
      }
      case "hook_settled":
        return this.#escalated(record);
      case "went_idle":
        this.#idleSince = record.at;
        return [];
      case "run_settled":
        return this.#ended(record);
      default:
        return [];
    }
  }

  #entry(kind: string, members: JsonObject): TraceEntry {
    return { ...members, kind, iteration: this.#iteration };
  }

  #turn({ calls, text, finished }: AgentRecord & { type: "turn_taken" }): TraceEntry[] {
    this.#lastText = text;
    this.#singleToolTurns = calls.length === 1 ? this.#singleToolTurns + 1 : 0;
    this.#calls = calls.map(({ id, name }, index) => ({
      ...{ effect: effects.tool(this.#iteration, index), call_id: id, tool: name },
      result: null,
    }));
    const phase = finished && this.#spec !== null ? otherPhase(this.#spec, text) : null;
    if (phase === null) return [];
    return [this.#entry("PhaseChange", { from: this.#spec?.break_unless_phase ?? null, to: phase })];
  }

  #settled(effect: string, { status, content, error_category }: AgentToolResult): TraceEntry[] {
    const call = this.#calls.find((each) => each.effect === effect);
    if (call === undefined) return [];
    const { tool, call_id } = call;
    const rejected = status === "rejected";
    const counts = error_category !== "rejected_loop" && error_category !== "schema_validation";
    const refused = rejected
      ? [
          this.#entry("PermissionDeny", { tool, call_id, reason: reasonOf(content) }),
          this.#entry("tool_execution", { tool, call_id, rejected, error_category }),
        ]
      : [];
    return [...refused, ...this.#counted(effect, { status, rejected, counts })];
  }

  /** A turn has ended when all of its calls have. */
  #counted(effect: string, result: Outcome): TraceEntry[] {
    const tool = this.#calls.find((call) => call.effect === effect)?.tool;
    if (tool === undefined) return [];
    this.#used = [...this.#used, tool].slice(-MAX_NAMES);
    if (result.status === "ok" && !isOfLoop(tool, this.#spec) && !this.#successful.includes(tool))
      this.#successful = [...this.#successful, tool].slice(-MAX_NAMES);
    this.#calls = this.#calls.map((call) => (call.effect === effect ? { ...call, result } : call));
    if (this.#calls.some((call) => call.result === null)) return [];
    const tool_results = this.#calls.flatMap(({ tool, result: each }) =>
      each?.counts === true ? [{ tool_name: tool, status: each.status, rejected: each.rejected }] : [],
    );
    const payload = {
      tool_names: this.#calls.map((call) => call.tool),
      tool_results,
      successful_tool_names: tool_results.flatMap(({ tool_name, status }) =>
        status === "ok" ? [tool_name] : [],
      ),
      tool_count: this.#calls.length,
      consecutive_single_tool_turns: this.#singleToolTurns,
      session_tools_used: this.#used,
      session_successful_tools: this.#successful,
      failed: tool_results.some(({ status }) => status !== "ok"),
    };
    this.#calls = [];
    return [this.#entry("TurnEnd", payload)];
  }

  #escalated({ effect, result }: AgentRecord & { type: "hook_settled" }): TraceEntry[] {
    const asked = ({ effect: call }: TracedCall): boolean =>
      [effects.escalation(call), effects.escalation(effects.changed(call))].includes(effect);
    const call = this.#calls.find(asked);
    if (call === undefined) return [];
    const { tool, call_id } = call;
    const { reason, approver } = objectOf(result);
    const said = {
      ...(typeof reason === "string" ? { reason } : {}),
      ...(typeof approver === "string" ? { approver } : {}),
    };
    const scope = isSessionGrant(result) ? "session" : "once";
    const granted = isGrant(result)
      ? [this.#entry("PermissionGrant", { tool, call_id, scope, by: "hook", ...said })]
      : [];
    return [this.#entry("PermissionEscalation", { tool, call_id }), ...granted];
  }

  #matched({ candidates, active }: AgentRecord & { type: "skills_matched" }): TraceEntry[] {
    const before = this.#active;
    this.#active = active;
    const dropped = before.filter((name) => !active.includes(name));
    const begun = active.filter((name) => !before.includes(name));
    return [
      ...dropped.map((name) => this.#entry("skill_deactivated", { name })),
      ...begun.flatMap((name) => {
        const { score = 0, reason = "" } = candidates.find((each) => each.name === name) ?? {};
        return this.#activated(name, score, reason);
      }),
    ];
  }

  #activated(name: string, score: number, reason: string): TraceEntry[] {
    const skill: AgentSkill | undefined = this.#spec?.skills.find((each) => each.name === name);
    if (skill === undefined) return [];
    const { description, allowed_tools } = skill;
    const scoped =
      allowed_tools.length === 0 ? [] : [this.#entry("skill_scope_tools", { name, allowed_tools })];
    return [this.#entry("skill_activated", { name, description, score, reason, allowed_tools }), ...scoped];
  }

  #ended({ status, at }: AgentRecord & { type: "run_settled" }): TraceEntry[] {
    const attempts = this.#spec?.daemon?.idle_watchdog_attempts ?? null;
    switch (status) {
      case "stuck":
        return [this.#entry("LoopStuck", { text: lastOf(this.#lastText, 240) })];
      case "budget_exhausted":
        return [this.#entry("BudgetExhausted", { max_iterations: this.#spec?.max_iterations ?? null })];
      case "watchdog":
        return [
          this.#entry("DaemonWatchdogTripped", {
            attempts,
            elapsed_ms: this.#idleSince === null ? null : at - this.#idleSince,
          }),
        ];
      default:
        return [];
    }
  }
}

/** Tools of the loop itself count as used, never as successful. */
function isOfLoop(name: string, spec: AgentSpec | null): boolean {
  if (name !== LOAD_SKILL && name !== LEDGER_TOOL) return false;
  return spec?.tools.every(({ definition }) => definition.name !== name) === true;
}

/** Of `permission_denied`; of a tool that there is none of, all that the model is told. */
function reasonOf(content: string): string {
  try {
    return String(objectOf(JSON.parse(content)).reason ?? content);
  } catch {
    return content;
  }
}
