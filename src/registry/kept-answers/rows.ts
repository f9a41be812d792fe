/**
 * Answers to requests with an `Idempotency-Key`, in D1 and R2. The process that claims a name handles the request,
 * renews its claim every few seconds, and stores the answer; all other processes find the answer there.
 */

import * as z from "zod/mini";
import KEPT_ANSWERS from "../../../migrations/0014_kept_answers.sql?raw";
import { askedAgain } from "../../asked-again.ts";
import { removeInBatches, type Statement, Tables } from "../../database.ts";
import type { Bindings } from "../../env.ts";

/** How long an answer is kept, in ms. */
const KEPT_MS = 86_400_000;
/** A claim that nobody renewed for so many ms belongs to a process that is gone. */
const SILENCE_MS = 10_000;
/** How often a claim must be renewed, in ms. */
export const RENEW_MS = 3000;
/** Rows that a sweep removes at once; R2 removes 1000 objects at once. */
const BATCH = 1000;

const headShape = z.lazy(() =>
  z.object({ status: z.int(), headers: z.array(z.tuple([z.string(), z.string()])) }),
);
/** Status and headers of an answer. */
export type AnswerHead = z.infer<typeof headShape>;

const rowShape = z.lazy(() =>
  z.object({
    request_hash: z.string(),
    attempt: z.string(),
    effects: z.int(),
    alive_ms: z.int(),
    answer: z.nullable(z.string()),
  }),
);

const claimShape = z.lazy(() =>
  z.object({
    name: z.string(),
    /** Distinguishes this claim from earlier and later claims of the name. */
    attempt: z.string(),
  }),
);
/** A name that a process has claimed. */
type Claim = z.infer<typeof claimShape>;

/** A name that this process has claimed. */
export interface OwnClaim extends Claim {
  /** The first of this and the earlier attempts at the same request, which may have taken effect. */
  first: string;
}

/**
 * `claimed`: the caller handles the request. `running`: another process handles it. `lost`: another process began
 * effects and is gone. `other_request`: the name belongs to a request with another hash.
 */
type Claimed =
  | { state: "claimed"; claim: OwnClaim }
  | { state: "answered"; head: AnswerHead; body: Uint8Array<ArrayBuffer> }
  | { state: "running" | "lost" | "other_request" };

const tables = ({ DB }: Bindings): Tables => new Tables(DB, KEPT_ANSWERS);
const bodyKey = ({ name, attempt }: Claim): string => `answers/${name.split("/")[0]}/${attempt}`;

/**
 * Claims a name, or says what happened to the claim that holds it. A claim that gives way keeps its row under
 * `<name>/<attempt>` until the sweep, which then finds a body that its process has stored or still stores. Until then
 * the attempts at the same request know the first of them.
 * @param effects whether the request has effects from its beginning
 */
export async function claimAnswer(
  env: Bindings,
  { name, request_hash, effects }: { name: string; request_hash: string; effects: boolean },
): Promise<Claimed> {
  const now = Date.now();
  const attempt = crypto.randomUUID();
  const silent = now - SILENCE_MS;
  const statements: Statement[] = [
    [
      `UPDATE kept_answers SET name = name || '/' || attempt WHERE name = ?1
AND (expires_ms <= ?2 OR alive_ms = 0 OR (request_hash = ?3 AND answer IS NULL AND effects = 0 AND alive_ms <= ?4))`,
      [name, now, request_hash, silent],
    ],
    [
      `INSERT INTO kept_answers (name, request_hash, attempt, effects, alive_ms, expires_ms)
VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING`,
      [name, request_hash, attempt, Number(effects), now, now + KEPT_MS],
    ],
    ["SELECT request_hash, attempt, effects, alive_ms, answer FROM kept_answers WHERE name = ?", [name]],
    [
      `SELECT name, attempt FROM kept_answers WHERE name > ?1 || '/' AND name < ?1 || '0'
AND expires_ms > ?2 AND request_hash = ?3 AND answer IS NULL ORDER BY rowid LIMIT 1`,
      [name, now, request_hash],
    ],
  ];
  // A second time, they find the claim that the first time may have made.
  const [, , found, attempts] = await askedAgain(() => tables(env).batch(statements));
  const [row] = z.array(rowShape).parse(found);
  if (row === undefined) return { state: "running" };
  const [first] = z.array(claimShape).parse(attempts);
  if (row.attempt === attempt)
    return { state: "claimed", claim: { name, attempt, first: first?.attempt ?? attempt } };
  if (row.request_hash !== request_hash) return { state: "other_request" };
  if (row.answer === null) return { state: row.effects === 1 && row.alive_ms <= silent ? "lost" : "running" };
  const key = bodyKey({ name, attempt: row.attempt });
  const body = await askedAgain(async () => (await env.FILES.get(key))?.arrayBuffer());
  if (body === undefined) return { state: "lost" };
  return { state: "answered", head: headShape.parse(JSON.parse(row.answer)), body: new Uint8Array(body) };
}

/** Records that the owner is still alive. */
export async function renewClaim(env: Bindings, { name, attempt }: Claim): Promise<void> {
  await tables(env).run("UPDATE kept_answers SET alive_ms = ? WHERE name = ? AND attempt = ?", [
    Date.now(),
    name,
    attempt,
  ]);
}

/** Says that the request has effects from now on. `false`: another process has taken the request over. */
export async function noteEffects(env: Bindings, { name, attempt }: Claim): Promise<boolean> {
  const changed = await askedAgain(() =>
    tables(env).run("UPDATE kept_answers SET effects = 1, alive_ms = ? WHERE name = ? AND attempt = ?", [
      Date.now(),
      name,
      attempt,
    ]),
  );
  return changed > 0;
}

/** Keeps the answer for a day, unless another process has taken the request over. */
export async function keepAnswer(
  env: Bindings,
  claim: Claim,
  head: AnswerHead,
  body: Uint8Array,
): Promise<void> {
  const values = [JSON.stringify(head), Date.now() + KEPT_MS, claim.name, claim.attempt];
  await askedAgain(() => env.FILES.put(bodyKey(claim), body));
  const changed = await askedAgain(() =>
    tables(env).run(
      "UPDATE kept_answers SET answer = ?, expires_ms = ? WHERE name = ? AND attempt = ?",
      values,
    ),
  );
  if (changed === 0) await dropBodies(env, [claim]);
}

/**
 * Releases a name, so that the next request with it is handled anew, whatever it asks.
 * @param refused the request has done nothing, so that no later attempt need know about it
 */
export async function releaseClaim(env: Bindings, { name, attempt }: Claim, refused: boolean): Promise<void> {
  const released = refused ? "DELETE FROM kept_answers" : "UPDATE kept_answers SET effects = 0, alive_ms = 0";
  await tables(env).run(`${released} WHERE name = ? AND attempt = ?`, [name, attempt]);
}

/** Removes expired answers, bodies first. @param now Unix ms */
export async function sweepAnswers(env: Bindings, now = Date.now()): Promise<void> {
  await removeInBatches(async () => {
    const expired = await tables(env).rows(
      claimShape,
      "SELECT name, attempt FROM kept_answers WHERE expires_ms <= ? LIMIT ?",
      [now, BATCH],
    );
    await dropBodies(env, expired);
    const gone = JSON.stringify(expired.map(({ attempt }) => attempt));
    const remove =
      "DELETE FROM kept_answers WHERE expires_ms <= ? AND attempt IN (SELECT value FROM json_each(?))";
    await tables(env).run(remove, [now, gone]);
    return expired.length === BATCH;
  });
}

async function dropBodies(env: Bindings, claims: readonly Claim[]): Promise<void> {
  if (claims.length > 0) await env.FILES.delete(claims.map(bodyKey));
}
