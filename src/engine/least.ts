/** The smallest of these amounts or times; `null`: there is none. Pure. */
export function least(...given: readonly (number | null | undefined)[]): number | null {
  const known = given.filter((one) => one != null);
  return known.length === 0 ? null : Math.min(...known);
}
