/** The codes of docs/http.md, and what is special about some of them. */
import documentation from "../../docs/http.md?raw";

/** Configuration faults and others that waiting does not fix. */
export const NO_WAIT = [
  "provider_not_configured",
  "provider_misconfigured",
  "proxy_not_configured",
  "auth_not_configured",
  "catalog_unreadable",
  "storage_unreadable",
];
/**
 * Never sent; shown in executions.test.ts and testing.test.ts of test/e2e, since objects have an environment of their own;
 * in uploads.test.ts; in storage-versions.test.ts and later-words.test.ts; in hooks.test.ts, and command-hooks.test.ts of test/e2e; in sessions.test.ts and sessions-crash.test.ts; in host-delegate.test.ts;
 * in v1-skills.test.ts, v1-files.test.ts and v1-keyed.test.ts, where errors have other shapes.
 */
const ELSEWHERE = [
  "client_closed_request",
  "execution_cancelled",
  "mock_unmatched",
  "upload_limit",
  "secret_key_missing",
  "hook_failed",
  "hook_refused",
  "hook_invalid",
  "hook_timeout",
  "hooks_unavailable",
  "run_cancelled",
  "run_lost",
  "host_delegate_failed",
  "skill_read_only",
  "file_not_downloadable",
  "file_expired",
  "thread_unsupported_request",
  "storage_quota_exceeded",
  "answer_lost",
  "storage_unreadable",
  "rollout_under_way",
];
/** Members of only some of a code's answers. */
const SOMETIMES = [
  "folder",
  "upload",
  "skill",
  "session_cost_usd",
  "retry_after_ms",
  "bytes",
  "files",
  "published_by",
];
/** `| 404 | `skill_not_found` | when | `near` |` of the table of codes that this version sends. */
export const DOCUMENTED = Array.from(
  (documentation.split("## Errors")[1]?.split("In the vocabulary, but not sent")[0] ?? "").matchAll(
    /^\| (\d{3}) \| `(\w+)` \|.*?\|([^|]*)\|$/gm,
  ),
  ([, status, code = "", members = ""]) => ({
    status: Number(status),
    code,
    members: Array.from(members.matchAll(/`(\w+)`/g), ([, name = ""]) => name).filter(
      (name) => !SOMETIMES.includes(name),
    ),
  }),
).filter(({ code }) => !ELSEWHERE.includes(code));
