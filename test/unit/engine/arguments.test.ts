import { describe, expect, it, test } from "vitest";
import { commandLine, toolDefinition } from "../../../src/engine/arguments.ts";
import type { CommandTool, Json, JsonObject, ToolParameter } from "../../../src/skill/manifest.ts";

const parameter = (name: string, extra: Partial<ToolParameter> = {}): ToolParameter => ({
  name,
  description: "",
  required: false,
  type: "string",
  ...extra,
});
const tool = (...parameters: ToolParameter[]): CommandTool => ({
  name: "t",
  description: "d",
  command: ["cmd"],
  parameters,
});
const run = (t: CommandTool, args: JsonObject | null, raw = "") =>
  commandLine({ type: "tool_call", id: "1", name: "t", arguments: args, raw }, t);
/** argv after the command, or the error's code. */
const result = (t: CommandTool, args: JsonObject | null): string[] | string => {
  const line = run(t, args);
  return line.ok ? line.argv.slice(1) : line.code;
};

describe("S108: positions on the command line", () => {
  const first = (required: boolean) => tool(parameter("a", { required }), parameter("b"), parameter("c"));
  it.each<[boolean, JsonObject, string[]]>([
    [true, { a: "x" }, ["x"]],
    [true, { b: "y", a: "x" }, ["x", "--b", "y"]],
    [false, { a: "x", b: "y" }, ["--a", "x", "--b", "y"]],
    [true, { a: "x", b: null }, ["x"]],
    [true, { c: "3", b: "2", a: "1" }, ["1", "--b", "2", "--c", "3"]],
  ])("first required %s, %j", (required, args, argv) => {
    expect(result(first(required), args)).toEqual(argv);
  });
});

test("numbers keep all their digits", () => {
  const parameters = [
    parameter("n", { type: "integer" }),
    parameter("s"),
    parameter("o", { type: "object" }),
  ];
  const raw = '{"n": 12345678901234567890, "s": 12345678901234567891, "o": {"id": 12345678901234567892}}';
  const line = run(tool(...parameters), JSON.parse(raw), raw);
  expect(line).toMatchObject({
    argv: [
      "cmd",
      "--n",
      "12345678901234567890",
      "--s",
      "12345678901234567891",
      "--o",
      '{"id":12345678901234567892}',
    ],
  });
});

describe("values", () => {
  const cases: [ToolParameter["type"], Json, string[] | string][] = [
    ["string", "a b", ["a b"]],
    ["string", "", [""]],
    ["string", 5, ["5"]],
    ["string", true, ["true"]],
    ["string", {}, "bad_arguments"],
    ["string", ["a"], "bad_arguments"],
    ["string", null, "missing_argument"],
    ["string", "-rf", "dash_refused"],
    ["string", "--x", "dash_refused"],
    ["string", "-5", "dash_refused"],
    ["string", -5, "dash_refused"],
    ["string", " -rf", [" -rf"]],
    ["string", "a\0b", "nul_byte"],
    ["string", "x".repeat(200_000), "argument_too_long"],
    ["integer", -5, ["-5"]],
    ["integer", "-5", ["-5"]],
    ["integer", 1.5, "bad_arguments"],
    ["integer", "12", ["12"]],
    ["number", 1e21, ["1e+21"]],
    ["number", "-.5e-3", ["-.5e-3"]],
    ["number", "-inf", "bad_arguments"],
    ["number", "--5", "bad_arguments"],
    ["number", " 5", "bad_arguments"],
    ["boolean", "true", ["true"]],
    ["boolean", false, ["false"]],
    ["boolean", "yes", "bad_arguments"],
    ["array", ["a", "b"], ['["a","b"]']],
    ["array", "a", "bad_arguments"],
    ["array", [1], "bad_arguments"],
    ["object", { b: 1 }, ['{"b":1}']],
    ["object", [], "bad_arguments"],
  ];
  it.each(cases)("%s from %j", (type, value, expected) => {
    const items = type === "array" ? { items: "string" as const } : {};
    expect(result(tool(parameter("p", { type, required: true, ...items })), { p: value })).toEqual(expected);
  });

  it("S104: malformed arguments never run", () => {
    expect(result(tool(), null)).toBe("bad_arguments");
    expect(result(tool(), {})).toEqual([]);
  });

  it("S101: unknown and missing arguments", () => {
    expect(result(tool(parameter("url", { required: true })), {})).toBe("missing_argument");
    expect(result(tool(parameter("url")), { uri: "x" })).toBe("unknown_argument");
    expect(result(tool(parameter("a")), JSON.parse('{"__proto__": "x"}'))).toBe("unknown_argument");
  });

  it("enum members in the declared type", () => {
    const t = tool(parameter("n", { type: "integer", enum: [1, 2], required: true }));
    expect(result(t, { n: "2" })).toEqual(["2"]);
    expect(result(t, { n: 3 })).toBe("bad_arguments");
  });

  it("counts all values together", () => {
    const names = Array.from({ length: 12 }, (_, i) => `p${i}`);
    const args = Object.fromEntries(names.map((name) => [name, "x".repeat(99_000)]));
    expect(result(tool(...names.map((name) => parameter(name))), args)).toBe("argument_too_long");
  });
});

it("S21: the schema offered to a model", () => {
  const definition = toolDefinition(
    tool(
      parameter("n", { type: "integer", required: true, description: "count" }),
      parameter("kind", { enum: ["a", "b"] }),
      parameter("list", { type: "array", items: "number" }),
    ),
  );
  expect(definition.parameters).toEqual({
    type: "object",
    properties: {
      n: { type: "integer", description: "count" },
      kind: { type: "string", enum: ["a", "b"] },
      list: { type: "array", items: { type: "number" } },
    },
    required: ["n"],
    additionalProperties: false,
  });
});
