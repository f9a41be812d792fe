// `npm run docs` writes this file from src/client.
/** Hard budgets of a tenant, its skills and its sessions. */
import type { Budget, NewBudget } from "./api.ts";
import type { CallSettings, Transport } from "./transport.ts";
/** A scope is `tenant`, `skill:<slug>` or `session:<id>`. */
export declare class BudgetsClient {
    #private;
    constructor(transport: Transport);
    list(settings?: CallSettings): AsyncGenerator<Budget>;
    /** The budget, with what is spent of it. */
    get(scope: string, settings?: CallSettings): Promise<Budget>;
    /** Sets the budget; needs a key with the scope `admin`. */
    set(scope: string, budget: NewBudget, settings?: CallSettings): Promise<Budget>;
    delete(scope: string, settings?: CallSettings): Promise<void>;
}
