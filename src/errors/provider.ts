/** Errors of model providers; those of a call have its class. */

import { define } from "../errors.ts";
import { counted } from "../plural.ts";
import { type ErrorCategory, FAILURES, type FailureClass } from "./failure-class.ts";

/** The called provider, and its answer. */
interface Exchange {
  provider: string;
  model?: string | undefined;
  /** The provider's own words, at most 2000 characters. They are for the operator, never for a skill's caller. */
  provider_message?: string | undefined;
}
const wordsOf = (d: Exchange): Record<string, unknown> =>
  d.provider_message === undefined ? {} : { provider_message: d.provider_message };

/** The members of every error that ends a call. */
const classed = (d: Exchange, failure: FailureClass): Record<string, unknown> => ({
  provider: d.provider,
  ...(d.model === undefined ? {} : { model: d.model }),
  ...failure,
});

/** A failure that came with an HTTP status. */
interface Answered extends Exchange {
  provider_status: number;
  failure: FailureClass;
  /** Stated by the provider. */
  retry_after_ms?: number | undefined;
}
/** Includes failures that Hull foresees without asking the provider; they have no status. */
type Foreseen = Omit<Answered, "provider_status"> & { provider_status?: number | undefined };
const answered = (d: Foreseen): Record<string, unknown> => ({
  ...classed(d, d.failure),
  ...(d.provider_status === undefined ? {} : { provider_status: d.provider_status }),
  ...(d.retry_after_ms === undefined ? {} : { retry_after_ms: d.retry_after_ms }),
});

// 400: faults of the request
export const ModelLacks = define<{ provider: string; model: string; option: string; what: string }>(
  "capability_missing",
  400,
  (d) => ({
    title: "Model cannot do this",
    detail: `${d.option}: the model ${d.model} of ${d.provider} does not support ${d.what}. What each model supports: GET /llm/capabilities?provider=${encodeURIComponent(d.provider)}&model=${encodeURIComponent(d.model)}.`,
    members: { ...classed(d, FAILURES.invalid_request), option: d.option },
  }),
);

// 502: providers
export const ProviderAuthFailed = define<Answered & { variable: string }>(
  "provider_auth_failed",
  502,
  (d) => ({
    title: "Provider refused the key",
    detail: `${d.provider} refused the key in ${d.variable} (HTTP ${d.provider_status}). Set a valid key.`,
    members: { ...answered(d), variable: d.variable },
    operator: wordsOf(d),
  }),
);
export const ProviderRejectedRequest = define<Answered & { provider_type?: string | undefined }>(
  "provider_rejected_request",
  502,
  (d) => ({
    title: "Provider rejected the request",
    detail: `${d.provider} rejected the request (HTTP ${d.provider_status}${d.provider_type ? `, ${d.provider_type}` : ""}).${d.failure.reason === "model_unavailable" && d.model !== undefined ? ` Check the model's name, ${d.model}, and the provider's address.` : ""}`,
    members: { ...answered(d), ...(d.provider_type === undefined ? {} : { provider_type: d.provider_type }) },
    operator: wordsOf(d),
  }),
);
export const ProviderError = define<Answered & { retry_after_s?: number | undefined }>(
  "provider_error",
  502,
  (d) => ({
    detail: `${d.provider} failed (HTTP ${d.provider_status}).`,
    members: answered(d),
    retry_after_s: d.retry_after_s,
    operator: wordsOf(d),
  }),
);
export const ProviderUnreachable = define<Exchange & { cause: string }>("provider_unreachable", 502, (d) => ({
  detail: `${d.provider} cannot be reached. Check the network and the provider's *_BASE_URL.`,
  members: classed(d, FAILURES.network_error),
  operator: { cause: d.cause },
}));
export const ProviderRedirectRefused = define<Exchange & { provider_status: number }>(
  "provider_redirect_refused",
  502,
  (d) => ({
    detail: `${d.provider} answered with a redirect (HTTP ${d.provider_status}); Hull does not follow redirects with a key. Set the base URL to the final address.`,
    members: { ...classed(d, FAILURES.unknown), provider_status: d.provider_status },
  }),
);
export const ProviderBadResponse = define<
  Exchange & { reason: string /** Absent: unknown. */; failure?: FailureClass | undefined }
>("provider_bad_response", 502, (d) => ({
  title: "Provider answer unreadable",
  detail: `Hull cannot use the answer of ${d.provider}: ${d.reason}.`,
  members: classed(d, d.failure ?? FAILURES.unknown),
  operator: wordsOf(d),
}));
export const ProviderEmptyAnswer = define<Exchange & { finish_reason: string; max_tokens: number }>(
  "provider_empty_answer",
  502,
  (d) => ({
    title: "Provider answered nothing",
    detail: `${d.provider} answered without text (finish reason ${d.finish_reason}, max_tokens ${d.max_tokens}).`,
    members: { ...classed(d, FAILURES.unknown), finish_reason: d.finish_reason, max_tokens: d.max_tokens },
  }),
);
export const ModelRefused = define<Exchange>("model_refused", 502, (d) => ({
  detail: "The model declined to answer.",
  members: classed(d, FAILURES.content_policy),
}));
/** A queued mock's error of a category that no provider causes. */
export const MockedFailure = define<
  Exchange & { category: ErrorCategory; retry_after_ms?: number | undefined }
>("mocked_failure", 502, (d) => ({
  detail: `The mock that answered for ${d.provider} failed: ${d.category}.`,
  members: {
    ...classed(d, { ...FAILURES.unknown, category: d.category }),
    ...(d.retry_after_ms === undefined ? {} : { retry_after_ms: d.retry_after_ms }),
  },
  operator: wordsOf(d),
}));
/** The deployment's mocks answer every call, but none of them matches this one. */
export const MockUnmatched = define<Exchange & { source: string; asked: string }>(
  "mock_unmatched",
  502,
  (d) => ({
    title: "No mock for this prompt",
    detail: `None of the mocks in ${d.source} answers this call of ${d.provider}, and Hull calls no provider while mocks are loaded. Its last message: ${d.asked}`,
    members: classed(d, FAILURES.unknown),
  }),
);
/** A replay has no recording of this call. `explanation` names its hash and the nearest one. */
export const ReplayMissing = define<Exchange & { explanation: string }>("replay_missing", 502, (d) => ({
  title: "Not recorded",
  detail: d.explanation,
  members: classed(d, FAILURES.unknown),
}));
export const ToolRoundsExhausted = define<{ rounds: number }>("tool_rounds_exhausted", 502, (d) => ({
  detail: `The model gave no answer after ${counted(d.rounds, "tool round")}. Raise max_tool_rounds or narrow the task.`,
  members: { rounds: d.rounds },
}));
/** `late`: Hull's own rate for the provider refuses the call, not the provider. */
export const ProviderRateLimited = define<Foreseen & { retry_after_s: number; late?: true }>(
  "provider_rate_limited",
  429,
  (d) => ({
    title: "Provider rate limit",
    detail: d.late
      ? `The rate of calls to ${d.provider} that is set in Hull leaves no turn before this call's deadline. GET /llm/rate-limit/${d.provider} shows it.`
      : `${d.provider} limits the rate of calls${d.provider_status === undefined ? "" : ` (HTTP ${d.provider_status})`}.`,
    members: answered(d),
    retry_after_s: d.retry_after_s,
    operator: wordsOf(d),
  }),
);

const keyMissing = ({ provider, variable }: { provider: string; variable: string }): string =>
  `The provider ${provider} needs ${variable}. Set it as a Worker secret; for hull dev, set it in .env or the environment and restart.`;
const bindingMissing = (provider: string, binding: string, variable: string): string =>
  `The provider ${provider} needs the binding ${binding}: a deployment has it by [ai] with binding = "${binding}" in wrangler.toml, hull dev has none. To reach the provider over HTTP instead, set ${variable} and its key.`;

/**
 * `how`: why this provider was chosen, as the end of "It was chosen …". `binding`: the missing binding; `variable` then
 * names the variable with the address that replaces it.
 */
export const ProviderNotConfigured = define<{
  provider: string;
  variable: string;
  how?: string | undefined;
  binding?: string;
}>("provider_not_configured", 503, (d) => ({
  detail: `${d.binding === undefined ? keyMissing(d) : bindingMissing(d.provider, d.binding, d.variable)}${d.how === undefined ? "" : ` It was chosen ${d.how}.`} To try without a key, use the provider mock.`,
  members: { provider: d.provider, variable: d.variable },
}));
export const ProviderMisconfigured = define<{ provider: string; variable?: string; reason: string }>(
  "provider_misconfigured",
  503,
  (d) => ({
    detail: `Hull cannot use the provider ${d.provider} as configured: ${d.reason}.`,
    members: { provider: d.provider, ...(d.variable === undefined ? {} : { variable: d.variable }) },
  }),
);
export const ProviderTimeout = define<
  Exchange & {
    timeout_ms: number;
    /** A stream that had begun sent nothing for `timeout_ms`. */
    idle?: boolean;
  }
>("provider_timeout", 504, (d) => ({
  title: "Provider timed out",
  detail: d.idle
    ? `The stream of ${d.provider} was silent for ${d.timeout_ms} ms.`
    : `${d.provider} gave no whole answer within ${d.timeout_ms} ms.`,
  members: { ...classed(d, FAILURES.timeout), timeout_ms: d.timeout_ms },
}));
