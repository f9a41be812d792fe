/** Boolean parameters. */
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
    detail: `${name} must be ${yes} or ${no}, not "${value.slice(0, 32)}".`,
    param: name,
  });
}
