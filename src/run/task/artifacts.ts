/** Artifacts of stages: read, put in order, chosen for a prompt. Pure. */
import * as z from "zod/mini";
import type { ContextPolicy, TaskArtifact } from "./handle.ts";

const maybe = z.exactOptional;

/** An artifact as callers give it. */
export const artifactShape = z.lazy(() =>
  z.strictObject({
    _type: maybe(z.literal("artifact")),
    id: maybe(z.string()),
    kind: maybe(z.string()),
    title: maybe(z.string()),
    text: maybe(z.string()),
    data: maybe(z.json()),
    source: maybe(z.nullable(z.string())),
    created_at: maybe(z.string()),
    freshness: maybe(z.nullable(z.string())),
    priority: maybe(z.number()),
    lineage: maybe(z.array(z.string())),
    metadata: maybe(z.record(z.string(), z.json())),
  }),
);

/** Which artifacts a prompt shows, and how many. */
export const contextPolicyShape = z.lazy(() => {
  const texts = maybe(z.array(z.string()));
  const count = maybe(z.int().check(z.nonnegative()));
  return z.strictObject({
    max_artifacts: count,
    max_tokens: count,
    reserve_tokens: count,
    include_kinds: texts,
    exclude_kinds: texts,
    prioritize_kinds: texts,
    pinned_ids: texts,
    prefer_recent: maybe(z.boolean()),
    prefer_fresh: maybe(z.boolean()),
  });
});

const ALIASES = new Map([
  ["file", "workspace_file"],
  ["transcript", "transcript_summary"],
  ["verification", "verification_result"],
  ["test", "test_result"],
  ["", "artifact"],
]);

const PRIORITIES = new Map([
  ...["verification_result", "test_result"].map((kind) => [kind, 100] as const),
  ["verification_bundle", 95],
  ["handoff", 92],
  ...["diff", "git_diff", "patch", "patch_set", "patch_proposal", "diff_review"].map(
    (kind) => [kind, 90] as const,
  ),
  ...["review_decision", "apply_intent"].map((kind) => [kind, 90] as const),
  ["plan", 80],
  ...["workspace_file", "workspace_snapshot", "editor_selection", "resource"].map(
    (kind) => [kind, 70] as const,
  ),
  ...["summary", "transcript_summary"].map((kind) => [kind, 60] as const),
  ["command_result", 50],
]);

export const kindOf = (kind = ""): string => ALIASES.get(kind) ?? kind;

/** An artifact with what its caller left out. @param at RFC 3339 */
export function artifactOf(
  given: z.infer<typeof artifactShape>,
  { id, at }: { id: string; at: string },
): TaskArtifact {
  const kind = kindOf(given.kind);
  const text = given.text ?? (given.data === undefined ? "" : JSON.stringify(given.data));
  return {
    id: given.id ?? id,
    kind,
    title: given.title ?? kind,
    text,
    source: given.source ?? null,
    created_at: given.created_at ?? at,
    freshness: given.freshness ?? null,
    priority: given.priority ?? PRIORITIES.get(kind) ?? 40,
    lineage: given.lineage ?? [],
  };
}

const tokensOf = ({ text }: TaskArtifact): number => Math.ceil(new TextEncoder().encode(text).length / 4);

function freshnessOf({ freshness }: TaskArtifact): number {
  if (freshness === "fresh" || freshness === "live") return 3;
  if (freshness === "recent") return 2;
  return freshness === "stale" ? 0 : 1;
}

/** The artifacts that a prompt shows, the first in order that fit. */
export function selectArtifacts(all: readonly TaskArtifact[], policy: ContextPolicy): TaskArtifact[] {
  const { include_kinds, exclude_kinds = [], prioritize_kinds = [], pinned_ids = [] } = policy;
  const { prefer_fresh = false, prefer_recent = false } = policy;
  const named = (kinds: readonly string[], { kind }: TaskArtifact): boolean =>
    kinds.some((each) => kindOf(each) === kind);
  const pinned = ({ id }: TaskArtifact): boolean => pinned_ids.includes(id);
  const wanted = all.filter(
    (each) =>
      pinned(each) ||
      ((include_kinds === undefined || named(include_kinds, each)) && !named(exclude_kinds, each)),
  );
  const distinct = wanted.filter(
    (each, index) => wanted.findIndex(({ text }) => text === each.text) === index || pinned(each),
  );
  const ordered = distinct.toSorted(
    (a, b) =>
      Number(pinned(b)) - Number(pinned(a)) ||
      Number(named(prioritize_kinds, b)) - Number(named(prioritize_kinds, a)) ||
      b.priority - a.priority ||
      (prefer_fresh ? freshnessOf(b) - freshnessOf(a) : 0) ||
      (prefer_recent ? b.created_at.localeCompare(a.created_at) : 0) ||
      tokensOf(a) - tokensOf(b),
  );
  const { max_tokens, reserve_tokens = 0, max_artifacts = Number.POSITIVE_INFINITY } = policy;
  let left = max_tokens === undefined ? Number.POSITIVE_INFINITY : max_tokens - reserve_tokens;
  const chosen: TaskArtifact[] = [];
  for (const each of ordered) {
    if (chosen.length >= max_artifacts) break;
    const tokens = tokensOf(each);
    if (tokens > left) continue;
    left -= tokens;
    chosen.push(each);
  }
  return chosen;
}
