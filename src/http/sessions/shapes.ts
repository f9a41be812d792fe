/** Shapes common to several bodies of session routes. */
import * as z from "zod/mini";
import { SESSION_ID, SESSION_IDS } from "../../run/session-client.ts";
import type { Handler } from "../routes.ts";

export type Route = (...request: Parameters<Handler>) => Promise<Response>;

/** Zero or more. */
export const count = () => z.int().check(z.nonnegative());

/** A person's reason; `null` for a blank one too, which says nothing. */
export const reasonIn = (given: string | null | undefined): string | null =>
  given == null || given.trim() === "" ? null : given;

export const sessionId = () => z.string().check(z.regex(SESSION_ID, SESSION_IDS));

/** The body of an operation without members. */
export const nothing = z.lazy(() => z.strictObject({}));
