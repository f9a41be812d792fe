/** Amounts of money: USD outside, integer nano-USD where they are added, so that sums are exact. Pure. */

export const usdOf = (nano: number): number => nano / 1e9;
export const nanoOf = (usd: number): number => Math.round(usd * 1e9);

/** The sum in USD, to a nano-USD. */
export const sumUsd = (...amounts: readonly number[]): number =>
  usdOf(amounts.reduce((sum, usd) => sum + nanoOf(usd), 0));
