import { expect, test } from "vitest";
import { Findings } from "../../../../src/skill/findings.ts";
import { readToolsJson } from "../../../../src/skill/tools-json/read.ts";

/** Side effects, filesystem, network, idempotent. */
const FLAGS = Array.from({ length: 16 }, (_, bits) => [8, 4, 2, 1].map((bit) => (bits & bit) !== 0));

const riskOf = ([effects, filesystem, network, idempotent]: boolean[], risk: string) =>
  readToolsJson(
    new Findings("s", "s/tools.json"),
    JSON.stringify([
      {
        name: "a",
        description: "d",
        "x-side-effects": effects,
        "x-requires-filesystem": filesystem,
        "x-requires-network": network,
        "x-idempotent": idempotent,
        "x-risk": risk,
      },
    ]),
    { keyVariables: [] },
  ).tools[0]?.risk;

test("7.2: of the 16 combinations of flags 8 are safe, 2 moderate, 6 dangerous", () => {
  const risks = FLAGS.map((flags) => riskOf(flags, "auto"));
  expect(risks.slice(0, 8)).toEqual(Array(8).fill("safe"));
  expect(risks.slice(8)).toEqual(["moderate", "moderate", ...Array(6).fill("dangerous")]);
});

test.each(["safe", "moderate", "dangerous", "critical"])(
  "7.2: %s as declared wins over any flags",
  (risk) => {
    for (const flags of FLAGS) expect(riskOf(flags, risk)).toBe(risk);
  },
);
