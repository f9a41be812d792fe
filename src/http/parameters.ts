/** Parameters of the URL. */
import { firstOf } from "../cut.ts";
import { BadRequest } from "../errors/request.ts";

/** The two values of a boolean parameter: those of Hull's own API, and those of the vendors' APIs and of some lists. */
export const DIGITS = ["1", "0"] as const;
export const WORDS = ["true", "false"] as const;

function refused(param: string, expected: string, given: string): Error {
  return new BadRequest({ detail: `${param} must be ${expected}, not "${firstOf(given, 80)}".`, param });
}

/** A parameter with few values; `null`: absent. @throws BadRequest */
export function oneOf<T extends string>(
  query: URLSearchParams,
  name: string,
  values: readonly T[],
): T | null {
  const given = query.get(name);
  const value = values.find((one) => one === given);
  if (given === null || value !== undefined) return value ?? null;
  throw refused(name, values.length === 2 ? values.join(" or ") : `one of ${values.join(", ")}`, given);
}

/** The value of a boolean parameter; `false` if it is absent. @throws BadRequest */
export function flagIn(query: URLSearchParams, name: string, values: typeof DIGITS | typeof WORDS): boolean {
  return oneOf<string>(query, name, values) === values[0];
}

/** A whole number. @param otherwise if the parameter is absent @throws BadRequest */
export function wholeIn<T>(
  query: URLSearchParams,
  name: string,
  { min = 0, max, otherwise }: { min?: number; max?: number; otherwise: T },
): number | T {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= min && value <= (max ?? value)) return value;
  throw refused(name, `a whole number${max === undefined ? "" : ` from ${min} to ${max}`}`, text);
}

/** @throws BadRequest if a parameter is absent or empty */
export function required(query: URLSearchParams, name: string): string {
  const value = query.get(name)?.trim() ?? "";
  if (value !== "") return value;
  throw new BadRequest({ detail: `The parameter ${name} is required.`, param: name });
}
