/** The steps of a run with their times, read from its records, for people. Pure. */
import { firstOf } from "../../cut.ts";
import { type Applied, fold } from "../../engine/agent/apply.ts";
import { readingOf } from "../../engine/agent/reader.ts";
import type { AgentRecord, AgentToolResult, ModelCost } from "../../engine/agent/records.ts";
import type { Block, Warning } from "../../engine/messages.ts";
import { termsOf } from "../../engine/run-status.ts";
import { costIn } from "../../engine/shares.ts";
import { shownReason } from "../../llm/result.ts";
import { tokenCounts } from "../../model/usage.ts";
import type { Json } from "../../skill/manifest.ts";
import type { RunSteps, TraceStep } from "./answers.ts";
import { SettledCalls } from "./settled-calls.ts";

interface TracePage extends Pick<RunSteps, "text" | "error" | "warnings"> {
  steps: TraceStep[];
  /** Number of steps before the next page; `null`: this is the last page. */
  next: number | null;
}

/** The same with what the session knows about the run. */
export interface RunTrace extends TracePage {
  /** Whether the run was resumed after its process died. */
  recovered: boolean;
}

/** The most characters to show of a step's input, and of its output. */
const MAX_SHOWN = 20_000;

/**
 * A page of a run's steps.
 * @param records all records of the run, since any of them may end a step of the page or hold the run's last text
 * @param after number of steps before the page
 */
export function tracePage(records: Iterable<AgentRecord>, page: { after: number; limit: number }): TracePage {
  const reader = new TraceReader(page);
  for (const applied of fold(records)) reader.read(applied);
  return reader.page();
}

/** A step that begins at `at`, in Unix ms. */
type Begun = Omit<TraceStep, "number" | "started_at" | "duration_ms"> & { at: number };

/** Reads all records of a run in order. */
export class TraceReader {
  readonly #after: number;
  readonly #limit: number;
  readonly #steps: TraceStep[] = [];
  /** Steps under way, by the id of the call or the approval; `null`: not on this page. */
  readonly #open = new Map<string, { at: number; step: TraceStep | null }>();
  readonly #calls = new SettledCalls();
  #text: string | null = null;
  #error: TracePage["error"] = null;
  /** By their messages. */
  readonly #warnings = new Map<string, Warning>();
  #count = 0;
  #asked = 0;

  constructor({ after, limit }: { after: number; limit: number }) {
    this.#after = after;
    this.#limit = limit;
  }

  page(): TracePage {
    const end = this.#after + this.#limit;
    return {
      steps: this.#steps,
      next: this.#count > end ? end : null,
      text: this.#text,
      error: this.#error,
      ...(this.#warnings.size === 0 ? {} : { warnings: [...this.#warnings.values()] }),
    };
  }

  read(applied: Applied): void {
    const { record } = applied;
    const { at } = record;
    const settled = this.#calls.read(applied);
    for (const warning of readingOf(applied).warnings) this.#warnings.set(warning.message, warning);
    switch (record.type) {
      case "run_started":
        this.#asked = at;
        this.#add({ kind: "message", name: "prompt", at, ok: null, input: json(record.spec.prompt) });
        break;
      case "iteration_started":
        this.#asked = at;
        break;
      case "model_call_settled": {
        const { provider, model, blocks, usage } = record.turn;
        const said = saidIn(blocks);
        const text = blocks.flatMap((block) => (block.type === "output_text" ? [block.text] : [])).join("");
        if (text !== "") this.#text = text;
        this.#add({
          kind: "model",
          name: provider,
          at: this.#asked,
          until: at,
          ok: true,
          output: said.output,
          ...(said.thoughts === "" ? {} : { thoughts: shortened(said.thoughts) }),
          model,
          stop_reason: shownReason(record.turn),
          ...costOf({ ...usage, ...costIn(record) }),
        });
        this.#asked = at;
        break;
      }
      case "turn_taken":
        for (const { id, name, arguments: given, raw } of record.calls) {
          this.#begin(id, { kind: "tool", name, at, ok: null, input: json(given ?? raw) });
        }
        break;
      case "client_tool_answered":
      case "tool_settled":
      case "ledger_updated":
      case "skill_loaded":
      case "tool_searched":
        if (settled !== null) this.#endCall(settled.call.id, at, settled.result);
        this.#asked = at;
        break;
      case "approval_requested": {
        const { id, tool, arguments: given } = record.request;
        this.#begin(id, { kind: "approval", name: tool, at, ok: null, input: json(given) });
        break;
      }
      case "approval_decided": {
        const { approval, decision, scope, reason } = record;
        this.#end(approval, at, decision === "approve", reason ?? `${decision}, ${scope}`);
        break;
      }
      case "hook_settled":
        this.#add({
          kind: "hook",
          name: record.hook,
          at,
          until: at,
          ok: record.error === null,
          output: record.error ?? json(record.result),
        });
        break;
      case "message_received":
        this.#add({ kind: "message", name: record.delivery, at, ok: null, input: json(record.message) });
        break;
      case "feedback_added":
        this.#add({
          kind: "note",
          name: record.feedback.kind,
          at,
          ok: null,
          output: shortened(record.feedback.content),
        });
        break;
      case "compacted":
        this.#add({
          kind: "compaction",
          name: record.compacted.strategy,
          at,
          ok: null,
          output: shortened(record.compacted.summary),
          ...costOf(record.spent),
        });
        break;
      case "woke":
        this.#asked = at;
        this.#add({ kind: "wake", name: record.wake.reason, at, ok: null });
        break;
      case "run_settled":
        if (record.error !== null) {
          const { code, title, detail } = record.error;
          this.#error = { code, title, detail };
        }
        this.#add({
          kind: "note",
          name: record.status,
          at,
          ok: record.error === null && termsOf(record.status).outcome !== "failed",
          ...(record.error === null ? {} : { output: record.error.detail }),
          ...costOf(record.spent),
        });
        break;
      default:
    }
  }

  /** Adds a step that ended, `until` a time in Unix ms, or at once. */
  #add({ until, ...what }: Begun & { until?: number }): void {
    this.#place(what, (until ?? what.at) - what.at);
  }

  #begin(key: string, what: Begun): void {
    this.#open.set(key, { at: what.at, step: this.#place(what, null) });
  }

  #endCall(id: string, at: number, { status, content }: AgentToolResult): void {
    this.#end(id, at, status === "ok", shortened(content));
  }

  #end(key: string, at: number, ok: boolean, output: string): void {
    const open = this.#open.get(key);
    this.#open.delete(key);
    if (open === undefined || open.step === null) return;
    open.step.duration_ms = Math.max(0, at - open.at);
    open.step.ok = ok;
    open.step.output = output;
  }

  /** Numbers a step; returns it if it is on this page. */
  #place({ at, ...what }: Begun, duration_ms: number | null): TraceStep | null {
    this.#count += 1;
    const number = this.#count;
    if (number <= this.#after || number > this.#after + this.#limit) return null;
    const took = duration_ms === null ? null : Math.max(0, duration_ms);
    const step = { ...what, number, started_at: new Date(at).toISOString(), duration_ms: took };
    this.#steps.push(step);
    return step;
  }
}

/** What a step's model calls took; absent: it made none that was answered, or their price is not known. */
const costOf = (spent: ModelCost | undefined): Pick<TraceStep, "usage" | "cost_usd"> =>
  spent === undefined
    ? {}
    : { usage: tokenCounts(spent), ...(spent.price_known === false ? {} : { cost_usd: spent.cost_usd }) };

function saidIn(blocks: readonly Block[]): { output: Json; thoughts: string } {
  const inward = (block: Block) => block.type === "reasoning" || block.type === "reasoning_summary";
  const thoughts = blocks
    .flatMap((block) => (inward(block) && "text" in block ? [block.text] : []))
    .join("\n");
  const rest = blocks.filter((block) => !inward(block));
  const [only, ...more] = rest;
  const text = only?.type === "output_text" && more.length === 0;
  return { output: text ? shortened(only.text) : json(rest), thoughts };
}

/** JSON for display: a long value is replaced by the beginning of its text. */
function json(value: unknown): Json {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= MAX_SHOWN ? JSON.parse(text) : shortened(text);
}

/** The beginning of a long text, and the text's length. */
export const shortened = (text: string, most = MAX_SHOWN): string =>
  text.length <= most ? text : `${firstOf(text, most)}… (${text.length} characters)`;
