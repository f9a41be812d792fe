/**
 * Finds out which vendor's shapes a request below `/v1` uses. The header with the key does not decide: the current
 * Anthropic SDK sends `Authorization: Bearer`, as OpenAI's does.
 */
import { SKILLS_BETA } from "../../llm/container-params.ts";
import type { PathOf } from "../../skill/fixed-routes.ts";
import type { RequestContext } from "../context.ts";
import { NO_PATH, routePath } from "../path.ts";

/** `anthropic_legacy`: Anthropic's beta of skills or files, which LiteLLM speaks too. */
export type Dialect = "anthropic" | "anthropic_legacy" | "openai";

/** Requests the older shapes of files, as `SKILLS_BETA` requests those of skills. */
const FILES_BETA = "files-api-2025-04-14";

/** The word after `/v1/` in each path. */
type Collection<Path extends string> = Path extends `/v1/${infer Name}/${string}`
  ? Name
  : Path extends `/v1/${infer Name}`
    ? Name
    : never;

/** Which vendor has the routes of a collection; `both`: the request decides. */
const VENDORS: { readonly [name in Collection<PathOf<"v1">>]: "anthropic" | "openai" | "both" } = {
  messages: "anthropic",
  chat: "openai",
  responses: "openai",
  conversations: "openai",
  containers: "openai",
  models: "both",
  skills: "both",
  files: "both",
};
const VENDOR_OF: ReadonlyMap<string, string> = new Map(Object.entries(VENDORS));

/** A route's path without the prefix that names a vendor: `/anthropic/v1/skills` is `/v1/skills`. */
export function withoutVendor(path: string): string {
  return path.replace(/^\/(?:anthropic|openai)(?=\/v1(?:\/|$))/, "");
}

/** Whether a request is for one of the vendors' routes. @param path of its route, without the vendor's prefix */
export function isV1(path: string, request: Request): boolean {
  return below(path === NO_PATH ? withoutVendor(new URL(request.url).pathname) : path, "/v1");
}

/** The dialect, by path, headers, and the known members of the body. */
export function dialectOf({
  request,
  namesProvider,
}: Pick<RequestContext, "request" | "namesProvider">): Dialect {
  const matched = routePath(request.url);
  const whole = matched === NO_PATH ? new URL(request.url).pathname : matched;
  const path = withoutVendor(whole);
  const betas = betasOf(request);
  const legacy = betas.includes(below(path, "/v1/files") ? FILES_BETA : SKILLS_BETA);
  const anthropic: Dialect = legacy ? "anthropic_legacy" : "anthropic";
  const vendor = VENDOR_OF.get(path.split("/")[2] ?? "");
  if (vendor === "anthropic") return anthropic;
  if (vendor === "openai") return "openai";
  if (whole.startsWith("/anthropic/")) return anthropic;
  if (whole.startsWith("/openai/")) return "openai";
  const versioned = request.headers.has("anthropic-version");
  if (versioned || betas.includes(SKILLS_BETA) || betas.includes(FILES_BETA)) return anthropic;
  const named = namesProvider || new URL(request.url).searchParams.has("custom_llm_provider");
  return named ? "anthropic_legacy" : "openai";
}

/** The entries of `anthropic-beta`; a header that appears twice reads as one list. */
function betasOf({ headers }: Request): string[] {
  return (headers.get("anthropic-beta") ?? "")
    .split(",")
    .map((beta) => beta.trim())
    .filter(Boolean);
}

function below(path: string, route: string): boolean {
  return path === route || path.startsWith(`${route}/`);
}
