import { expect, test } from "vitest";
import { Findings } from "../../../../src/skill/findings.ts";
import { readToolsJson } from "../../../../src/skill/tools-json/read.ts";

const read = (...params: object[]) => {
  const text = JSON.stringify([{ name: "a", description: "d", "x-config": params }]);
  const findings = new Findings("s", "s/tools.json");
  const { tools } = readToolsJson(findings, text, { keyVariables: [] });
  const diagnostics = findings.list;
  return { config: tools[0]?.config, findings: diagnostics.map(({ level, code }) => `${level} ${code}`) };
};

test("7.4: keys in camelCase and in snake_case, defaults of type and scope", () => {
  expect(
    read(
      {
        name: "maxCost",
        display_name: "Max Cost",
        type: "number",
        default: 0,
        min: 0,
        max: 50,
        step: 0.5,
        unit: "USD",
      },
      {
        name: "tags",
        type: "string[]",
        min_items: 1,
        maxItems: 3,
        item_placeholder: "tag",
        scope: "per_call",
      },
      { name: "plain" },
    ),
  ).toEqual({
    config: [
      {
        name: "maxCost",
        displayName: "Max Cost",
        type: "number",
        default: 0,
        min: 0,
        max: 50,
        step: 0.5,
        unit: "USD",
        scope: "per_bot",
      },
      { name: "tags", type: "string[]", minItems: 1, maxItems: 3, itemPlaceholder: "tag", scope: "per_call" },
      { name: "plain", type: "string", scope: "per_bot" },
    ],
    findings: [],
  });
});

test.each<[string, object[]]>([
  ["no name", [{ type: "string" }]],
  ["a name with blanks", [{ name: "a b" }]],
  ["a name of Hull's own", [{ name: "__proto__" }]],
  ["the same name twice", [{ name: "a" }, { name: "a" }]],
  ["select without options", [{ name: "a", type: "select" }]],
  ["multiselect without options", [{ name: "a", type: "multiselect", options: [] }]],
  ["the same option twice", [{ name: "a", type: "select", options: ["x", "x"] }]],
  ["min over max", [{ name: "a", type: "number", min: 2, max: 1 }]],
  ["minItems over maxItems", [{ name: "a", type: "string[]", minItems: 2, maxItems: 1 }]],
  ["a step of 0", [{ name: "a", type: "number", step: 0 }]],
  ["a secret with a default", [{ name: "a", type: "secret", default: "x" }]],
])("7.4: %s is refused, and the tool with it", (_, params) => {
  const { config, findings } = read(...params);
  expect(config).toBeUndefined();
  expect(findings).toEqual(["error config_param"]);
});

test("7.4: unknown types, scopes and keys", () => {
  expect(read({ name: "a", type: "slider" }).findings).toEqual(["error value_not_allowed"]);
  expect(read({ name: "a", scope: "per_user" }).findings).toEqual(["error value_not_allowed"]);
  expect(read({ name: "a", minimum: 1 })).toEqual({
    config: [{ name: "a", type: "string", scope: "per_bot" }],
    findings: ["warning unknown_field"],
  });
});

test("7.4: a default that could not be set is left out", () => {
  expect(read({ name: "a", type: "number", max: 1, default: 2 })).toEqual({
    config: [{ name: "a", type: "number", max: 1, scope: "per_bot" }],
    findings: ["warning config_param"],
  });
  expect(read({ name: "a", type: "boolean", default: "no" }).findings).toEqual(["warning config_param"]);
});
