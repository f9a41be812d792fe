/** A call's input and answer: small ones in the object's own storage, large ones in R2. */
import type { Bindings } from "../../env.ts";
import { Internal } from "../../errors.ts";
import type { RunInput, RunOutput } from "../../run/handle.ts";
import { type Content, HELD_BYTES, holdOrStore, openContent, openObject } from "../../run/large-body.ts";
import type { LongValues } from "../long-values.ts";
import type { CallRow, ContentLocation, StoredInput } from "./call-store.ts";
import type { ExecutionCall } from "./rpc.ts";

/** R2 keys of an input. */
export function keysOf({ text, files }: StoredInput): string[] {
  const places = [text, ...files.map(({ place }) => place)];
  return places.flatMap((place) => (place !== null && "key" in place ? [place.key] : []));
}

/** R2 keys of an input that is not stored yet. */
export function keysOfCall({ text, files }: ExecutionCall): string[] {
  return [text, ...files.map(({ content }) => content)].flatMap((content) =>
    content === null || content instanceof Uint8Array ? [] : [content.key],
  );
}

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
