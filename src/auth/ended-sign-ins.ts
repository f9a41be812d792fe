/**
 * Sign-ins that ended by a sign-out, in D1: a copy of the cookie, which the browser no longer has, must not work. Like
 * keys, an isolate caches an answer for at most 10 s, and the isolate that received the sign-out refuses immediately.
 */

import * as z from "zod/mini";
import ENDED_SIGN_INS from "../../migrations/0017_ended_sign_ins.sql?raw";
import { Tables } from "../database.ts";
import type { Bindings } from "../env.ts";
import type { Background } from "../log.ts";
import { type CacheEntry, RecentMap, usable } from "../recent.ts";
import type { SignIn } from "./sign-in.ts";

const AGES = { refresh: 2000, expire: 10_000 };
/** Cached sign-ins per isolate. */
const MAX_KNOWN = 5000;

interface Known extends CacheEntry {
  ended: boolean;
}

export class EndedSignIns {
  readonly #tables: Tables;
  readonly #byId = new RecentMap<string, Known>(MAX_KNOWN);

  constructor({ DB }: Bindings) {
    this.#tables = new Tables(DB, ENDED_SIGN_INS);
  }

  /** Whether a sign-in has ended. */
  async has({ id }: SignIn, background: Background): Promise<boolean> {
    const read = (): Promise<Known> => this.#read(id);
    const { ended } = usable(this.#byId.get(id), AGES, read, background) ?? (await read());
    return ended;
  }

  /** Ends a sign-in for good, and forgets those that are too old anyway. */
  async add({ id, until }: SignIn): Promise<void> {
    await this.#tables.batch([
      ["DELETE FROM ended_sign_ins WHERE until_ms <= ?", [Date.now()]],
      ["INSERT OR IGNORE INTO ended_sign_ins (id, until_ms) VALUES (?, ?)", [id, until]],
    ]);
    this.#byId.set(id, { ended: true, readAt: Date.now(), refreshing: false });
  }

  async #read(id: string): Promise<Known> {
    const readAt = Date.now();
    const found = await this.#tables.first(z.unknown(), "SELECT 1 FROM ended_sign_ins WHERE id = ?", [id]);
    // A sign-out through this isolate may be newer than the read.
    const ended = found !== null || this.#byId.get(id)?.ended === true;
    const known = { ended, readAt, refreshing: false };
    this.#byId.set(id, known);
    return known;
  }
}
