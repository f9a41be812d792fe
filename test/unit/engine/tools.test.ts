/** Definitions of tools. */
import { describe, expect, it } from "vitest";
import { readTools } from "../../../src/engine/tools.ts";
import type { Json } from "../../../src/skill/manifest.ts";

/** Faults of one tool with the given fields, as `path: message`. */
function faults(fields: Record<string, Json>): string[] {
  const result = readTools([{ name: "deploy", description: "Deploys", ...fields }]);
  return "faults" in result ? result.faults.map(({ path, message }) => `${path}: ${message}`) : [];
}
function parameters(given: Json): Json {
  const result = readTools([{ name: "t", description: "", parameters: given }]);
  return "tools" in result ? (result.tools[0]?.parameters ?? null) : result.faults.map((f) => f.message);
}

describe("faults name tool and field", () => {
  it.each<[Record<string, Json>, string]>([
    [
      { defer_loading: "yes" },
      'options.tools.0.defer_loading: the tool "deploy": defer_loading must be true or false; got "yes"',
    ],
    [{ namespace: 5 }, 'options.tools.0.namespace: the tool "deploy": namespace must be a string; got 5'],
    [{ name: "a b" }, 'options.tools.0.name: the tool "a b": name must be 1 to 128 of A-Za-z'],
    [
      { description: null },
      'options.tools.0.description: the tool "deploy": description must be a string; got nothing',
    ],
    [{ executor: "shell" }, "one of webhook, mcp_server, provider_native, host_bridge"],
    [{ command: ["rm"] }, "command is for tools of skills only"],
    [{ defer_load: true }, 'the tool "deploy" has no field defer_load; did you mean defer_loading?'],
    [{ defer_load: null }, 'the tool "deploy" has no field defer_load; did you mean defer_loading?'],
    [{ annotations: { side_effect_level: "huge" } }, "options.tools.0.annotations.side_effect_level: "],
    [{ annotations: { idempotent: 1 } }, "annotations.idempotent must be true or false"],
    [{ annotations: { capabilities: { fs: "read" } } }, "lists of operations"],
    [{ annotations: { kinds: "read" } }, "did you mean kind?"],
    [{ parameters: [] }, "parameters must be a JSON Schema of type object, or schemas by parameter name"],
    [{ parameters: { type: "string" } }, "parameters must be a JSON Schema of type object"],
    [{ parameters: { path: 5 } }, "parameters must be"],
    [{ parameters: { type: "object", properties: [] } }, "parameters must be"],
  ])("%j", (fields, message) => {
    expect(faults(fields)).toEqual([expect.stringContaining(message)]);
  });

  it("a name that is used twice, and several faults at once", () => {
    const tool = { name: "a", description: "" };
    expect(readTools([tool, tool])).toEqual({
      faults: [{ path: "options.tools.1.name", message: 'the tool "a" is defined twice' }],
    });
    const many = readTools([5, { ...tool, name: 1 }, ...Array.from({ length: 50 }, () => tool)]);
    expect("faults" in many && many.faults.length).toBe(20);
    expect(readTools("none")).toEqual({
      faults: [{ path: "options.tools", message: 'options.tools must be a list of tools; got "none"' }],
    });
  });
});

describe("parameters", () => {
  const closed = { type: "object", additionalProperties: false };
  it.each<[string, Json, Json]>([
    ["none", null, { ...closed, properties: {}, required: [] }],
    [
      "by name",
      { path: "Where", depth: { type: "integer", required: false }, on: { type: "boolean", required: true } },
      {
        ...closed,
        properties: {
          path: { type: "string", description: "Where" },
          depth: { type: "integer" },
          on: { type: "boolean" },
        },
        required: ["path", "on"],
      },
    ],
    [
      "parameters that are called as keywords are",
      { type: { type: "string" }, properties: { type: "object" }, required: "Whether" },
      {
        ...closed,
        properties: {
          type: { type: "string" },
          properties: { type: "object" },
          required: { type: "string", description: "Whether" },
        },
        required: ["type", "properties", "required"],
      },
    ],
    [
      "an object's own list of required members",
      { at: { type: "object", required: ["x"] } },
      { ...closed, properties: { at: { type: "object", required: ["x"] } }, required: ["at"] },
    ],
    ["a schema", { type: "object", properties: { a: true } }, { type: "object", properties: { a: true } }],
    ["a schema without its type", { properties: { a: {} } }, { type: "object", properties: { a: {} } }],
    ["a union", { anyOf: [{ required: ["a"] }] }, { type: "object", anyOf: [{ required: ["a"] }] }],
  ])("%s", (_, given, expected) => {
    expect(parameters(given)).toEqual(expected);
  });
});

it("a whole tool, in a registry", () => {
  const fields = {
    name: "t",
    description: "d",
    returns: { type: "string" },
    handler: "run",
    executor: "host_bridge",
    defer_loading: true,
    namespace: "ops",
    annotations: {
      kind: "read",
      side_effect_level: "none",
      capabilities: { fs: ["read"] },
      idempotent: true,
    },
  };
  expect(readTools({ tools: [fields] })).toEqual({
    tools: [{ ...fields, executor: "webhook", parameters: expect.anything() }],
  });
});
