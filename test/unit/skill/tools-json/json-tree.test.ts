import { expect, test } from "vitest";
import { jsonOrText, parsedJson } from "../../../../src/skill/json-depth.ts";
import { parseJsonTree } from "../../../../src/skill/tools-json/json-tree.ts";

const BROKEN =
  "The text that begins here does not end on its line, or has an escape that JSON does not know.";

test.each([
  ["", 1, 1, "A value is expected here, not the end of the file."],
  ["\uFEFF nul", 1, 2, 'A value is expected here, not "nul".'],
  ['{"a":\n}', 2, 1, 'A value is expected here, not "}".'],
  ["{\n  a: 1}", 2, 3, 'A key in double quotes is expected here, not "a".'],
  ['{"a" 1}', 1, 6, 'After the key "a" a colon is expected.'],
  ["[1 2]", 1, 4, 'A comma or ] is expected here, not "2".'],
  ['{"a":[{}', 1, 9, "A comma or ] is expected here, not the end of the file."],
  ["[1,\r\n]", 2, 1, "JSON has no comma before ]."],
  ['{"a":1,}', 1, 8, "JSON has no comma before }."],
  ['["one", "two\n"]', 1, 9, BROKEN],
  ['{"a\\x": 1}', 1, 2, BROKEN],
  ["{} {}", 1, 4, 'The value has ended, but "{" follows it.'],
  [`${"[".repeat(65)}${"]".repeat(65)}`, 1, 65, "Values are nested more than 64 levels deep."],
])("%j is refused with the place of the fault", (text, line, column, message) => {
  expect(parseJsonTree(text)).toEqual({ fault: { message, at: { line, column } } });
});

test("values, keys and repeated keys have their places", () => {
  expect(parseJsonTree('{"a": 1,\n "\\u0061": ["b", null]}')).toEqual({
    node: {
      kind: "map",
      at: { line: 1, column: 1 },
      source: '{"a": 1,\n "\\u0061": ["b", null]}',
      entries: new Map([
        [
          "a",
          {
            keyAt: { line: 2, column: 2 },
            value: {
              kind: "list",
              at: { line: 2, column: 12 },
              source: '["b", null]',
              items: [
                { kind: "scalar", value: "b", source: "b", at: { line: 2, column: 13 } },
                { kind: "scalar", value: null, source: "null", at: { line: 2, column: 18 } },
              ],
            },
          },
        ],
      ]),
    },
    repeated: [{ key: "a", at: { line: 2, column: 2 } }],
  });
});

test("a string may be long", () => {
  const long = "x".repeat(5_000_000);
  expect(parseJsonTree(JSON.stringify(long))).toMatchObject({ node: { value: long } });
});

test.each([
  ["null", null],
  ['{"a":1}', { a: 1 }],
  ["a", "a"],
  ["", ""],
])("%j is its value, or itself", (text, value) => {
  expect(jsonOrText(text)).toEqual(value);
  expect(parsedJson(text)).toEqual(value === text ? undefined : value);
});
