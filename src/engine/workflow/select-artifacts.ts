/** Which artifacts a stage reads, and how its prompt shows them. Pure. */
import * as z from "zod/mini";
import { once } from "../../memo.ts";
import { textsIn } from "../../skill/json.ts";
import { shortenOutput } from "../agent/compaction.ts";
import { bodyOf, kindOf, type WorkflowArtifact } from "./artifacts.ts";

const maybe = z.exactOptional;

const shape = once(() => {
  const texts = z.array(z.string());
  const count = z.int().check(z.nonnegative());
  return z.strictObject({
    max_artifacts: maybe(count),
    max_tokens: maybe(count),
    reserve_tokens: maybe(count),
    include_kinds: maybe(texts),
    exclude_kinds: maybe(texts),
    prioritize_kinds: maybe(texts),
    pinned_ids: maybe(texts),
    include_stages: maybe(texts),
    prefer_recent: maybe(z.boolean()),
    prefer_fresh: maybe(z.boolean()),
    render: maybe(z.enum(["json", "xml"])),
  });
});
export const contextPolicyShape = () => shape();
export type ContextPolicy = z.infer<ReturnType<typeof shape>>;

const FRESHNESS: { readonly [word: string]: number | undefined } = { fresh: 3, live: 3, recent: 2, stale: 0 };
const freshnessOf = ({ freshness }: WorkflowArtifact): number => FRESHNESS[freshness ?? ""] ?? 1;

/**
 * The artifacts that the policy selects, the most important first.
 * @param given all artifacts, the oldest first
 */
export function selectArtifacts(
  given: readonly WorkflowArtifact[],
  policy: ContextPolicy,
): WorkflowArtifact[] {
  const { max_artifacts = Number.POSITIVE_INFINITY, max_tokens, reserve_tokens = 0 } = policy;
  const included = given.filter((artifact) => isIncluded(artifact, policy));
  const kept = shortened(withoutCopies(withoutStale(included), policy), max_tokens);
  const selected: WorkflowArtifact[] = [];
  let left = max_tokens === undefined ? Number.POSITIVE_INFINITY : max_tokens - reserve_tokens;
  for (const artifact of kept.toSorted(inOrder(policy))) {
    if (selected.length >= max_artifacts) break;
    if (artifact.estimated_tokens > left) continue;
    left -= artifact.estimated_tokens;
    selected.push(artifact);
  }
  return selected;
}

function isIncluded(artifact: WorkflowArtifact, policy: ContextPolicy): boolean {
  const { include_kinds, exclude_kinds = [], include_stages, pinned_ids = [] } = policy;
  if (pinned_ids.includes(artifact.id)) return true;
  if (include_kinds !== undefined && !include_kinds.some((kind) => kindOf(kind) === artifact.kind))
    return false;
  if (exclude_kinds.some((kind) => kindOf(kind) === artifact.kind)) return false;
  return include_stages === undefined || (artifact.stage !== null && include_stages.includes(artifact.stage));
}

type Order = (a: WorkflowArtifact, b: WorkflowArtifact) => number;

function inOrder(policy: ContextPolicy): Order {
  const { pinned_ids = [], prioritize_kinds = [], prefer_fresh = false, prefer_recent = false } = policy;
  const prioritized = new Set(prioritize_kinds.map(kindOf));
  const orders: Order[] = [
    descending(({ id }) => Number(pinned_ids.includes(id))),
    descending(({ kind }) => Number(prioritized.has(kind))),
    descending(({ priority }) => priority),
    ...(prefer_fresh ? [descending(freshnessOf)] : []),
    ...(prefer_recent ? [descending(({ created_at }) => Date.parse(created_at))] : []),
    descending(({ relevance }) => relevance ?? 0),
    descending(({ estimated_tokens }) => -estimated_tokens),
  ];
  return (a, b) => {
    for (const order of orders) {
      const way = order(a, b);
      if (way !== 0) return way;
    }
    return 0;
  };
}

const descending =
  (value: (artifact: WorkflowArtifact) => number): Order =>
  (a, b) =>
    value(b) - value(a);

/** Drops evidence about paths that a later artifact changed: it is out of date. */
function withoutStale(artifacts: readonly WorkflowArtifact[]): WorkflowArtifact[] {
  /** By path and freshness: when it was last changed, Unix ms. */
  const changes = new Map<string, Map<number, number>>();
  for (const artifact of artifacts) {
    const at = Date.parse(artifact.created_at);
    const freshness = freshnessOf(artifact);
    for (const path of pathsIn(artifact, "changed_paths")) {
      const known = changes.get(path) ?? new Map<number, number>();
      if (at > (known.get(freshness) ?? Number.NEGATIVE_INFINITY))
        changes.set(path, known.set(freshness, at));
    }
  }
  return artifacts.filter((artifact) => {
    const at = Date.parse(artifact.created_at);
    const freshness = freshnessOf(artifact);
    return !pathsIn(artifact, "evidence_paths").some((path) =>
      Array.from(changes.get(path) ?? []).some(([fresher, changed]) => fresher > freshness && changed >= at),
    );
  });
}

const pathsIn = ({ metadata }: WorkflowArtifact, name: string): string[] => textsIn(metadata[name]) ?? [];

/** Of artifacts with equal contents, keeps the first, and all pinned ones. */
function withoutCopies(
  artifacts: readonly WorkflowArtifact[],
  { pinned_ids = [] }: ContextPolicy,
): WorkflowArtifact[] {
  const seen = new Set<string>();
  return artifacts.filter((artifact) => {
    const body = bodyOf(artifact);
    if (body === "") return true;
    if (seen.has(body)) return pinned_ids.includes(artifact.id);
    seen.add(body);
    return true;
  });
}

const LEAST_SHARE = 500;

/** Shortens an artifact of more than twice its share, so that it does not push out all others. */
function shortened(
  artifacts: readonly WorkflowArtifact[],
  max_tokens: number | undefined,
): WorkflowArtifact[] {
  if (max_tokens === undefined || artifacts.length === 0) return [...artifacts];
  const share = Math.min(max_tokens, Math.max(LEAST_SHARE, Math.floor(max_tokens / artifacts.length)));
  return artifacts.map((artifact) =>
    artifact.estimated_tokens <= 2 * share ? artifact : cut(artifact, share),
  );
}

function cut(artifact: WorkflowArtifact, tokens: number): WorkflowArtifact {
  const text = shortenOutput(bodyOf(artifact), tokens * 4);
  return { ...artifact, text, estimated_tokens: Math.ceil(new TextEncoder().encode(text).length / 4) };
}

/** Selected artifacts as a prompt shows them. Long ones are shortened until all fit the policy's tokens. */
export function fitted(
  selected: readonly WorkflowArtifact[],
  { max_tokens, reserve_tokens = 0 }: ContextPolicy,
): WorkflowArtifact[] {
  const shares = shortened(selected, max_tokens);
  if (max_tokens === undefined) return shares;
  const room = Math.max(0, max_tokens - reserve_tokens);
  if (shares.reduce((sum, { estimated_tokens }) => sum + estimated_tokens, 0) <= room) return shares;
  const share = Math.floor(room / shares.length);
  return shares.map((artifact) => (artifact.estimated_tokens <= share ? artifact : cut(artifact, share)));
}

/** The beginning of an element of the prompt. In an artifact it could close its element and pose as the prompt. */
const FRAME = /<(?=\/?(?:artifact|context|task|verification)\b)/gi;

/** The artifacts as a prompt shows them. */
export function renderArtifacts(
  artifacts: readonly WorkflowArtifact[],
  render: "json" | "xml" = "xml",
): string {
  if (render === "json") {
    const shown = artifacts.map(({ id, kind, title, source, freshness, priority, text, data }) => ({
      id,
      kind,
      title,
      source,
      freshness,
      priority,
      ...(text === null ? { data } : { text }),
    }));
    return JSON.stringify(shown, null, 2).replaceAll(FRAME, "\\u003c");
  }
  return artifacts
    .map((artifact) => {
      const { id, kind, title, source, freshness, priority } = artifact;
      const attributes = Object.entries({ id, kind, title, source, freshness, priority: String(priority) })
        .flatMap(([name, value]) => (value === null ? [] : [`${name}="${attribute(value)}"`]))
        .join(" ");
      const body = bodyOf(artifact).replaceAll(FRAME, "&lt;");
      return `<artifact ${attributes}>\n${body}\n</artifact>`;
    })
    .join("\n");
}

/** A text for an attribute of an element, without the quotes. */
export const attribute = (value: string): string =>
  value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replace(/\s+/g, " ");
