/** The messages between the Worker and a LedgerObject. Types only. Money is integer nano-USD, times are Unix ms. */
import type { Rate } from "./rate.ts";

/** The span of a budget, in UTC; `total`: for ever. */
export type Window = "hour" | "day" | "month" | "total";

/** On whose behalf a call is made. */
export interface Subject {
  /** Slug of the skill that calls. */
  skill: string | null;
  /** Session of the call. */
  session: string | null;
  /** Its soft ledger, `session:<id>` or `caller:<key id>`; `null`: none. */
  account: string | null;
}

/** What one model call took, or several together. */
export interface Spend {
  calls: number;
  /** Calls with an unknown price: they cost 0. */
  unpriced_calls: number;
  /** Calls with estimated tokens, because their end was not seen or the provider did not report them. */
  estimated_calls: number;
  /** In the provider's counts. */
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  /** The whole prompt, cached or not; input limits count it. */
  prompt_tokens: number;
  cost: number;
  /** From the call's start to its end, in ms. */
  duration_ms: number;
}

/** Spend of one subject on one model. */
export interface Charge extends Subject {
  provider: string;
  /** As requested. */
  model: string;
  spend: Spend;
}

/** The most that a call may take, as far as it is known before the call. */
export interface ReserveRequest extends Subject {
  /** Names the call; the same id again is the same reservation. */
  id: string;
  provider: string;
  model: string;
  prompt_tokens: number;
  output_tokens: number;
  /** Price of the prompt alone, and of both; `null`: unknown. */
  prompt_cost: number | null;
  cost: number | null;
  /** How a cost limit treats a call of unknown price. */
  unknown_price: "refuse" | "allow";
  /** After this time a call without a reported end counts in full. */
  ttl_ms: number;
}

/**
 * The limit that a call would exceed. `limit_value`, `spent`, `reserved`, `requested`: nano-USD or tokens, as the
 * limit.
 */
export interface Refusal {
  /** A hard limit, or a soft budget (`max_cost`). */
  budget: "hard" | "soft";
  /** `tenant`, `skill:<slug>`, `session:<id>`, or `caller` for the soft budget of calls without session. */
  scope: string;
  window: Window;
  limit: "max_cost_usd" | "max_input_tokens" | "max_output_tokens" | "max_cost";
  limit_value: number;
  spent: number;
  reserved: number;
  /** `null`: the cost of the call is unknown. */
  requested: number | null;
  resets_at: number | null;
}

/** What an isolate must know about a tenant before it calls a model. */
export interface Policy {
  /** Whether the tenant has any hard limit: then every call must be reserved. */
  hard: boolean;
  /** Whether the tenant has any soft budget: then calls that count in a soft ledger must be reserved. */
  soft: boolean;
  /** Calls per minute by provider, as set by the tenant. */
  rpm: { [provider: string]: number };
  /** The ledger's clock at this answer. */
  at: number;
}

export interface Limits {
  window: Window;
  /** `null`: not limited. */
  max_cost: number | null;
  max_input_tokens: number | null;
  max_output_tokens: number | null;
}

export interface Amount {
  cost: number;
  input_tokens: number;
  output_tokens: number;
}

/** A hard limit and its present state. */
export interface Budget extends Limits {
  scope: string;
  /** In the current span. */
  spent: Amount;
  /** Reserved by calls under way. */
  reserved: Amount;
  /** The beginning of the current span, and of the next one; `null` if there is none. */
  since: number | null;
  resets_at: number | null;
  updated_at: number;
}

export type UsageGroup = "skill" | "session" | "model" | "day";

export interface UsageQuery {
  /** First and last day, `YYYY-MM-DD`, UTC; `null`: no bound. */
  from: string | null;
  to: string | null;
  group_by: UsageGroup;
  /** Only what this session spent; `null`: all. */
  session: string | null;
  limit: number;
  /** Key of the last group on the previous page. */
  after: string[] | null;
}

/** `key`: the day, the skill, the session (`""`: none), or provider and model. */
export interface UsageRow {
  key: string[];
  spend: Spend;
}

/** State of a soft ledger. */
export interface Account extends Amount {
  calls: number;
  /** `null`: no budget. */
  max_cost: number | null;
}

export interface LedgerRpc extends Rpc.DurableObjectBranded {
  /** Counts a request of a caller and returns 0; if the rate is used up, the ms until one is admitted. */
  countRequest(subject: string, rate: Rate): number;
  /**
   * Takes one of `limit` slots for `ttlMs` and returns 0; if all are taken, the seconds to wait before another attempt.
   * The same id again is the same slot.
   */
  takeSlot(id: string, limit: number, ttlMs: number): number;
  /** Prolongs a slot that is still held. */
  renewSlot(id: string, ttlMs: number): void;
  releaseSlot(id: string): void;

  policy(): { policy: Policy };
  /** Reserves a call's price and tokens, unless they would exceed a limit. */
  reserve(request: ReserveRequest): { refused: Refusal | null; policy: Policy };
  /**
   * Replaces a reservation by what the call took; `null`: nothing. It does nothing the second time, and for an unknown
   * id. `exceeded`: the call's soft budget is used up.
   */
  settle(id: string, charge: Charge | null): { exceeded: boolean; policy: Policy };
  /** Counts calls without a reservation. The same id again does nothing. */
  record(id: string, charges: Charge[]): { policy: Policy };
  /**
   * Counts a call to a provider and returns 0; if its rate is used up, the ms until another attempt.
   * @param rpm calls per minute if the tenant did not set any; `null`: no rate
   */
  takeTurn(provider: string, rpm: number | null): number;

  usage(query: UsageQuery): { rows: UsageRow[]; more: boolean };
  /** The tenant's total spend. */
  total(): Spend;
  account(name: string): Account;
  /** @param maxCost `null`: none from now on */
  putAccount(name: string, maxCost: number | null): { account: Account; policy: Policy };
  budgets(limit: number, after: string): { rows: Budget[]; more: boolean };
  budget(scope: string): Budget | null;
  putBudget(scope: string, limits: Limits): { budget: Budget; created: boolean; policy: Policy };
  deleteBudget(scope: string): { existed: boolean; policy: Policy };
  /** @param rpm 0: none from now on */
  putRpm(provider: string, rpm: number): { policy: Policy };
}
