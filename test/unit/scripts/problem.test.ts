/** How commands report what a Hull refuses. */
import { expect, test } from "vitest";
import { withFindings } from "../../../scripts/problem.ts";
import { hullHere } from "../../support/hull-here.ts";
import { serve } from "./answering-server.ts";

test("a refusal is printed once, with the findings that its text leaves out", () => {
  const wrong = (path: string) => ({ path, message: "is wrong" });
  expect([
    withFindings("No shape. a: is wrong", [wrong("a")]),
    withFindings("No shape. a: is wrong", [wrong("a"), wrong("b")]),
    withFindings("There is no option x.", [{ path: "options.x", message: "There is no option x" }]),
    withFindings("No shape.", [{ pointer: "/a", message: "is gone" }]),
    withFindings("It failed.", undefined),
  ]).toEqual([
    "No shape. a: is wrong",
    "No shape. a: is wrong. b: is wrong.",
    "There is no option x.",
    "No shape. /a: is gone.",
    "It failed.",
  ]);
});

test.each<[status: number, problem: object, exit: number, hint: string]>([
  [400, { code: "bad_request" }, 2, ""],
  [401, { code: "unauthenticated" }, 5, "  Pass a key: --key KEY, or: export HULL_API_KEY=…\n"],
  [402, { code: "budget_exceeded" }, 1, ""],
  [
    403,
    { code: "forbidden", scope: "admin" },
    5,
    "  Pass another key as --key. The operator makes one with: hull keys add --scopes admin\n",
  ],
  [404, { code: "not_found" }, 3, "  hull sessions ls shows what there is.\n"],
  [409, { code: "conflict" }, 1, ""],
  [422, { code: "input_invalid", errors: [{ path: "a", message: "is wrong" }] }, 2, ""],
  [429, { code: "rate_limited", retry_after_s: 6.5 }, 1, "  Try again in 7 s.\n"],
  [
    500,
    { code: "internal", request_id: "r-1" },
    1,
    "  The log of the Hull says more about the request r-1.\n",
  ],
  [503, { code: "runner_unavailable", retry_after_s: 2 }, 1, "  Try again in 2 s.\n"],
  [504, { code: "timeout" }, 124, ""],
])(
  "a command reports a refusal with message, hint and exit code: %s",
  async (status, problem, code, hint) => {
    const detail = "It is so.";
    const url = await serve((_, response) =>
      response.writeHead(status).end(JSON.stringify({ detail, ...problem })),
    );
    const { err, ...ended } = await hullHere(["sessions", "show", "x", "--url", url]);
    const found = "errors" in problem ? " a: is wrong." : "";
    expect({ ...ended, err }).toMatchObject({
      code,
      out: "",
      err: `hull: It is so.${found} [${Object.values(problem)[0]}]\n${hint}`,
    });
  },
);
