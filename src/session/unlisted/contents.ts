/** A call's input, its answer and the files of its run: small ones in the object's own storage, large ones in R2. */
import type { Bindings } from "../../env.ts";
import { Internal } from "../../errors.ts";
import type { RunInput, RunOutput } from "../../run/handle.ts";
import { type Content, HELD_BYTES, holdOrStore, openContent, openObject } from "../../run/large-body.ts";
import type { WorkspaceAccess } from "../../run/workspace/access.ts";
import type { LongValues } from "../long-values.ts";
import { removeBelow } from "../r2-objects.ts";
import { Workspace } from "../workspace/workspace.ts";
import type { CallRow, ContentLocation, StoredInput } from "./call-store.ts";
import type { ExecutionCall } from "./rpc.ts";

const keysIn = (places: readonly (ContentLocation | Content | null)[]): string[] =>
  places.flatMap((place) => (place !== null && "key" in place ? [place.key] : []));

/** R2 keys of an input. */
export const keysOf = ({ text, files }: StoredInput): string[] =>
  keysIn([text, ...files.map(({ place }) => place)]);

/** R2 keys of an input that is not stored yet. */
export const keysOfCall = ({ text, files }: ExecutionCall): string[] =>
  keysIn([text, ...files.map(({ content }) => content)]);

/** Keys of everything that R2 may hold for a call and the earlier runs of its id. */
export function objectsOf({ input, outcome }: CallRow): string[] {
  const held = outcome?.ok === true && "name" in outcome.body;
  const keys = [
    ...keysOf(input),
    ...(held || input.body === null ? [] : [input.body]),
    ...(input.spent ?? []),
  ];
  return [...new Set(keys)];
}

/** The stored input in the form that the modes take; large files as streams. */
export async function inputOf(env: Bindings, held: LongValues, stored: StoredInput): Promise<RunInput> {
  const text = stored.text === null ? null : await openBody(env, held, stored.text);
  const files = [];
  for (const { filename, mime, place } of stored.files) {
    const body = "name" in place ? held.read(place.name) : openContent(env.FILES, place);
    files.push({ filename, mime, body });
  }
  return {
    text: text instanceof ReadableStream ? new Uint8Array(await new Response(text).arrayBuffer()) : text,
    files,
  };
}

/** Reads an answer's body completely, into memory or into R2 under a key. */
export async function holdBody(env: Bindings, key: string, body: RunOutput["body"]): Promise<Content> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  if (bytes instanceof Uint8Array && bytes.length <= HELD_BYTES) return bytes;
  return holdOrStore({ bucket: env.FILES, key: () => key }, bytes instanceof Uint8Array ? [bytes] : bytes);
}

/** The bytes at a location; those in R2 as a stream. */
export async function openBody(
  env: Bindings,
  held: LongValues,
  place: ContentLocation,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  if ("name" in place) return held.read(place.name);
  const object = await openObject(env.FILES, place.key);
  if (object === null) throw new Internal({ cause: `R2 lacks ${place.key}` });
  return object.body;
}

/** The R2 prefix of a run's files. The next run of the same call has another prefix. */
const prefixOf = (id: string, generation: number): string => `executions/${id}/files-${generation}/`;

/** The files of a call's run, in the session's own storage, removed with it. */
export function runFiles(
  storage: DurableObjectStorage,
  env: Bindings,
  { id, generation }: { id: string; generation: number },
): WorkspaceAccess {
  const workspace = new Workspace({ storage, bucket: env.FILES, prefix: prefixOf(id, generation) });
  return {
    listFiles: async (after, limit) => workspace.list(after, limit),
    findFile: async (path) => workspace.find(path),
    beginFile: async (intent) => workspace.begin(intent),
    noteUpload: async (key, uploadId) => workspace.noteUpload(key, uploadId),
    storeSmall: async (contents) => workspace.store(contents),
    changeFiles: async (changes) => workspace.change(changes),
    workspaceVersion: async () => workspace.version(),
    workspaceManifest: async () => workspace.manifest(),
    contents: async (digests) => workspace.contents(digests),
  };
}

/** Removes the R2 objects of a call's runs, up to this generation. */
export async function clearRunFiles(env: Bindings, id: string, generation: number): Promise<void> {
  for (let one = 0; one <= generation; one++) await removeBelow(env.FILES, prefixOf(id, one));
}
