/** The bodies of requests: a shape both reads and describes them. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { REPO_DIR } from "../../../scripts/dev/paths.ts";
import { OPERATIONS } from "../../../src/api/fixed-routes.ts";
import { schemaComponents } from "../../../src/api/schemas.ts";
import { objectOf } from "../../../src/skill/json.ts";
import type { Json } from "../../../src/skill/manifest.ts";

const sources = (pattern: string): [file: string, text: string][] =>
  globSync(pattern, { cwd: REPO_DIR }).map((file) => [file, readFileSync(join(REPO_DIR, file), "utf8")]);

/** Shapes that describe no body. */
const ELSEWHERE = [
  // They accept any object; other readers read its members.
  "anyObject",
  // `daemonFields` describes it, with the options of a run.
  "daemonBody",
  // The parameter of a reader of several bodies.
  "schema",
];

describe("the body of a request", () => {
  it("has one shape: src/http reads the body with it, and src/api describes the body from it", () => {
    const described = new Set(
      sources("src/api/*.ts").flatMap(([, text]) =>
        Array.from(
          text.matchAll(/\b(?:body|maybeBody|bodySchema|withOneMember|schemaOf)\(\s*(\w+)/g),
          ([, name]) => name,
        ),
      ),
    );
    const read = sources("src/http/**/*.ts").flatMap(([file, text]) =>
      Array.from(
        text.matchAll(
          /\b(?:(?:readJson|readJsonIfAny|vendorBody|vendorBodyIfAny)\(\s*[\w.]+,|modelBody(?:IfAny)?\()\s*(\w+)/g,
        ),
        ([, name = ""]) => [file, name],
      ),
    );
    const vendor = sources("src/llm/**/*.ts").flatMap(([file, text]) =>
      Array.from(text.matchAll(/\breadShape\(\s*(\w+Body)\b/g), ([, name = ""]) => [file, name]),
    );
    expect([read.length > 50, vendor.length]).toEqual([true, 4]);
    const unknown = [...read, ...vendor].filter(
      ([, name = ""]) => !described.has(name) && !ELSEWHERE.includes(name),
    );
    expect(unknown).toEqual([]);
  });

  it("says whether it may have other members, as only a shape of Hull's does", () => {
    const schemas = schemaComponents();
    const open = (schema: Json | undefined): boolean => {
      const { $ref, anyOf, oneOf, items, properties, additionalProperties } = objectOf(schema);
      if (typeof $ref === "string") return open(schemas[$ref.split("/").at(-1) ?? ""]);
      const parts = [anyOf ?? oneOf ?? [], items ?? []].flat();
      return (properties !== undefined && additionalProperties === undefined) || parts.some(open);
    };
    const found = Object.entries(OPERATIONS).flatMap(([id, { body, vendor }]) => {
      const { schema } = objectOf(objectOf(objectOf(body).content)["application/json"]);
      return vendor !== true && open(schema) ? [id] : [];
    });
    expect(found).toEqual([]);
  });

  it("has the defaults and the parts that its reader has", () => {
    const { schema } = objectOf(objectOf(objectOf(OPERATIONS.sendMessage.body).content)["application/json"]);
    const { content, delivery } = objectOf(objectOf(schema).properties);
    expect(objectOf(delivery).default).toBe("interrupt_immediate");
    expect(JSON.stringify(content)).toContain("#/components/schemas/MessagePart");
  });
});
