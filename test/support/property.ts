/** fast-check with the same cases in every run. */
import * as fc from "fast-check";

/**
 * The result of a test run must not depend on chance. To search for other cases on purpose, use another seed:
 * `HULL_SEED=$RANDOM npx vitest run test/unit/fuzz`. Fix a case that fails, or make it an example.
 */
fc.configureGlobal({ seed: Number(process.env.HULL_SEED ?? 1) });

const SURROGATES = { first: 0xd800, count: 0x800 };

/**
 * Any character of Unicode. For its own unit `binary`, and for `webPath` and `webQueryParameters`, fast-check makes a
 * table of a million characters, which takes more than a second of processor time in each process.
 */
const character = fc.nat({ max: 0x10ffff - SURROGATES.count }).map(
  (n) => String.fromCodePoint(n < SURROGATES.first ? n : n + SURROGATES.count),
  (value) => {
    if (typeof value !== "string" || [...value].length !== 1) throw new RangeError("not one character");
    const n = value.codePointAt(0) ?? 0;
    return n < SURROGATES.first ? n : n - SURROGATES.count;
  },
);

/** Text of any characters, and of words that JavaScript's objects know. */
export const anyText = (limits: { maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc.string({ ...limits, unit: character });

/** Characters that a URI may have there, and now and then an escaped one. */
function uriText(others: string, size: fc.Size): fc.Arbitrary<string> {
  const plain = fc.constantFrom(
    ..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    ...others,
  );
  const escaped = character.map((one) => {
    const encoded = encodeURIComponent(one);
    return encoded === one ? `%${one.charCodeAt(0).toString(16)}` : encoded;
  });
  const unit = fc.oneof({ weight: 10, arbitrary: plain }, { weight: 1, arbitrary: escaped });
  return fc.string({ unit, size });
}

/** Paths as RFC 3986 writes them, of segments up to these sizes. */
const segments = (segment: fc.Size, count: fc.Size): fc.Arbitrary<string> =>
  fc
    .array(uriText("-._~!$&'()*+,;=:@", segment), { size: count })
    .map((texts) => texts.map((text) => `/${text}`).join(""));

/** A path: a few long segments, or more short ones. */
export const webPath: fc.Arbitrary<string> = fc.oneof(
  segments("small", "xsmall"),
  segments("xsmall", "small"),
);

/** A query, without `?`. */
export const webQuery: fc.Arbitrary<string> = uriText("-._~!$&'()*+,;=:@/?", "small");

/** The text with pieces put in at these places, each in place of some characters. */
export const altered = (
  text: string,
  changes: readonly [at: number, cut: number, insert: string][],
): string =>
  changes.reduce((now, [at, cut, insert]) => {
    const from = at % (now.length + 1);
    return now.slice(0, from) + insert + now.slice(from + cut);
  }, text);

export { fc };
