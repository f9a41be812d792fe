/** Artifacts that tools make for people to look at: their forms, and what Hull keeps of them. Pure. */

import * as z from "zod/mini";
import { about, json, maybe, object, ordinal, type Shaped, text } from "../answer-shape.ts";
import { firstOf } from "../cut.ts";
import { isObject, objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

const ARTIFACT_TYPES = [
  "code",
  "html",
  "markdown",
  "svg",
  "mermaid",
  "react",
  "image",
  "custom",
  "document",
] as const;
export type ArtifactType = (typeof ARTIFACT_TYPES)[number];

/** One version of an artifact. */
export type Artifact = Shaped<typeof artifactShape>;
export const artifactShape = () =>
  z.object({
    id: about(text(), "Unique in its session."),
    type: z.enum(ARTIFACT_TYPES),
    title: text(),
    content: about(json(), "Text; for an image its URL; for type `custom` any JSON."),
    language: maybe(about(text(), "Only for `code` and `react`.")),
    metadata: object(),
    plugin: maybe(text()),
    version: ordinal(),
  });

/** An artifact without its content. */
export type ArtifactHead = Shaped<typeof artifactHead>;
export const artifactHead = () =>
  z.pick(artifactShape(), { id: true, type: true, title: true, version: true });

export interface ArtifactFinding {
  code: "artifact_type_unknown";
  message: string;
}

type ReadArtifact = { artifact: Artifact; updated: boolean; findings: ArtifactFinding[] } | { error: string };

/** A version that another session made, with the run and the call that made it. `at`: Unix ms. */
export interface ImportedArtifact {
  artifact: Artifact;
  at: number;
  run_id: string;
  call_id: string;
}

/** The form of an id: it appears in paths. */
const ARTIFACT_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** The top-level keys of a document that become metadata. */
const DOCUMENT_KEYS = ["fileName", "fileSize", "mimeType", "documentType", "downloadUrl", "assetId"];

/** Whether a handler returned an artifact, or an update of one. */
export function isArtifact(value: Json): value is JsonObject {
  return isObject(value) && (value.__artifact__ === true || value.__artifact_update__ === true);
}

/**
 * Reads an artifact, or an update of one.
 * @param latest the last version under an id; `null`: there is none
 * @param newId makes an id for an artifact without one
 */
export function readArtifact(
  given: JsonObject,
  latest: (id: string) => Artifact | null,
  newId: () => string,
): ReadArtifact {
  const { id } = given;
  const update = given.__artifact_update__ === true;
  const wrong = wrongField(given);
  if (wrong !== null) return { error: wrong };
  if (id !== undefined && id !== null && (typeof id !== "string" || !ARTIFACT_ID.test(id))) {
    const what = "has an id of 1 to 128 characters A-Za-z0-9._:-, the first a letter or digit";
    return { error: `An artifact ${what}, not ${firstOf(JSON.stringify(id), 80)}.` };
  }
  const named = typeof id === "string" ? id : null;
  if (update) return updated(given, named, latest);
  return created(given, named ?? newId(), latest);
}

function updated(
  given: JsonObject,
  id: string | null,
  latest: (id: string) => Artifact | null,
): ReadArtifact {
  if (id === null) return { error: "An update of an artifact names its id." };
  const before = latest(id);
  if (before === null) return { error: `There is no artifact "${id}" to update.` };
  const { content, title, metadata } = given;
  const artifact: Artifact = {
    ...before,
    ...(content === undefined || content === null ? {} : { content }),
    ...(typeof title === "string" ? { title } : {}),
    metadata: { ...before.metadata, ...objectOf(metadata) },
    version: versionAfter(before, given.version),
  };
  return { artifact, updated: true, findings: [] };
}

function created(given: JsonObject, id: string, latest: (id: string) => Artifact | null): ReadArtifact {
  const findings: ArtifactFinding[] = [];
  const { content = "", title, language, plugin } = given;
  const type = ARTIFACT_TYPES.find((name) => name === given.type) ?? "custom";
  if (given.type !== type) {
    const named = given.type === undefined ? "names no type" : `has the type ${JSON.stringify(given.type)}`;
    const message = `The artifact ${id} ${firstOf(named, 120)}, and is taken for custom. There are ${ARTIFACT_TYPES.join(", ")}.`;
    findings.push({ code: "artifact_type_unknown", message });
  }
  const known = languageOf(type, language);
  const artifact: Artifact = {
    id,
    type,
    title: typeof title === "string" ? title : "Untitled",
    content,
    ...(known === null ? {} : { language: known }),
    metadata: metadataOf(type, given),
    ...(typeof plugin === "string" ? { plugin } : {}),
    version: versionAfter(latest(id), given.version),
  };
  return { artifact, updated: false, findings };
}

function languageOf(type: ArtifactType, given: Json | undefined): string | null {
  if (typeof given === "string") return given;
  return type === "code" ? "text" : type === "react" ? "tsx" : null;
}

function metadataOf(type: ArtifactType, given: JsonObject): JsonObject {
  const own = objectOf(given.metadata);
  if (type === "code") return { editable: true, ...own };
  if (type !== "document") return own;
  const known = DOCUMENT_KEYS.flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]]]));
  return { ...Object.fromEntries(known), ...own };
}

/** The previous version plus one, or a greater one if given. */
function versionAfter(before: Artifact | null, given: Json | undefined): number {
  const next = (before?.version ?? 0) + 1;
  return typeof given === "number" && Number.isSafeInteger(given) && given > next ? given : next;
}

function wrongField(given: JsonObject): string | null {
  const { metadata, version } = given;
  for (const key of ["title", "language", "plugin"]) {
    const value = given[key];
    if (value !== undefined && value !== null && typeof value !== "string")
      return `The ${key} of an artifact must be a string.`;
  }
  if (metadata !== undefined && metadata !== null && !isObject(metadata))
    return "The metadata of an artifact must be an object.";
  const counted = typeof version === "number" && Number.isSafeInteger(version) && version > 0;
  if (version !== undefined && version !== null && !counted)
    return "The version of an artifact must be a whole number from 1.";
  return null;
}

/** Old and new artifacts, each in its last version; only records hold contents. */
export function withArtifacts(
  known: readonly ArtifactHead[] | undefined,
  made: readonly Artifact[],
): { artifacts?: ArtifactHead[] } {
  if (made.length === 0) return {};
  const last = new Map((known ?? []).map((artifact) => [artifact.id, artifact]));
  for (const { id, type, title, version } of made) last.set(id, { id, type, title, version });
  return { artifacts: [...last.values()] };
}

/** The model's line about an artifact, never with its content. */
export function artifactLine({ id, title, version }: Artifact, isUpdate: boolean): string {
  if (isUpdate) return `Artifact ${id} was updated to version ${version}.`;
  const name = firstOf(title.replace(/\s+/g, " "), 200);
  return `Artifact "${name}" was made (id ${id}, version ${version}).`;
}
