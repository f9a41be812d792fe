/** The common parts of the wire protocols: their interface, the ends of turns, and the ids and names of tool calls. */
import {
  type Block,
  type Message,
  type ModelRequest,
  type ModelTurn,
  toolCallIds,
  type Usage,
} from "../engine/messages.ts";
import type { StopReason } from "../engine/stop-reason.ts";
import type { JsonObject } from "../skill/manifest.ts";
import type { Capabilities } from "./capabilities.ts";
import type { StreamEvent } from "./frames.ts";
import type { Dialect } from "./registry/definition.ts";
import { readUsage } from "./usage.ts";

/** The part of a target that shapes bodies and turns. */
export interface WireTarget extends Dialect {
  provider: string;
  model: string;
  capabilities: Capabilities;
}

/** Receives a streamed answer while it arrives. */
export interface Sink {
  onText?: ((text: string) => void) | undefined;
  onReasoning?: ((text: string) => void) | undefined;
  /** Receives each event of a stream as the provider sent it, if the request went out verbatim. */
  onEvent?: ((event: JsonObject) => void) | undefined;
  /** Receives the output that is neither: the arguments of calls. */
  onOutput?: ((text: string) => void) | undefined;
  /** Receives the usage as soon as the provider reports it. A later report replaces an earlier one. */
  onUsage?: ((usage: Usage) => void) | undefined;
}

/**
 * One wire protocol: turns the canonical request into a body, and the answer into a canonical turn. The request is
 * already fitted to the target (`fit.ts`), so it contains nothing that the provider refuses.
 */
export interface Wire<Request = ModelRequest> {
  /** How to split a stream into events; `ndjson`: one per line. */
  framing: "sse" | "ndjson";
  body(request: Request, target: WireTarget, stream: boolean): object;
  /** Headers of this request in addition to the target's. */
  headers?(request: Request, target: WireTarget): { [name: string]: string };
  /**
   * Reads an answer that came as one JSON document.
   * @param text the document as it was sent, where numbers may have more digits than a double; absent: unknown
   * @throws ProviderBadResponse if it is an error object or has another shape
   */
  parse(answer: unknown, target: WireTarget, callId: CallIdSource, text?: string): ModelTurn;
  stream(target: WireTarget, sink: Sink): StreamReader;
}

/** Folds streamed events into the document of an unstreamed answer. */
export interface StreamReader {
  /** Takes the next event; `true`: it was the last one. @throws ProviderBadResponse */
  push(event: StreamEvent): boolean;
  /** The document, for `parse`. @throws ProviderBadResponse if the stream ended before its terminal event */
  answer(): unknown;
  /** Once the stream has ended: the parts of the document that came as JSON texts, as a JSON text. Absent: none did. */
  text?(): string;
}

/** The protocols' words for why a turn ended. No word means different things in two of them. */
const STOP_REASONS = new Map<string, StopReason>([
  ["end_turn", "end_turn"],
  ["stop", "end_turn"],
  ["max_tokens", "max_tokens"],
  ["length", "max_tokens"],
  ["model_context_window_exceeded", "max_tokens"],
  ["stop_sequence", "stop_sequence"],
  ["tool_use", "tool_use"],
  ["tool_calls", "tool_use"],
  ["function_call", "tool_use"],
  ["pause_turn", "pause"],
  ["refusal", "refusal"],
  ["content_filter", "refusal"],
  // Mistral, Text Generation Inference, Together, LM Studio, Cohere, Zhipu.
  ["model_length", "max_tokens"],
  ["eos_token", "end_turn"],
  ["eos", "end_turn"],
  ["end", "end_turn"],
  ["complete", "end_turn"],
  ["tool_call", "tool_use"],
  ["sensitive", "refusal"],
  // Gemini, also behind its endpoint for OpenAI's clients, in capital letters.
  ["safety", "refusal"],
  ["recitation", "refusal"],
  ["blocklist", "refusal"],
  ["prohibited_content", "refusal"],
  ["spii", "refusal"],
  ["image_safety", "refusal"],
  ["image_recitation", "refusal"],
  ["image_prohibited_content", "refusal"],
]);

/** @param raw the provider's word; `null` or empty: it gave none */
export const stopReason = (raw: string | null): StopReason =>
  raw === null || raw === "" ? "end_turn" : (STOP_REASONS.get(raw.toLowerCase()) ?? "other");

/** The same, for providers that report "stop" for a turn that ends in calls. */
function stopOrCalls(raw: string | null, blocks: readonly Block[]): StopReason {
  const finish = stopReason(raw);
  return finish === "end_turn" && blocks.some((block) => block.type === "tool_call") ? "tool_use" : finish;
}

/** @param raw the provider's word for the end; `answer.model`: absent if the provider names none */
export const turnOf = (
  { provider, model }: WireTarget,
  answer: { model?: string | null | undefined; usage?: unknown },
  blocks: Block[],
  raw: string | null,
): ModelTurn => ({
  blocks,
  stop_reason: stopOrCalls(raw, blocks),
  raw_stop_reason: raw,
  usage: readUsage(answer.usage),
  provider,
  model: answer.model ?? model,
});

/** Turns the received id of a tool call into one that is unique in the conversation. */
export type CallIdSource = (received: string | null | undefined) => string;

/** `call_<n>` replaces missing ids, and ids that the conversation already has. */
export function callIdSource(history: readonly Message[]): CallIdSource {
  // Most answers contain no calls.
  let known: Set<string> | null = null;
  let n = 0;
  return (received) => {
    known ??= new Set(toolCallIds(history));
    const taken = known;
    let id = received ?? "";
    while (id === "" || taken.has(id)) id = `call_${++n}`;
    taken.add(id);
    return id;
  };
}

/** The ids of tool calls that a provider accepts back, and the n-th one that Hull makes. */
export interface CallIdForm {
  valid: RegExp;
  made: (n: number) => string;
}

export const callIdForm = (maxLength: number): CallIdForm => ({
  valid: new RegExp(`^[A-Za-z0-9_-]{1,${maxLength}}$`),
  made: (n) => `call_x${n}`,
});

/**
 * Ids in a form that a provider accepts back: a conversation may contain ids of another provider. The same history always
 * gives the same ids.
 */
export function sendableIds(
  history: readonly Message[],
  { valid, made }: CallIdForm,
): (id: string) => string {
  const known = toolCallIds(history);
  if (known.every((id) => valid.test(id))) return (id) => id;
  const taken = new Set(known.filter((id) => valid.test(id)));
  const renamed = new Map<string, string>();
  let n = 0;
  for (const id of known) {
    if (valid.test(id) || renamed.has(id)) continue;
    let name = made(++n);
    while (taken.has(name)) name = made(++n);
    renamed.set(id, name);
  }
  return (id) => renamed.get(id) ?? id;
}

/** A tool name in a form that providers accept back; a model may have invented any other. */
export const sendableName = (name: string): string =>
  name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed";
