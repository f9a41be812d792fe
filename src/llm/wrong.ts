/** A fault of a member in a request of a vendor's shape. */
import { InvalidRequest } from "../errors/llm.ts";

/** @param option e.g. `messages.0.content`. @param what a phrase without its full stop */
export const wrong = (option: string, what: string): InstanceType<typeof InvalidRequest> =>
  new InvalidRequest({ option, detail: `${option}: ${what}.` });
