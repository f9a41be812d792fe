/** Errors of hooks: functions of a skill's hook module. */
import { define } from "../errors.ts";

/** `reason` is what the hook threw, redacted. */
export const HookFailed = define<{ hook: string; reason: string }>("hook_failed", 500, (d) => ({
  detail: `The hook "${d.hook}" failed: ${d.reason}`,
  members: { hook: d.hook },
}));

/** `reason` is what the hook's command printed, redacted. */
export const HookRefused = define<{ hook: string; reason: string }>("hook_refused", 422, (d) => ({
  title: "Request refused",
  detail: `The skill's hook ${d.hook} refused the request: ${d.reason}`,
  members: { hook: d.hook },
}));

export const HookInvalid = define<{ hook: string; reason: string }>("hook_invalid", 500, (d) => ({
  title: "Hook's answer unusable",
  detail: `The hook "${d.hook}" returned an invalid answer: ${d.reason}.`,
  members: { hook: d.hook },
}));

export const HooksUnavailable = define("hooks_unavailable", 503, () => ({
  detail:
    'This deployment cannot run hooks: it has no Worker Loader. Add [[worker_loaders]] with binding = "LOADER" to wrangler.toml.',
}));

export const HookTimeout = define<{ hook: string; timeout_ms: number }>("hook_timeout", 504, (d) => ({
  title: "Hook timed out",
  detail: `The hook "${d.hook}" did not answer within ${d.timeout_ms} ms.`,
  members: { hook: d.hook, timeout_ms: d.timeout_ms },
}));
