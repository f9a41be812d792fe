/** The most that each call under way may take. A call whose end is not reported in time counts in full. */
import { select } from "../sql.ts";
import type { Amount, Charge, ReserveRequest } from "./rpc.ts";
import { rowsOf } from "./scope.ts";

/** How long an expired reservation still accepts a late report of the call's end, in ms. */
const LATE_MS = 24 * 3_600_000;

interface Stored extends Omit<ReserveRequest, "prompt_cost" | "unknown_price" | "ttl_ms"> {
  taken_at: number;
  expires_at: number;
  expired: number;
}

interface Expired {
  /** What is charged while the call's end is unknown. */
  full: Charge;
  expires_at: number;
}

export class Reservations {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Whether this is reserved already: the caller repeats a request whose answer was lost. */
  holds({ id, prompt_tokens, output_tokens, cost }: ReserveRequest): boolean {
    const query =
      "SELECT 1 FROM reservation WHERE id = ? AND expired = 0 AND prompt_tokens = ? AND output_tokens = ? AND cost IS ?";
    return select(this.#sql, query, id, prompt_tokens, output_tokens, cost).length > 0;
  }

  /** What was charged when a reservation expired, and what takes it back; `null`: none with this id has. */
  expired(id: string): { charged: Expired; reversal: Expired } | null {
    const query = "SELECT * FROM reservation WHERE id = ? AND expired = 1";
    const [row] = select<Stored>(this.#sql, query, id);
    return row === undefined ? null : { charged: fullCharge(row, 1), reversal: fullCharge(row, -1) };
  }

  /** Adds a reservation, or replaces the amounts of the call's earlier one and begins its time again. */
  put(request: ReserveRequest, now: number): void {
    const { id, skill, session, account, provider, model, prompt_tokens, output_tokens, cost } = request;
    this.#sql.exec(
      `INSERT INTO reservation (id, skill, session, account, provider, model, prompt_tokens, output_tokens, cost,
         taken_at, expires_at, expired) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
       ON CONFLICT DO UPDATE SET prompt_tokens = excluded.prompt_tokens, output_tokens = excluded.output_tokens,
         cost = excluded.cost, expires_at = excluded.expires_at, expired = 0`,
      id,
      skill,
      session,
      account,
      provider,
      model,
      prompt_tokens,
      output_tokens,
      cost,
      now,
      now + request.ttl_ms,
    );
  }

  /**
   * Removes a reservation; `null` if there is none with this id. `reversal` takes back what was charged when it
   * expired; `null`: nothing was.
   */
  take(id: string): { reversal: Expired | null } | null {
    const [row] = select<Stored>(this.#sql, "DELETE FROM reservation WHERE id = ? RETURNING *", id);
    return row === undefined ? null : { reversal: row.expired === 1 ? fullCharge(row, -1) : null };
  }

  /** Marks reservations whose time is over; returns each of them only once. */
  expire(now: number): Expired[] {
    const query = "SELECT * FROM reservation WHERE expired = 0 AND expires_at <= ?";
    const over = select<Stored>(this.#sql, query, now);
    if (over.length > 0) {
      this.#sql.exec("UPDATE reservation SET expired = 1 WHERE expired = 0 AND expires_at <= ?", now);
      this.#sql.exec("DELETE FROM reservation WHERE expired = 1 AND expires_at <= ?", now - LATE_MS);
    }
    return over.map((row) => fullCharge(row, 1));
  }

  /** The sum of the reservations of calls under way in a scope. @param except the id of a call that does not count */
  held(scope: string, except = ""): Amount {
    const { where, values } = rowsOf(scope);
    return this.#sql
      .exec<Amount & Record<string, SqlStorageValue>>(
        `SELECT coalesce(sum(cost), 0) AS cost, coalesce(sum(prompt_tokens), 0) AS input_tokens,
           coalesce(sum(output_tokens), 0) AS output_tokens FROM reservation
         WHERE expired = 0 AND id <> ? AND ${where}`,
        except,
        ...values,
      )
      .one();
  }
}

function fullCharge(row: Stored, sign: 1 | -1): Expired {
  const { skill, session, account, provider, model, prompt_tokens, output_tokens, cost } = row;
  const spend = {
    calls: sign,
    unpriced_calls: cost === null ? sign : 0,
    estimated_calls: sign,
    input_tokens: sign * prompt_tokens,
    output_tokens: sign * output_tokens,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    prompt_tokens: sign * prompt_tokens,
    cost: sign * (cost ?? 0),
    duration_ms: sign * (row.expires_at - row.taken_at),
  };
  return { full: { skill, session, account, provider, model, spend }, expires_at: row.expires_at };
}
