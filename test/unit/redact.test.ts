import { describe, expect, it } from "vitest";
import { REDACTED, Redactor, tooShortToRedact } from "../../src/redact.ts";
import { fc } from "../support/property.ts";

const SECRET = "sk-canary-1234567890/+=";
const redactor = new Redactor([SECRET, "sk-canary", "short"]);

it.each([
  ["API_KEY", "1234567", true],
  ["API_KEY", "12345678", false],
  ["api_key", "short", true],
  ["DB_PASSWORD", "x", true],
  ["GITHUB_TOKEN_2", "x", true],
  ["API_KEY", undefined, false],
  ["API_KEY", "", false],
  ["PORT", "3000", false],
  ["KEYBOARD", "us", false],
])("%s with the value %o is told of as too short: %o", (name, value, told) => {
  expect(tooShortToRedact([name, name], () => value)).toEqual(told ? [name] : []);
});

describe("redaction", () => {
  it("removes a secret plain, URL-encoded and in Base64", () => {
    for (const form of [SECRET, encodeURIComponent(SECRET), btoa(SECRET)]) {
      expect(redactor.text(`a ${form} b`)).toBe(`a ${REDACTED} b`);
    }
  });

  it("removes it from JSON within text, and takes one that is no Unicode", () => {
    const key = '-----BEGIN "KÉY"-----\nabc\\def\n';
    const told = new Redactor([key, "\ud800-half-a-pair"]);
    const ascii = JSON.stringify(key).replace("É", "\\u00c9");
    for (const json of [JSON.stringify(key), ascii]) {
      expect(told.text(`{"key": ${json}}`)).toBe(`{"key": "${REDACTED}"}`);
    }
    expect(told.text("\ud800-half-a-pair")).not.toContain("half");
  });

  it("prefers the longer secret and leaves short values alone", () => {
    expect(redactor.text(`${SECRET} sk-canary short`)).toBe(`${REDACTED} ${REDACTED} short`);
  });

  it("reaches every string of a JSON value, keys too", () => {
    expect(redactor.json({ [SECRET]: [1, null, { deep: `x${SECRET}` }] })).toEqual({
      [REDACTED]: [1, null, { deep: `x${REDACTED}` }],
    });
  });

  it("S82: finds secrets across any chunk boundaries and loses nothing else", () => {
    const text = fc.array(fc.oneof(fc.constant(SECRET), fc.string({ unit: "grapheme", maxLength: 8 })));
    const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(text, cuts, (parts, sizes) => {
        const bytes = new TextEncoder().encode(parts.join(""));
        const stream = redactor.stream();
        const out: number[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          out.push(...stream.push(bytes.subarray(at, at + size)));
          at += size;
        }
        out.push(...stream.end());
        expect(new TextDecoder().decode(Uint8Array.from(out))).toBe(redactor.text(parts.join("")));
      }),
    );
  });

  it("S82: passes texts that hold nothing of a secret, as they would have come out", () => {
    const piece = fc.oneof(
      fc.constantFrom("sk-", "canary", "-1234567890/+=", "s", "k"),
      fc.string({ maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const stream = redactor.stream();
        const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
        const said = pieces.map((text) =>
          stream.passes(text) ? text : decode(stream.push(new TextEncoder().encode(text))),
        );
        expect(said.join("") + decode(stream.end())).toBe(redactor.text(pieces.join("")));
      }),
    );
    expect([redactor.stream().passes("a word"), redactor.stream().passes("words")]).toEqual([true, false]);
    // Half a character is not text yet.
    expect(redactor.stream().passes("\ud83d")).toBe(false);
  });

  it("holds back only what could begin a secret", () => {
    const stream = redactor.stream();
    const push = (text: string): string =>
      new TextDecoder().decode(stream.push(new TextEncoder().encode(text)));
    expect(push("hello sk-ca")).toBe("hello ");
    expect(push("ts are nice")).toBe("sk-cats are nice");
  });
});
