/** Why a model's turn ended, and what each surface says of it. Pure. */

export interface StopWords {
  /** `x-hull-finish-reason` of a skill. */
  skill: "stop" | "length" | "refusal" | "content_filter" | "other";
  /** `stop_reason` of a result, if it differs; `null`: the provider's own word. */
  result?: "refusal" | null;
  /** `stop_reason` of a message of Anthropic's API. Absent: `tool_use` or `end_turn`, as the turn has calls or none. */
  anthropic?: "max_tokens" | "stop_sequence" | "refusal" | "pause_turn";
  /** `finish_reason` of a chat completion. Absent: `tool_calls` or `stop` in the same way. */
  chat?: "length" | "content_filter";
  /** Why a response of OpenAI's API is incomplete. Absent: it is complete. */
  response?: "max_output_tokens" | "content_filter";
}

const FILTERED = { anthropic: "refusal", chat: "content_filter", response: "content_filter" } as const;

/** `pause`: the answer is not complete, and can go on from the turn so far. `other`: a word that Hull does not know. */
const STOP_REASONS = {
  end_turn: { skill: "stop" },
  max_tokens: { skill: "length", anthropic: "max_tokens", chat: "length", response: "max_output_tokens" },
  tool_use: { skill: "stop" },
  stop_sequence: { skill: "stop", anthropic: "stop_sequence" },
  // For OpenAI's clients, a refusal with a text is a complete answer.
  refusal: { skill: "refusal", ...FILTERED },
  content_filter: { skill: "content_filter", result: "refusal", ...FILTERED },
  // OpenAI's clients know no pause: for them, a limit ended the answer.
  pause: { skill: "other", anthropic: "pause_turn", chat: "length", response: "max_output_tokens" },
  other: { skill: "other", result: null },
} as const satisfies { readonly [reason: string]: StopWords };
export type StopReason = keyof typeof STOP_REASONS;

/** A word that only a later version of Hull knows counts as `other`. */
export const stopWords = (reason: StopReason): StopWords =>
  STOP_REASONS[isStopReason(reason) ? reason : "other"];

export const isStopReason = (reason: unknown): reason is StopReason =>
  typeof reason === "string" && Object.hasOwn(STOP_REASONS, reason);
