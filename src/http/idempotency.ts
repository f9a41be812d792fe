/** Names for calls, by key and input, so that Hull recognises a repeated call. */
import { sha256 } from "../bytes.ts";
import { BadRequest, IdempotencyKeyReused } from "../errors/request.ts";
import type { HullError } from "../errors.ts";
import type { RequestContext } from "./context.ts";
import { callerOf } from "./execution-client.ts";
import { typeOf } from "./media-type.ts";

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

/**
 * SHA-256 (hex) of method, path, query, media type, the bot and the content of the input. It does not depend on the form
 * of the answer (`stream`, `wait=none`), or on how a form is split into parts, since neither changes the request.
 */
export function requestHash({ request }: RequestContext, input: unknown): Promise<string> {
  const { pathname, searchParams } = new URL(request.url);
  const bot = request.headers.get("x-hull-bot");
  searchParams.delete("stream");
  searchParams.delete("after");
  if (searchParams.get("wait") === "none") searchParams.delete("wait");
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
