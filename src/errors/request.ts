/** Errors of the request itself, and of a deployment that cannot take requests yet. */

import { firstOf } from "../cut.ts";
import { define } from "../errors.ts";
import { counted } from "../plural.ts";
import { FAILURES } from "./failure-class.ts";

const near = (names: string[]): string => (names.length > 0 ? ` Did you mean ${names.join(", ")}?` : "");

// 400
/** `param`: the field of the request, in a client's own words. */
export const BadRequest = define<{ detail: string; param?: string }>("bad_request", 400, (d) => ({
  detail: d.detail,
  members: d.param === undefined ? {} : { param: d.param },
}));
export const BadPath = define<{ path: string; reason: string }>("bad_path", 400, (d) => {
  // It may be of any length.
  const path = firstOf(d.path, 1024).toWellFormed();
  return { detail: `The path ${JSON.stringify(path)} ${d.reason}.`, members: { path } };
});
export const MalformedJson = define<{ offset?: number; reason: string }>("malformed_json", 400, (d) => ({
  title: "Malformed JSON",
  detail: `The body is not valid JSON: ${d.reason}.`,
  members: d.offset === undefined ? {} : { offset: d.offset },
}));
export const MalformedMultipart = define<{ reason: string }>("malformed_multipart", 400, (d) => ({
  title: "Malformed multipart body",
  detail: `The multipart body cannot be read: ${d.reason}.`,
}));
export const BadEncoding = define<{ what: string }>("bad_encoding", 400, (d) => ({
  title: "Bad text encoding",
  detail: `${d.what} is not valid UTF-8. Hull reads no other encoding.`,
}));
export const MalformedToml = define<{ line: number; column: number; reason: string }>(
  "malformed_toml",
  400,
  (d) => ({
    title: "Malformed TOML",
    detail: `The text is not valid TOML (line ${d.line}, column ${d.column}): ${d.reason}.`,
    members: { line: d.line, column: d.column },
  }),
);
/** A model, provider, tier or policy that is not defined. */
export const ModelNotResolved = define<{ option: string; reason: string }>(
  "model_not_resolved",
  400,
  (d) => ({
    title: "No such model or provider",
    detail: d.reason,
    members: { option: d.option, ...FAILURES.invalid_request },
  }),
);

export const FileNotDownloadable = define<{ id: string }>("file_not_downloadable", 400, (d) => ({
  detail: `Somebody uploaded the file "${d.id}". This route only answers with files that a run generated.`,
  members: { file_id: d.id },
}));
export const StorageQuotaExceeded = define<{ limit: number }>("storage_quota_exceeded", 400, (d) => ({
  detail: `The tenant's files may have ${d.limit} bytes together (limits.max_stored_bytes in hull.toml). Delete some first.`,
  members: { limit: d.limit },
}));

// 401, 403
export const Unauthenticated = define<{ reason: string }>("unauthenticated", 401, (d) => ({
  title: "Not authenticated",
  detail: `${d.reason} Send the header "Authorization: Bearer <key>".`,
}));
export const Forbidden = define<{ scope: string; tenant?: string }>("forbidden", 403, (d) => ({
  title: "Not permitted",
  detail:
    d.tenant === undefined
      ? `This key lacks the scope "${d.scope}".`
      : `This key has the scope "${d.scope}" for its own tenant only, not for "${d.tenant}".`,
  members: { scope: d.scope },
}));
/** A skill of the deployment, which its tenants can only read. */
export const SkillReadOnly = define<{ id: string }>("skill_read_only", 403, (d) => ({
  title: "Skill read-only",
  detail: `The skill "${d.id}" came with the deployment. A tenant can read and use it, not change it.`,
}));
export const FormNotTrusted = define("form_not_trusted", 403, () => ({
  detail:
    "A signed-in browser can change things only with the forms of this deployment's own pages. Reload the page. Programs send an API key instead.",
}));
export const HostNotAllowed = define<{ host: string }>("host_not_allowed", 403, (d) => ({
  detail: `Hull refuses requests for host "${d.host}": it is not in allowed_hosts of hull.toml. Local dev also answers to localhost, 127.0.0.1 and [::1].`,
}));
/**
 * `always`: a key makes no difference. `form`: path of the page with the sent form; no setting permits another page to
 * send it.
 */
export const OriginNotAllowed = define<{ origin: string | null; always?: boolean; form?: string }>(
  "origin_not_allowed",
  403,
  (d) => ({
    detail: `Hull refuses requests from ${d.origin === null ? "another site" : `origin "${d.origin}"`}${d.always === true ? "" : " without a key"}. ${originRemedy(d)}`,
  }),
);

function originRemedy({ origin, form }: { origin: string | null; form?: string }): string {
  if (form !== undefined) return `Use the form at ${form} of this deployment.`;
  if (origin === null) return "Send an API key, or call from a page of this deployment.";
  return "To let pages of this origin call and read answers, list it in cors_origins of hull.toml (hull dev --cors); allowed_origins lets them call only.";
}

export const SkillNotTrusted = define<{ slug: string; error: string; reason: string }>(
  "skill_not_trusted",
  403,
  (d) => ({
    detail: `The skill "${d.slug}" must have a signature that this deployment trusts. ${d.reason}`,
    members: { slug: d.slug, error: d.error },
  }),
);

// 404, 405, 406, 408, 409
/** `because`: what a route that exists lacks, as whole sentences. */
export const NotFound = define<{ path: string; because?: string }>("not_found", 404, (d) => ({
  detail: `Nothing is served at ${d.path}. ${d.because ?? `${meantBy(d.path)}GET /skills lists the skills.`}`,
}));

/** What to say if the path is a vendor's, with `/v1` missing or twice, as a wrong base URL of a client makes it. */
function meantBy(path: string): string {
  const twice = /^\/v1(\/v1\/.+)/.exec(path)?.[1];
  if (twice !== undefined)
    return `Did you mean ${twice}? The client adds /v1 itself: leave it out of its base URL. `;
  const vendors = /^\/(?:chat\/completions|responses|conversations|containers|messages|models)(?:\/|$)/;
  return vendors.test(path) ? `Did you mean /v1${path}? Let the client's base URL end with /v1. ` : "";
}

/** How a skill came to a deployment: with a publish, as an upload, or stored through `/v1/skills`. */
type SkillOrigin = "published" | "uploaded" | "stored";
const READABLE_AGAIN: Record<SkillOrigin, (slug: string) => string> = {
  published: () => "Publish the skills with this version (hull publish), or deploy the later version again.",
  uploaded: (slug) => `Upload it again, or remove it (DELETE /_hull/skills/${slug}).`,
  stored: () => "Store it again as a new version.",
};
/**
 * Names the skill by its slug, or a stored one by its id and possibly a version. `unreadable`: slug of a skill that a
 * later version of Hull stored.
 */
export const SkillNotFound = define<
  | { slug: string; near: string[] }
  | { unreadable: string; origin: SkillOrigin }
  | { id: string; version?: string }
  | { published: string }
  | { upload: string }
>("skill_not_found", 404, (d) => {
  if ("unreadable" in d) {
    return {
      detail: `The skill "${d.unreadable}" is not served: a later version of Hull stored it in a form that this version cannot read. ${READABLE_AGAIN[d.origin](d.unreadable)}`,
      members: { near: [] },
    };
  }
  if ("published" in d) {
    return {
      detail: `The skill "${d.published}" is part of the deployment, so it has no stored versions. GET /skills/${d.published}/versions lists what was published.`,
      members: { near: [] },
    };
  }
  if ("id" in d) {
    // The given id may be anything.
    const version = d.version === undefined ? "" : `version "${firstOf(d.version, 64)}" of the `;
    return { detail: `There is no ${version}skill "${firstOf(d.id, 64)}".`, members: { near: [] } };
  }
  if ("upload" in d) {
    const detail = `You uploaded no skill "${d.upload}". GET /_hull/skills lists uploads; a published skill goes with a publish that lacks it.`;
    return { detail, members: { near: [] } };
  }
  return {
    detail: `No skill is called "${d.slug}".${near(d.near)} GET /skills lists the skills.`,
    members: { near: d.near },
  };
});
/** How many files of a run an error names. */
const SHOWN_FILES = 10;

/**
 * Names the file by its id, by its path in a session's workspace, or by its path among the files of a run. `cut`: the
 * run may have made more files than `made` has.
 */
export const FileNotFound = define<
  { id: string } | { path: string } | { path: string; made: readonly string[]; cut: boolean }
>("file_not_found", 404, (d) => {
  if ("made" in d) {
    const path = firstOf(d.path, 1024).toWellFormed();
    if (d.cut) {
      const most = `An answer has at most ${d.made.length} files of a run, the first by path`;
      return { detail: `${most}: ${JSON.stringify(path)} is not among them.`, members: { path } };
    }
    const shown = d.made.slice(0, SHOWN_FILES).map((one) => JSON.stringify(one));
    const more = d.made.length > shown.length ? [`${d.made.length - shown.length} more`] : [];
    const made = shown.length === 0 ? "no file at all" : [...shown, ...more].join(", ");
    return { detail: `The run made no file ${JSON.stringify(path)}. It made ${made}.`, members: { path } };
  }
  if ("path" in d) return { detail: `The session has no file "${d.path}".`, members: { path: d.path } };
  // The given id may be anything.
  const id = firstOf(d.id, 64);
  return { detail: `There is no file "${id}", or it has expired.`, members: { file_id: id } };
});
export const FileExpired = define<{ id: string }>("file_expired", 404, (d) => ({
  detail: `The file "${d.id}" has expired; its content is gone. Upload it again.`,
  members: { file_id: d.id },
}));
export const ExecutionNotFound = define<{ id: string }>("execution_not_found", 404, (d) => ({
  detail: `There is no execution "${d.id}", or it has expired.`,
}));
export const ProviderNotFound = define<{ name: string; near: string[] }>("provider_not_found", 404, (d) => ({
  detail: `No provider is called "${d.name}".${near(d.near)} GET /llm/providers lists them.`,
  members: { near: d.near },
}));
export const OperationNotFound = define<{
  on: "transcripts" | "workflows";
  name: string;
  near: string[];
  known: string[];
}>("operation_not_found", 404, (d) => ({
  detail: `No operation on ${d.on} is called "${firstOf(d.name, 64)}".${near(d.near)} There are ${d.known.join(", ")}.`,
  members: { near: d.near },
}));
export const KeyNotFound = define<{ id: string }>("key_not_found", 404, (d) => ({
  detail: `There is no API key "${d.id}". GET /admin/keys lists the keys.`,
}));
export const McpServerNotFound = define<{ name: string; known: string[] }>(
  "mcp_server_not_found",
  404,
  (d) => ({
    detail: `hull.toml has no MCP server "${firstOf(d.name, 64)}" under [mcp.servers]. It has ${d.known.join(", ") || "none"}.`,
  }),
);
export const MethodNotAllowed = define<{ method: string; allowed: string[] }>(
  "method_not_allowed",
  405,
  (d) => ({
    detail: `${d.method} is not supported here; use ${d.allowed.join(", ")}.`,
    members: { allowed: d.allowed },
  }),
);
export const NotAcceptable = define<{ accepted: string[]; reason?: string }>("not_acceptable", 406, (d) => ({
  detail: d.reason ?? `This route answers only ${d.accepted.join(", ")}.`,
  members: { accepted: d.accepted },
}));
export const RequestTimeout = define<{ timeout_ms: number }>("request_timeout", 408, (d) => ({
  title: "Request body too slow",
  detail: `No byte of the body arrived for ${d.timeout_ms} ms.`,
  members: { timeout_ms: d.timeout_ms },
}));
/** `skill`: the skill that has the slug or route; `null` if the caller may not know it. */
export const SlugTaken = define<{
  slug: string;
  route: string;
  by: "folder" | "upload";
  skill: string | null;
}>("slug_taken", 409, ({ slug, route, by, skill }) => {
  const holder = by === "folder" ? "the published skill" : "the uploaded skill";
  const who = skill === null ? "an uploaded skill that is not yours" : `${holder} "${skill}"`;
  const remedy =
    skill === null
      ? "Give yours another name and route."
      : by === "folder"
        ? `Give this one another name and route, or publish the folder without "${skill}" first.`
        : `Give this one another name and route, or remove "${skill}" first: hull remove ${skill}.`;
  return {
    detail: `The slug "${slug}" or the route ${route} is taken by ${who}. ${remedy}`,
    members: { held_by: by, ...(skill === null ? {} : { skill }) },
  };
});
/** `catalog`: what is served now; `null`: nothing is. */
export const CatalogMoved = define<{
  catalog: string | null;
  published_at?: string;
  published_by?: string;
}>("catalog_moved", 409, ({ catalog, published_at, published_by }) => {
  const by = published_by === undefined ? "" : ` with the key ${published_by}`;
  const now = catalog === null ? "no catalog" : `the catalog ${catalog.slice(0, 12)}`;
  const since =
    published_at === undefined ? `Hull now serves ${now}` : `${now} was published at ${published_at}${by}`;
  return {
    detail: `Meanwhile, ${since}. This request changed nothing. To replace the catalog that is served now (GET /_hull/catalog), repeat the request for that one.`,
    members: { catalog, published_at: published_at ?? null, published_by: published_by ?? null },
  };
});
export const UploadLimit = define<{ limit: number }>("upload_limit", 409, (d) => ({
  title: "Too many uploaded skills",
  detail: `This tenant has ${d.limit} uploaded skills, the most that are allowed. Remove one first.`,
  members: { limit: d.limit },
}));
export const ExecutionConflict = define<{ id: string }>("execution_conflict", 409, (d) => ({
  detail: `Execution "${d.id}" exists with a different specification.`,
}));

export const ExecutionCancelled = define<{ id: string }>("execution_cancelled", 409, (d) => ({
  detail: `Execution "${d.id}" was cancelled.`,
  members: { execution_id: d.id },
}));

export const WorkspaceFull = define<{ what: "bytes" | "files"; limit: number }>(
  "workspace_full",
  409,
  (d) => ({
    detail: `A session keeps at most ${d.limit} ${d.what} in its files. Remove some first.`,
    members: { what: d.what, limit: d.limit },
  }),
);

// 412, 413, 415, 416
export const PreconditionFailed = define<{ path: string }>("precondition_failed", 412, (d) => ({
  detail: `The file "${d.path}" does not match the If-Match or If-None-Match of the request. Read it again.`,
  members: { path: d.path },
}));
/** `setting`: the setting of hull.toml with the limit. */
export const BodyTooLarge = define<{ limit: number; setting?: string }>("body_too_large", 413, (d) => ({
  detail: `The body is larger than the ${counted(d.limit, "byte")} allowed here${d.setting === undefined ? "" : ` (${d.setting} in hull.toml)`}.`,
  members: { limit: d.limit },
}));
export const UnsupportedMediaType = define<{ type: string; accepted: string[] }>(
  "unsupported_media_type",
  415,
  (d) => ({
    detail: `${d.type === "" ? "A body without a Content-Type" : `"${d.type}"`} is not accepted; send ${d.accepted.join(", ")}.`,
    members: { accepted: d.accepted },
  }),
);
export const RangeNotSatisfiable = define<{ size: number }>("range_not_satisfiable", 416, (d) => ({
  detail: `The resource has ${counted(d.size, "byte")}.`,
  members: { size: d.size },
}));

// 422
export const InputRequired = define<{ hint: string }>("input_required", 422, (d) => ({
  detail: `This skill needs input. ${d.hint}`,
}));
export const InputInvalid = define<{ reason: string; errors?: { path: string; message: string }[] }>(
  "input_invalid",
  422,
  (d) => ({ detail: d.reason, members: d.errors === undefined ? {} : { errors: d.errors } }),
);
export const FileRequired = define<{ hint: string }>("file_required", 422, (d) => ({
  detail: `The request needs a file. ${d.hint}`,
}));
export const InputSchemaMismatch = define<{ errors: { pointer: string; message: string }[] }>(
  "input_schema_mismatch",
  422,
  (d) => ({
    title: "Input does not match the schema",
    detail: "The input does not match the skill's input_schema.",
    members: { errors: d.errors },
  }),
);
export const IdempotencyKeyReused = define<{ key: string }>("idempotency_key_reused", 422, () => ({
  detail:
    "Another request used this Idempotency-Key in the last 24 hours: it had another body, media type, path or query. Use another key for a new request.",
}));
export const BundleInvalid = define<{ reason: string; diagnostics?: readonly object[] }>(
  "bundle_invalid",
  422,
  (d) => ({
    detail: `Hull refuses the bundle: ${d.reason}.`,
    members: d.diagnostics === undefined ? {} : { diagnostics: d.diagnostics },
  }),
);

// 429
export const RateLimited = define<{ retry_after_s: number }>("rate_limited", 429, (d) => ({
  detail: `Too many requests came with this key, or from this network without a known key. Try again in ${d.retry_after_s} s.`,
  retry_after_s: d.retry_after_s,
}));
export const ConcurrencyLimited = define<{ skill: string; limit: number; retry_after_s: number }>(
  "concurrency_limited",
  429,
  (d) => ({
    title: "Too many simultaneous runs",
    detail: `${d.skill} may have ${counted(d.limit, "run")} at the same time, and no slot is free.`,
    members: { limit: d.limit },
    retry_after_s: d.retry_after_s,
  }),
);

/**
 * A variable of the deployment has a wrong value. `fault`: what the caller may read, a part of a sentence; `cause`: more
 * for the log.
 */
export const SettingUnreadable = define<{ variable: string; fault: string; cause?: string }>(
  "setting_unreadable",
  500,
  ({ variable, fault, cause }) => ({
    title: "A setting of this Hull is wrong",
    detail: `The variable ${variable} ${fault}. Whoever runs this Hull must correct it.`,
    members: { variable },
    operator: { cause: `${variable} ${cause ?? fault}` },
  }),
);

// 503
export const AuthNotConfigured = define<{ local: boolean }>("auth_not_configured", 503, (d) => ({
  title: "No key configured",
  detail: d.local
    ? "Without a key, hull dev obeys only its own machine: no other one, and no proxy or tunnel that asks for another one. Set HULL_ADMIN_KEY in .env. hull dev --public lets everybody run skills, and nothing else."
    : "This deployment has no API key, so it refuses everything but health checks. Set one with `wrangler secret put HULL_ADMIN_KEY`, or set HULL_PUBLIC=1 to serve without keys.",
}));
export const SecretKeyMissing = define<{ reason: string }>("secret_key_missing", 503, (d) => ({
  title: "No key for secrets",
  detail: `Hull has no usable secret to derive keys from: ${d.reason}. Set one with \`openssl rand -hex 32 | wrangler secret put HULL_SECRET_KEY\`.`,
}));
export const CatalogMissing = define("catalog_missing", 503, () => ({
  title: "Nothing published",
  detail: "Nobody has published skills to this deployment yet. Run hull deploy or hull publish.",
  retry_after_s: 2,
}));
/** `what`: the stored object. `issue`: what is unknown in it. */
export const CatalogUnreadable = define<{ what: string; issue: string }>("catalog_unreadable", 503, (d) => ({
  title: "Skill catalog unreadable",
  detail:
    "A later version of Hull stored the skill catalog of this deployment in a form that this version cannot read. Publish the skills with this version (hull publish), or deploy the later version again.",
  operator: { what: d.what, issue: d.issue },
}));
