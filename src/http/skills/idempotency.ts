/** What makes two calls the same: a key, and an input. */
import { BadRequest } from "../../errors/request.ts";
import { digested, sha256 } from "../../run/digest.ts";
import type { RunInput } from "../../run/input.ts";
import { type Content, HeldBodies } from "../../run/large-body.ts";
import type { RequestContext } from "../context.ts";
import { callerOf } from "../execution-client.ts";
import { mediaType } from "./media-type.ts";

/** Whether and how a call outlives its connection. */
export interface DurableCall {
  id: string;
  /** The client gave it a key, so that it can come back. */
  keyed: boolean;
  /** The client does not wait. */
  respondAsync: boolean;
}

/**
 * Reads `Idempotency-Key` and `Prefer: respond-async`; `null` where neither is there.
 * @param later the client has said otherwise that it does not wait
 * @throws BadRequest for a key that is none
 */
export async function durableCall(
  context: RequestContext,
  slug: string,
  later = false,
): Promise<DurableCall | null> {
  const { headers } = context.request;
  const key = idempotencyKey(context.request);
  const prefer = (headers.get("prefer") ?? "").split(",").map((part) => part.trim().toLowerCase());
  const respondAsync = later || prefer.includes("respond-async");
  if (key === null) {
    const id = `ex_${crypto.randomUUID().replaceAll("-", "")}`;
    return respondAsync ? { id, keyed: false, respondAsync } : null;
  }
  return { id: `ex_${(await callName(context, key, slug)).slice(0, 32)}`, keyed: true, respondAsync };
}

/** The key that a client gave its call; `null` where it gave none. @throws BadRequest for one that is none */
export function idempotencyKey({ headers }: Request): string | null {
  const key = headers.get("idempotency-key");
  if (key === null || /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new BadRequest({ detail: "Idempotency-Key holds 1 to 255 printable ASCII characters." });
}

/** What names the calls that have this key: a hash of key, caller, and what is called. */
export function callName(context: RequestContext, key: string, called: string): Promise<string> {
  return sha256(JSON.stringify([key, callerOf(context), called]));
}

interface TakenInput {
  text: Content | null;
  files: { filename: string | null; mime: string; content: Content }[];
  /** SHA-256 (hex) of each content, that of the text first. */
  hashes: string[];
}

/** Reads an input to its end, so that it can be kept. @param folder of R2, where it is large */
export async function takeInput(
  { env }: RequestContext,
  id: string,
  input: RunInput,
  folder: "executions" | "responses" = "executions",
): Promise<TakenInput> {
  const shelf = { bucket: env.FILES, key: () => `${folder}/${id}/input-${crypto.randomUUID()}` };
  const bodies = new HeldBodies(shelf);
  const hashes: string[] = [];
  for (const body of [
    ...(input.text === null ? [] : [input.text]),
    ...input.files.map((file) => file.body),
  ]) {
    const { body: passed, sha256 } = digested(body instanceof Uint8Array ? [body] : body);
    await bodies.add(passed);
    hashes.push(await sha256);
  }
  const contents = [...bodies.contents];
  const text = input.text === null ? null : (contents.shift() ?? null);
  const files = input.files.map(({ filename, mime }, index) => {
    return { filename, mime, content: contents[index] ?? new Uint8Array(0) };
  });
  return { text, files, hashes };
}

/**
 * SHA-256 (hex) of method, path, query, media type, and of what the input holds. What the request would not be another
 * by, is left out: how the answer is to come (`stream`), and how a form's parts are divided.
 */
export function requestHash({ request }: RequestContext, input: unknown): Promise<string> {
  const { pathname, searchParams } = new URL(request.url);
  searchParams.delete("stream");
  searchParams.delete("after");
  const same = [
    request.method,
    pathname,
    searchParams.toString(),
    mediaType(request.headers.get("content-type")),
  ];
  return sha256(JSON.stringify([same, input]));
}
