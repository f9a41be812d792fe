import { expect, test } from "vitest";
import { isStrict } from "../../../src/llm/strict-schema.ts";
import type { JsonObject } from "../../../src/skill/manifest.ts";

const closed = (properties: JsonObject, further: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...further,
});
const TEXT = { type: "string" };

test.each<[strict: boolean, schema: JsonObject]>([
  [true, closed({ a: TEXT, b: { type: ["integer", "null"], minimum: 1 } })],
  [
    true,
    closed({ list: { type: "array", items: { $ref: "#/$defs/x" } } }, { $defs: { x: closed({ a: TEXT }) } }),
  ],
  [true, closed({ a: { anyOf: [TEXT, closed({ b: TEXT })] } })],
  [true, closed({})],
  [false, {}],
  [false, { type: "array", items: TEXT }],
  [false, closed({ a: TEXT, b: TEXT }, { required: ["a"] })],
  [false, { type: "object", properties: { a: TEXT }, required: ["a"] }],
  [false, { type: "object", additionalProperties: TEXT }],
  [false, closed({ a: closed({ b: TEXT }, { required: [] }) })],
  [false, closed({ a: { type: "array", items: { type: "object" } } })],
  [false, closed({ a: { anyOf: [{ properties: { b: TEXT } }] } })],
  [false, closed({ a: {} }, { $defs: { x: { type: "object" } } })],
  [false, closed({ a: { allOf: [TEXT] } })],
  [false, closed({ a: true })],
])("%s: %j", (strict, schema) => expect(isStrict(schema)).toBe(strict));
