import { describe, expect, it } from "vitest";
import { extractJson } from "../../../src/llm/extract.ts";
import { correction } from "../../../src/llm/nudge.ts";
import { readSchema } from "../../../src/llm/schema.ts";
import { readStructured } from "../../../src/llm/structured.ts";
import { schemaErrors } from "../../../src/llm/validate.ts";
import type { JsonObject } from "../../../src/skill/manifest.ts";

const of = (text: string) => extractJson(text, [], null);

describe("JSON in an answer", () => {
  it.each<[string, unknown, boolean]>([
    ['{"a":1}', { a: 1 }, false],
    [' [1, {"a": 2}] ', [1, { a: 2 }], false],
    ["42", 42, false],
    ['```json\n{"a":1}\n```', { a: 1 }, true],
    ['Here it is: {"a":"}"} — done', { a: "}" }, true],
    ['All: [{"a":1},{"a":2}].', [{ a: 1 }, { a: 2 }], true],
    ['{"a":"\\"}"} tail', { a: '"}' }, true],
  ])("%j holds %j", (text, value, cut) => {
    expect(of(text)).toEqual({ value, cut });
  });

  it.each(["", "no json here", '{"a":', "{a:1}"])("%j holds no JSON", (text) => {
    expect(of(text)).toBeNull();
  });

  it("the arguments of a call are a candidate, the prose of a text turn the last", () => {
    const call = { type: "tool_call" as const, id: "1", name: "json_response", arguments: { a: 1 }, raw: "" };
    expect(extractJson("", [call], null)?.value).toEqual({ a: 1 });
    expect(extractJson("x", [], '{"b":2}')?.value).toEqual({ b: 2 });
  });

  it("megabytes of opening brackets take linear time", () => {
    expect(of("{[".repeat(1_000_000))).toBeNull();
  });
});

describe("schemas", () => {
  const endless = { $ref: "#" };
  it.each([
    ["output_schema", { output_schema: endless }],
    ["output_format", { schema: {}, output_format: { kind: "json_schema", schema: endless } }],
    ["json_schema", { json_schema: endless, output_schema: {} }],
    ["schema", { schema: endless }],
  ])("a schema that cannot be checked is refused with the name of its option, %s", (option, options) => {
    expect(() => readStructured(options)).toThrow(`${option}: the schema refers to itself`);
  });

  it.each<[string, JsonObject, JsonObject]>([
    [
      "the Harn dialect",
      { type: "dict", properties: { n: { type: "int" }, l: { type: "list" } } },
      { type: "object", properties: { n: { type: "integer" }, l: { type: "array" } } },
    ],
    ["OpenAPI nullable", { type: "string", nullable: true }, { type: ["string", "null"] }],
    [
      "nullable enum",
      { type: "string", nullable: true, enum: ["a"] },
      { type: ["string", "null"], enum: ["a", null] },
    ],
    [
      "nullable reference",
      { $defs: { a: {} }, $ref: "#/$defs/a", nullable: true },
      { $defs: { a: {} }, anyOf: [{ $ref: "#/$defs/a" }, { type: "null" }] },
    ],
    ["OpenAPI exclusive bound", { minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
  ])("%s becomes JSON Schema", (_, given, read) => {
    expect(readSchema(given, "schema")).toEqual(read);
  });

  const deep = (levels: number): JsonObject =>
    levels === 0 ? { type: "string" } : { type: "object", properties: { a: deep(levels - 1) } };
  const wide: JsonObject = {
    type: "object",
    properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`p${i}`, {}])),
  };
  const doubling: JsonObject = {
    $ref: "#/$defs/a0",
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `a${i}`,
        i === 39 ? {} : { allOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] },
      ]),
    ),
  };
  it.each<[string, JsonObject, RegExp]>([
    ["deep", deep(100), /levels deep/],
    ["huge", wide, /more than 10000 parts/],
    ["refers to itself at once", { $ref: "#" }, /refers to itself/],
    [
      "refers to itself in a circle",
      { anyOf: [{ $ref: "#/$defs/a" }], $defs: { a: { allOf: [{ $ref: "#" }] } } },
      /refers to itself/,
    ],
    [
      "refers to itself for what no other keyword covers",
      { unevaluatedProperties: { $ref: "#/unevaluatedProperties" } },
      /refers to itself/,
    ],
    ["multiplies", doubling, /applies more than/],
    ["refers elsewhere", { $ref: "https://example.com/x" }, /outside of itself/],
    ["refers to nothing", { $ref: "#/$defs/nope" }, /does not hold/],
    ["refers to what every object inherits", { $ref: "#/constructor" }, /does not hold/],
    ["refers to a name with half an escape", { $ref: "#/$defs/50%" }, /does not hold/],
    ["refers to half an escape in a list", { $ref: "#/anyOf/%", anyOf: [{}] }, /does not hold/],
    ["refers to no place in a list", { $ref: "#/anyOf/", anyOf: [{}] }, /does not hold/],
    ["refers to a place in a list in other digits", { $ref: "#/anyOf/0x0", anyOf: [{}] }, /does not hold/],
  ])("a hostile schema (%s) is refused", (_, schema, reason) => {
    expect(() => readSchema(schema, "schema")).toThrow(reason);
  });

  it.each([
    ["^(a+)+$", "a"],
    ["(a|a)*b", "a"],
    ["^(a?){40}a{40}$", "a"],
    ["^(A[^a-z]*)+$", "A"],
    ["^(b[^A-Z]*)+$", "b"],
    ["[^](a+)+$[^b]", "a"],
    ["^(?=(a+)+$)", "a"],
    [".*.*.*.*.*.*x", "a"],
  ])("a pattern that may take forever is not applied: %s", (pattern, letter) => {
    const hostile = `${letter.repeat(200)}!`;
    const nested = { $ref: "#/else/where", else: { where: { pattern } } };
    for (const schema of [{ pattern }, { anyOf: [{ pattern }] }, nested])
      expect(schemaErrors(readSchema(schema, "schema"), hostile)).toEqual([]);
    const named = { patternProperties: { [pattern]: { type: "null" } }, additionalProperties: false };
    expect(schemaErrors(readSchema(named, "schema"), { [hostile]: 1 })).toEqual([]);
  });

  it.each([
    "^[a-z0-9]+(-[a-z0-9]+)*$",
    "^([a-z0-9-]+\\.)+[a-z]{2,}$",
    "^[^@\\s]+@[^@\\s]+$",
    "^(?:\\d{3}|x)$",
    "^[0-9a-f]{8}-[0-9a-f]{4}$",
  ])("other patterns are applied, also to long texts: %s", (pattern) => {
    const schema = readSchema({ pattern }, "schema");
    expect(schemaErrors(schema, `${"a".repeat(500)}!`)).toEqual([expect.stringContaining("pattern")]);
  });

  it("attack: patterns without nesting take bounded time on a long text, and on many texts", () => {
    const one = readSchema({ pattern: "a+b" }, "schema");
    expect(schemaErrors(one, "a".repeat(2000))).toEqual([expect.stringContaining("pattern")]);
    expect(schemaErrors(one, "a".repeat(500_000))).toEqual([]);
    const each = readSchema({ items: { pattern: "a+b" } }, "schema");
    expect(
      schemaErrors(
        each,
        Array.from({ length: 5000 }, () => "a".repeat(2000)),
      ),
    ).toEqual([]);
    const often = readSchema({ allOf: Array.from({ length: 500 }, () => ({ pattern: "a+b" })) }, "schema");
    expect(schemaErrors(often, "a".repeat(5000))).toEqual([]);
  });

  it("errors name the fault, including a field that is not allowed, and can be joined", () => {
    const closed = readSchema(
      { type: "object", properties: { a: {} }, required: ["a"], additionalProperties: false },
      "schema",
    );
    expect(schemaErrors(closed, { b: 1 })).toEqual([
      'Instance does not have required property "a"',
      "b: the schema allows nothing here",
    ]);
  });

  it("a schema that refers to itself through its properties is followed, as deep as possible", () => {
    const tree = readSchema(
      { type: "object", properties: { left: { $ref: "#" }, value: { type: "integer" } } },
      "schema",
    );
    expect(schemaErrors(tree, { left: { left: { value: 1 } } })).toEqual([]);
    expect(schemaErrors(tree, { left: { left: { value: "x" } } }).join()).toMatch(/left.left.value/);
    const exploding = readSchema(
      { anyOf: [{ properties: { a: { $ref: "#" } } }, { properties: { a: { $ref: "#" } } }] },
      "schema",
    );
    let value = {};
    for (let i = 0; i < 60; i++) value = { a: value };
    expect(schemaErrors(exploding, value).join()).toMatch(/nests deeper/);
  });
});

describe("the correction", () => {
  const schema: JsonObject = {
    type: "object",
    required: ["name"],
    properties: { name: { type: "string" }, tags: { type: "array", items: { type: "string" } } },
  };
  it("names the fault, the required and allowed members, and the schema", () => {
    const text = correction(true, ["name: missing", "tags: not a list"], schema) ?? "";
    const order = [
      "did not match the JSON schema",
      "name: missing; tags: not a list",
      "Required keys: name",
      "name, tags",
      "- tags?: array of string",
      "no code fences",
    ];
    const places = order.map((part) => text.indexOf(part));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });
  it("is the caller's own text with the errors, or nothing", () => {
    expect(correction("Try again.", ["x"], schema)).toBe("Try again.\n\nx");
    expect(correction(false, ["x"], schema)).toBeNull();
  });
  it("lists at most 16 keys and 8 lines", () => {
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, { type: "string" }]));
    const text = correction(true, ["x"], { type: "object", properties: many }) ?? "";
    expect(text).toContain("+4 more");
    expect(text.split("\n").filter((line) => line.startsWith("- ")).length).toBeLessThanOrEqual(8);
  });
});
