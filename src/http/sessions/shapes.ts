/** What handlers of session routes have in common. */
import type { Handler } from "../routes.ts";

export type Route = (...request: Parameters<Handler>) => Promise<Response>;

/** A person's reason; `null` for a blank one too, which says nothing. */
export const reasonIn = (given: string | null | undefined): string | null =>
  given == null || given.trim() === "" ? null : given;
