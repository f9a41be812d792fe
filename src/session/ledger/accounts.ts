/** Soft ledgers: the budget of a session, or of a caller without one, and what it has spent. */
import { select } from "../sql.ts";
import type { Account, Charge, Refusal, ReserveRequest } from "./rpc.ts";

export class Accounts {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Whether any ledger has a budget. Every session that has spent something has a ledger, so an index has those with one. */
  anyBudget(): boolean {
    this.#sql.exec(
      "CREATE INDEX IF NOT EXISTS account_with_budget ON account (max_cost) WHERE max_cost IS NOT NULL",
    );
    return select(this.#sql, "SELECT 1 FROM account WHERE max_cost IS NOT NULL LIMIT 1").length > 0;
  }

  get(name: string): Account {
    const query = "SELECT max_cost, cost, input_tokens, output_tokens, calls FROM account WHERE name = ?";
    const [row] = select<Account>(this.#sql, query, name);
    return row ?? { max_cost: null, cost: 0, input_tokens: 0, output_tokens: 0, calls: 0 };
  }

  put(name: string, maxCost: number | null): void {
    this.#sql.exec(
      `INSERT INTO account (name, max_cost, cost, input_tokens, output_tokens, calls) VALUES (?1, ?2, 0, 0, 0, 0)
       ON CONFLICT DO UPDATE SET max_cost = ?2`,
      name,
      maxCost,
    );
  }

  charge({ account, spend }: Charge): void {
    if (account === null) return;
    this.#sql.exec(
      `INSERT INTO account (name, max_cost, cost, input_tokens, output_tokens, calls) VALUES (?, NULL, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET cost = cost + excluded.cost, input_tokens = input_tokens + excluded.input_tokens,
         output_tokens = output_tokens + excluded.output_tokens, calls = calls + excluded.calls`,
      account,
      spend.cost,
      spend.input_tokens,
      spend.output_tokens,
      spend.calls,
    );
  }

  /** Whether its budget is used up. */
  exceeded(name: string | null): boolean {
    if (name === null) return false;
    const { max_cost, cost } = this.get(name);
    return max_cost !== null && cost >= max_cost;
  }

  /**
   * Refuses a call if the budget is used up, or if the prompt alone would use it up, and a call of unknown price, unless
   * such calls are allowed.
   */
  refusalOf({ account, prompt_cost, unknown_price }: ReserveRequest): Refusal | null {
    if (account === null || (prompt_cost === null && unknown_price === "allow")) return null;
    const { max_cost, cost } = this.get(account);
    if (max_cost === null) return null;
    if (prompt_cost !== null && cost < max_cost && cost + prompt_cost <= max_cost) return null;
    return {
      budget: "soft",
      scope: account.startsWith("session:") ? account : "caller",
      window: "total",
      limit: "max_cost",
      limit_value: max_cost,
      spent: cost,
      reserved: 0,
      requested: prompt_cost,
      resets_at: null,
    };
  }
}
