import { expect, test } from "vitest";
import { categoryOf, codeOf, isFaultCategory, isRetried } from "../../../src/engine/tool-fault.ts";

test.each([
  ["timeout", "timed_out", true],
  ["schema_validation", "bad_arguments", false],
  ["cancelled", "outcome_unknown", false],
  ["tool_error", "tool_error", true],
  ["unavailable", "unavailable", true],
] as const)("%s and %s stand for each other", (category, code, retried) => {
  expect([codeOf(category), categoryOf(code), isRetried(category)]).toEqual([code, category, retried]);
});

test.each([
  ["parse_aborted", "bad_arguments", false],
  ["mcp_server_error", "unavailable", true],
  ["host_bridge_error", "host_bridge_error", true],
  ["network", "network", true],
  ["permission_denied", "permission_denied", false],
  ["rejected_loop", "rejected_loop", false],
  ["rate_limit", "rate_limit", false],
] as const)("%s is shown as %s", (category, code, retried) => {
  expect([codeOf(category), isRetried(category)]).toEqual([code, retried]);
});

test.each([
  ["missing_argument", "schema_validation"],
  ["unknown_argument", "schema_validation"],
  ["exit_nonzero", "tool_error"],
  ["killed", "tool_error"],
  ["dash_refused", "tool_error"],
] as const)("%s is a %s", (code, category) => {
  expect(categoryOf(code)).toBe(category);
});

test("a delegated run fails in the categories of model calls too", () => {
  expect(["auth", "runtime", "tool_rejected", "nonsense", null].map(isFaultCategory)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});
