/** Classifies the failure in a provider's answer. Pure. */
import { FAILURES, type FailureClass } from "../errors/failure-class.ts";

/** The facts about a failed call. */
interface Fault {
  /** `null`: there was no answer with an error status. */
  status: number | null;
  /** The body, or its substitute; only its beginning is needed. */
  body: string;
}

const OVERFLOW = [
  "maximum context length",
  "context length",
  "context_length_exceeded",
  "context_overflow",
  "prompt is too long",
  "prompt_tokens_exceeded",
  "exceeds the maximum",
  "maximum prompt length",
  "input is too long",
  "exceeded model token limit",
  "range of input length",
  "too_many_prompt_tokens",
  "tokens_limit_reached",
  "exceeds max length",
  "reduce the length of the messages",
  "`max_new_tokens` must be",
  "`inputs` must have less",
];
const POLICY = [
  "content_policy",
  "content policy",
  "safety policy",
  "moderation",
  "responsible_ai_policy",
  "blocked by policy",
];

/** One row of the table: statuses, and words of the lower-cased body. */
interface Row {
  statuses: readonly number[];
  words: readonly string[];
  failure: FailureClass;
}

/** The rows after the two that look only at the body, in order. */
const ROWS: readonly Row[] = [
  {
    statuses: [401, 403],
    words: [
      "invalid_api_key",
      "api key not valid",
      "incorrect api key",
      "authentication_error",
      "unauthorized",
      "forbidden",
    ],
    failure: FAILURES.auth_failure,
  },
  {
    statuses: [429],
    words: [
      "rate_limit",
      "rate limit",
      "too many requests",
      "insufficient_quota",
      "billing_hard_limit_reached",
    ],
    failure: FAILURES.rate_limit,
  },
  { statuses: [408, 504, 522, 524], words: ["timeout", "timed out"], failure: FAILURES.timeout },
  {
    statuses: [404, 410],
    words: [
      "model_not_found",
      "not_found_error",
      "model not found",
      "model unavailable",
      "model is unavailable",
    ],
    failure: FAILURES.model_unavailable,
  },
  { statuses: [503, 529], words: ["overloaded_error"], failure: FAILURES.overloaded },
  {
    statuses: [500, 502],
    words: ["api_error", "server_error", "bad gateway", "service unavailable"],
    failure: FAILURES.server_error,
  },
  { statuses: [400], words: ["invalid_request", "bad request"], failure: FAILURES.invalid_request },
];

/** The class of the first matching row. The words of a row are tried before any later row, whatever the status. */
export function classify({ status, body }: Fault): FailureClass {
  // Pydantic reports a member that it does not know as `extra_forbidden`; its "forbidden" is not about the key.
  const text = body.toLowerCase().replaceAll("extra_forbidden", "");
  const says = (word: string): boolean => text.includes(word);
  if (OVERFLOW.some(says) || (says("exceed") && (says("context") || says("max_tokens")))) {
    const tokens = largestNumber(text);
    return { ...FAILURES.context_overflow, ...(tokens === null ? {} : { offending_tokens: tokens }) };
  }
  if (POLICY.some(says)) return FAILURES.content_policy;
  const row = ROWS.find(
    ({ statuses, words }) => (status !== null && statuses.includes(status)) || words.some(says),
  );
  return row?.failure ?? FAILURES.unknown;
}

/** `128,000` counts as one number. */
function largestNumber(text: string): number | null {
  const numbers = Array.from(text.matchAll(/\d{1,3}(?:,\d{3})+|\d{1,15}/g), ([digits]) =>
    Number(digits.replaceAll(",", "")),
  );
  return numbers.length === 0 ? null : Math.max(...numbers);
}
