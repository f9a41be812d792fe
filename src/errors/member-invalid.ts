import { InputInvalid } from "./request.ts";

/** One wrong member. `message` continues the sentence that begins with the path, and `end` ends it. */
export const memberInvalid = (path: string, message: string, end = "") =>
  new InputInvalid({ reason: `${path} ${message}${end}`, errors: [{ path, message }] });
