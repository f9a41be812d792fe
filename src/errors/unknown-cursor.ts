/** The fault of a `?cursor=` that no page of the list returned. */
import type { HullError } from "../errors.ts";
import { BadRequest } from "./request.ts";

export const unknownCursor = (): HullError =>
  new BadRequest({ detail: "The parameter cursor must be a next_cursor of this listing." });
