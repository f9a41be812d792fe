/** Errors of scripts, tools, the runner and upstreams. */

import { define } from "../errors.ts";
import { counted } from "../plural.ts";

// 499: in logs, metrics and execution state only, never sent
export const ClientClosedRequest = define("client_closed_request", 499, () => ({
  title: "Client closed the request",
  detail: "The client disconnected before the answer was complete.",
}));

// 500
export const ScriptFailed = define<{ exit_code: number; stdout: string; stderr: string }>(
  "script_failed",
  500,
  (d) => ({
    detail: `The script ended with exit code ${d.exit_code}.`,
    members: { exit_code: d.exit_code, stderr: d.stderr, stdout: d.stdout },
  }),
);
export const ScriptKilled = define<{ signal: string; stderr: string }>("script_killed", 500, (d) => ({
  detail: `The signal ${d.signal} ended the script.`,
  members: { signal: d.signal, stderr: d.stderr },
}));
export const OutOfMemory = define("out_of_memory", 500, () => ({
  detail: "The runner killed the process, which exceeded its memory limit.",
}));
export const CommandNotFound = define<{ command: string }>("command_not_found", 500, (d) => ({
  detail: `The runner finds no command "${d.command}" in the skill's folder or on its PATH, or it lacks the interpreter that the first line of the command names.`,
  members: { command: d.command },
}));
export const SpawnFailed = define<{ command: string; reason: string }>("spawn_failed", 500, (d) => ({
  title: "Process could not start",
  detail: `The runner could not start the command "${d.command}": ${d.reason}.`,
  members: { command: d.command },
}));
export const OutputInvalidJson = define<{ position?: number; reason: string }>(
  "output_invalid_json",
  500,
  (d) => ({
    title: "Output is not JSON",
    detail: `The skill declares output: json, but its output is not valid JSON: ${d.reason}.`,
    members: d.position === undefined ? {} : { position: d.position },
  }),
);
export const OutputMissing = define<{ location: string }>("output_missing", 500, (d) => ({
  detail: `The skill declares output: file, but left no file ${d.location}.`,
}));
export const OutputTooLarge = define<{ limit: number; of?: "byte" | "file" }>(
  "output_too_large",
  500,
  (d) => ({
    detail: `The output is larger than the ${counted(d.limit, d.of ?? "byte")} allowed.`,
    members: { limit: d.limit },
  }),
);
// 502: upstreams and the runner
export const HostDelegateFailed = define<{ method: string; reason: string }>(
  "host_delegate_failed",
  502,
  (d) => ({
    detail: `The deployment's host delegate could not answer: ${d.reason}.`,
    members: { kind: "transient", reason: "unknown", category: "generic" },
    operator: { method: d.method },
  }),
);
export const UpstreamUnreachable = define<{ skill: string; cause: string; status?: number }>(
  "upstream_unreachable",
  502,
  (d) => ({
    detail:
      d.status === undefined
        ? `The upstream of skill "${d.skill}" cannot be reached.`
        : `The upstream of skill "${d.skill}" answered with the status ${d.status}, which Hull cannot pass on.`,
    operator: { cause: d.cause },
  }),
);
export const UpstreamRedirectRefused = define<{ skill: string }>("upstream_redirect_refused", 502, (d) => ({
  detail: `The upstream of skill "${d.skill}" answered with a redirect, which Hull does not follow. Set proxy to the final URL.`,
}));
export const UpstreamBodyTruncated = define<{ skill: string }>("upstream_body_truncated", 502, (d) => ({
  title: "Upstream answer truncated",
  detail: `The upstream of skill "${d.skill}" broke off its answer.`,
}));
export const McpLoginFailed = define<{ name: string; reason: string }>("mcp_login_failed", 502, (d) => ({
  detail: `Hull cannot log in at the MCP server ${d.name}. ${d.reason}`,
}));
export const RunnerProtocolError = define<{ reason: string }>("runner_protocol_error", 502, (d) => ({
  title: "Runner answer unreadable",
  detail: "Hull cannot use the runner's answer; the log says why.",
  operator: { reason: d.reason },
}));
export const ExecutionLost = define<{ id: string }>("execution_lost", 502, (d) => ({
  detail: `Hull lost execution "${d.id}" before it ended. It is not known whether it took effect, so Hull does not run it again.`,
  members: { execution_id: d.id },
}));

/** The process that handled the first request with an `Idempotency-Key` is gone, and may have had effects. */
export const AnswerLost = define("answer_lost", 502, () => ({
  detail:
    "The process that executed the first request with this Idempotency-Key died before it answered. Hull does not know whether the request took effect, so it did not execute it again. Check whether its work is done; if not, send the request with another key.",
  members: { kind: "terminal" },
}));

// 503
/** Why a template cannot have a variable: it is not set, it is Hull's own, or the uploaded skill has no grant for it. */
type Withheld = "unset" | "reserved" | "not_granted";
const REMEDIES: Readonly<Record<Withheld, (variable: string) => string>> = {
  unset: (variable) =>
    `The variable ${variable} is not set. Set it as a Worker secret; for hull dev, set it in .env or the environment and restart.`,
  reserved: (variable) =>
    `Hull never sends ${variable}: names that begin with HULL_ or HUSK_ are its own. Use a variable with another name.`,
  not_granted: (variable) =>
    `The uploaded skill may not use the variable ${variable}. The operator grants it in HULL_GRANTS.`,
};
export const ProxyNotConfigured = define<{ variable: string; why: Withheld }>(
  "proxy_not_configured",
  503,
  (d) => ({ detail: REMEDIES[d.why](d.variable), members: { variable: d.variable } }),
);
/**
 * `where`: `at <address>` or `in the container <name>`. `begun`: a request may have reached the runner, whose answer
 * did not come back.
 */
export const RunnerUnavailable = define<{ where: string; cause: string; begun?: "perhaps" }>(
  "runner_unavailable",
  503,
  (d) => ({
    detail: `The runner ${d.where}, which executes scripts and tools, cannot be reached.${d.begun === undefined ? "" : PERHAPS_BEGUN} On your own machine \`hull doctor\` says what is wrong; in a deployment, the log.`,
    retry_after_s: 2,
    operator: { cause: d.cause, runner: d.where },
  }),
);
const PERHAPS_BEGUN =
  " It is not known whether it began the work before the connection broke: the work may or may not have taken effect.";
export const RunnerBusy = define<{ retry_after_s: number }>("runner_busy", 503, (d) => ({
  detail: "All slots of the runner and of its queue are taken.",
  retry_after_s: d.retry_after_s,
}));
export const RunnerDraining = define<{ retry_after_s: number }>("runner_draining", 503, (d) => ({
  title: "Runner shutting down",
  detail: "The runner is shutting down and takes no new work. Try again later.",
  retry_after_s: d.retry_after_s,
}));
// 504
export const ScriptTimeout = define<{ timeout_ms: number; stdout: string; stderr: string }>(
  "script_timeout",
  504,
  (d) => ({
    title: "Script timed out",
    detail: `The script did not end within ${d.timeout_ms} ms, so the runner stopped it.`,
    members: { timeout_ms: d.timeout_ms, stderr: d.stderr, stdout: d.stdout },
  }),
);
export const UpstreamTimeout = define<{ skill: string; timeout_ms: number }>(
  "upstream_timeout",
  504,
  (d) => ({
    title: "Upstream timed out",
    detail: `The upstream of skill "${d.skill}" did not answer within ${d.timeout_ms} ms.`,
    members: { timeout_ms: d.timeout_ms },
  }),
);
export const DeadlineExceeded = define<{ timeout_ms: number; during: string }>(
  "deadline_exceeded",
  504,
  (d) => ({
    detail: `The request did not finish within ${d.timeout_ms} ms; the time ran out during ${d.during}.`,
    members: { timeout_ms: d.timeout_ms, during: d.during },
  }),
);
