import { DurableObject } from "cloudflare:workers";
import type { Bindings } from "../env.ts";
import type { Rate } from "./ledger/rate.ts";
import { Rates } from "./ledger/rates.ts";
import type {
  Account,
  Budget,
  Charge,
  LedgerRpc,
  Limits,
  Policy,
  Refusal,
  ReserveRequest,
  Spend,
  UsageQuery,
  UsageRow,
} from "./ledger/rpc.ts";
import { MIGRATIONS } from "./ledger/schema.ts";
import { Slots } from "./ledger/slots.ts";
import { TenantLedger } from "./ledger/tenant-ledger.ts";
import { migrate } from "./migrate.ts";

/** The window of a provider's rate, in ms. */
const PROVIDER_WINDOW_MS = 60_000;

/**
 * Exact counts: a tenant's requests, calls and money (`tenant:<tenant>`), or a skill's simultaneous runs
 * (`skill:<slug>`). Every count is in SQLite before the object answers, so neither an eviction nor a deploy loses one.
 * No method awaits anything, so calls cannot overlap. An idle object has no alarm.
 */
export class LedgerObject extends DurableObject<Bindings> implements LedgerRpc {
  readonly #rates: Rates;
  readonly #slots: Slots;
  readonly #tenant: TenantLedger;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    migrate(ctx.storage, MIGRATIONS);
    this.#rates = new Rates(ctx.storage.sql);
    this.#slots = new Slots(ctx.storage.sql);
    this.#tenant = new TenantLedger(ctx.storage);
  }

  countRequest(subject: string, rate: Rate): number {
    return this.#rates.count(subject, rate, Date.now());
  }

  takeSlot(id: string, limit: number, ttlMs: number): number {
    return this.#slots.take(id, limit, ttlMs, Date.now());
  }

  renewSlot(id: string, ttlMs: number): void {
    this.#slots.renew(id, ttlMs, Date.now());
  }

  releaseSlot(id: string): void {
    this.#slots.release(id, Date.now());
  }

  takeTurn(provider: string, configured: number | null): number {
    const rpm = this.#tenant.rpm(provider) ?? configured;
    if (rpm === null) return 0;
    const rate = { requests: rpm, window_ms: PROVIDER_WINDOW_MS };
    return this.#rates.count(`provider ${provider}`, rate, Date.now());
  }

  policy(): { policy: Policy } {
    return { policy: this.#tenant.policy() };
  }

  reserve(request: ReserveRequest): { refused: Refusal | null; policy: Policy } {
    return this.#tenant.reserve(request);
  }

  settle(id: string, charge: Charge | null): { exceeded: boolean; policy: Policy } {
    return this.#tenant.settle(id, charge);
  }

  record(id: string, charges: Charge[]): { policy: Policy } {
    return { policy: this.#tenant.record(id, charges) };
  }

  usage(query: UsageQuery): { rows: UsageRow[]; more: boolean } {
    return this.#tenant.usage(query);
  }

  total(): Spend {
    return this.#tenant.total();
  }

  account(name: string): Account {
    return this.#tenant.account(name);
  }

  putAccount(name: string, maxCost: number | null): { account: Account; policy: Policy } {
    return this.#tenant.putAccount(name, maxCost);
  }

  budgets(limit: number, after: string): { rows: Budget[]; more: boolean } {
    return this.#tenant.budgets(limit, after);
  }

  budget(scope: string): Budget | null {
    return this.#tenant.budget(scope);
  }

  putBudget(scope: string, limits: Limits): { budget: Budget; created: boolean; policy: Policy } {
    return this.#tenant.putBudget(scope, limits);
  }

  deleteBudget(scope: string): { existed: boolean; policy: Policy } {
    return this.#tenant.deleteBudget(scope);
  }

  putRpm(provider: string, rpm: number): { policy: Policy } {
    return { policy: this.#tenant.putRpm(provider, rpm) };
  }
}
