import { describe, expect, it } from "vitest";
import { parseWithOffset } from "../../../src/run/json.ts";
import { fc } from "../../support/property.ts";

describe("where JSON breaks", () => {
  it.each([
    ['{"a": x}', 6],
    ['{"input": ', 10],
    ["", 0],
    ["[1,]", 3],
    ["[,1]", 1],
    ['{"a":1,}', 7],
    ["{a:1}", 1],
    ['{"a" 1}', 5],
    ["[1 2]", 3],
    ["1 2", 2],
    ["[1}", 2],
    ["01", 1],
    ["nul", 0],
    ['"a\nb"', 2],
    ['"\\x"', 1],
    ['"abc', 4],
    ["]", 0],
    [`"\\u12${"x".repeat(20_000_000)}`, 1],
    [`"${"x".repeat(20_000_000)}`, 20_000_001],
    [`${"[".repeat(257)}${"]".repeat(257)}`, 256],
    [`{"a":[${"[".repeat(100_000)}${"]".repeat(100_000)}]}`, 260],
  ])("%.20s → %i", (text, offset) => {
    expect(parseWithOffset(text)).toMatchObject({ ok: false, offset });
  });

  it("reads what nests as deep as is allowed", () => {
    expect(parseWithOffset(`${"[".repeat(256)}null${"]".repeat(256)}`)).toMatchObject({ ok: true });
  });

  it("agrees with the platform on every text, and the part before the fault is no fault", () => {
    const text = fc.oneof(
      fc.json(),
      fc.tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 })).map(([json, at, insert]) => {
        const cut = at % (json.length + 1);
        return json.slice(0, cut) + insert + json.slice(cut + 1);
      }),
    );
    fc.assert(
      fc.property(text, (candidate) => {
        const parsed = parseWithOffset(candidate);
        if (parsed.ok) expect(parsed.value).toEqual(JSON.parse(candidate));
        else {
          expect(() => JSON.parse(candidate)).toThrow(SyntaxError);
          const before = parseWithOffset(candidate.slice(0, parsed.offset));
          expect(before.ok || before.offset <= parsed.offset).toBe(true);
          expect(parsed.offset).toBeLessThanOrEqual(candidate.length);
        }
      }),
      { numRuns: 500 },
    );
  });
});
