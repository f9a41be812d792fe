/** What a run did, step by step with its times: read from its records for people to look at. Pure. */
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { Block, Usage } from "../../engine/messages.ts";
import type { Json } from "../../skill/manifest.ts";

/** One step. Times are RFC 3339. */
export interface TraceStep {
  /** From 1, in the order in which the steps began. */
  number: number;
  kind: "model" | "tool" | "hook" | "approval" | "message" | "compaction" | "wake" | "note";
  name: string;
  started_at: string;
  /** `null`: it is under way. */
  duration_ms: number | null;
  /** `null`: neither went well nor failed. */
  ok: boolean | null;
  input?: Json;
  output?: Json;
  /** What the model said to itself. */
  thoughts?: string;
  /** Of model calls. */
  model?: string;
  usage?: Usage;
  cost_usd?: number;
}

interface TracePage {
  steps: TraceStep[];
  /** How many steps there are before the next page; `null`: it is the last one. */
  next: number | null;
}

/** The same, as it is answered. */
export interface RunTrace extends TracePage {
  /** Whether the run was taken up after its process died. */
  recovered: boolean;
}

/** Characters of what a step shows of its input and output each. */
const MAX_SHOWN = 20_000;

/**
 * A page of a run's steps.
 * @param run records of others are left out; `null`: there are none
 * @param after how many steps come before the page
 */
export function traceOf(
  records: Iterable<AgentRecord>,
  run: string | null,
  { after, limit }: { after: number; limit: number },
): TracePage {
  const reader = new TraceReader(after, limit);
  let inRun = run === null;
  for (const record of records) {
    if (record.type === "run_started") inRun = run === null || record.run === run;
    if (inRun) reader.read(record);
  }
  return reader.page();
}

class TraceReader {
  readonly #after: number;
  readonly #limit: number;
  readonly #steps: TraceStep[] = [];
  /** Steps under way, by what ends them; `null`: not on this page. */
  readonly #open = new Map<string, { at: number; step: TraceStep | null }>();
  /** Ids of calls, by the effects that carry them out. */
  readonly #calls = new Map<string, string>();
  #count = 0;
  #asked = 0;

  constructor(after: number, limit: number) {
    this.#after = after;
    this.#limit = limit;
  }

  page(): TracePage {
    const end = this.#after + this.#limit;
    return { steps: this.#steps, next: this.#count > end ? end : null };
  }

  read(record: AgentRecord): void {
    const { at } = record;
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
        this.#add({
          kind: "model",
          name: provider,
          at: this.#asked,
          until: at,
          ok: true,
          output: said.output,
          ...(said.thoughts === "" ? {} : { thoughts: shortened(said.thoughts) }),
          model,
          usage,
          cost_usd: record.cost_usd,
        });
        this.#asked = at;
        break;
      }
      case "turn_taken":
        for (const { id, name, arguments: given, raw } of record.calls) {
          this.#begin(id, { kind: "tool", name, at, ok: null, input: json(given ?? raw) });
        }
        break;
      case "tools_started":
        for (const { effect, call } of record.calls) this.#calls.set(effect, call.id);
        break;
      case "client_tool_answered":
        this.#end(record.call_id, at, !record.is_error, shortened(record.content));
        this.#asked = at;
        break;
      case "tool_settled":
      case "ledger_updated":
      case "skill_loaded": {
        const { status, content } = record.result;
        this.#end(record.effect, at, status === "ok", shortened(content));
        this.#asked = at;
        break;
      }
      case "tool_searched":
        this.#end(record.effect, at, true, shortened(record.result));
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
        });
        break;
      case "woke":
        this.#asked = at;
        this.#add({ kind: "wake", name: record.wake.reason, at, ok: null });
        break;
      case "run_settled":
        this.#add({
          kind: "note",
          name: record.status,
          at,
          ok: record.error === null && record.status !== "failed",
          ...(record.error === null ? {} : { output: record.error.detail }),
        });
        break;
      default:
    }
  }

  #add(
    what: Omit<TraceStep, "number" | "started_at" | "duration_ms"> & { at: number; until?: number },
  ): void {
    this.#place(what, (what.until ?? what.at) - what.at);
  }

  #begin(key: string, what: Omit<TraceStep, "number" | "started_at" | "duration_ms"> & { at: number }): void {
    this.#open.set(key, { at: what.at, step: this.#place(what, null) });
  }

  /** @param of a call's id, the effect that carries it out, or an approval's id */
  #end(of: string, at: number, ok: boolean, output: string): void {
    const key = this.#calls.get(of) ?? of;
    const open = this.#open.get(key);
    this.#open.delete(key);
    if (open === undefined || open.step === null) return;
    open.step.duration_ms = Math.max(0, at - open.at);
    open.step.ok = ok;
    open.step.output = output;
  }

  /** The step, where it is one of this page. */
  #place(
    {
      at,
      until: _,
      ...what
    }: Omit<TraceStep, "number" | "started_at" | "duration_ms"> & { at: number; until?: number },
    duration_ms: number | null,
  ): TraceStep | null {
    this.#count += 1;
    const number = this.#count;
    if (number <= this.#after || number > this.#after + this.#limit) return null;
    const took = duration_ms === null ? null : Math.max(0, duration_ms);
    const step = { ...what, number, started_at: new Date(at).toISOString(), duration_ms: took };
    this.#steps.push(step);
    return step;
  }
}

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

/** JSON as it may be shown: what is long, as the beginning of its text. */
function json(value: unknown): Json {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= MAX_SHOWN ? JSON.parse(text) : shortened(text);
}

const shortened = (text: string): string =>
  text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)`;
