import { DurableObject } from "cloudflare:workers";
import type { Bindings } from "../env.ts";
import { own } from "../skill/json.ts";
import { Accounts } from "./ledger/accounts.ts";
import { type BudgetRow, Budgets, budgetOf, refusalOf } from "./ledger/budgets.ts";
import type { Rate } from "./ledger/rate.ts";
import { Rates } from "./ledger/rates.ts";
import { RemovedSessions } from "./ledger/removed-sessions.ts";
import { Reservations } from "./ledger/reservations.ts";
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
import { Usage } from "./ledger/usage.ts";
import { migrate } from "./migrate.ts";
import { sessionsAmong } from "./session-index.ts";
import { select } from "./sql.ts";

/** The window of a provider's rate, in ms. */
const PROVIDER_WINDOW_MS = 60_000;
/** How long a repeated batch is recognised, in ms: a caller that gets no answer repeats it immediately. */
const KNOWN_BATCH_MS = 10 * 60_000;
/** Old batches are removed at most once in this many ms, since that reads all of them. */
const FORGET_BATCHES_MS = 60_000;

/**
 * Exact counts: a tenant's requests, calls and money (`tenant:<tenant>`), or a skill's simultaneous runs
 * (`skill:<slug>`). Every count is in SQLite before the object answers, so neither an eviction nor a deploy loses one.
 * Callers reserve before a call and settle after it. No call is admitted with which spent and reserved amounts together
 * would exceed a hard limit. No call awaits anything, so calls cannot overlap. An object has an alarm only while a removed
 * session's soft ledger must go.
 */
export class LedgerObject extends DurableObject<Bindings> implements LedgerRpc {
  readonly #storage = this.ctx.storage;
  readonly #rates = new Rates(this.#storage.sql);
  readonly #slots = new Slots(this.#storage.sql);
  readonly #usage = new Usage(this.#storage.sql);
  readonly #budgets = new Budgets(this.#storage.sql);
  readonly #reservations = new Reservations(this.#storage.sql);
  readonly #accounts = new Accounts(this.#storage.sql);
  readonly #removed = new RemovedSessions(this.#storage.sql);
  #policy: Omit<Policy, "at"> | null = null;
  /** When old batches were last removed, in Unix ms. */
  #forgotAt = 0;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    migrate(ctx.storage, MIGRATIONS);
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
    const rpm = own(this.#policyNow().rpm, provider) ?? configured;
    if (rpm === null) return 0;
    const rate = { requests: rpm, window_ms: PROVIDER_WINDOW_MS };
    return this.#rates.count(`provider ${provider}`, rate, Date.now());
  }

  policy(): { policy: Policy } {
    return { policy: this.#policyNow() };
  }

  reserve(request: ReserveRequest): { refused: Refusal | null; policy: Policy } {
    const now = Date.now();
    return this.#storage.transactionSync(() => {
      this.#expire(now);
      // A call that outlasted its reservation is under way after all.
      const lapsed = this.#reservations.expired(request.id);
      if (lapsed !== null) this.#charge(lapsed.reversal.full, lapsed.reversal.expires_at, now);
      const refused = this.#reservations.holds(request) ? null : this.#refusal(request, now);
      if (refused === null) this.#reservations.put(request, now);
      else if (lapsed !== null) this.#charge(lapsed.charged.full, lapsed.charged.expires_at, now);
      return { refused, policy: this.#policyNow() };
    });
  }

  settle(id: string, charge: Charge | null): { exceeded: boolean; policy: Policy } {
    const now = Date.now();
    return this.#storage.transactionSync(() => {
      this.#expire(now);
      const reservation = this.#reservations.take(id);
      if (reservation !== null) {
        const { reversal } = reservation;
        if (reversal !== null) this.#charge(reversal.full, reversal.expires_at, now);
        if (charge !== null) this.#charge(charge, now, now);
      }
      return { exceeded: this.#accounts.exceeded(charge?.account ?? null), policy: this.#policyNow() };
    });
  }

  record(id: string, charges: Charge[]): { policy: Policy } {
    const now = Date.now();
    const { sql } = this.#storage;
    return this.#storage.transactionSync(() => {
      if (now - this.#forgotAt >= FORGET_BATCHES_MS) {
        sql.exec("DELETE FROM recorded WHERE at < ?", now - KNOWN_BATCH_MS);
        this.#forgotAt = now;
      }
      const note = "INSERT OR IGNORE INTO recorded (id, at) VALUES (?, ?) RETURNING 1";
      if (select(sql, note, id, now).length > 0) for (const charge of charges) this.#charge(charge, now, now);
      return this.policy();
    });
  }

  account(name: string): Account {
    this.#expire(Date.now());
    return this.#accounts.get(name);
  }

  putAccount(name: string, maxCost: number | null): { account: Account; policy: Policy } {
    this.#accounts.put(name, maxCost);
    return { account: this.account(name), policy: this.#changed() };
  }

  async forgetSession(tenant: string, session: string): Promise<void> {
    this.#removed.note(tenant, session, Date.now());
    if ((await this.#storage.getAlarm()) === null) await this.#wake();
  }

  /** Removes the soft ledgers of sessions that were removed a while ago. */
  override async alarm(): Promise<void> {
    const now = Date.now();
    this.#expire(now);
    const removed = this.#removed.due(now);
    const back = await sessionsAmong(this.env, removed);
    this.#storage.transactionSync(() => this.#removed.drop(removed, back));
    this.#changed();
    await this.#wake();
  }

  /** Sets the alarm for the next removed session. */
  async #wake(): Promise<void> {
    const next = this.#removed.next();
    if (next !== null) await this.#storage.setAlarm(next);
  }

  budgets(limit: number, after: string): { rows: Budget[]; more: boolean } {
    const now = Date.now();
    this.#expire(now);
    const rows = this.#budgets.after(after, limit + 1, now);
    return { rows: rows.slice(0, limit).map((row) => this.#view(row, now)), more: rows.length > limit };
  }

  budget(scope: string): Budget | null {
    const now = Date.now();
    this.#expire(now);
    const row = this.#budgets.get(scope, now);
    return row === null ? null : this.#view(row, now);
  }

  /** Sets a limit. It also counts what its scope spent in the current span before. */
  putBudget(scope: string, limits: Limits): { budget: Budget; created: boolean; policy: Policy } {
    const now = Date.now();
    return this.#storage.transactionSync(() => {
      this.#expire(now);
      const created = this.#budgets.get(scope, now) === null;
      const row = this.#budgets.put(scope, limits, this.#usage.spent(scope, limits.window, now), now);
      return { budget: this.#view(row, now), created, policy: this.#changed() };
    });
  }

  deleteBudget(scope: string): { existed: boolean; policy: Policy } {
    return { existed: this.#budgets.delete(scope), policy: this.#changed() };
  }

  putRpm(provider: string, rpm: number): { policy: Policy } {
    const { sql } = this.#storage;
    if (rpm === 0) sql.exec("DELETE FROM provider_rate WHERE provider = ?", provider);
    else sql.exec("INSERT OR REPLACE INTO provider_rate (provider, rpm) VALUES (?, ?)", provider, rpm);
    return { policy: this.#changed() };
  }

  total(): Spend {
    this.#expire(Date.now());
    return this.#usage.total();
  }

  usage(query: UsageQuery): { rows: UsageRow[]; more: boolean } {
    this.#expire(Date.now());
    return this.#usage.page(query);
  }

  #policyNow(): Policy {
    this.#policy ??= {
      hard: this.#budgets.any(),
      soft: this.#accounts.anyBudget(),
      rpm: Object.fromEntries(
        this.#storage.sql.exec("SELECT provider, rpm FROM provider_rate").raw<[string, number]>(),
      ),
    };
    return { ...this.#policy, at: Date.now() };
  }

  #changed(): Policy {
    this.#policy = null;
    return this.#policyNow();
  }

  #view(row: BudgetRow, now: number): Budget {
    return budgetOf(row, this.#reservations.held(row.scope), now);
  }

  #refusal(request: ReserveRequest, now: number): Refusal | null {
    for (const row of this.#budgets.of(request, now)) {
      const refused = refusalOf(row, this.#reservations.held(row.scope, request.id), request, now);
      if (refused !== null) return refused;
    }
    return this.#accounts.refusalOf(request);
  }

  #charge(charge: Charge, at: number, now: number): void {
    this.#usage.add(charge, at);
    this.#budgets.charge(charge, charge.spend, at, now);
    this.#accounts.charge(charge);
  }

  /** Charges calls whose time was over before anybody reported their end. */
  #expire(now: number): void {
    for (const { full, expires_at } of this.#reservations.expire(now)) this.#charge(full, expires_at, now);
  }
}
