/** One line of the benchmark's table; texts for people, `value` for programs. */
export interface Row {
  what: string;
  floor: string;
  hull: string;
  /** Hull against the floor: a ratio, a difference or a size. */
  measure: string;
  target: string;
  value: number;
  limit: number;
  pass: boolean;
}

export const ms = (value: number): string => `${value.toFixed(2)} ms`;

/** A row whose measure is a number that may not exceed `limit`. */
export function row(
  what: string,
  floor: string,
  hull: string,
  value: number,
  limit: number,
  unit: (value: number) => string,
): Row {
  return {
    what,
    floor,
    hull,
    measure: unit(value),
    target: `≤ ${unit(limit)}`,
    value,
    limit,
    pass: value <= limit,
  };
}

export const times = (value: number): string => `${value.toFixed(2)} ×`;
