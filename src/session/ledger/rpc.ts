/** The messages between the Worker and a LedgerObject. Types only. Money is integer nano-USD, times are Unix ms. */
import type { Rate } from "./rate.ts";

/** The span of a budget, in UTC; `total`: for ever. */
export type Window = "hour" | "day" | "month" | "total";

/** For whom a call is made. */
export interface Subject {
  /** Slug of the skill that makes the call. */
  skill: string | null;
  /** Session of the call; `null`: it has none. */
  session: string | null;
  /** Its soft ledger, `session:<id>` or `caller:<key id>`; `null`: none. */
  account: string | null;
}

/** What one or more model calls took. */
export interface Spend {
  calls: number;
  /** Calls with an unknown price: they cost 0. */
  unpriced_calls: number;
  /** Calls with estimated tokens, because Hull did not see their end or the provider did not report tokens. */
  estimated_calls: number;
  /** As the provider counts them. */
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  /** The whole prompt, cached or not. Limits on input count these. */
  prompt_tokens: number;
  cost: number;
  /** From the call's start to its end, in ms. */
  duration_ms: number;
}

/** What one subject spent on one model. */
export interface Charge extends Subject {
  provider: string;
  /** The model name in the request. */
  model: string;
  spend: Spend;
}

/** The most that a call may take, as far as that is known before the call. */
export interface ReserveRequest extends Subject {
  /** Identifies the call; the same id again replaces the reservation, for a call that needs more. */
  id: string;
  provider: string;
  model: string;
  prompt_tokens: number;
  output_tokens: number;
  /** Price of the prompt alone, and of prompt and answer together; `null`: unknown. */
  prompt_cost: number | null;
  cost: number | null;
  /** How a cost limit treats a call of unknown price. */
  unknown_price: "refuse" | "allow";
  /** After this time, a call whose end was not reported counts in full. */
  ttl_ms: number;
}

/**
 * The limit that a call would exceed. `limit_value`, `spent`, `reserved` and `requested` are nano-USD or tokens, like
 * the limit.
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

/** What an isolate must know about a tenant before it makes a model call. */
export interface Policy {
  /** Whether the tenant has a hard limit: then every call must be reserved. */
  hard: boolean;
  /** Whether the tenant has a soft budget: then calls with a soft ledger must be reserved. */
  soft: boolean;
  /** The tenant's own rates in calls per minute, by provider. */
  rpm: { [provider: string]: number };
  /** Time of this answer by the ledger's clock. */
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
  /** Spent in the current span. */
  spent: Amount;
  /** Reserved by calls under way. */
  reserved: Amount;
  /** When the current span and the next one begin; `null` if there is none. */
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
  /** Count only what this session spent; `null`: everything. */
  session: string | null;
  limit: number;
  /** Key of the last group on the previous page. */
  after: string[] | null;
}

/** `key`: the day; the skill; the session (`""`: none); or provider and model. */
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
  /** Counts a request of a caller and returns 0; if the rate is used up, returns the ms until one is admitted. */
  countRequest(subject: string, rate: Rate): number;
  /**
   * Takes one of `limit` slots for `ttlMs` and returns 0; if all are taken, returns the seconds to wait before another
   * attempt. The same id again means the same slot.
   */
  takeSlot(id: string, limit: number, ttlMs: number): number;
  /** Renews a slot if it is still held. */
  renewSlot(id: string, ttlMs: number): void;
  releaseSlot(id: string): void;

  policy(): { policy: Policy };
  /**
   * Reserves a call's price and tokens, unless they would exceed a limit. A refusal leaves an earlier reservation of the
   * call as it is, and what is reserved already is not refused.
   */
  reserve(request: ReserveRequest): { refused: Refusal | null; policy: Policy };
  /**
   * Replaces a reservation by what the call took; `null`: nothing. Does nothing for an unknown id, and thus nothing the
   * second time. `exceeded`: the call's soft budget is used up.
   */
  settle(id: string, charge: Charge | null): { exceeded: boolean; policy: Policy };
  /** Counts calls without a reservation. The same id again does nothing. */
  record(id: string, charges: Charge[]): { policy: Policy };
  /**
   * Counts a call to a provider and returns 0; if its rate is used up, returns the ms until another attempt.
   * @param rpm calls per minute if the tenant set none; `null`: no rate
   */
  takeTurn(provider: string, rpm: number | null): number;

  usage(query: UsageQuery): { rows: UsageRow[]; more: boolean };
  /** What the tenant has spent in total. */
  total(): Spend;
  account(name: string): Account;
  /** @param maxCost `null`: removes the budget */
  putAccount(name: string, maxCost: number | null): { account: Account; policy: Policy };
  /** The tenant's session is removed, so that its soft ledger goes once no call can be reported any more. */
  forgetSession(tenant: string, session: string): Promise<void>;
  budgets(limit: number, after: string): { rows: Budget[]; more: boolean };
  budget(scope: string): Budget | null;
  putBudget(scope: string, limits: Limits): { budget: Budget; created: boolean; policy: Policy };
  deleteBudget(scope: string): { existed: boolean; policy: Policy };
  /** @param rpm 0: removes the rate */
  putRpm(provider: string, rpm: number): { policy: Policy };
}
