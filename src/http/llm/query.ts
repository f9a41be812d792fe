/** Parameters of the `/llm` routes that read. */
import { BadRequest } from "../../errors/request.ts";
import type { RequestContext } from "../context.ts";

export function queryOf({ request }: RequestContext): URLSearchParams {
  return new URL(request.url).searchParams;
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
