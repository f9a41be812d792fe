/**
 * What tasks under way below a run hold of its budgets: those with budgets of their own hold them until they end. Pure.
 */
import { least } from "./least.ts";
import { sumUsd } from "./usd.ts";

/** An amount of money. */
export interface Cost {
  cost_usd: number;
  /** The price of a part of it is not known, and that part counts as 0. Absent: all prices are known. */
  price_known?: false;
}

/** The amount among other figures. */
export const costIn = ({ cost_usd, price_known }: Cost): Cost =>
  price_known === false ? { cost_usd, price_known } : { cost_usd };

/** The sum of both. */
export const addCost = (one: Cost, other: Cost): Cost => ({
  cost_usd: sumUsd(one.cost_usd, other.cost_usd),
  ...(one.price_known === false || other.price_known === false ? { price_known: false } : {}),
});

/** What a delegated run and those below it took. */
export interface Spent extends Cost {
  /** Input and output together. */
  tokens: number;
}

/** `null`: nothing is held, or no limit. */
export interface Share {
  tokens: number | null;
  usd: number | null;
}

/** By the id of the task's run. */
export type Shares = Readonly<Record<string, Share>>;

/** How a task's run ended. */
export interface ReturnedShare {
  task_run: string;
  spent: Spent;
}

export const NOTHING_SPENT: Spent = { tokens: 0, cost_usd: 0 };

/** The sum of all shares. */
export const heldBy = (shares: Shares = {}): Spent =>
  Object.values(shares).reduce(
    (held, { tokens, usd }) => addSpent(held, { tokens: tokens ?? 0, cost_usd: usd ?? 0 }),
    NOTHING_SPENT,
  );

/** What a task may use that asks for this much, and what it holds of these budgets. */
export function shareOut(left: Share, asked: Share): { granted: Share; share: Share } {
  const granted = { tokens: least(asked.tokens, left.tokens), usd: least(asked.usd, left.usd) };
  const share = {
    tokens: left.tokens === null || asked.tokens === null ? null : granted.tokens,
    usd: left.usd === null || asked.usd === null ? null : granted.usd,
  };
  return { granted, share };
}

export const addSpent = (before: Spent = NOTHING_SPENT, more: Spent): Spent => ({
  tokens: before.tokens + more.tokens,
  ...addCost(before, more),
});

/** What a run's journal says when a task below the run begins, and when it ends. */
export type ShareRecord =
  | ({ type: "share_taken"; task_run: string } & Share)
  | ({ type: "share_returned" } & ReturnedShare);

export interface Shared {
  /** What tasks below the run hold of its budgets. Absent: nothing. */
  shares?: Shares;
  /** What tasks below the run used that have ended. Absent: nothing. */
  delegated?: Spent;
}

/** What changes with a record; nothing if a task returns a share that it does not hold. */
export function afterShare({ shares = {}, delegated }: Shared, record: ShareRecord): Shared {
  const { task_run } = record;
  if (record.type === "share_taken")
    return { shares: { ...shares, [task_run]: { tokens: record.tokens, usd: record.usd } } };
  const { [task_run]: held, ...rest } = shares;
  return held === undefined ? {} : { shares: rest, delegated: addSpent(delegated, record.spent) };
}
