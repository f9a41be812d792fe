/** One line of the benchmark's table; texts for people, `value` for programs. */
export interface Row {
  what: string;
  floor: string;
  hull: string;
  /** The peer's figure; empty where there is none. */
  peer: string;
  /** Hull against the floor or against the peer: a ratio, a difference or a size. */
  measure: string;
  target: string;
  value: number;
  limit: number;
  pass: boolean;
}

export const ms = (value: number): string => `${value.toFixed(2)} ms`;

/** A row whose measure is a number that may not exceed `limit`; `Infinity`: it is shown without a verdict. */
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
    peer: "",
    measure: unit(value),
    target: Number.isFinite(limit) ? `≤ ${unit(limit)}` : "none",
    value,
    limit,
    pass: value <= limit,
  };
}

export const times = (value: number): string => `${value.toFixed(2)} ×`;

export const perSecond = (value: number): string => `${value.toFixed(0)}/s`;
export const megabytes = (value: number): string => `${value.toFixed(1)} MB`;

/**
 * A row that is judged against HUSK, measured in the same run.
 * @param husk `null`: HUSK was not there, so the row has no verdict
 * @param ratio of Hull's figure to HUSK's; `null`: none is wanted
 */
export function peerRow(
  what: string,
  {
    hull,
    floor,
    husk,
    ratio,
  }: { hull: number; floor: number; husk: number | null; ratio: Gate["ratio"] | null },
  unit: (value: number) => string,
): Row {
  const wanted = ratio ?? { at_most: Number.POSITIVE_INFINITY };
  if (husk !== null) return gateRow(what, { hull, floor, peer: husk, ratio: wanted }, unit);
  const unjudged = row(what, unit(floor), unit(hull), hull / floor, Number.POSITIVE_INFINITY, times);
  return { ...unjudged, peer: "HUSK not here", measure: `${times(hull / floor)} the floor` };
}

export interface Gate {
  /** What was measured. */
  hull: number;
  /** What the platform alone takes, in the same unit; `null` where nothing can be compared. */
  floor: number | null;
  /** HUSK's figure. */
  peer: number;
  /** Of Hull's figure to the peer's. */
  ratio: { at_most: number } | { at_least: number };
}

/**
 * A row that is judged by the ratio to HUSK's figure. One that HUSK published comes from another machine: what the machines
 * make of it is in the rows of the provider, which has nothing to do with either.
 */
export function gateRow(
  what: string,
  { hull, floor, peer, ratio }: Gate,
  unit: (value: number) => string,
): Row {
  const value = hull / peer;
  const most = "at_most" in ratio;
  const limit = most ? ratio.at_most : ratio.at_least;
  return {
    what,
    floor: floor === null ? "" : unit(floor),
    hull: unit(hull),
    peer: unit(peer),
    measure: times(value),
    target: Number.isFinite(limit) ? `${most ? "≤" : "≥"} ${times(limit)} the peer` : "none",
    value,
    limit,
    pass: most ? value <= limit : value >= limit,
  };
}
