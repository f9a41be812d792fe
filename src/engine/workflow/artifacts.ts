/** Artifacts of a workflow: one stage makes them and later ones read them. Pure. */
import * as z from "zod/mini";
import { once } from "../../memo.ts";
import { withoutNulls } from "../../skill/json.ts";
import { jsonObject } from "../../skill/json-shape.ts";
import type { Json } from "../../skill/manifest.ts";
import { type Fault, shapeErrors } from "../fault.ts";

const maybe = z.exactOptional;

/** An artifact as a run holds it: with all its members. */
export type WorkflowArtifact = Required<Given>;

const KIND_ALIASES: { readonly [kind: string]: string | undefined } = {
  file: "workspace_file",
  transcript: "transcript_summary",
  verification: "verification_result",
  test: "test_result",
  "": "artifact",
};

const PRIORITIES: { readonly [kind: string]: number | undefined } = {
  verification_result: 100,
  test_result: 100,
  verification_bundle: 95,
  handoff: 92,
  diff: 90,
  git_diff: 90,
  patch: 90,
  patch_set: 90,
  patch_proposal: 90,
  diff_review: 90,
  review_decision: 90,
  apply_intent: 90,
  plan: 80,
  workspace_file: 70,
  workspace_snapshot: 70,
  editor_selection: 70,
  resource: 70,
  summary: 60,
  transcript_summary: 60,
  command_result: 50,
};
const OTHER_PRIORITY = 40;

const shape = once(() => {
  const text = z.string();
  const texts = z.array(text);
  const nullable = z.nullable(text);
  return z.strictObject({
    _type: maybe(z.literal("artifact")),
    id: maybe(text.check(z.minLength(1), z.maxLength(256))),
    kind: maybe(text),
    title: maybe(text),
    /** `null`: the artifact has only data. */
    text: maybe(nullable),
    data: maybe(z.json()),
    source: maybe(nullable),
    created_at: maybe(z.iso.datetime({ offset: true, error: "must be a time as RFC 3339" })),
    freshness: maybe(nullable),
    /** 0 to 100; a higher priority comes first. */
    priority: maybe(z.number()),
    /** Ids of the artifacts that it is based on. */
    lineage: maybe(texts),
    relevance: maybe(z.nullable(z.number())),
    /** A quarter of its size in bytes. */
    estimated_tokens: maybe(z.int().check(z.nonnegative())),
    /** Id of the node that made it; `null`: it came with the request. */
    stage: maybe(nullable),
    metadata: maybe(jsonObject()),
  });
});
export const artifactShape = () => shape();

type Given = z.infer<ReturnType<typeof shape>>;

/** Provides ids and the time. */
export interface Made {
  newId: () => string;
  /** RFC 3339. */
  now: string;
}

/** Reads a list of artifacts as a request gives it; a bare text is an artifact of that text. */
export function readArtifacts(
  given: Json,
  made: Made,
): { artifacts: WorkflowArtifact[] } | { faults: Fault[] } {
  const list = Array.isArray(given) ? given : [given];
  const faults: Fault[] = [];
  const artifacts: WorkflowArtifact[] = [];
  for (const [i, item] of list.entries()) {
    const parsed = shape().safeParse(typeof item === "string" ? { text: item } : withoutNulls(item));
    if (parsed.success) artifacts.push(artifactOf(parsed.data, made));
    else
      faults.push(...shapeErrors(parsed.error).map((fault) => ({ ...fault, path: joined(i, fault.path) })));
  }
  return faults.length > 0 ? { faults } : { artifacts };
}

const joined = (index: number, path: string): string => (path === "" ? `${index}` : `${index}.${path}`);

/** An artifact with its defaults. */
export function artifactOf(given: Given, { newId, now }: Made): WorkflowArtifact {
  const kind = kindOf(given.kind ?? "");
  const text = given.text ?? null;
  const data = given.data ?? null;
  const bytes = new TextEncoder().encode(text ?? (data === null ? "" : JSON.stringify(data))).length;
  return {
    _type: "artifact",
    id: given.id ?? newId(),
    kind,
    title: given.title ?? kind,
    text,
    data,
    source: given.source ?? null,
    created_at: given.created_at ?? now,
    freshness: given.freshness ?? null,
    priority: given.priority ?? PRIORITIES[kind] ?? OTHER_PRIORITY,
    lineage: given.lineage ?? [],
    relevance: given.relevance ?? null,
    estimated_tokens: given.estimated_tokens ?? Math.ceil(bytes / 4),
    stage: given.stage ?? null,
    metadata: given.metadata ?? {},
  };
}

/** The canonical name of a kind. */
export const kindOf = (kind: string): string => KIND_ALIASES[kind] ?? kind;

/** Bytes that each artifact takes in addition to its text. */
const FRAME_BYTES = 512;

/** About how many bytes the artifacts take. */
export const sizeOf = (artifacts: readonly WorkflowArtifact[]): number =>
  artifacts.reduce((sum, { estimated_tokens }) => sum + FRAME_BYTES + 4 * estimated_tokens, 0);

/** What an artifact says: its text, or its data as JSON. */
export function bodyOf({ text, data }: WorkflowArtifact): string {
  return text ?? (data === null ? "" : JSON.stringify(data, null, 2));
}
