/** An execution's input and answer: small ones in the object's own storage, large ones in R2. */
import type { Bindings } from "../../env.ts";
import { Internal } from "../../errors.ts";
import type { RunOutput } from "../../run/handle.ts";
import type { RunInput } from "../../run/input.ts";
import { HELD_BYTES, holdOrStore, openContent } from "../../run/large-body.ts";
import type { ExecutionCall } from "./rpc.ts";
import type { ExecutionStore, Place, StoredInput } from "./store.ts";

/** Every R2 object of an execution is below this. */
export function bucketPrefix(id: string): string {
  return `executions/${id}/`;
}

/** The stored input, as a mode takes it; large files as streams. */
export async function inputOf(env: Bindings, store: ExecutionStore, stored: StoredInput): Promise<RunInput> {
  const text = stored.text === null ? null : await openBody(env, store, stored.text);
  const files = [];
  for (const { filename, mime, place } of stored.files) {
    const body = "name" in place ? store.readContent(place.name) : openContent(env.FILES, place);
    files.push({ filename, mime, body });
  }
  return {
    text: text instanceof ReadableStream ? new Uint8Array(await new Response(text).arrayBuffer()) : text,
    files,
  };
}

/** Stores an answer's body; answers where it is. */
export async function keepBody(
  env: Bindings,
  store: ExecutionStore,
  id: string,
  body: RunOutput["body"],
): Promise<{ body: Place; size: number }> {
  const key = `${bucketPrefix(id)}body`;
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const kept =
    bytes instanceof Uint8Array && bytes.length <= HELD_BYTES
      ? bytes
      : await holdOrStore(
          { bucket: env.FILES, key: () => key },
          bytes instanceof Uint8Array ? [bytes] : bytes,
        );
  if (!(kept instanceof Uint8Array)) return { body: kept, size: kept.size };
  store.writeContent("body", kept);
  return { body: { name: "body" }, size: kept.length };
}

/** The bytes at a place; from R2 as a stream. */
export async function openBody(
  env: Bindings,
  store: ExecutionStore,
  place: Place,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  if ("name" in place) return store.readContent(place.name);
  const object = await env.FILES.get(place.key);
  if (object === null) throw new Internal({ cause: `R2 lacks ${place.key}` });
  return object.body;
}

/** Removes what the input of a call left in R2 that began nothing, unless it is the call that did, asked again. */
export async function dropInput(env: Bindings, call: ExecutionCall, stored: StoredInput): Promise<void> {
  const used = [stored.text, ...stored.files.map(({ place }) => place)];
  const contents = [call.text, ...call.files.map(({ content }) => content)];
  const keys = contents.flatMap((content) => {
    if (content === null || content instanceof Uint8Array) return [];
    return used.some((place) => place !== null && "key" in place && place.key === content.key)
      ? []
      : [content.key];
  });
  if (keys.length > 0) await env.FILES.delete(keys);
}

/** Removes what R2 holds of an execution. */
export async function clearBucket(env: Bindings, id: string): Promise<void> {
  const { objects } = await env.FILES.list({ prefix: bucketPrefix(id) });
  if (objects.length > 0) await env.FILES.delete(objects.map(({ key }) => key));
}
