/** tools.json as text: each rule of Skill Tools 1.0.0 on the build side. */
import { describe, expect, test } from "vitest";
import { Findings } from "../../../../src/skill/findings.ts";
import type { Diagnostic } from "../../../../src/skill/manifest.ts";
import { parametersOf } from "../../../../src/skill/tools-json/parameters.ts";
import { readToolsJson, type ToolDraft } from "../../../../src/skill/tools-json/read.ts";

const PATHS = ["SKILL.md", "scripts/a.js", "scripts/b.py", "lib/c.sh"];
const files = new Map(PATHS.map((path) => [path, new Uint8Array(0)]));
files.set("scripts/dos.sh", new TextEncoder().encode("#!/bin/bash\r\necho 1\r\n"));
files.set("scripts/marked.sh", new TextEncoder().encode("\ufeffecho 1\n"));

function read(content: string | Uint8Array | object[]): { tools: ToolDraft[]; diagnostics: Diagnostic[] } {
  const text = Array.isArray(content) ? JSON.stringify(content) : content;
  const findings = new Findings("my-skill", "my-skill/tools.json");
  const source = { files, taken: ["own"], keyVariables: ["OPENAI_API_KEY"] };
  return { tools: readToolsJson(findings, text, source).tools, diagnostics: findings.list };
}

/** With the column where there is no field, whose value shows the place. */
const brief = (d: Diagnostic) =>
  `${d.level} ${d.code} ${d.line ?? "-"}${d.field === undefined ? `:${d.column ?? "-"} -` : ` ${d.field}`}`;
/** A tool on a line of its own. */
const tool = (fields: object = {}) => JSON.stringify({ name: "a", description: "d", ...fields });
const list = (...tools: string[]) => `[\n${tools.join(",\n")}\n]`;
const declared = (parameters: unknown) => list(tool({ parameters }));

/** A tools.json; the names of the tools that remain; the findings: `level code line:column field`. */
const TABLE: Record<string, [text: string, names: string[], findings: string[]][]> = {
  "L3: a handler lies in scripts/": [
    [list(tool({ script: "lib/c.sh" })), ["a"], ["info script_place 2 [0].script"]],
    [list(tool({ script: "./scripts/a.js" })), ["a"], []],
    [list(tool({ script: "scripts/dos.sh" })), ["a"], ["warning script_line_ends 2 [0].script"]],
    [list(tool({ script: "scripts/marked.sh" })), ["a"], ["warning script_byte_order_mark 2 [0].script"]],
  ],
  "L5: zero tools": [["[]", [], []]],
  "M1: valid JSON": [
    ["", [], ["error manifest_json 1:1 -"]],
    ["[\n  {,}\n]", [], ["error manifest_json 2:4 -"]],
    ['[{"name": "a",\n  "description": "d",}]', [], ["error manifest_json 2:22 -"]],
    ["[{'name': 'a'}]", [], ["error manifest_json 1:3 -"]],
    ["[] []", [], ["error manifest_json 1:4 -"]],
    ["[01]", [], ["error manifest_json 1:3 -"]],
    ["[NaN]", [], ["error manifest_json 1:2 -"]],
    ['["\t"]', [], ["error manifest_json 1:2 -"]],
    ["[".repeat(100) + "]".repeat(100), [], ["error manifest_json 1:65 -"]],
    ["[// none\n]", [], ["error manifest_json 1:2 -"]],
    ['[{"name":"a","name":"b","description":"d"}]', ["b"], ["warning duplicate_key 1:14 -"]],
    [`\uFEFF${list(tool())}`, ["a"], []],
  ],
  "M2: an array": [
    ["{}", [], ["error manifest_not_array 1:1 -"]],
    [`{"tools": [${tool()}]}`, [], ["error manifest_not_array 1:1 -"]],
    [tool(), [], ["error manifest_not_array 1:1 -"]],
    ["null", [], ["error manifest_not_array 1:1 -"]],
  ],
  "M3: name and description": [
    [list('{"name":"a"}', tool({ name: "b" })), ["b"], ["warning tool_incomplete 2 [0].description"]],
    [list('{"description":"d"}', tool()), ["a"], ["warning tool_incomplete 2 [0].name"]],
    [list(tool({ description: " " })), [], ["warning tool_incomplete 2 [0].description"]],
    [list(tool({ name: 5 })), [], ["warning tool_incomplete 2 [0].name"]],
    [list("5", tool()), ["a"], ["warning tool_incomplete 2 [0]"]],
  ],
  "M4: the name's alphabet": [
    ...["A", "1a", "_a", "a-b", "a b", "é", "a\n", "a".repeat(65)].map(
      (name): [string, string[], string[]] => [
        list(tool({ name }), tool()),
        ["a"],
        ["warning tool_name 2 [0].name"],
      ],
    ),
    [list(tool({ name: "a".repeat(64) })), ["a".repeat(64)], []],
    [list(tool({ name: "a1__b_" })), ["a1__b_"], []],
  ],
  "M5: unique names": [
    [list(tool(), tool({ description: "other" })), ["a"], ["error duplicate_tool 3 [1].name"]],
  ],
  "M6: reserved names, and those of SKILL.md": [
    ...["load_skill", "read_skill_resource", "define_tool", "remove_tool"].map(
      (name): [string, string[], string[]] => [
        list(tool({ name }), tool()),
        ["a"],
        ["warning tool_reserved 2 [0].name"],
      ],
    ),
    [list(tool({ name: "own" })), [], ["warning tool_taken 2 [0].name"]],
  ],
  "M8: the script's path": [
    ...["../x.js", "/etc/passwd", "scripts/../../x.js"].map((script): [string, string[], string[]] => [
      list(tool({ script }), tool({ name: "b" })),
      ["b"],
      ["error path_outside 2 [0].script"],
    ]),
    [list(tool({ script: "scripts/none.js" })), [], ["error file_missing 2 [0].script"]],
    [list(tool({ script: 5 })), [], ["error wrong_type 2 [0].script"]],
    [list(tool({ script: "" })), [], ["error wrong_type 2 [0].script"]],
  ],
  "P1: type and description of a parameter": [
    [declared({ t: { description: "x" } }), ["a"], ["warning parameter_type_missing 2 [0].parameters.t"]],
    [
      declared({ t: { type: "string" } }),
      ["a"],
      ["warning parameter_description_missing 2 [0].parameters.t"],
    ],
    [
      declared({ t: { type: "text", description: "x" } }),
      [],
      ["error schema_invalid 2 [0].parameters.t.type"],
    ],
    [declared({ t: "string" }), [], ["error wrong_type 2 [0].parameters.t"]],
    [declared(["t"]), [], ["error wrong_type 2 [0].parameters"]],
    [
      declared({ __t: { type: "string", description: "x" } }),
      [],
      ["error parameter_reserved 2 [0].parameters.__t"],
    ],
    [
      declared({ "a b": { type: "string", description: "x" } }),
      ["a"],
      ["warning parameter_name 2 [0].parameters.a b"],
    ],
  ],
  "P3: the text true is no boolean": [
    [
      declared({ t: { type: "string", description: "x", optional: "true" } }),
      ["a"],
      ["warning optional_not_boolean 2 [0].parameters.t.optional"],
    ],
  ],
  "P3: required is no flag of one parameter, and costs no tool": [
    [
      declared({ t: { type: "string", description: "x", required: false } }),
      ["a"],
      ["warning required_is_flag 2 [0].parameters.t.required"],
    ],
    [declared({ t: { type: "string", description: "x", required: true } }), ["a"], []],
    [declared({ t: { type: "string", description: "x", required: false, optional: true } }), ["a"], []],
  ],
  "P4: parameters that are a JSON Schema": [
    [
      declared({ type: "object", properties: { t: { type: "string" } } }),
      ["a"],
      ["warning parameters_is_schema 2 [0].parameters"],
    ],
    [
      declared({ type: "object", properties: { t: { type: "strnig" } } }),
      [],
      [
        "warning parameters_is_schema 2 [0].parameters",
        "error schema_invalid 2 [0].parameters.properties.t.type",
      ],
    ],
  ],
  "7.1: x- keys that are wrong leave the tool out": [
    [list(tool({ "x-risk": "dangerouss" })), [], ["error value_not_allowed 2 [0].x-risk"]],
    [list(tool({ "x-tier": "edge", script: "scripts/a.js" })), [], ["error value_not_allowed 2 [0].x-tier"]],
    [list(tool({ "x-timeout-ms": 0 })), [], ["error not_an_integer_in_range 2 [0].x-timeout-ms"]],
    [
      list(tool({ "x-requires-network": ["https://x.org"] })),
      [],
      ["error list_member 2 [0].x-requires-network[0]"],
    ],
    [list(tool({ "x-requires-network": {} })), [], ["error wrong_type 2 [0].x-requires-network"]],
    [list(tool({ "x-env": ["HULL_SECRET_KEY"] })), [], ["error list_member 2 [0].x-env[0]"]],
    [list(tool({ "x-input-schema": { type: "array" } })), [], ["error schema_invalid 2 [0].x-input-schema"]],
    [list(tool({ "x-output-schema": { type: 5 } })), [], ["error schema_invalid 2 [0].x-output-schema.type"]],
    [list(tool({ "x-tags": "a" })), [], ["error wrong_type 2 [0].x-tags"]],
    [list(tool({ "x-tier": "runner" })), ["a"], ["warning tier_without_script 2 [0]"]],
    [list(tool({ "x-hiden": true })), ["a"], ["warning unknown_field 2 [0].x-hiden"]],
    [list(tool({ "x-vendor": true })), ["a"], []],
    [list(tool({ parametrs: {} })), ["a"], ["warning unknown_field 2 [0].parametrs"]],
  ],
};

describe.each(Object.entries(TABLE))("%s", (_, cases) => {
  test.each(cases)("%s", (text, names, findings) => {
    const { tools, diagnostics } = read(text);
    expect(tools.map(({ name }) => name)).toEqual(names);
    expect(diagnostics.map(brief)).toEqual(findings);
    for (const d of diagnostics) {
      expect(d).toMatchObject({ skill: "my-skill", file: "my-skill/tools.json" });
      const stands = text.split("\n")[(d.line ?? 0) - 1]?.slice((d.column ?? 0) - 1) ?? "";
      const key = JSON.stringify(d.field?.split(".").at(-1));
      if (d.field?.includes(".") === true)
        expect([key, d.value ?? ""].some((start) => stands.startsWith(start))).toBe(true);
    }
  });
});

test("M1: a file that is not UTF-8, and one that is too large", () => {
  const faults = (...bytes: number[]) => read(new Uint8Array(bytes)).diagnostics;
  expect(faults(0x5b, 0x0a, 0xff, 0x5d).map(brief)).toEqual(["error manifest_json 2:1 -"]);
  const [utf16] = faults(0xff, 0xfe, 0x5b, 0, 0x5d, 0);
  expect(utf16).toMatchObject({ line: 1, message: expect.stringContaining("is UTF-16, not UTF-8") });
  expect(read(`[${" ".repeat(5_000_000)}]`).diagnostics.map(brief)).toEqual(["error manifest_json -:- -"]);
});

test("M2: the list of another format is named, not guessed", () => {
  expect(read('{"tools": []}').diagnostics[0]?.message).toContain('a list "tools"');
});

describe("conversion to JSON Schema", () => {
  const schemaOf = (parameters?: unknown, more: object = {}) => {
    const made = read([
      { name: "a", description: "d", ...(parameters === undefined ? {} : { parameters }), ...more },
    ]);
    return made.tools[0]?.parameters ?? expect.fail(JSON.stringify(made.diagnostics));
  };
  const text = { type: "string", description: "t" };

  test("M9: no parameters are an empty object", () => {
    const empty = { type: "object", properties: {}, required: [] };
    expect(schemaOf()).toEqual(empty);
    expect(schemaOf({})).toEqual(empty);
  });

  test("P1: integer is accepted, an array has items", () => {
    expect(
      schemaOf({ n: { type: "integer", description: "n" }, l: { type: "array", description: "l" } }),
    ).toEqual({
      type: "object",
      properties: {
        n: { type: "integer", description: "n" },
        l: { type: "array", description: "l", items: {} },
      },
      required: ["n", "l"],
    });
  });

  test("P2: enum and other keys of JSON Schema pass through, optional does not", () => {
    const rich = { ...text, enum: ["x", "y"], maxLength: 5, pattern: "^x" };
    expect(schemaOf({ t: { ...rich, optional: true } })).toEqual({
      type: "object",
      properties: { t: rich },
      required: [],
    });
  });

  test("P3: required in the manifest's order, unless optional is the boolean true", () => {
    const schema = schemaOf({
      z: text,
      a: { ...text, optional: true },
      m: { ...text, optional: false },
      b: { ...text, optional: "true" },
      c: { ...text, required: false },
    });
    expect(schema.required).toEqual(["z", "m", "b", "c"]);
    expect(Object.keys(Object(schema.properties))).toEqual(["z", "a", "m", "b", "c"]);
    expect(schema.properties).toMatchObject({ c: text });
    expect(Object(schema.properties).c).not.toHaveProperty("required");
  });

  test("P4: a schema is used unchanged; parameters of these names are not taken for one", () => {
    expect(schemaOf({ type: "object", properties: { t: text }, additionalProperties: false })).toEqual({
      type: "object",
      properties: { t: text },
      additionalProperties: false,
      required: [],
    });
    expect(schemaOf({ type: text, properties: text }).required).toEqual(["type", "properties"]);
  });

  test("7.1: x-input-schema wins over parameters", () => {
    const full = { type: "object", properties: { q: { type: "string", format: "email" } }, required: ["q"] };
    expect(schemaOf({ q: text }, { "x-input-schema": full })).toEqual(full);
  });

  test("parametersOf answers a schema, or the fault in words", () => {
    expect(parametersOf('{"a": {"type": "number", "description": "n"}}')).toEqual({
      schema: { type: "object", properties: { a: { type: "number", description: "n" } }, required: ["a"] },
    });
    expect(parametersOf('{"a": }')).toEqual({ fault: expect.stringContaining("line 1, column 7") });
    expect(parametersOf("[]")).toEqual({ fault: expect.stringContaining("must be an object of parameter") });
  });
});

describe("7.1: x- keys", () => {
  const keys = (fields: object) => read([{ name: "a", description: "d", ...fields }]).tools[0];

  test("defaults", () => {
    expect(keys({})).toEqual({
      name: "a",
      description: "d",
      parameters: { type: "object", properties: {}, required: [] },
      timeout_ms: 60_000,
      env: [],
      network: null,
      filesystem: false,
      side_effects: false,
      idempotent: false,
      risk: "safe",
      hidden: false,
      config: [],
      wanted: null,
      at: { line: 1, column: 2 },
      field: "[0]",
    });
  });

  test("each key arrives", () => {
    expect(
      keys({
        script: "scripts/a.js",
        "x-env": ["A", "OPENAI_API_KEY", "A"],
        "x-timeout-ms": 5,
        "x-tier": "runner",
        "x-requires-network": ["API.example.com", "*.example.org"],
        "x-requires-filesystem": true,
        "x-side-effects": true,
        "x-idempotent": true,
        "x-risk": "CRITICAL",
        "x-hidden": true,
        "x-output-schema": { type: "string" },
        "x-display-name": "A tool",
        "x-version": "1.0.0",
        "x-category": "text",
        "x-tags": ["One"],
        "x-icon": "hash",
        "x-group": "g",
        "x-deprecated": "use b",
        "x-examples": [{ a: 1 }],
        "x-estimated-latency-ms": 20,
      }),
    ).toMatchObject({
      script: "scripts/a.js",
      env: ["A"],
      timeout_ms: 5,
      wanted: "runner",
      network: { hosts: ["api.example.com", "*.example.org"] },
      filesystem: true,
      side_effects: true,
      idempotent: true,
      risk: "critical",
      hidden: true,
      output_schema: { type: "string" },
      display: {
        display_name: "A tool",
        version: "1.0.0",
        category: "text",
        tags: ["one"],
        icon: "hash",
        group: "g",
        deprecated: "use b",
        examples: [{ a: 1 }],
        estimated_latency_ms: 20,
      },
    });
  });

  test("H8: a provider's key is withheld, with a warning", () => {
    const { tools, diagnostics } = read([{ name: "a", description: "d", "x-env": ["OPENAI_API_KEY"] }]);
    expect(tools[0]?.env).toEqual([]);
    expect(diagnostics.map(brief)).toEqual(["warning provider_key_withheld 1 [0].x-env[0]"]);
  });

  test("a time that is no number of milliseconds: the hint says the unit", () => {
    const { diagnostics } = read([{ name: "a", description: "d", "x-timeout-ms": "5s" }]);
    expect(diagnostics[0]?.hint).toMatch(/milliseconds/);
  });

  test("network: true allows any public host, an empty list none", () => {
    expect(keys({ "x-requires-network": true })?.network).toEqual({ hosts: null });
    expect(keys({ "x-requires-network": false })?.network).toBeNull();
    expect(keys({ "x-requires-network": [] })?.network).toBeNull();
    const { diagnostics } = read([{ name: "a", description: "d", "x-requires-network": "api.example.com" }]);
    expect(diagnostics[0]?.message).toMatch(/must be true, false or a list of hosts/);
  });
});
