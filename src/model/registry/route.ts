/** Chooses a model by price or speed. */
import { ModelNotResolved } from "../../errors/request.ts";
import type { ModelRegistry } from "./definition.ts";
import { inferProvider, tierOf, wireModel } from "./infer.ts";
import type { Tier } from "./layer.ts";
import { priceOf } from "./price.ts";
import { isUsable, type ReadVariable } from "./provider-setup.ts";
import { expand, knownProvider } from "./resolve.ts";

export type RoutePolicy = string | { mode: string; target?: string | undefined };

interface RouteCandidate {
  provider: string;
  model: string;
  tier: Tier;
  /** USD per thousand tokens of input and output together; `null`: unknown, which counts as infinite. */
  cost_per_1k: number | null;
  /** ms; `null` as above. */
  latency_p50_ms: number | null;
}

/** The decision, for the result and the transcript. */
export interface RouteDecision {
  mode: "manual" | "always" | "cheapest_over_quality" | "fastest_over_quality";
  target: string | null;
  /** `null`: the call resolves as it would without a policy. */
  chosen: { provider: string; model: string; alias?: string } | null;
  /** Best first, including the chosen one. */
  alternatives: RouteCandidate[];
}

const RANK: Record<Tier, number> = { small: 0, mid: 1, frontier: 2 };
const FORM = /^(always|cheapest_over_quality|fastest_over_quality)\(\s*([^()]+?)\s*\)$/;

/**
 * Applies a policy: `manual`, `always(id)`, `cheapest_over_quality(tier)`, `fastest_over_quality(tier)`, or the same as
 * `{mode, target}`.
 * @throws ModelNotResolved for a policy, tier or provider that does not exist
 */
export function route(policy: RoutePolicy, registry: ModelRegistry, env: ReadVariable): RouteDecision {
  const wanted = readPolicy(policy);
  if (wanted.mode === "manual") return { mode: "manual", target: null, chosen: null, alternatives: [] };
  const { mode, target } = wanted;
  if (mode === "always") return { mode, target, chosen: namedTarget(target, registry), alternatives: [] };
  const least = Object.entries(RANK).find(([tier]) => tier === target)?.[1];
  if (least === undefined) throw refused(`"${target}" is not a tier; tiers are small, mid and frontier`);
  const measure = mode === "cheapest_over_quality" ? "cost_per_1k" : "latency_p50_ms";
  const alternatives = candidates(registry)
    .filter(({ tier, provider }) => RANK[tier] >= least && isUsable(provider, registry, env))
    .sort(
      (a, b) =>
        byMeasure(a[measure], b[measure]) || byName(a.provider, b.provider) || byName(a.model, b.model),
    );
  const [best] = alternatives;
  const chosen = best === undefined ? null : { provider: best.provider, model: best.model };
  return { mode, target, chosen, alternatives };
}

function readPolicy(
  policy: RoutePolicy,
): { mode: "manual" } | { mode: Exclude<RouteDecision["mode"], "manual">; target: string } {
  const [mode, target = ""] =
    typeof policy === "string"
      ? (FORM.exec(policy.trim())?.slice(1) ?? [policy.trim()])
      : [policy.mode, policy.target];
  if (mode === "manual") return { mode };
  if (mode !== "always" && mode !== "cheapest_over_quality" && mode !== "fastest_over_quality") {
    throw refused(
      "it must be manual, always(id), cheapest_over_quality(tier), fastest_over_quality(tier), or {mode, target}",
    );
  }
  if (target === "") throw refused(`${mode} needs a target`);
  return { mode, target };
}

const refused = (reason: string) =>
  new ModelNotResolved({ option: "route_policy", reason: `route_policy is not accepted: ${reason}.` });

/** An alias, `provider:model`, or a model id. */
function namedTarget(target: string, registry: ModelRegistry): RouteDecision["chosen"] {
  const { id, alias, provider } = expand(target, registry);
  if (alias !== undefined && provider !== undefined) {
    return { provider: knownProvider(provider, registry, "route_policy"), model: id, alias };
  }
  const colon = target.indexOf(":");
  const named = target.slice(0, Math.max(colon, 0));
  if (registry.providers.has(named)) return { provider: named, model: target.slice(colon + 1) };
  const inferred = inferProvider(id, registry).provider;
  return { provider: inferred, model: wireModel(id, inferred) };
}

/** The model registry's models and those of its aliases, without duplicates. */
function candidates(registry: ModelRegistry): RouteCandidate[] {
  const found = new Map<string, RouteCandidate>();
  const add = (id: string, provider: string): void => {
    const definition = registry.providers.get(provider);
    const price = priceOf(registry, provider, id);
    found.set(`${provider} ${id}`, {
      provider,
      model: id,
      tier: tierOf(registry, id),
      cost_per_1k: price === null ? null : (price.in + price.out) / 1000,
      latency_p50_ms:
        registry.models.get(id.toLowerCase())?.latency_p50_ms ?? definition?.latency_p50_ms ?? null,
    });
  };
  for (const { id, provider = inferProvider(id, registry).provider } of registry.models.values()) {
    add(id, provider);
  }
  for (const { id, provider } of registry.aliases.values()) add(id, provider);
  return [...found.values()];
}

function byMeasure(a: number | null, b: number | null): number {
  const [first, second] = [a ?? Number.POSITIVE_INFINITY, b ?? Number.POSITIVE_INFINITY];
  return first === second ? 0 : first < second ? -1 : 1;
}

const byName = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
