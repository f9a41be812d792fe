/** A fault of a member in a request of a vendor's shape. */
import { InvalidRequest } from "../errors/llm.ts";
import type { JsonObject } from "../skill/manifest.ts";

/** @param option e.g. `messages.0.content`. @param what a phrase without its full stop */
export const wrong = (option: string, what: string): InstanceType<typeof InvalidRequest> =>
  new InvalidRequest({ option, detail: `${option}: ${what}.` });

/** @throws InvalidRequest if the member is not a text */
export function textMember(of: JsonObject, name: string, path: string): string {
  const value = of[name];
  if (typeof value === "string") return value;
  throw wrong(`${path}.${name}`, "a string is required");
}
