/** What handlers of session routes have in common. */
import type { Handler } from "../routes.ts";

export type Route = (...request: Parameters<Handler>) => Promise<Response>;

/** The reason that a person gave; `null` for a blank one, which says nothing. */
export const reasonIn = (given: string | null | undefined): string | null =>
  given == null || given.trim() === "" ? null : given;
