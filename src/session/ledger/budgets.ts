/** Hard limits, one per scope, and what each scope has spent in its current span. */
import { insertRow, select } from "../sql.ts";
import { periodEnd, periodStart } from "./period.ts";
import type { Amount, Budget, Limits, Refusal, ReserveRequest, Spend, Subject, Window } from "./rpc.ts";
import { scopesOf } from "./scope.ts";

/** A stored limit; its sums are those of the span that begins at `period`. */
export interface BudgetRow {
  scope: string;
  per: Window;
  max_cost: number | null;
  max_input: number | null;
  max_output: number | null;
  period: number;
  cost: number;
  input: number;
  output: number;
  updated_at: number;
}

export class Budgets {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  any(): boolean {
    return this.#sql.exec<{ n: number }>("SELECT count(*) AS n FROM budget").one().n > 0;
  }

  /** The limits that apply to a call, with the sums of their current spans. */
  of(subject: Subject, now: number): BudgetRow[] {
    const scopes = scopesOf(subject);
    const query = `SELECT * FROM budget WHERE scope IN (${scopes.map(() => "?")}) ORDER BY scope`;
    return select<BudgetRow>(this.#sql, query, ...scopes).map((row) => current(row, now));
  }

  get(scope: string, now: number): BudgetRow | null {
    const [row] = select<BudgetRow>(this.#sql, "SELECT * FROM budget WHERE scope = ?", scope);
    return row === undefined ? null : current(row, now);
  }

  /** The limits that follow a scope in the order of names. */
  after(scope: string, limit: number, now: number): BudgetRow[] {
    const query = "SELECT * FROM budget WHERE scope > ? ORDER BY scope LIMIT ?";
    return select<BudgetRow>(this.#sql, query, scope, limit).map((row) => current(row, now));
  }

  /**
   * Sets or replaces the limit of a scope.
   * @param spent what the scope has spent in the current span of the new window
   */
  put(scope: string, { window, ...limits }: Limits, spent: Amount, now: number): BudgetRow {
    const row = {
      scope,
      per: window,
      max_cost: limits.max_cost,
      max_input: limits.max_input_tokens,
      max_output: limits.max_output_tokens,
      period: periodStart(window, now),
      cost: spent.cost,
      input: spent.input_tokens,
      output: spent.output_tokens,
      updated_at: now,
    };
    insertRow(this.#sql, "budget", row, "INSERT OR REPLACE");
    return row;
  }

  delete(scope: string): boolean {
    return select(this.#sql, "DELETE FROM budget WHERE scope = ? RETURNING 1", scope).length > 0;
  }

  /** Adds a spend to every limit whose current span contains `at`. */
  charge(subject: Subject, { cost, prompt_tokens, output_tokens }: Spend, at: number, now: number): void {
    for (const row of this.of(subject, now)) {
      if (at < row.period) continue;
      this.#sql.exec(
        "UPDATE budget SET period = ?, cost = ?, input = ?, output = ? WHERE scope = ?",
        row.period,
        row.cost + cost,
        row.input + prompt_tokens,
        row.output + output_tokens,
        row.scope,
      );
    }
  }
}

/** The row with the sums of the span that contains `now`. */
function current(row: BudgetRow, now: number): BudgetRow {
  const period = periodStart(row.per, now);
  return period <= row.period ? row : { ...row, period, cost: 0, input: 0, output: 0 };
}

/**
 * The part of a limit that a call would exceed; `null`: none. A call of unknown price exceeds every cost limit, unless
 * such calls are allowed.
 */
export function refusalOf(
  row: BudgetRow,
  reserved: Amount,
  request: ReserveRequest,
  now: number,
): Refusal | null {
  const checks = [
    ["max_cost_usd", row.max_cost, row.cost, reserved.cost, request.cost],
    ["max_input_tokens", row.max_input, row.input, reserved.input_tokens, request.prompt_tokens],
    ["max_output_tokens", row.max_output, row.output, reserved.output_tokens, request.output_tokens],
  ] as const;
  for (const [limit, limit_value, spent, held, requested] of checks) {
    if (limit_value === null || (requested === null && request.unknown_price === "allow")) continue;
    if (requested !== null && spent + held + requested <= limit_value) continue;
    const resets_at = periodEnd(row.per, now);
    const where = { budget: "hard", scope: row.scope, window: row.per, resets_at } as const;
    return { ...where, limit, limit_value, spent, reserved: held, requested };
  }
  return null;
}

/** A limit as callers see it. */
export function budgetOf(row: BudgetRow, reserved: Amount, now: number): Budget {
  return {
    scope: row.scope,
    window: row.per,
    max_cost: row.max_cost,
    max_input_tokens: row.max_input,
    max_output_tokens: row.max_output,
    spent: { cost: row.cost, input_tokens: row.input, output_tokens: row.output },
    reserved,
    since: row.per === "total" ? null : row.period,
    resets_at: periodEnd(row.per, now),
    updated_at: row.updated_at,
  };
}
