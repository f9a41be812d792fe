/** What a skill's input_schema may cost, over HTTP, whoever wrote the schema and the input. */
import { beforeAll, describe, expect, it } from "vitest";
import { Client, mockSkill } from "./served.ts";

const client = new Client();
const schemas = {
  nested: { properties: { text: { pattern: "^(a+)+$" } } },
  plain: { properties: { text: { pattern: "a+b" } } },
  named: { patternProperties: { "^(a|a)*$": { type: "integer" } } },
  doubling: {
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `d${i}`,
        i === 39
          ? { type: "object" }
          : { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    ),
    $ref: "#/$defs/d0",
  },
  siblings: {
    $defs: { a: { properties: { x: { $ref: "#" } } } },
    $ref: "#/$defs/a",
    properties: { x: { $ref: "#" } },
  },
  endless: { $ref: "#" },
  unique: { properties: { list: { uniqueItems: true } } },
  choice: { properties: { list: { items: { enum: Array.from({ length: 300 }, (_, a) => ({ a })) } } } },
  wide: { properties: { list: { items: { required: Array.from({ length: 300 }, (_, i) => `p${i}`) } } } },
};

beforeAll(() =>
  client.publish(
    Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => [
        `costs-${name}`,
        mockSkill(`costs-${name}`, `input_schema: ${JSON.stringify(schema)}\n`),
      ]),
    ),
  ),
);

const run = async (name: keyof typeof schemas, input: unknown) => {
  const response = await client.fetch(`/skills/costs-${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input }),
  });
  return [response.status, await response.text()] as const;
};
const nest = (depth: number): object => (depth === 0 ? {} : { x: nest(depth - 1) });

describe("attack: an input that keeps the validator busy", () => {
  it.each<[keyof typeof schemas, unknown, RegExp]>([
    ["nested", { text: `${"a".repeat(40)}!` }, /too long for the schema's pattern/],
    ["plain", { text: "a".repeat(200_000) }, /too long for the schema's pattern a\+b/],
    ["named", { [`${"a".repeat(60)}!`]: 1 }, /too long for the schema's pattern/],
    ["doubling", {}, /nests deeper, or has more parts, than the schema can be followed/],
    ["siblings", nest(60), /nests deeper, or has more parts, than the schema can be followed/],
    ["endless", {}, /nests deeper, or has more parts, than the schema can be followed/],
    ["unique", { list: Array.from({ length: 200_000 }, (_, i) => i) }, /uniqueItems/],
    ["unique", { list: Array.from({ length: 4000 }, (_, a) => ({ a })) }, /uniqueItems/],
    ["unique", { list: [1, 2].map(() => Array.from({ length: 4000 }, (_, i) => i)) }, /uniqueItems/],
    ["choice", { list: Array.from({ length: 20_000 }, () => ({ a: -1 })) }, /has more parts/],
    ["wide", { list: Array.from({ length: 20_000 }, () => ({})) }, /has more parts/],
  ])("%s", async (name, input, reason) => {
    expect(await run(name, input)).toEqual([422, expect.stringMatching(reason)]);
  });

  it.each<[keyof typeof schemas, unknown, number]>([
    ["plain", { text: `${"a".repeat(2000)}b` }, 200],
    ["plain", { text: "a".repeat(2000) }, 422],
    ["siblings", nest(10), 200],
    ["unique", { list: Array.from({ length: 2000 }, (_, i) => i) }, 200],
    ["unique", { list: [1, 1] }, 422],
    ["choice", { list: Array.from({ length: 1000 }, (_, i) => ({ a: i % 300 })) }, 200],
    ["choice", { list: [{ a: 300 }] }, 422],
  ])("checks what it can: %s", async (name, input, status) => {
    expect((await run(name, input))[0]).toBe(status);
  });
});

it("checks the query of a skill that answers GET", async () => {
  const schema = { type: ["object", "string"], required: ["n"], maxLength: 3 };
  const extra = `method: GET\ninput_schema: ${JSON.stringify(schema)}\n`;
  await client.publish({ "asked-by-get": mockSkill("asked-by-get", extra) });
  const get = async (query: string) => {
    const response = await client.fetch(`/skills/asked-by-get${query}`);
    const text = await response.text();
    return response.status === 200 ? 200 : JSON.parse(text).code;
  };
  expect(await get("?input=%7B%22n%22%3A1%7D")).toBe(200);
  expect(await get("?q=abc")).toBe(200);
  expect(await get("?input=%7B%22m%22%3A1%7D")).toBe("input_schema_mismatch");
  expect(await get("?input=12345")).toBe("input_schema_mismatch");
  expect(await get("?input=plain")).toBe("input_schema_mismatch");
  expect(await get("")).toBe("input_required");
});
