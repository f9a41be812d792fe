/** tools.json of any kind: accepted and refused as JSON is. */

import { expect, test } from "vitest";
import { parseJsonTree } from "../../../src/skill/tools-json/json-tree.ts";
import { toJson } from "../../../src/skill/tree.ts";
import { fc } from "../../support/property.ts";

const parsed = (text: string): unknown => {
  const tree = parseJsonTree(text);
  return "fault" in tree ? "refused" : { value: toJson(tree.node) };
};
const native = (text: string): unknown => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return "refused";
  }
};

test("any JSON, with any blanks, is what JSON.parse makes of it", () => {
  const property = fc.property(fc.json(), fc.constantFrom(undefined, 2, "\t"), (text, indent) => {
    const shown = JSON.stringify(JSON.parse(text), null, indent);
    expect(parsed(shown)).toEqual(native(shown));
  });
  fc.assert(property);
});

test("text near to JSON is accepted and refused as JSON.parse does", () => {
  const piece = fc.constantFrom(
    ...'[]{},:"\\ \n\tau0123456789-+.eE'.split(""),
    "true",
    "null",
    '"a"',
    '"a":',
    "\\u00e9",
    "1e5",
  );
  const property = fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
    const text = pieces.join("");
    // No number of JSON's; it stays the text that it was.
    fc.pre(!/e\+?\d{3}/i.test(text));
    expect(parsed(text)).toEqual(native(text));
  });
  fc.assert(property, { numRuns: 5000 });
});
