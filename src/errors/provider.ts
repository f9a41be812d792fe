/** Errors of model providers (serving.md §4.5). */
import { define } from "../errors.ts";

/** What the provider itself said, at most 500 characters: for the operator, never for the caller. */
interface ProviderWords {
  provider_message?: string | undefined;
}
const wordsOf = (d: ProviderWords): Record<string, unknown> =>
  d.provider_message === undefined ? {} : { provider_message: d.provider_message };

// 502: providers (serving.md §4.5)
export const ProviderAuthFailed = define<
  { provider: string; variable: string; provider_status: number } & ProviderWords
>("provider_auth_failed", 502, "Provider refused the key", (d) => ({
  detail: `${d.provider} refused the key in ${d.variable} (HTTP ${d.provider_status}).`,
  members: { provider: d.provider, variable: d.variable, provider_status: d.provider_status },
  operator: wordsOf(d),
}));
export const ProviderRejectedRequest = define<
  { provider: string; provider_status: number; provider_type?: string } & ProviderWords
>("provider_rejected_request", 502, "Provider rejected the request", (d) => ({
  detail: `${d.provider} rejected the request (HTTP ${d.provider_status}${d.provider_type ? `, ${d.provider_type}` : ""}).`,
  members: {
    provider: d.provider,
    provider_status: d.provider_status,
    ...(d.provider_type === undefined ? {} : { provider_type: d.provider_type }),
  },
  operator: wordsOf(d),
}));
export const ProviderError = define<
  { provider: string; provider_status: number; retry_after_s?: number } & ProviderWords
>("provider_error", 502, "Provider error", (d) => ({
  detail: `${d.provider} failed (HTTP ${d.provider_status}).`,
  members: { provider: d.provider, provider_status: d.provider_status },
  retry_after_s: d.retry_after_s,
  operator: wordsOf(d),
}));
export const ProviderUnreachable = define<{ provider: string; cause: string }>(
  "provider_unreachable",
  502,
  "Provider unreachable",
  (d) => ({
    detail: `${d.provider} cannot be reached. Check the network and the provider's *_BASE_URL.`,
    members: { provider: d.provider },
    operator: { cause: d.cause },
  }),
);
export const ProviderRedirectRefused = define<{ provider: string; provider_status: number }>(
  "provider_redirect_refused",
  502,
  "Provider redirect refused",
  (d) => ({
    detail: `${d.provider} answered with a redirect (HTTP ${d.provider_status}); keyed calls never follow redirects.`,
    members: { provider: d.provider, provider_status: d.provider_status },
  }),
);
export const ProviderBadResponse = define<{ provider: string; reason: string } & ProviderWords>(
  "provider_bad_response",
  502,
  "Provider answer unreadable",
  (d) => ({
    detail: `The answer of ${d.provider} cannot be used: ${d.reason}.`,
    members: { provider: d.provider },
    operator: wordsOf(d),
  }),
);
export const ProviderEmptyAnswer = define<{ provider: string; finish_reason: string; max_tokens: number }>(
  "provider_empty_answer",
  502,
  "Provider answered nothing",
  (d) => ({
    detail: `${d.provider} answered without text (finish reason ${d.finish_reason}, max_tokens ${d.max_tokens}).`,
    members: { provider: d.provider, finish_reason: d.finish_reason, max_tokens: d.max_tokens },
  }),
);
export const ModelRefused = define<{ provider: string }>("model_refused", 502, "Model refused", (d) => ({
  detail: "The model declined to answer.",
  members: { provider: d.provider },
}));
export const ToolRoundsExhausted = define<{ rounds: number }>(
  "tool_rounds_exhausted",
  502,
  "Tool rounds exhausted",
  (d) => ({
    detail: `The model gave no answer after ${d.rounds} tool rounds. Raise max_tool_rounds or narrow the task.`,
    members: { rounds: d.rounds },
  }),
);
export const ProviderRateLimited = define<{ provider: string; retry_after_s: number } & ProviderWords>(
  "provider_rate_limited",
  429,
  "Provider rate limit",
  (d) => ({
    detail: `${d.provider} limits the rate of calls.`,
    members: { provider: d.provider },
    retry_after_s: d.retry_after_s,
    operator: wordsOf(d),
  }),
);

/** `how`: why this provider, as the end of "It was chosen …". */
export const ProviderNotConfigured = define<{ provider: string; variable: string; how?: string | undefined }>(
  "provider_not_configured",
  503,
  "Provider not configured",
  (d) => ({
    detail: `The provider ${d.provider} needs ${d.variable}. Set it as a Worker secret, or locally in .env or the environment.${d.how === undefined ? "" : ` It was chosen ${d.how}.`}`,
    members: { provider: d.provider, variable: d.variable },
  }),
);
export const ProviderMisconfigured = define<{ provider: string; variable?: string; reason: string }>(
  "provider_misconfigured",
  503,
  "Provider misconfigured",
  (d) => ({
    detail: `The provider ${d.provider} cannot be used as configured: ${d.reason}.`,
    members: { provider: d.provider, ...(d.variable === undefined ? {} : { variable: d.variable }) },
  }),
);
export const ProviderTimeout = define<{ provider: string; timeout_ms: number }>(
  "provider_timeout",
  504,
  "Provider timed out",
  (d) => ({
    detail: `${d.provider} did not answer within ${d.timeout_ms} ms.`,
    members: { provider: d.provider, timeout_ms: d.timeout_ms },
  }),
);
