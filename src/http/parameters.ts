/** Parameters of the URL with few values, or required. */
import { firstOf } from "../cut.ts";
import { BadRequest } from "../errors/request.ts";

/** The two values of a boolean parameter: those of Hull's own API, and those of the vendors' APIs and of some lists. */
export const DIGITS = ["1", "0"] as const;
export const WORDS = ["true", "false"] as const;

/** The value of a boolean parameter; `false` if it is absent. @throws BadRequest for any other value */
export function flagIn(
  query: URLSearchParams,
  name: string,
  [yes, no]: typeof DIGITS | typeof WORDS,
): boolean {
  const value = query.get(name) ?? no;
  if (value === yes || value === no) return value === yes;
  throw new BadRequest({
    detail: `${name} must be ${yes} or ${no}, not "${firstOf(value, 32)}".`,
    param: name,
  });
}

/** @throws BadRequest if a parameter is absent or empty */
export function required(query: URLSearchParams, name: string): string {
  const value = query.get(name)?.trim() ?? "";
  if (value !== "") return value;
  throw new BadRequest({ detail: `The parameter ${name} is required.` });
}

/** A number of tokens; absent is 0. @throws BadRequest */
export function tokens(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? "0";
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new BadRequest({ detail: `The parameter ${name} must be a whole number of tokens.` });
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
  throw new BadRequest({ detail: `${name} must be one of ${values.join(", ")}, not "${given}".` });
}
