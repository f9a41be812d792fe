/** What the Worker and a LedgerObject tell each other. Types only. Money is integer nano-USD, times are Unix ms. */
import type { Rate } from "./rate.ts";

/** Span in which a budget counts, by UTC; `total`: for ever. */
export type Window = "hour" | "day" | "month" | "total";

/** For whom a call is made. */
export interface Subject {
  /** Slug of the skill that calls. */
  skill: string | null;
  /** Session that it belongs to. */
  session: string | null;
  /** Its soft ledger, `session:<id>` or `caller:<key id>`; `null`: none. */
  account: string | null;
}

/** What a model call took, or several together. */
export interface Spend {
  calls: number;
  /** Calls whose price is not known: they cost 0. */
  unpriced_calls: number;
  /** Calls whose tokens are an estimate, since their end was not seen or the provider did not say. */
  estimated_calls: number;
  /** As the provider counts them. */
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  /** The whole prompt, cached or not: what input limits count. */
  prompt_tokens: number;
  cost: number;
  /** From the call's start to its end, in ms. */
  duration_ms: number;
}

/** Spend of one subject with one model. */
export interface Charge extends Subject {
  provider: string;
  /** As it was asked for. */
  model: string;
  spend: Spend;
}

/** What a call may take at most, as far as can be told before it. */
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
  /** What a limit of cost does to a call of unknown price. */
  unknown_price: "refuse" | "allow";
  /** After this long a call whose end nobody told counts in full. */
  ttl_ms: number;
}

/** Which limit a call would pass. `limit_value`, `spent`, `reserved`, `requested`: nano-USD or tokens, as the limit. */
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
  /** `null`: what the call costs is not known. */
  requested: number | null;
  resets_at: number | null;
}

/** What an isolate needs to know of a tenant before it calls a model. */
export interface Policy {
  /** Whether any hard limit is set: every call must be reserved then. */
  hard: boolean;
  /** Whether any soft budget is set: calls that count in a soft ledger must be. */
  soft: boolean;
  /** Calls a minute by provider, where the tenant set them. */
  rpm: { [provider: string]: number };
  /** The ledger's time of this answer. */
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

/** A hard limit and where it stands. */
export interface Budget extends Limits {
  scope: string;
  /** In the current span. */
  spent: Amount;
  /** By calls under way. */
  reserved: Amount;
  /** When the current span began, and when the next one will; `null` where there is none. */
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
  /** Key of the last group of the page before. */
  after: string[] | null;
}

/** `key`: the day, the skill, the session (`""`: none), or provider and model. */
export interface UsageRow {
  key: string[];
  spend: Spend;
}

/** Standing of a soft ledger. */
export interface Account extends Amount {
  calls: number;
  /** `null`: no budget. */
  max_cost: number | null;
}

export interface LedgerRpc extends Rpc.DurableObjectBranded {
  /** Counts a request of a caller and answers 0; where the rate is used up, the ms until one is let through. */
  countRequest(subject: string, rate: Rate): number;
  /**
   * Takes one of `limit` slots for `ttlMs` and answers 0; where all are taken, the seconds to wait before another try.
   * The same id again is the same slot.
   */
  takeSlot(id: string, limit: number, ttlMs: number): number;
  /** Prolongs a slot that is still held. */
  renewSlot(id: string, ttlMs: number): void;
  releaseSlot(id: string): void;

  policy(): { policy: Policy };
  /** Sets a call's price and tokens aside, unless a limit would be passed. */
  reserve(request: ReserveRequest): { refused: Refusal | null; policy: Policy };
  /**
   * Replaces a reservation by what the call took; `null`: nothing. A second time, and for an id that is not known, it
   * does nothing. `exceeded`: the call's soft budget is used up.
   */
  settle(id: string, charge: Charge | null): { exceeded: boolean; policy: Policy };
  /** Counts calls that were not reserved. The same id again does nothing. */
  record(id: string, charges: Charge[]): { policy: Policy };
  /**
   * Counts a call to a provider and answers 0; where its rate is used up, the ms until another try.
   * @param rpm calls a minute where the tenant did not set any; `null`: no rate
   */
  takeTurn(provider: string, rpm: number | null): number;

  usage(query: UsageQuery): { rows: UsageRow[]; more: boolean };
  /** Everything that the tenant ever spent. */
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
