/** The runner secret and what it permits. */
import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type ReadTicket, readTicket, type TicketSubject } from "../src/tool/protocol.ts";
import { Refused } from "./refusal.ts";

/** Shortest secret accepted, in characters. */
export const MIN_SECRET_CHARS = 32;

export class Auth {
  /** Whether `PUT /v1/secret` delivers the secret; allowed only if nothing but the Durable Object can reach the port. */
  readonly deliverable: boolean;
  #secret: Buffer | null = null;
  /** The secret as a key: to make one of bytes costs more than an HMAC. */
  #key: KeyObject | null = null;

  constructor(deliverable: boolean) {
    this.deliverable = deliverable;
  }

  get ready(): boolean {
    return this.#secret !== null;
  }

  /** The secret; it may arrive only with the first permitted request. */
  get secret(): Buffer {
    if (this.#secret === null) throw new Refused("unauthenticated", "The runner has no secret yet.");
    return this.#secret;
  }

  /** Takes the secret; the first one stays. `false`: another one is already set. */
  setSecret(secret: string): boolean {
    const bytes = Buffer.from(secret, "utf8");
    this.#secret ??= bytes;
    this.#key ??= createSecretKey(bytes);
    return timingSafeEqual(hash("sha256", this.#secret, "buffer"), hash("sha256", bytes, "buffer"));
  }

  /**
   * The Bearer ticket of a request, which is genuine. Synchronous, because Node's own HMAC is faster than Web Crypto with
   * its thread pool.
   * @throws Refused 401
   */
  ticketOf(request: IncomingMessage): ReadTicket {
    const ticket = readTicket(bearer(request));
    if (this.#key === null || ticket === null) throw notPermitted();
    const mac = createHmac("sha256", this.#key).update(ticket.signed).digest();
    if (mac.length !== ticket.mac.length || !timingSafeEqual(mac, ticket.mac)) throw notPermitted();
    return ticket;
  }

  /** Checks the ticket of a request that has no spec. @throws Refused 401 */
  permit(request: IncomingMessage, subject: TicketSubject): void {
    checkTicket(this.ticketOf(request), subject, "");
  }
}

/** Whether a ticket permits this now. `specDigest` is the SHA-256 (hex) of an execution's spec JSON. @throws Refused 401 */
export function checkTicket(ticket: ReadTicket, subject: TicketSubject, specDigest: string): void {
  if (!ticket.permits(subject, specDigest, Date.now())) throw notPermitted();
}

const notPermitted = (): Refused =>
  new Refused("unauthenticated", "The ticket is missing, expired or for something else.");

function bearer(request: IncomingMessage): string {
  const header = request.headers.authorization;
  return header?.startsWith("Bearer ") ? header.slice(7) : "";
}
