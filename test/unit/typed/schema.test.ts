/** zod into what tools.json holds. */
import { defineSkill, tool } from "hullrun";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";
import { configParamsOf } from "../../../src/typed/config.ts";
import { describeSkill } from "../../../src/typed/describe.ts";
import { jsonSchemaOf } from "../../../src/typed/schema.ts";

const schemaOf = (schema: z.core.$ZodType) => {
  const made = jsonSchemaOf(schema);
  return "schema" in made ? made.schema : made.faults;
};
/** Of a schema as the only property of an object: its own schema, and whether it is required. */
const property = (schema: z.ZodType) => {
  const made = Object(schemaOf(z.object({ p: schema })));
  return [made.properties.p, (made.required ?? []).includes("p")];
};
/** For definitions that no call has made. */
const unplaced = () => "";
/** The entries of tools.json, and what is wrong, of one tool. */
const described = (input: object) => {
  const tool = { name: "search", description: "d", run: () => null, ...input };
  const { tools, faults } = describeSkill({ name: "s", description: "d", tools: [tool] }, unplaced);
  return { entry: tools[0] ?? {}, faults: faults.map(({ path, message }) => `${path}: ${message}`) };
};

test("8.3: the example gives exactly its schema", () => {
  const input = z.object({
    query: z.string().describe("Search query string."),
    limit: z.int().default(10).describe("Maximum results to return."),
    include_archived: z.boolean().default(false).describe("Whether to include archived documents."),
  });
  expect(described({ input }).entry["x-input-schema"]).toEqual({
    type: "object",
    properties: {
      query: { type: "string", description: "Search query string." },
      limit: { type: "integer", description: "Maximum results to return." },
      include_archived: { type: "boolean", description: "Whether to include archived documents." },
    },
    required: ["query"],
  });
  expect(described({ input }).entry.parameters).toMatchObject({
    query: { type: "string" },
    limit: { type: "integer", optional: true },
  });
});

test("8: a tool without parameters", () => {
  const empty = { type: "object", properties: {}, required: [] };
  expect(described({ input: z.object({}) }).entry["x-input-schema"]).toEqual(empty);
  expect(described({}).entry.parameters).toEqual({});
});

describe("8.2: each row", () => {
  test("default and optional are not required, the description is kept on either side", () => {
    const text = { type: "string", description: "t" };
    expect(property(z.string().describe("t").default("x"))).toEqual([text, false]);
    expect(property(z.string().default("x").describe("t"))).toEqual([text, false]);
    expect(property(z.string().optional().describe("t"))).toEqual([text, false]);
    expect(property(z.int().min(1).max(50).default(10))).toEqual([
      { type: "integer", minimum: 1, maximum: 50 },
      false,
    ]);
  });

  test("nullable and unions", () => {
    expect(property(z.string().nullable())).toEqual([{ type: ["string", "null"] }, true]);
    expect(property(z.union([z.string(), z.number()]))).toEqual([{ type: ["string", "number"] }, true]);
    const literals = [
      { type: "string", const: "a" },
      { type: "string", const: "b" },
    ];
    expect(property(z.union([z.literal("a"), z.literal("b")]))).toEqual([{ anyOf: literals }, true]);
    const [one] = property(
      z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.object({ k: z.literal("b") })]),
    );
    expect(Object(one).oneOf).toHaveLength(2);
  });

  test("the input side of what transforms", () => {
    expect(property(z.string().transform(Number))).toEqual([{ type: "string" }, true]);
    expect(property(z.coerce.number())[0]).toEqual({ type: "number" });
    expect(property(z.preprocess((value) => value, z.string()))[0]).toEqual({ type: "string" });
    expect(property(z.string().pipe(z.transform((text) => text.length)))).toEqual([{ type: "string" }, true]);
  });

  test("records, strict and recursive objects, tuples", () => {
    expect(property(z.record(z.string(), z.number()))[0]).toEqual({
      type: "object",
      additionalProperties: { type: "number" },
    });
    expect(property(z.strictObject({}))[0]).toEqual({
      type: "object",
      properties: {},
      additionalProperties: false,
    });
    const Tree = z.object({
      name: z.string(),
      get children() {
        return z.array(Tree);
      },
    });
    expect(schemaOf(Tree)).toMatchObject({ properties: { children: { items: { $ref: "#" } } } });
    expect(property(z.tuple([z.string()], z.number()))[0]).toMatchObject({
      prefixItems: [{ type: "string" }],
      items: { type: "number" },
    });
  });

  test("texts of a kind", () => {
    for (const [schema, format] of [
      [z.email(), "email"],
      [z.uuid(), "uuid"],
      [z.iso.date(), "date"],
    ] as const) {
      expect(property(schema)[0]).toMatchObject({ type: "string", format, pattern: expect.any(String) });
    }
    expect(property(z.base64())[0]).toMatchObject({ type: "string", contentEncoding: "base64" });
  });

  test("keywords are cleaned, properties and values of their names are not", () => {
    const odd = z.object({
      default: z.string(),
      propertyNames: z.enum(["default", "$schema"]),
      given: z.object({ default: z.int() }).default({ default: 1 }),
    });
    expect(schemaOf(odd)).toEqual({
      type: "object",
      properties: {
        default: { type: "string" },
        propertyNames: { type: "string", enum: ["default", "$schema"] },
        given: { type: "object", properties: { default: { type: "integer" } }, required: ["default"] },
      },
      required: ["default", "propertyNames"],
    });
  });

  test.each<[string, z.ZodType]>([
    ["date", z.date()],
    ["bigint", z.bigint()],
    ["map", z.map(z.string(), z.string())],
    ["set", z.set(z.string())],
    ["custom", z.custom()],
    ["undefined", z.undefined()],
  ])("z.%s() is refused, by its path", (type, schema) => {
    const message = `z.${type}() of this kind has no JSON Schema`;
    expect(described({ input: z.object({ when: schema }) }).faults).toEqual([
      `search.input.when: ${message}`,
    ]);
    const deep = z.object({ list: z.array(z.object({ when: schema.optional() })) });
    expect(described({ input: deep }).faults).toEqual([`search.input.list[].when: ${message}`]);
    expect(described({ output: schema }).faults).toEqual([`search.output: ${message}`]);
  });

  test("an input that is no object, or no schema, is refused", () => {
    expect(described({ input: z.string() }).faults).toEqual(["search.input: must be an object"]);
    expect(described({ input: { type: "object" } }).faults).toEqual([
      "search.input: is not a schema of zod 4",
    ]);
  });
});

test("7.3: the same types as from Python", () => {
  for (const [schema, json] of [
    [z.string(), { type: "string" }],
    [z.int(), { type: "integer" }],
    [z.number(), { type: "number" }],
    [z.boolean(), { type: "boolean" }],
    [z.array(z.unknown()), { type: "array", items: {} }],
    [z.array(z.string()), { type: "array", items: { type: "string" } }],
  ] as const) {
    expect(property(schema)[0]).toEqual(json);
  }
});

const paramsOf = (schema: z.core.$ZodType) => {
  const made = configParamsOf(schema);
  return "params" in made ? made.params : made.faults;
};

describe("8.2: configuration", () => {
  test("the example's parameters", () => {
    const config = z.object({
      maxCost: z
        .number()
        .min(0)
        .max(50)
        .multipleOf(0.5)
        .default(0)
        .meta({ displayName: "Max Cost", unit: "USD" }),
      quality: z.enum(["draft", "standard", "high"]).default("standard"),
      apiKey: z.string().optional().meta({ configType: "secret" }),
    });
    expect(paramsOf(config)).toEqual([
      {
        name: "maxCost",
        type: "number",
        min: 0,
        max: 50,
        step: 0.5,
        default: 0,
        displayName: "Max Cost",
        unit: "USD",
      },
      { name: "quality", type: "select", options: ["draft", "standard", "high"], default: "standard" },
      { name: "apiKey", type: "secret" },
    ]);
  });

  test.each<[z.ZodType, object]>([
    [
      z
        .array(z.enum(["a", "b"]))
        .min(1)
        .max(2),
      { type: "multiselect", options: ["a", "b"], minItems: 1, maxItems: 2 },
    ],
    [z.array(z.number()), { type: "number[]" }],
    [z.array(z.int()), { type: "number[]" }],
    [z.array(z.string()).default([]), { type: "string[]", default: [] }],
    [z.record(z.string(), z.string()), { type: "map" }],
    [z.boolean(), { type: "boolean" }],
    [z.int().min(1), { type: "number", min: 1, step: 1 }],
    [z.url(), { type: "url" }],
    [z.string().describe("t"), { type: "string", description: "t" }],
    [z.union([z.literal("a"), z.literal("b")]), { type: "select", options: ["a", "b"] }],
    [
      z.string().meta({ configType: "code", language: "sql", rows: 5, scope: "per_call" }),
      { type: "code", language: "sql", rows: 5, scope: "per_call" },
    ],
  ])("%#", (schema, param) => {
    expect(paramsOf(z.object({ p: schema }))).toEqual([{ name: "p", ...param }]);
  });

  test("a tool that cannot be configured is refused by its name", () => {
    const config = z.object({ at: z.date(), deep: z.object({ a: z.string() }) });
    expect(described({ config }).faults).toEqual([
      "search.config.at: is of a kind that cannot be configured",
      "search.config.deep: is of a kind that cannot be configured",
    ]);
    expect(described({ config: z.string() }).faults).toEqual(["search.config: must be a z.object()"]);
  });
});

test("each member of a definition has its key, and may be of zod/mini", () => {
  const skill = defineSkill({
    name: "s",
    description: "d",
    tools: [
      tool({
        name: "t",
        description: "d",
        input: mini.object({ q: mini.string() }),
        output: mini.object({ n: mini.number() }),
        env: ["TOKEN"],
        timeoutMs: 5,
        tier: "runner",
        sideEffects: true,
        idempotent: true,
        requiresNetwork: ["api.example.com"],
        requiresFilesystem: true,
        riskLevel: "critical",
        hidden: true,
        displayName: "T",
        version: "1",
        category: "c",
        tags: ["x"],
        icon: "i",
        group: "g",
        deprecated: true,
        examples: [{ q: "x" }],
        estimatedLatencyMs: 1,
        run: ({ q }) => ({ n: q.length }),
      }),
    ],
  });
  const { tools, faults } = describeSkill(skill, unplaced);
  expect(faults).toEqual([]);
  expect(tools).toEqual([
    {
      name: "t",
      description: "d",
      script: "scripts/t.js",
      parameters: { q: { type: "string" } },
      "x-input-schema": { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
      "x-output-schema": {
        type: "object",
        properties: { n: { type: "number" } },
        required: ["n"],
        additionalProperties: false,
      },
      "x-env": ["TOKEN"],
      "x-timeout-ms": 5,
      "x-tier": "runner",
      "x-side-effects": true,
      "x-idempotent": true,
      "x-requires-network": ["api.example.com"],
      "x-requires-filesystem": true,
      "x-risk": "critical",
      "x-hidden": true,
      "x-display-name": "T",
      "x-version": "1",
      "x-category": "c",
      "x-tags": ["x"],
      "x-icon": "i",
      "x-group": "g",
      "x-deprecated": true,
      "x-examples": [{ q: "x" }],
      "x-estimated-latency-ms": 1,
    },
  ]);
});

test.each([null, {}, { name: "a", description: "b", tools: [{}] }, { name: "a", tools: [] }])(
  "%j is no skill",
  (exported) => {
    expect(describeSkill(exported, unplaced).faults).toMatchObject([{ path: "" }]);
  },
);
