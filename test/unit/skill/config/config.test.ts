/** Configuration parameters: what fits, what counts. */
import { describe, expect, it } from "vitest";
import {
  CONFIG_LAYERS,
  effectiveConfig,
  type LayerValue,
  type LayerValues,
} from "../../../../src/skill/config/effective.ts";
import { readGiven } from "../../../../src/skill/config/given.ts";
import { configFault } from "../../../../src/skill/config/value.ts";
import type { ConfigParam, ConfigType, Json } from "../../../../src/skill/manifest.ts";

const param = (type: ConfigType, more: Partial<ConfigParam> = {}): ConfigParam => ({
  name: "p",
  type,
  scope: "per_bot",
  ...more,
});
const OPTIONS = { options: ["draft", "standard", "high"] };
const COST = { min: 0, max: 50, step: 0.5 };
const TWO = { minItems: 1, maxItems: 2 };

describe("a value fits its parameter", () => {
  it.each<[ConfigParam, Json[], [Json, RegExp][]]>([
    [
      param("string"),
      ["", "x"],
      [
        [1, /a string, not 1/],
        ["x".repeat(65_537), /longer than 65536 bytes/],
      ],
    ],
    [param("text"), ["a\nb"], [[null, /a string/]]],
    [
      param("code"),
      ["é".repeat(32_768)],
      [
        ["é".repeat(32_769), /longer/],
        [{}, /a string/],
      ],
    ],
    [
      param("number", COST),
      [0, 0.5, 50, 2.5],
      [
        [0.3, /multiple of 0.5/],
        [51, /at most 50/],
        [-1, /at least 0/],
        ["1", /a number/],
        [true, /a number/],
      ],
    ],
    [
      param("number", { step: 0.1 }),
      [0.3, -0.7, 1e6 + 0.1],
      [
        [0.35, /multiple/],
        [1e6 + 0.15, /multiple/],
      ],
    ],
    [param("number", { step: 0.01 }), [1.1, 0.07], [[0.005, /multiple/]]],
    [param("number", { step: 2, min: 1 }), [2, 4], [[3, /multiple of 2/]]],
    [param("number"), [-1e300, 0.1 + 0.2], [["", /a number/]]],
    [
      param("boolean"),
      [true, false],
      [
        [0, /true or false/],
        ["true", /true or false/],
      ],
    ],
    [
      param("select", OPTIONS),
      ["high"],
      [
        ["low", /one of draft, standard, high, not "low"/],
        [["high"], /one of/],
      ],
    ],
    [param("select"), [], [["", /no options/]]],
    [
      param("multiselect", { ...OPTIONS, ...TWO }),
      [["high"], ["draft", "high"]],
      [
        [[], /at least 1/],
        [["draft", "high", "standard"], /at most 2/],
        [["high", "high"], /^\.1 repeats/],
        [["low"], /^\.0 must be one of/],
        ["high", /a list/],
      ],
    ],
    [
      param("string[]", TWO),
      [["a", "a"]],
      [
        [[1], /^\.0 must be a string/],
        [[], /at least 1/],
      ],
    ],
    [
      param("number[]", { ...COST, ...TWO }),
      [[1, 2.5]],
      [
        [[1, 51], /^\.1 must be at most 50/],
        [{}, /a list/],
      ],
    ],
    [
      param("secret"),
      ["12345678"],
      [
        ["", /empty; null clears/],
        ["1234567", /at least 8 characters: Hull could not remove/],
        [5, /must be a string$/],
      ],
    ],
    [
      param("path"),
      ["a/b.txt", "a..b", ""],
      [
        ["/etc", /relative/],
        ["a/../b", /\.\./],
        ["a\\..\\b", /\.\./],
        ["C:\\x", /relative/],
        ["a\0b", /NUL/],
        [1, /a path/],
      ],
    ],
    [
      param("map"),
      [{}, { a: "b" }],
      [
        [{ "": "x" }, /empty key/],
        [{ a: 1 }, /^\.a must be a string/],
        [[], /a map/],
        [null, /a map/],
      ],
    ],
    [
      param("url"),
      ["https://x.example/a?b", "http://localhost:1"],
      [
        ["x.example", /absolute/],
        ["ftp://x", /absolute/],
        ["javascript:1", /absolute/],
        [1, /absolute/],
      ],
    ],
  ])("%o", (declared, good, bad) => {
    for (const value of good) expect([value, configFault(declared, value)]).toEqual([value, null]);
    for (const [value, reason] of bad) {
      const wrong = configFault(declared, value);
      expect(`${wrong?.path} ${wrong?.message}`.trim()).toMatch(reason);
    }
  });

  it("a fault in a secret does not show the secret", () => {
    expect(configFault(param("secret"), ["hush-0123456789"])?.message).toBe("must be a string");
  });
});

describe("the effective value", () => {
  const layersWith = (value: LayerValue, ...names: (keyof LayerValues)[]): LayerValues =>
    Object.fromEntries(names.map((name) => [name, new Map([["p", value]])]));
  const plain = (value: Json): LayerValue => ({ kind: "plain", value });
  const effective = (declared: ConfigParam, layers: LayerValues) => {
    const { values, sources, diagnostics } = effectiveConfig([declared], layers, CONFIG_LAYERS);
    return [values.p, sources.p, diagnostics.map(({ code, source }) => `${code} ${source}`)];
  };

  it.each<[string, ConfigParam, LayerValues, unknown[]]>([
    ["default", param("number", { default: 1 }), {}, [1, "default", []]],
    ["nothing", param("number"), {}, [undefined, "default", []]],
    ["global", param("number", { default: 1 }), layersWith(plain(2), "global"), [2, "global", []]],
    [
      "per bot",
      param("number"),
      { ...layersWith(plain(2), "global"), ...layersWith(plain(3), "per_bot") },
      [3, "per_bot", []],
    ],
    [
      "per call",
      param("number", { scope: "per_call" }),
      { ...layersWith(plain(3), "global", "per_bot"), ...layersWith(plain(4), "per_call") },
      [4, "per_call", []],
    ],
    [
      "a parameter that the scope does not have is absent",
      param("number", { scope: "global", default: 1 }),
      layersWith(plain(3), "per_bot", "per_call"),
      [1, "default", []],
    ],
    [
      "shrinking max: the default, and a diagnostic",
      param("number", { default: 1, max: 2 }),
      layersWith(plain(3), "per_bot"),
      [1, "default", ["config_value_unfit per_bot"]],
    ],
    [
      "the layer below, where that fits",
      param("number", { default: 1, max: 2 }),
      { ...layersWith(plain(2), "global"), ...layersWith(plain(3), "per_bot") },
      [2, "global", ["config_value_unfit per_bot"]],
    ],
    [
      "a secret",
      param("secret"),
      layersWith({ kind: "secret", value: "hush-hush" }, "global"),
      ["hush-hush", "global", []],
    ],
    [
      "a secret that is too short to be cut out",
      param("secret"),
      layersWith({ kind: "secret", value: "hush" }, "global"),
      [undefined, "default", ["config_value_unfit global"]],
    ],
    [
      "a secret that cannot be opened stays sealed",
      param("secret"),
      layersWith({ kind: "sealed" }, "global"),
      [{ set: true }, "global", []],
    ],
    [
      "a secret that is lost",
      param("secret"),
      layersWith({ kind: "lost" }, "global"),
      [undefined, "default", ["config_secret_lost global"]],
    ],
    [
      "a value that was a secret before is not shown",
      param("string"),
      layersWith({ kind: "secret", value: "s" }, "global"),
      [undefined, "default", ["config_value_unfit global"]],
    ],
    [
      "a secret that was stored before it was one",
      param("secret"),
      layersWith(plain("s"), "global"),
      [undefined, "default", ["config_value_unfit global"]],
    ],
  ])("%s", (_, declared, layers, expected) => {
    expect(effective(declared, layers)).toEqual(expected);
  });
});

describe("given values", () => {
  const tools = [
    {
      name: "build",
      config: [
        param("number", { ...COST, name: "maxCost" }),
        param("string", { name: "site", scope: "global" }),
        param("map", { name: "labels", scope: "per_call" }),
      ],
    },
    { name: "plain", config: [] },
  ];

  it("every fault has its path, and one is enough to refuse everything", () => {
    const given = {
      build: { maxCost: 51, site: "x", none: 1, labels: { a: 1 }, constructor: 1 },
      plain: { a: 1 },
      other: {},
      toString: {},
      build2: 3,
    };
    const read = readGiven(tools, given, "per_bot", "tools");
    expect("faults" in read ? read.faults.map(({ path, message }) => `${path}: ${message}`) : read).toEqual([
      "tools.build.maxCost: must be at most 50, not 51",
      "tools.build.site: has the scope global: set it without bot",
      "tools.build.none: is no parameter of build; there are: maxCost, site, labels",
      "tools.build.labels.a: must be a string, not 1",
      "tools.build.constructor: is no parameter of build; there are: maxCost, site, labels",
      "tools.plain.a: is no parameter of plain; there are: none",
      "tools.other: is no tool that can be configured here; there are: build",
      "tools.toString: is no tool that can be configured here; there are: build",
      "tools.build2: is no tool that can be configured here; there are: build",
    ]);
  });

  it.each([
    ["global", { build: { maxCost: 1, site: "x", labels: {} } }, 3],
    ["per_bot", { build: { maxCost: null, labels: { a: "b" } } }, 2],
    ["per_call", { build: { labels: { a: "b" } } }, 1],
  ] as const)("%s takes what its scopes have", (layer, given, count) => {
    const read = readGiven(tools, given, layer, "x");
    expect("values" in read ? read.values : read).toHaveLength(count);
  });

  it.each([[null], [[]], ["x"], [{ build: [] }], [{ build: null }]])(
    "%j is no object of objects",
    (given) => {
      expect(readGiven(tools, given, "global", "tools")).toHaveProperty(
        "faults.0.message",
        expect.stringMatching(/must be an object/),
      );
    },
  );

  it("only per_call values come with a call", () => {
    const read = readGiven(tools, { build: { maxCost: 1 } }, "per_call", "options.tool_configs");
    expect(read).toMatchObject({
      faults: [
        { path: "options.tool_configs.build.maxCost", message: expect.stringMatching(/scope per_bot/) },
      ],
    });
  });
});
