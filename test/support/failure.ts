import { expect } from "vitest";
import { HullError } from "../../src/errors.ts";

/** The `HullError` with which a promise rejects; anything else fails the test. */
export async function failureOf(promise: Promise<unknown>): Promise<HullError> {
  const error = await promise.then(
    () => "it succeeded",
    (reason: unknown) => reason,
  );
  if (error instanceof HullError) return error;
  return expect.fail(`expected a HullError, got ${error}`);
}
