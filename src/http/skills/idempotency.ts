/** What makes two calls the same (serving.md §5.2, §6.3): a key, and an input. */
import { BadRequest } from "../../errors/request.ts";
import type { RunInput } from "../../run/input.ts";
import { HELD_BYTES, holdOrStore } from "../../run/large-body.ts";
import { bucketPrefix } from "../../session/execution/contents.ts";
import type { Content } from "../../session/execution/rpc.ts";
import type { RequestContext } from "../context.ts";
import { callerOf } from "../execution-object.ts";
import { mediaType } from "./media-type.ts";

/** Whether and how a call outlives its connection. */
export interface DurableCall {
  id: string;
  /** The client does not wait. */
  respondAsync: boolean;
}

/**
 * Reads `Idempotency-Key` and `Prefer: respond-async`; `null` where neither is there.
 * @throws BadRequest for a key that is none
 */
export async function durableCall(context: RequestContext, slug: string): Promise<DurableCall | null> {
  const { headers } = context.request;
  const key = headers.get("idempotency-key");
  const prefer = (headers.get("prefer") ?? "").split(",").map((part) => part.trim().toLowerCase());
  const respondAsync = prefer.includes("respond-async");
  if (key === null) {
    return respondAsync ? { id: `ex_${crypto.randomUUID().replaceAll("-", "")}`, respondAsync } : null;
  }
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw new BadRequest({ detail: "Idempotency-Key holds 1 to 255 printable ASCII characters." });
  }
  const hash = await sha256(JSON.stringify([key, callerOf(context), slug]));
  return { id: `ex_${hash.slice(0, 32)}`, respondAsync };
}

export interface TakenInput {
  text: Content | null;
  files: { filename: string | null; mime: string; content: Content }[];
  /** SHA-256 (hex) of method, path, query, media type, and of what the input holds. */
  hash: string;
}

/**
 * Reads an input to its end, so that it can be kept. What the request would not be another by, is left out of the hash:
 * how the answer is to come (`stream`), and how a form's parts are divided.
 */
export async function takeInput(context: RequestContext, id: string, input: RunInput): Promise<TakenInput> {
  const { request, env } = context;
  const hashes: (string | null)[] = [];
  let left = HELD_BYTES;
  const take = async (body: Uint8Array | ReadableStream<Uint8Array>): Promise<Content> => {
    const digest = new crypto.DigestStream("SHA-256");
    const writer = digest.getWriter();
    const key = `${bucketPrefix(id)}input-${crypto.randomUUID()}`;
    const pieces = body instanceof Uint8Array ? [body] : body;
    let content: Content = await holdOrStore(env.FILES, key, hashed(pieces, writer));
    hashes.push(hex(await digest.digest));
    if (content instanceof Uint8Array && content.length > left) {
      const size = content.length;
      await env.FILES.put(key, content);
      content = { key, size };
    }
    if (content instanceof Uint8Array) left -= content.length;
    return content;
  };
  const text = input.text === null ? null : await take(input.text);
  const files: TakenInput["files"] = [];
  for (const { filename, mime, body } of input.files) {
    files.push({ filename, mime, content: await take(body) });
  }
  const { pathname, searchParams } = new URL(request.url);
  searchParams.delete("stream");
  searchParams.delete("after");
  const names = files.map(({ filename, mime }) => [filename, mime]);
  const same = [
    request.method,
    pathname,
    searchParams.toString(),
    mediaType(request.headers.get("content-type")),
  ];
  return { text, files, hash: await sha256(JSON.stringify([same, text === null, names, hashes])) };
}

async function* hashed(
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  writer: WritableStreamDefaultWriter<ArrayBuffer | ArrayBufferView>,
): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    await writer.write(piece);
    yield piece;
  }
  await writer.close();
}

async function sha256(text: string): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

function hex(digest: ArrayBuffer): string {
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
