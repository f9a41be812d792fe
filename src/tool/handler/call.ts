/** One call of a tool's handler, on any tier. */
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject, SkillRecord, SkillTool } from "../../skill/manifest.ts";

/** What a handler reports while it works, in order. */
export type HandlerNote =
  | { kind: "output"; stream: "emit" | "stderr"; text: string }
  /** An artifact, or an update of one, as the handler gave it, unchecked. */
  | { kind: "artifact"; value: JsonObject };

/**
 * What each kind of a handler's message says while it works, whichever tier it runs on; `null`: it is malformed. The
 * programs that call handlers send these kinds: `container/programs/handler.mjs`, `src/tool/isolate/handler-harness.mjs`.
 */
export const NOTES = {
  emit: (text: Json): HandlerNote | null =>
    typeof text === "string" ? { kind: "output", stream: "emit", text } : null,
  artifact: (value: Json): HandlerNote | null => (isObject(value) ? { kind: "artifact", value } : null),
};
export type NoteKind = keyof typeof NOTES;

export const isNoteKind = (kind: string): kind is NoteKind => Object.hasOwn(NOTES, kind);

export interface HandlerCall {
  record: SkillRecord;
  tool: SkillTool;
  /** Checked against `tool.parameters`; keys that begin with `__` are removed. */
  args: JsonObject;
  /** The arguments as they were sent: JSON, where a number may have more digits than a double. */
  raw: string;
  /** The model's id of the call. */
  callId: string;
  /** Names this work for ever: a tier that remembers it runs it only once. */
  executionId: string;
  runId: string;
  sessionId: string | null;
  /** The configuration profile that the caller chose; `null`: none. */
  bot: string | null;
  /** Slot to model alias, from the run's options. */
  models: JsonObject;
  /** Effective values of the tool's parameters, including secrets. */
  config: JsonObject;
  /** Values of those variables of `tool.env` that are set and granted. */
  env: Record<string, string>;
  timeoutMs: number;
  signal: AbortSignal;
  /** Receives notes immediately; notes after the end of the call are lost. */
  note: (note: HandlerNote) => void;
}

/** Why a call failed, in the words for models and callers. */
export type HandlerFault = "tool_error" | "timeout" | "unavailable" | "cancelled" | "schema_validation";

/** How a call ended. Faults of the handler are outcomes, never thrown. */
export interface HandlerOutcome {
  /** The handler's answer; for a failed call an object with `error`. */
  value: Json;
  /** `null`: it succeeded. */
  fault: HandlerFault | null;
  duration_ms: number;
  exit_code: number | null;
  /** Findings for the author, by code, e.g. `stdout_not_json`. */
  diagnostics: { code: string; message: string }[];
  /** Facts of the fault for the operator. */
  operator?: Record<string, unknown>;
}

/** The text of a call that its caller cancelled. */
export const CANCELLED = "The call was cancelled.";

/** A failed call. @param error text for the model */
export function failedCall(fault: HandlerFault, error: string, duration_ms: number): HandlerOutcome {
  return { value: { error }, fault, duration_ms, exit_code: null, diagnostics: [] };
}

/** The messages of systems, Python, Node and isolates when there is no network. */
const NO_NETWORK =
  /network is unreachable|not permitted to access the internet|fetch failed|name resolution|could not resolve host|\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b/i;

/** A hint for authors whose tool failed because it declares no network. */
export function networkHint(error: string, { name, network }: SkillTool): string {
  if (network !== null || !NO_NETWORK.test(error)) return "";
  return `\n${name} declares no network, so it has none: set "x-requires-network" in tools.json to true or to its hosts.`;
}
