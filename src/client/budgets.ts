/** Hard budgets of a tenant, its skills and its sessions. */
import type { Budget, NewBudget } from "../../typed/client/api.d.ts";
import type { CallSettings, Transport } from "./transport.ts";

/** A scope is `tenant`, `skill:<slug>` or `session:<id>`. */
export class BudgetsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(settings: CallSettings = {}): AsyncGenerator<Budget> {
    return this.#transport.pages("GET /budgets", {}, settings);
  }

  /** The budget, with what is spent of it. */
  get(scope: string, settings: CallSettings = {}): Promise<Budget> {
    return this.#transport.ask("GET /budgets/{scope}", { path: { scope } }, settings);
  }

  /** Sets the budget; needs a key with the scope `admin`. */
  set(scope: string, budget: NewBudget, settings: CallSettings = {}): Promise<Budget> {
    return this.#transport.ask("PUT /budgets/{scope}", { path: { scope }, json: budget }, settings);
  }

  delete(scope: string, settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove("DELETE /budgets/{scope}", { path: { scope } }, settings);
  }
}
