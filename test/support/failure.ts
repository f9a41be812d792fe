import { expect } from "vitest";
import { HullError } from "../../src/errors.ts";

/** The `HullError` that a promise is rejected with; anything else fails the test. */
export async function failureOf(promise: Promise<unknown>): Promise<HullError> {
  const error = await promise.then(
    () => "it succeeded",
    (reason: unknown) => reason,
  );
  if (error instanceof HullError) return error;
  return expect.fail(`expected a HullError, got ${error}`);
}
