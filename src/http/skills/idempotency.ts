/** Names for calls, by key and input, so that Hull recognises a repeated call. */
import { sha256 } from "../../bytes.ts";
import { BadRequest, IdempotencyKeyReused } from "../../errors/request.ts";
import type { HullError } from "../../errors.ts";
import { digested } from "../../run/digest.ts";
import { keepTemporary } from "../../run/files.ts";
import type { RunInput } from "../../run/handle.ts";
import { type BodyStorage, type Content, HeldBodies } from "../../run/large-body.ts";
import type { RequestContext } from "../context.ts";
import { callerOf } from "../execution-client.ts";
import { prefersAsync } from "../wait.ts";
import { typeOf } from "./media-type.ts";

/** Whether and how a call outlives its connection. */
export interface DurableCall {
  id: string;
  /** The client gave the call a key, so that it can return to it. */
  keyed: boolean;
  /** The client does not wait. */
  respondAsync: boolean;
}

/**
 * Reads `Idempotency-Key` and `Prefer: respond-async`; `null` if there is neither.
 * @param later the client has said in another way that it does not wait
 * @param called the skill (`calledAt`) or the operation
 * @throws BadRequest for an invalid key
 */
export async function durableCall(
  context: RequestContext,
  called: string,
  later = false,
): Promise<DurableCall | null> {
  const key = idempotencyKey(context.request);
  const respondAsync = later || prefersAsync(context.request);
  if (key === null) {
    return respondAsync
      ? { id: `ex_${crypto.randomUUID().replaceAll("-", "")}`, keyed: false, respondAsync }
      : null;
  }
  return { id: `ex_${(await callName(context, key, called)).slice(0, 32)}`, keyed: true, respondAsync };
}

/** The client's key for its call; `null`: none. @throws BadRequest for an invalid key */
export function idempotencyKey({ headers }: Request): string | null {
  const key = headers.get("idempotency-key");
  if (key === null || /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new BadRequest({ detail: "Idempotency-Key holds 1 to 255 printable ASCII characters." });
}

/** Another request has the key of this one. */
export const keyReused = ({ request }: RequestContext): HullError =>
  new IdempotencyKeyReused({ key: request.headers.get("idempotency-key") ?? "" });

/** The id of all calls with this key: a hash of the key, the caller and the operation. */
export function callName(context: RequestContext, key: string, called: string): Promise<string> {
  return sha256(JSON.stringify([key, callerOf(context), called]));
}

/**
 * 32 digits for the id of what a request makes: random, or the same for all calls with its `Idempotency-Key`.
 * @param called a key counts for one path only, unless the caller says otherwise
 */
export async function idDigits(context: RequestContext, called?: string): Promise<string> {
  const key = idempotencyKey(context.request);
  if (key === null) return crypto.randomUUID().replaceAll("-", "");
  const name = await callName(context, key, called ?? new URL(context.request.url).pathname);
  return name.slice(0, 32);
}

/**
 * SHA-256 (hex) from which the id of something that the request makes derives. A request that begins again under its
 * `Idempotency-Key` gets the same (`keyed`).
 * @param what distinguishes the things that one request makes
 */
export const madeId = (context: RequestContext, what: string): Promise<string> => {
  context.attempt ??= crypto.randomUUID();
  return sha256(`${context.attempt} ${what}`);
};

/** The first 32 of its digits. */
export const madeDigits = async (context: RequestContext, what: string): Promise<string> =>
  (await madeId(context, what)).slice(0, 32);

/** Operations whose names a skill may have too. */
const OPERATIONS: readonly string[] = ["runs", "responses"];

/** The name of what a skill's calls call, derived from the skill's route alone, so it is known without the skill. */
export function calledAt(route: string): string {
  const slug = /^\/skills\/([^/]+)$/.exec(route)?.[1];
  return slug === undefined || OPERATIONS.includes(slug) ? route : slug;
}

interface TakenInput {
  text: Content | null;
  files: { filename: string | null; mime: string; content: Content }[];
  /** SHA-256 (hex) of each content, beginning with the text. */
  hashes: string[];
}

/**
 * Reads an input to its end. The run that the caller begins with it takes over what is stored in R2. If none begins, the
 * tenant's file index removes it a day later.
 * @param folder in R2, for large parts
 */
export async function takeInput(
  { env, tenant }: RequestContext,
  id: string,
  input: RunInput,
  folder: "executions" | "responses" = "executions",
): Promise<TakenInput> {
  const storage: BodyStorage = {
    bucket: env.FILES,
    key: () => `${folder}/${id}/input-${crypto.randomUUID()}`,
    note: (key, uploadId) => keepTemporary(env, tenant, key, uploadId),
  };
  const bodies = new HeldBodies(storage);
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
 * SHA-256 (hex) of method, path, query, media type, the bot and the content of the input. It does not depend on the form
 * of the answer (`stream`), or on how a form is split into parts, since neither changes the request.
 */
export function requestHash({ request }: RequestContext, input: unknown): Promise<string> {
  const { pathname, searchParams } = new URL(request.url);
  const bot = request.headers.get("x-hull-bot");
  searchParams.delete("stream");
  searchParams.delete("after");
  const same = [
    request.method,
    pathname,
    searchParams.toString(),
    typeOf(request),
    // Routes that read no bot do not refuse a malformed one.
    ...(bot === null ? [] : [bot]),
  ];
  return sha256(JSON.stringify([same, input]));
}
