/** The runner secret and what it permits (serving.md §6.1). */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { importTicketKey, type TicketKey, type TicketSubject, verifyTicket } from "../src/tool/protocol.ts";
import { Refused } from "./refusal.ts";

/** Shortest secret accepted, in characters. */
export const MIN_SECRET_CHARS = 32;

export class Auth {
  /** Whether the secret comes by `PUT /v1/secret`: only where nothing but the Durable Object reaches the port. */
  readonly deliverable: boolean;
  #key: TicketKey | null = null;
  #fingerprint: Buffer | null = null;

  constructor(deliverable: boolean) {
    this.deliverable = deliverable;
  }

  get ready(): boolean {
    return this.#key !== null;
  }

  /** Takes the secret; the first one stays. `false`: another one is already set. */
  async setSecret(secret: string): Promise<boolean> {
    const fingerprint = createHash("sha256").update(secret).digest();
    if (this.#fingerprint !== null) return timingSafeEqual(this.#fingerprint, fingerprint);
    this.#fingerprint = fingerprint;
    this.#key = await importTicketKey(secret);
    return true;
  }

  /**
   * Checks the Bearer ticket of a request. `specText` is the exact spec JSON of an execution, else "".
   * @throws Refused 401
   */
  async permit(request: IncomingMessage, subject: TicketSubject, specText = ""): Promise<void> {
    const ticket = bearer(request);
    const good =
      this.#key !== null &&
      ticket !== null &&
      (await verifyTicket(this.#key, ticket, subject, specText, Date.now()));
    if (!good) throw new Refused("unauthenticated", "The ticket is missing, expired or for something else.");
  }
}

function bearer(request: IncomingMessage): string | null {
  const header = request.headers.authorization;
  return header?.startsWith("Bearer ") ? header.slice(7) : null;
}
