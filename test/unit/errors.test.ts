import { expect, test } from "vitest";
import { toHullError } from "../../src/errors.ts";

test.each([
  ["D1_ERROR: Network connection lost.", "storage_unavailable"],
  ["D1_ERROR: D1 DB reset because its code was updated.", "storage_unavailable"],
  ["D1_ERROR: Internal error in D1 DB storage caused object to be reset.", "storage_unavailable"],
  [
    "D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.",
    "storage_unavailable",
  ],
  ["D1_ERROR: Cannot resolve D1 DB due to transient issue on remote node.", "storage_unavailable"],
  ["D1_ERROR: D1 DB is overloaded. Too many requests queued.", "storage_unavailable"],
  ["get: We encountered an internal error. Please try again. (10001)", "storage_unavailable"],
  ["KV GET failed: 500 Internal Server Error", "storage_unavailable"],
  ["KV PUT failed: 429 Too Many Requests", "storage_unavailable"],
  ["KV PUT failed: 413 Value length exceeds the limit", "internal"],
  ["put: The specified key is too long. (10024)", "internal"],
  ["D1_ERROR: UNIQUE constraint failed: keys.id: SQLITE_CONSTRAINT", "internal"],
  ["Cannot read properties of undefined (reading 'id')", "internal"],
])("the platform's error %s is %s", (message, code) => {
  expect(toHullError(new Error(message))).toMatchObject({ code, operator: { cause: `Error: ${message}` } });
});

test.each(["retryable", "overloaded"])(
  "an error of the platform with the property %s is storage_unavailable",
  (property) => {
    const error = Object.assign(new Error("Durable Object is away."), { [property]: true });
    expect(toHullError(error).code).toBe("storage_unavailable");
  },
);
