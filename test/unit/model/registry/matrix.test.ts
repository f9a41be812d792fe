/** The capability matrix, row by row, and how a model is found in it. */
import { describe, expect, test } from "vitest";
import type { Capabilities } from "../../../../src/model/capabilities.ts";
import { type CapabilityTables, capabilityTables } from "../../../../src/model/registry/layer.ts";
import { capabilitiesOf } from "../../../../src/model/registry/matrix.ts";
import { mergeModelRegistry, shippedModels } from "../../../../src/model/registry/registry.ts";

const OFF: Capabilities = {
  native_tools: false,
  defer_loading: false,
  tool_search: [],
  max_tools: null,
  prompt_caching: false,
  thinking: false,
  thinking_modes: [],
  vision: null,
  audio: null,
  pdf: null,
  structured_output: null,
  interleaved_thinking_supported: null,
  anthropic_beta_features: null,
  preserve_thinking: null,
  requires_completion_tokens: null,
  reasoning_effort_supported: null,
  honors_chat_template_kwargs: null,
  server_parser: null,
  recommended_endpoint: null,
  text_tool_wire_format_supported: true,
  matched: true,
};
const UNMATCHED: Partial<Capabilities> = { native_tools: false, thinking_modes: null, matched: false };

type Row = [provider: string, models: string[], columns: Partial<Capabilities>];

const modes = (...thinking_modes: ("enabled" | "adaptive" | "effort")[]): Partial<Capabilities> => ({
  thinking_modes,
  thinking: true,
});
const native = { structured_output: "native" } as const;
const claude = { vision: true, structured_output: "tool_use", prompt_caching: true } as const;
const vault = { ...claude, defer_loading: true, tool_search: ["bm25", "regex"], max_tools: 10000 } as const;
const interleaved = { interleaved_thinking_supported: true };
const reasoning = { requires_completion_tokens: true, reasoning_effort_supported: true };
const search = { defer_loading: true, tool_search: ["hosted", "client"] } as const;
const template = { ...native, ...modes("enabled"), honors_chat_template_kwargs: true };
const keep = { preserve_thinking: true };

const ANTHROPIC: [models: string[], columns: Partial<Capabilities>][] = [
  [["claude-haiku-4-7", "claude-haiku-5", "claude-haiku-4.8-20270101"], { ...vault, ...modes("adaptive") }],
  [
    ["claude-opus-4-7", "claude-opus-4-8", "claude-opus-5-0"],
    { ...vault, ...modes("adaptive"), ...interleaved },
  ],
  [["claude-sonnet-4-7", "claude-sonnet-5"], { ...vault, ...modes("adaptive") }],
  [["claude-haiku-4-5", "claude-haiku-4-5-20251001", "claude-haiku-4-6"], { ...vault, ...modes("enabled") }],
  [["claude-opus-4-6", "claude-opus-4.6"], { ...vault, ...modes("enabled"), ...interleaved }],
  [["claude-opus-4-5", "claude-opus-4-20250514", "claude-opus-4-0"], { ...vault, ...modes("enabled") }],
  [["claude-sonnet-4-20250514", "claude-sonnet-4-5", "claude-sonnet-4-6"], { ...vault, ...modes("enabled") }],
];

const OPENAI: [models: string[], columns: Partial<Capabilities>][] = [
  [["gpt-4o", "gpt-4o-mini", "gpt-4o-2024-08-06"], { ...native, vision: true, audio: true }],
  [["gpt-4.1", "gpt-4.1-mini"], { ...native, vision: true }],
  [["gpt-5.4", "gpt-5.4-preview", "gpt-5-4", "gpt-6"], { ...native, ...reasoning, ...search, vision: true }],
  [["gpt-5", "gpt-5-mini", "gpt-5.3", "gpt-5-2025-08-07"], { ...native, ...reasoning, vision: true }],
  [["gpt-4-turbo", "gpt-3.5-turbo", "gpt-4-0613"], { ...native }],
  [["o1", "o1-mini", "o3", "o3-pro"], { ...native, ...reasoning, ...modes("effort") }],
  [["o4-mini"], { ...native, ...reasoning, ...modes("effort"), vision: true }],
];

const prefixed = (prefix: string, models: string[]) => models.map((model) => prefix + model);

const ROWS: Row[] = [
  ...ANTHROPIC.map(
    ([models, columns]): Row => ["anthropic", [...models, ...prefixed("anthropic/", models)], columns],
  ),
  [
    "anthropic",
    [
      "claude-opus-3-5",
      "claude-3-5-sonnet-20241022",
      "claude-haiku-4-4",
      "claude-3-opus-20240229",
      "claude-2",
    ],
    { ...claude, ...modes("enabled") },
  ],
  ["anthropic", ["anthropic/claude-3-haiku", "gpt-4o"], UNMATCHED],
  ...OPENAI.map(([models, columns]): Row => ["openai", [...models, ...prefixed("openai/", models)], columns]),
  ["openai", ["text-embedding-3", "chatgpt-4o"], UNMATCHED],
  ["xai", ["grok-3-mini", "grok-3-mini-fast"], { ...native, ...modes("effort"), vision: false }],
  ["xai", ["grok-3", "grok-3-beta"], { ...native, vision: false }],
  ["xai", ["grok-4", "grok-2-vision"], native],
  ["google", ["gemini-2.5-pro", "gemini-2.5-flash"], { ...native, ...modes("effort"), vision: true }],
  ["google", ["gemini-2.0-flash", "gemini-1.5-pro"], { ...native, vision: true }],
  [
    "deepseek",
    ["deepseek-reasoner"],
    { ...modes("enabled"), structured_output: "json_object", vision: false },
  ],
  ["deepseek", ["deepseek-chat", "deepseek-v3"], { structured_output: "json_object", vision: false }],
  [
    "workers-ai",
    [
      "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
      "@cf/meta/llama-4-scout-17b-16e-instruct",
      "@cf/mistralai/mistral-small-3.1-24b-instruct",
      "@cf/qwen/qwen3-30b-a3b-fp8",
      "@cf/openai/gpt-oss-120b",
      "@hf/nousresearch/hermes-2-pro-mistral-7b",
    ],
    {},
  ],
  ["workers-ai", ["@cf/meta/llama-2-7b-chat-int8"], UNMATCHED],
  [
    "ollama",
    ["llava", "bakllava:7b", "llama3.2-vision:11b", "gemma3:27b"],
    { native_tools: false, vision: true },
  ],
  ["ollama", ["llama3.2", "gpt-5.4"], UNMATCHED],
  [
    "ollama",
    ["qwen3:8b", "qwen3-coder"],
    {
      ...modes("enabled"),
      structured_output: "format_kw",
      recommended_endpoint: "/api/generate-raw",
      text_tool_wire_format_supported: false,
    },
  ],
  [
    "ollama",
    ["qwen3.6:35b"],
    {
      ...modes("enabled"),
      ...keep,
      structured_output: "format_kw",
      recommended_endpoint: "/api/generate-raw",
      text_tool_wire_format_supported: false,
    },
  ],
  ...["local", "llamacpp"].flatMap((provider): Row[] => [
    [provider, ["Qwen/Qwen3.6-27B", "my-qwen3.6"], { ...template, ...keep }],
    [provider, ["Qwen/Qwen3-8B", "qwen3-coder"], template],
  ]),
  ["mlx", ["mlx-community/Qwen3.6-4bit"], { ...template, ...keep, vision: true }],
  ["mlx", ["mlx-community/Qwen3-4bit"], { ...template, vision: true }],
  [
    "fireworks",
    ["accounts/fireworks/models/qwen3p6-plus", "accounts/fireworks/models/qwen3.6-plus"],
    { ...template, ...keep },
  ],
  ["fireworks", ["accounts/fireworks/models/qwen2-72b"], template],
  ["dashscope", ["qwen3.6-plus"], { ...template, ...keep }],
  ["dashscope", ["qwen-max", "qwen3.5-plus"], template],
  [
    "openrouter",
    ["anthropic/claude-sonnet-4-20250514", "anthropic/claude-3-haiku"],
    { ...modes("enabled", "effort"), prompt_caching: true, vision: true },
  ],
  ["openrouter", ["Qwen/Qwen3.6-27B"], { ...native, ...modes("enabled", "effort"), ...keep }],
  ["openrouter", ["Qwen/Qwen3.5-9B", "qwen/qwen-max"], { ...native, ...modes("enabled", "effort") }],
  [
    "openrouter",
    ["deepseek/deepseek-v3.1"],
    { ...native, ...modes("enabled", "effort"), prompt_caching: true },
  ],
  [
    "openrouter",
    ["google/gemini-2.5-pro"],
    { ...native, ...modes("enabled", "effort"), prompt_caching: true, vision: true },
  ],
  ["openrouter", ["google/gemma-4-31b-it"], native],
  ...["huggingface", "together"].flatMap((provider): Row[] => [
    [provider, ["Qwen/Qwen3.6-27B"], { ...template, ...keep }],
    [provider, ["Qwen/Qwen3-8B"], template],
    [provider, ["deepseek-ai/DeepSeek-V3.1"], { ...template, prompt_caching: true }],
  ]),
  ["together", ["moonshotai/Kimi-K2"], native],
  ["huggingface", ["moonshotai/Kimi-K2"], UNMATCHED],
];

test.each(ROWS)("%s %j", (provider, models, columns) => {
  const expected = { ...OFF, native_tools: true, ...columns };
  for (const model of models) {
    expect([model, capabilitiesOf(shippedModels, provider, model)]).toEqual([model, expected]);
    expect(capabilitiesOf(shippedModels, provider, model.toUpperCase())).toEqual(expected);
  }
});

test("the families inherit from openai, and no other provider does", () => {
  const hosted = (provider: string) => capabilitiesOf(shippedModels, provider, "gpt-5.4").tool_search;
  const heirs = [
    "openrouter",
    "together",
    "groq",
    "deepseek",
    "fireworks",
    "huggingface",
    "local",
    "dashscope",
    "llamacpp",
    "mlx",
    "xai",
    "google",
    "workers-ai",
  ];
  for (const provider of heirs)
    expect([provider, hosted(provider)]).toEqual([provider, ["hosted", "client"]]);
  for (const provider of ["anthropic", "ollama", "vllm", "tgi", "unknown", "constructor"]) {
    expect([provider, hosted(provider)]).toEqual([provider, []]);
  }
  expect(capabilitiesOf(shippedModels, "unknown", "claude-opus-4-7")).toEqual({ ...OFF, ...UNMATCHED });
});

test("the mock has every capability that a call asks for", () => {
  const of = (model: string) => capabilitiesOf(shippedModels, "mock", model);
  expect(of("claude-opus-4-7")).toEqual(capabilitiesOf(shippedModels, "anthropic", "claude-opus-4-7"));
  expect(of("gpt-5.4")).toEqual(capabilitiesOf(shippedModels, "openai", "gpt-5.4"));
  expect(of("mock")).toEqual({ ...OFF, ...UNMATCHED });
});

const withRules = (tables: object) =>
  mergeModelRegistry(shippedModels, { capabilities: capabilityTables.parse(tables) });

describe("globs", () => {
  const matches = (model_match: string, model: string): boolean => {
    const registry = withRules({ provider: { p: [{ model_match, vision: true }] } });
    return capabilitiesOf(registry, "p", model).matched;
  };

  test.each([
    ["*", ["", "anything"], []],
    ["x*", ["x", "xy"], ["ax"]],
    ["*x", ["x", "ax"], ["xa"]],
    ["*x*", ["x", "axb"], ["ab"]],
    ["a*b", ["ab", "a-b", "aXb"], ["a", "b", "abc"]],
    ["aba*aba", ["abaaba", "aba-aba"], ["aba", "ababa"]],
    ["x", ["x", "X"], ["xx", ""]],
    ["X*", ["xy", "XY"], ["y"]],
    ["a*b*c", ["a*b*c"], ["abc", "a-b-c"]],
    ["*a*b", ["*a*b"], ["xab"]],
    ["a.c", ["a.c"], ["abc"]],
  ])("%s", (glob, yes, no) => {
    for (const model of yes) expect([model, matches(glob, model)]).toEqual([model, true]);
    for (const model of no) expect([model, matches(glob, model)]).toEqual([model, false]);
  });
});

describe("user rules", () => {
  const of = (tables: CapabilityTables, provider: string, model: string) =>
    capabilitiesOf(withRules(tables), provider, model);

  test("come first, in the order of the file, and are not merged", () => {
    const tables: CapabilityTables = {
      provider: {
        openai: [
          { model_match: "gpt-4o-mini*", max_tools: 3 },
          { model_match: "gpt-*", native_tools: true, max_tools: 5 },
        ],
      },
    };
    expect(of(tables, "openai", "gpt-4o-mini")).toMatchObject({ max_tools: 3, native_tools: false });
    expect(of(tables, "openai", "gpt-5.4")).toMatchObject({
      max_tools: 5,
      tool_search: [],
      native_tools: true,
    });
    expect(of(tables, "openai", "o1")).toMatchObject({ max_tools: null });
  });

  test("of a parent reach its family, unless a provider has a matching rule of its own", () => {
    const tables = { provider: { openai: [{ model_match: "*", max_tools: 7 }] } };
    expect(of(tables, "groq", "anything").max_tools).toBe(7);
    expect(of(tables, "openrouter", "gpt-5.4").max_tools).toBe(7);
    expect(of(tables, "openrouter", "qwen/qwen3").max_tools).toBeNull();
  });

  test("keep the further fields of the shipped rule that they hide, and only these", () => {
    const outage = {
      model_match: "claude-opus-*",
      native_tools: true,
      defer_loading: false,
      tool_search: [],
      prompt_caching: true,
      thinking: true,
    };
    const tables: CapabilityTables = { provider: { anthropic: [outage] } };
    const shipped = capabilitiesOf(shippedModels, "anthropic", "claude-opus-4-7");
    expect(of(tables, "anthropic", "claude-opus-4-7")).toEqual({
      ...shipped,
      defer_loading: false,
      tool_search: [],
      max_tools: null,
    });
    const own = { ...outage, vision: false, thinking_modes: ["enabled" as const] };
    expect(of({ provider: { anthropic: [own] } }, "anthropic", "claude-opus-4-7")).toMatchObject({
      vision: false,
      thinking_modes: ["enabled"],
      structured_output: "tool_use",
    });
    const quiet = { provider: { anthropic: [{ model_match: "claude-*" }] } };
    expect(of(quiet, "anthropic", "claude-opus-4-7")).toMatchObject({
      thinking: false,
      thinking_modes: [],
      vision: true,
    });
    const heir = { provider: { groq: [{ model_match: "*", native_tools: true }] } };
    expect(of(heir, "groq", "gpt-4o")).toMatchObject({ vision: true, audio: true });
  });

  test("thinking without modes is `enabled`, modes alone are thinking", () => {
    const rule = (fields: object) => of({ provider: { p: [{ model_match: "*", ...fields }] } }, "p", "m");
    expect(rule({ thinking: true })).toMatchObject({ thinking: true, thinking_modes: ["enabled"] });
    expect(rule({ thinking_modes: ["effort"] })).toMatchObject({
      thinking: true,
      thinking_modes: ["effort"],
    });
    expect(rule({ thinking: false })).toMatchObject({ thinking: false, thinking_modes: [] });
  });

  test("families: a user's counts before the shipped one, circles end", () => {
    const tables: CapabilityTables = { provider_family: { groq: "anthropic", a: "b", b: "a", c: "c" } };
    expect(of(tables, "groq", "claude-opus-4-7").max_tools).toBe(10000);
    expect(of(tables, "groq", "gpt-5.4").matched).toBe(false);
    for (const provider of ["a", "b", "c"]) expect(of(tables, provider, "gpt-5.4").matched).toBe(false);
  });

  test("version_min compares pairs, and passes over ids without a version", () => {
    const tables: CapabilityTables = {
      provider: { p: [{ model_match: "*", version_min: [4, 7], vision: true }] },
    };
    const seen = (model: string) => of(tables, "p", model).matched;
    for (const model of ["claude-opus-4-7", "x/claude-haiku-5", "gpt-5", "gpt-4.7", "openai/gpt-10.1"]) {
      expect([model, seen(model)]).toEqual([model, true]);
    }
    for (const model of [
      "claude-opus-4-6",
      "gpt-4o",
      "gpt-4-1106",
      "claude-3-5-sonnet-20241022",
      "my-claude-opus-5",
      "llama",
    ]) {
      expect([model, seen(model)]).toEqual([model, false]);
    }
  });
});
