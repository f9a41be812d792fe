/** Decides who searches, the provider or Hull. */
import type { ModelRequest, Warning } from "../messages.ts";
import type { SearchOption } from "./option.ts";

export type NativeVariant = NonNullable<ModelRequest["tool_search"]>["variant"];
const NATIVE: readonly NativeVariant[] = ["bm25", "regex", "hosted"];

/** The vault's model, and its capabilities. */
export interface SearchTarget {
  provider: string;
  model: string;
  /** Whether the model supports `defer_loading`. */
  defer_loading: boolean;
  /** The provider's own searches, preferred first. */
  tool_search: readonly string[];
  /** How tools reach the model; in text there is no native search. */
  tool_format: "native" | "text";
  /** `force_native_tool_search` of the provider's own options. */
  forced: boolean;
  /** Whether the provider has refused a native search before in this session. */
  refused: boolean;
}

/** Why Hull refuses a call before it sends anything. */
export interface Refusal {
  option: string;
  detail: string;
}

type ModeDecision =
  | { mode: "native"; variant: NativeVariant; warnings: Warning[] }
  | { mode: "client"; warnings: Warning[] }
  | { refusal: Refusal };

/** Options that only client mode has. */
const CLIENT_ONLY = ["strategy", "budget_tokens", "name", "include_stub_listing"] as const;

export function decideMode(option: SearchOption, target: SearchTarget): ModeDecision {
  if (option.mode === "client") return { mode: "client", warnings: [] };
  const variants = nativeVariants(target);
  const [preferred] = variants;
  if (preferred === undefined) {
    return option.mode === "native" ? { refusal: unavailable(target) } : { mode: "client", warnings: [] };
  }
  if (option.mode === "auto" && target.refused) return { mode: "client", warnings: [fellBack(target)] };
  const variant = variants.find((name) => name === option.variant) ?? preferred;
  const ignored = CLIENT_ONLY.filter((field) => option.given.includes(field)).map((field) => ({
    code: "option_ignored",
    option: `tool_search.${field}`,
    message: `tool_search.${field} has no effect where the provider searches; set tool_search.mode to "client" to use it.`,
  }));
  if (variant === option.variant || !option.given.includes("variant")) {
    return { mode: "native", variant, warnings: ignored };
  }
  const replaced = {
    code: "tool_search_variant",
    option: "tool_search.variant",
    message: `${target.provider} has no tool search "${option.variant}" for ${target.model}; "${variant}" is used.`,
  };
  return { mode: "native", variant, warnings: [replaced, ...ignored] };
}

/** The searches that the provider supports; a forced one counts as OpenAI's hosted search. */
function nativeVariants(target: SearchTarget): NativeVariant[] {
  if (target.tool_format === "text") return [];
  const able = target.defer_loading
    ? target.tool_search.flatMap((name) => NATIVE.filter((variant) => variant === name))
    : [];
  return able.length === 0 && target.forced ? ["hosted"] : able;
}

function unavailable({ provider, model, tool_format }: SearchTarget): Refusal {
  const why =
    tool_format === "text"
      ? `tools reach ${model} of ${provider} as text`
      : `${model} of ${provider} has none`;
  return {
    option: "tool_search.mode",
    detail: `tool_search.mode "native" needs a tool search of the provider's own, and ${why}. Set tool_search.mode to "client", where Hull searches, or leave tool_search out.`,
  };
}

export const FELL_BACK = "tool_search_fallback";

/** The warning that Hull searches for a model whose provider refused to. */
export function fellBack({ provider, model }: Pick<SearchTarget, "provider" | "model">): Warning {
  return {
    code: FELL_BACK,
    option: "tool_search",
    message: `${provider} refused a native tool search for ${model}, so Hull searches.`,
  };
}

/** Failures with other causes that a provider may also report with status 400. */
const OTHER_CAUSES = new Set(["context_overflow", "content_policy", "auth_failure", "rate_limit"]);

/**
 * Whether Hull repeats a failed native call in client mode: `auto` promises that a search is not an error. Some servers
 * send 422 for 400.
 * @param failure status of the provider's answer, and its classified reason
 */
export function fallsBack(
  option: SearchOption,
  decision: { mode: string },
  failure: { status: number | null; reason: string },
): boolean {
  const native = option.mode === "auto" && decision.mode === "native";
  const invalid = failure.status === 400 || failure.status === 422;
  return native && invalid && !OTHER_CAUSES.has(failure.reason);
}
