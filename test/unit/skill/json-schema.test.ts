import { validate } from "@hyperjump/json-schema/draft-2020-12";
import { describe, expect, it } from "vitest";
import { embeddedSchema, schemaFaults } from "../../../src/skill/json-schema.ts";
import type { JsonObject } from "../../../src/skill/manifest.ts";

const META = "https://json-schema.org/draft/2020-12/schema";

describe("agrees with the meta-schema", () => {
  it.each<[JsonObject, string[]]>([
    [{ type: "object", properties: { type: { type: ["string", "null"] } }, required: ["type"] }, []],
    [{ $defs: { a: true }, $ref: "#/$defs/a", $anchor: "x", $comment: "", examples: [1] }, []],
    [{ const: { type: 7 }, enum: [{ type: 7 }], default: { type: 7 } }, []],
    [{ prefixItems: [{ minimum: 1.5 }], items: false, dependentRequired: { a: ["b"] } }, []],
    [{ unknown: 1, format: "unknown" }, []],
    [{ type: "strong" }, ["/type"]],
    [{ type: ["string", "string"] }, ["/type"]],
    [{ type: [] }, ["/type"]],
    [{ items: [{ type: "string" }] }, ["/items"]],
    [{ properties: { "a/b": { required: true } } }, ["/properties/a~1b/required"]],
    [{ properties: { a: 1 }, $defs: [] }, ["/properties/a", "/$defs"]],
    [{ anyOf: [] }, ["/anyOf"]],
    [{ allOf: [true, { minLength: -1 }] }, ["/allOf/1/minLength"]],
    [{ multipleOf: 0, maximum: "1", uniqueItems: "yes" }, ["/multipleOf", "/maximum", "/uniqueItems"]],
    [{ required: ["a", "a"], dependentRequired: { a: "b" } }, ["/required", "/dependentRequired"]],
    [{ $id: "a#b", $anchor: "1", enum: "a", title: 1 }, ["/$id", "/$anchor", "/enum", "/title"]],
  ])("%j: %j", async (schema, faults) => {
    expect(schemaFaults(schema)).toEqual(faults);
    expect((await validate(META, schema)).valid).toBe(faults.length === 0);
  });

  it("a pattern must compile", () => {
    expect(schemaFaults({ pattern: "(" })).toEqual(["/pattern"]);
  });
});

describe("inside an OpenAPI document", () => {
  it.each<[JsonObject, JsonObject | null]>([
    [
      { $schema: "http://x", properties: { nullable: { nullable: true, type: "string" } } },
      { properties: { nullable: { type: "string" } } },
    ],
    [{ const: { nullable: 1, $ref: 7 } }, { $id: "urn:x", const: { nullable: 1, $ref: 7 } }],
    [
      { $ref: "#/$defs/a", $defs: { a: true } },
      { $id: "urn:x", $ref: "#/$defs/a", $defs: { a: true } },
    ],
    [
      { $id: "https://a.example/s", $ref: "#" },
      { $id: "https://a.example/s", $ref: "#" },
    ],
    [{ type: "strong" }, null],
  ])("%j → %j", (schema, embedded) => {
    expect(embeddedSchema(schema, "urn:x")).toEqual(embedded);
  });
});
