import { describe, expect, it } from "vitest";
import { compactPart, exactJson } from "../../../src/skill/exact-json.ts";
import type { Json } from "../../../src/skill/manifest.ts";
import { fc } from "../../support/property.ts";

/** As a double has it. */
const LONG = Number("12345678901234567890");
const whole = (text: string): string => compactPart(text, JSON.parse(text), (value) => value);

describe("compact JSON", () => {
  it.each([
    ['{ "id": 1234567890123456789 }', '{"id":1234567890123456789}'],
    ["[9007199254740992, 9007199254740993]", "[9007199254740992,9007199254740993]"],
    ["[-12345678901234567890, 100000000000000000000000]", "[-12345678901234567890,1e+23]"],
    ["[0.12345678901234567890, 1.1000000000000000]", "[0.12345678901234567890,1.1]"],
    ["[1e400, 1E-400, 0e-400, -1e400]", "[1e400,1E-400,0,-1e400]"],
    ['{"1234567890123456789": "1234567890123456789", "a": [1.0, 1e3]}', null],
    ['["\\\\\\"", "\\u0416 [12345678901234567890]", 12345678901234567890]', null],
    ['["###", "\\u0023\\u0023##12345678901234567891", 12345678901234567890]', null],
    ['{"2": 12345678901234567890, "1": {"__proto__": 1, "a": 1, "a": 2}}', null],
  ])("%s", (text, expected) => {
    if (expected !== null) return expect(whole(text)).toBe(expected);
    // What does not lose a digit is written as JSON.stringify writes it.
    const wanted = JSON.stringify(JSON.parse(text)).replace(/12345678901234567000/, "12345678901234567890");
    expect(whole(text)).toBe(wanted);
  });

  it("is JSON.stringify's where no number changes", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(whole(` ${text} `)).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  it("has no half of a surrogate pair, which many programs refuse", () => {
    expect(exactJson({ text: "a\ud83d", pair: "😀" }, "")).toBe('{"text":"a\\ufffd","pair":"😀"}');
  });

  it("keeps every integer", () => {
    fc.assert(
      fc.property(fc.bigInt(), (value) => {
        expect(BigInt(Number(value)) === value || whole(`[ ${value}]`) === `[${value}]`).toBe(true);
      }),
    );
  });

  it.each<[string, Json, string, string]>([
    ["the same", { id: LONG }, '{ "id": 12345678901234567890 }', '{"id":12345678901234567890}'],
    [
      "members gone and added",
      { b: [LONG], c: 1 },
      '{"a":1,"b":[12345678901234567890]}',
      '{"b":[12345678901234567890],"c":1}',
    ],
    [
      "a number that was a text",
      { id: LONG },
      '{"id":"12345678901234567890"}',
      '{"id":12345678901234567890}',
    ],
    ["another number", { id: 5 }, '{"id":12345678901234567890}', '{"id":5}'],
    ["another place", { x: LONG }, '{"id":12345678901234567890}', '{"x":12345678901234567000}'],
    [
      "a text in its place",
      { id: "##12345678901234567890" },
      '{"id":12345678901234567890}',
      '{"id":"##12345678901234567890"}',
    ],
    ["what is no JSON", { id: LONG }, "id 12345678901234567890", '{"id":12345678901234567000}'],
    [
      "a text without its end",
      { id: LONG },
      '{"id": 12345678901234567890, "a": "b',
      '{"id":12345678901234567000}',
    ],
    ["an exponent", { b: 0 }, '{"a":1,\n"b":-1E-400}', '{"b":-1E-400}'],
    ["a number too large for a double, as null", [null, null], "[1e400, null]", "[1e400,null]"],
    ["own names only", { a: 1 }, '{"constructor": 12345678901234567890}', '{"a":1}'],
  ])("keeps the numbers of the text from which a value was made: %s", (_, value, text, expected) => {
    expect(exactJson(value, text)).toBe(expected);
  });

  it("takes long numbers and strings in linear time", () => {
    const digits = `1${"0".repeat(2_000_000)}1`;
    expect(whole(`[${digits}]`)).toBe(`[${digits}]`);
    expect(whole(`["${"#\\\\".repeat(500_000)}", 12345678901234567890]`)).toContain(",12345678901234567890]");
  });
});
