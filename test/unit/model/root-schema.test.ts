/** Schemas of tools as providers accept them. */
import { expect, test } from "vitest";
import { rootObject } from "../../../src/model/root-schema.ts";
import type { JsonObject } from "../../../src/skill/manifest.ts";

const text = { type: "string" };
const number = { type: "number" };

test("a schema without combinators at its root is sent unchanged", () => {
  const schema = { type: "object", properties: { a: { anyOf: [text, number] } }, required: ["a"] };
  expect(rootObject(schema)).toBe(schema);
});

test.each<[string, JsonObject, JsonObject]>([
  [
    "alternatives: all properties, and what every one of them requires",
    {
      type: "object",
      description: "D",
      properties: { id: text },
      required: ["id"],
      oneOf: [
        { properties: { a: text, both: text }, required: ["a", "both"], additionalProperties: false },
        { type: "object", properties: { b: text, both: number }, required: ["both"] },
        { type: "null" },
      ],
    },
    {
      type: "object",
      description: "D",
      properties: { id: text, a: text, both: { anyOf: [text, number] }, b: text },
      required: ["id", "both"],
    },
  ],
  [
    "parts: all properties and requirements",
    {
      allOf: [
        { type: "object", properties: { a: text }, required: ["a"] },
        { properties: { a: { minLength: 2 }, b: number }, required: ["b"] },
      ],
    },
    {
      type: "object",
      properties: { a: { allOf: [text, { minLength: 2 }] }, b: number },
      required: ["a", "b"],
    },
  ],
  [
    "parts with one property, in a list without copies; of other members, the first",
    {
      allOf: [
        { title: "T", properties: { a: text } },
        { title: "U", properties: { a: number }, additionalProperties: true },
        { properties: { a: text }, additionalProperties: number },
        { properties: { a: { minLength: 2 } }, additionalProperties: false },
      ],
    },
    {
      type: "object",
      title: "T",
      properties: { a: { allOf: [text, number, { minLength: 2 }] } },
      additionalProperties: number,
    },
  ],
  [
    "requirements alone",
    { type: "object", properties: { a: text, b: text }, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    { type: "object", properties: { a: text, b: text } },
  ],
  [
    "a reference: its definitions stay",
    { $ref: "#/$defs/x~1y", $defs: { "x/y": { type: "object", properties: { a: text }, required: ["a"] } } },
    {
      type: "object",
      properties: { a: text },
      required: ["a"],
      $defs: { "x/y": { type: "object", properties: { a: text }, required: ["a"] } },
    },
  ],
  ["no properties", { type: "object", title: "T" }, { type: "object", title: "T", properties: {} }],
  [
    "references that lead nowhere",
    { $ref: "#/none", allOf: [{ $ref: "#" }] },
    { type: "object", properties: {} },
  ],
  [
    "a negation and constants",
    { type: "object", not: { required: ["a"] }, const: {}, enum: [{}], additionalProperties: false },
    { type: "object", properties: {}, additionalProperties: false },
  ],
])("%s", (_, schema, sent) => {
  expect(rootObject(schema)).toEqual(sent);
});

test("schemas that refer to each other many times come to an end, and stay small", () => {
  const levels = Array.from({ length: 60 }, (_, n): [string, JsonObject] => {
    const next = { $ref: `#/$defs/l${n + 1}` };
    const also = { properties: { p: { minLength: n } } };
    return [`l${n}`, { anyOf: [next, { allOf: [next, also] }, next, { $ref: "#/$defs/l0" }] }];
  });
  const last: [string, JsonObject] = ["l60", { type: "object", properties: { p: text } }];
  const schema = { $ref: "#/$defs/l0", $defs: Object.fromEntries([...levels, last]) };
  const { $defs: _, ...sent } = rootObject(schema);
  expect(Object.keys(sent).sort()).toEqual(["properties", "type"]);
  expect(JSON.stringify(sent).length).toBeLessThan(40_000);
});
