/** Whatever a model sends: argv holds the command, declared flags and plain values only. */

import { expect, test } from "vitest";
import { commandLine } from "../../../src/engine/arguments.ts";
import type { ToolParameter } from "../../../src/skill/manifest.ts";
import { PARAMETER_TYPES } from "../../../src/skill/manifest-fields.ts";
import { anyText, fc } from "../../support/property.ts";

const name = fc.oneof(
  fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,9}$/),
  fc.constantFrom("a", "b", "__proto__", "constructor", "toString", "rf"),
);
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)));
const value = fc.oneof(
  json,
  fc.double(),
  anyText(),
  fc.constantFrom("-rf", "--", "-", "-1", "-1e5", "-0x1", "- 1", "−1", "+1", "-Infinity", "-1\n--x"),
  fc.constantFrom("a\0b", "\0", "0\0"),
  fc.constantFrom("", " ", "true", "x".repeat(100_000), "x".repeat(100_001), "ä".repeat(50_001)),
);
const parameter: fc.Arbitrary<ToolParameter> = fc
  .record({
    name,
    type: fc.constantFrom(...PARAMETER_TYPES),
    required: fc.boolean(),
    members: fc.oneof(
      { weight: 7, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.array(value, { minLength: 1, maxLength: 3 }) },
    ),
  })
  .map(({ members, ...rest }) => ({
    ...rest,
    description: "",
    ...(members === null ? {} : { enum: members }),
    ...(rest.type === "array" ? { items: "string" as const } : {}),
  }));
const call = fc.uniqueArray(parameter, { selector: (p) => p.name, maxLength: 5 }).chain((parameters) => {
  const names = parameters.map((p) => p.name);
  const key =
    names.length === 0 ? name : fc.oneof({ weight: 19, arbitrary: fc.constantFrom(...names) }, name);
  const given = fc.array(fc.tuple(key, value), { maxLength: 8 });
  return fc.record({
    parameters: fc.constant(parameters),
    // As JSON.parse makes objects: "__proto__" is a key like any other.
    given: fc.option(
      given.map((pairs) => JSON.parse(JSON.stringify(ownKeys(pairs)))),
      { freq: 20 },
    ),
  });
});

function ownKeys(pairs: [string, unknown][]): object {
  const made = Object.create(null);
  for (const [key, member] of pairs) made[key] = member;
  return made;
}

test("argv: the command, declared flags, values that cannot be flags", () => {
  const command = ["python3", "-u", "tool.py"];
  const seen = new Set<string>();
  fc.assert(
    fc.property(call, ({ parameters, given }) => {
      const line = commandLine(
        { type: "tool_call", id: "1", name: "t", arguments: given, raw: "" },
        { name: "t", description: "", command, parameters },
      );
      seen.add(line.ok ? "ok" : line.code);
      if (!line.ok) {
        expect(line.message).not.toBe("");
        return;
      }
      expect(line.argv.slice(0, command.length)).toEqual(command);
      const rest = line.argv.slice(command.length);
      const positional = parameters[0]?.required === true ? rest.splice(0, 1) : [];
      const flags = rest.filter((_, n) => n % 2 === 0);
      const names = flags.map((flag) => flag.slice(2));
      expect(names).toEqual(parameters.map((p) => p.name).filter((n) => flags.includes(`--${n}`)));
      const named = rest.filter((_, n) => n % 2 === 1);
      expect(named).toHaveLength(flags.length);
      const values = [
        ...positional.map((v) => [parameters[0]?.name, v]),
        ...named.map((v, n) => [names[n], v]),
      ];
      let total = 0;
      for (const [of, text = ""] of values) {
        const { type } = parameters.find((p) => p.name === of) ?? expect.fail(`${of} is not declared`);
        if (text.startsWith("-")) {
          expect(["number", "integer"]).toContain(type);
          expect(text).toMatch(/^-[\d.]+(e[-+]?\d+)?$/i);
        }
        expect(text).not.toContain("\0");
        const size = new TextEncoder().encode(text).length;
        expect(size).toBeLessThanOrEqual(100_000);
        total += size;
      }
      expect(total).toBeLessThanOrEqual(1_000_000);
    }),
    { numRuns: 3000 },
  );
  const outcomes = ["ok", "bad_arguments", "missing_argument", "unknown_argument"];
  expect([...seen]).toEqual(
    expect.arrayContaining([...outcomes, "dash_refused", "nul_byte", "argument_too_long"]),
  );
});
