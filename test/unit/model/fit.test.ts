/** What a target cannot take is left out with a warning, or refused before the call. */
import { expect, test } from "vitest";
import type { Block, Message, ModelRequest, Part } from "../../../src/engine/messages.ts";
import { type Declared, fitRequest } from "../../../src/model/fit.ts";
import type { ResolvedTarget } from "../../../src/model/providers.ts";
import { request, target, tool } from "../../fixtures/wires/fixture.ts";

const MOCK: ResolvedTarget = {
  ...target("mock", "openai-chat", "claude-x"),
  protocol: "mock",
  url: null,
  headers: {},
};
const BINDING: ResolvedTarget = {
  ...target("workers-ai", "openai-chat", "@cf/x", { matched: false }),
  protocol: "workers-ai",
  url: null,
  headers: {},
};
const unknown = (protocol: "anthropic" | "openai-chat" | "openai-responses" | "ollama") =>
  target("local", protocol, "some-model", { matched: false });
const claude = (model: string) =>
  target("anthropic", "anthropic", model, {
    thinking: true,
    thinking_modes: ["enabled"],
    prompt_caching: true,
  });

const openRouter = (model: string) =>
  target("openrouter", "openai-chat", model, {}, { variant: "openrouter" });

/** What differs from a request without options. */
function fitted(more: Partial<ModelRequest>, to: ResolvedTarget, declared: Declared = {}) {
  const plain: { [key: string]: unknown } = { ...request("hi") };
  const { request: left, warnings } = fitRequest(request("hi", more), to, declared);
  const changed = Object.entries(left).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(plain[key]),
  );
  return {
    left: Object.fromEntries(changed),
    warnings: warnings.map(({ code, option }) => `${code} ${option}`),
  };
}

const EVERYTHING: Partial<ModelRequest> = {
  sampling: {
    temperature: 1,
    top_p: 0.5,
    top_k: 2,
    stop: ["x"],
    seed: 3,
    frequency_penalty: 0.1,
    presence_penalty: 0.2,
  },
  cache: true,
  prefill: "So",
  interleaved_thinking: true,
  beta_features: ["b"],
};
const ignored = (...options: string[]) => options.map((option) => `option_ignored ${option}`);

test.each<[string, ResolvedTarget, string[], string[]]>([
  [
    "anthropic",
    claude("claude-opus-4-5"),
    ["temperature", "top_p", "top_k", "stop"],
    ignored("seed", "frequency_penalty", "presence_penalty", "interleaved_thinking"),
  ],
  [
    "claude 4.7 and later",
    claude("claude-sonnet-5"),
    ["stop"],
    ignored(
      "seed",
      "frequency_penalty",
      "presence_penalty",
      "temperature",
      "interleaved_thinking",
      "prefill",
    ),
  ],
  [
    "openai-chat",
    unknown("openai-chat"),
    ["temperature", "top_p", "stop", "seed", "frequency_penalty", "presence_penalty"],
    ignored("top_k", "cache", "interleaved_thinking", "anthropic_beta_features", "prefill"),
  ],
  [
    "ollama on the chat protocol",
    target("ollama", "openai-chat", "x", {}, { variant: "ollama" }),
    ["temperature", "top_p", "top_k", "stop", "seed"],
    ignored(
      "frequency_penalty",
      "presence_penalty",
      "cache",
      "interleaved_thinking",
      "anthropic_beta_features",
    ),
  ],
  [
    "ollama",
    unknown("ollama"),
    ["temperature", "top_p", "top_k", "stop", "seed"],
    ignored(
      "frequency_penalty",
      "presence_penalty",
      "cache",
      "interleaved_thinking",
      "anthropic_beta_features",
    ),
  ],
  [
    "openai-responses",
    unknown("openai-responses"),
    ["temperature", "top_p"],
    ignored(
      "top_k",
      "stop",
      "seed",
      "frequency_penalty",
      "presence_penalty",
      "cache",
      "prefill",
      "interleaved_thinking",
      "anthropic_beta_features",
    ),
  ],
  [
    "workers-ai",
    BINDING,
    ["temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty"],
    ignored("stop", "cache", "prefill", "interleaved_thinking", "anthropic_beta_features"),
  ],
])("%s keeps what it knows and warns of the rest", (_, to, sampling, warnings) => {
  const { left, warnings: said } = fitted(EVERYTHING, to);
  expect(Object.keys(left.sampling ?? {})).toEqual(sampling);
  expect(said).toEqual(warnings);
});

const TEXT: Block[] = [{ type: "output_text", text: "So" }];
const SEARCH: Block[] = [{ type: "opaque", provider: "anthropic", value: {} }];
const changedMessages = ["option_changed messages"];

test.each<[string, Block[], ResolvedTarget, string[]]>([
  ["a text, to a model that continues none", TEXT, claude("claude-sonnet-4-6"), changedMessages],
  ["a text, to a model that continues it", TEXT, claude("claude-sonnet-4-5"), []],
  ["a search that continues", SEARCH, claude("claude-sonnet-4-6"), []],
  ["a text, through OpenRouter", TEXT, openRouter("anthropic/claude-sonnet-4.6"), changedMessages],
  ["an older model through OpenRouter", TEXT, openRouter("anthropic/claude-sonnet-4.5"), []],
  ["another model through OpenRouter", TEXT, openRouter("openai/gpt-5.4"), []],
])("a conversation that ends with the model's turn: %s", (_, content, to, warned) => {
  const messages: Message[] = [...request("hi").messages, { role: "assistant", content }];
  const { left, warnings } = fitted({ messages }, to);
  expect(warnings).toEqual(warned);
  const asks = { role: "user", content: [{ type: "text", text: "Continue where your last message ends." }] };
  expect(left.messages).toEqual(warned.length === 0 ? messages : [...messages, asks]);
});

test("Claude from 4.6 on takes no begun answer through OpenRouter either", () => {
  const { left, warnings } = fitted({ prefill: "So" }, openRouter("anthropic/claude-opus-4.6"));
  expect([left, warnings]).toEqual([{}, ignored("prefill")]);
});

test("the mock accepts everything, and refuses nothing", () => {
  const asked = request("hi", { ...EVERYTHING, thinking: { mode: "enabled" } });
  const blind = { ...MOCK, capabilities: { ...MOCK.capabilities, vision: false } };
  expect(fitRequest(asked, blind, { vision: true })).toEqual({ request: asked, warnings: [] });
});

const effort = (level: "low" | "medium" | "high") => ({ thinking: { mode: "effort" as const, level } });
const willing = (level: "low" | "high") => ({
  thinking: { mode: "effort" as const, level, adaptive: true as const },
});
const enabled = (budget_tokens?: number) => ({
  thinking: { mode: "enabled" as const, ...(budget_tokens === undefined ? {} : { budget_tokens }) },
});
const adaptive = { thinking: { mode: "adaptive" as const } };
const changed = "option_changed thinking";
const BLIND = target("deepseek", "openai-chat", "deepseek-chat", { vision: false, audio: false, pdf: false });

test.each<[string, Partial<ModelRequest>, ResolvedTarget, object, string[]]>([
  ["the default budget", enabled(), claude("claude-opus-4-5"), enabled(3072), []],
  [
    "a large default budget",
    { ...enabled(), max_tokens: 16_384 },
    claude("claude-opus-4-5"),
    { ...enabled(10_000), max_tokens: 16_384 },
    [],
  ],
  ["a budget below 1024", enabled(10), claude("claude-opus-4-5"), enabled(1024), [changed]],
  ["a budget above max_tokens", enabled(9000), claude("claude-opus-4-5"), enabled(3072), [changed]],
  [
    "no room for thinking",
    { ...enabled(), max_tokens: 1000 },
    claude("claude-opus-4-5"),
    { max_tokens: 1000 },
    ["option_ignored thinking"],
  ],
  [
    "max_tokens 0 is 8192",
    { ...enabled(8192), max_tokens: 0 },
    claude("claude-3-7-sonnet"),
    { ...enabled(6144), max_tokens: 0 },
    [changed],
  ],
  ["adaptive", adaptive, claude("claude-opus-4-6"), adaptive, []],
  ["adaptive where only a budget is taken", adaptive, claude("claude-opus-4-5"), enabled(3072), [changed]],
  ["adaptive of the first Claudes", adaptive, claude("claude-3-7-sonnet-20250219"), enabled(3072), [changed]],
  ["effort where it can be set", effort("low"), claude("claude-opus-4-6"), effort("low"), []],
  [
    "effort where only a budget is taken",
    { ...effort("low"), max_tokens: 50_000 },
    claude("claude-sonnet-4-5"),
    { ...enabled(4096), max_tokens: 50_000 },
    [changed],
  ],
  [
    "a high effort where only a budget is taken",
    { ...effort("high"), max_tokens: 50_000 },
    claude("claude-haiku-4-5"),
    { ...enabled(32_768), max_tokens: 50_000 },
    [changed],
  ],
  ["effort of an unknown version", effort("low"), claude("claude-next"), adaptive, [changed]],
  ["enabled on 4.7", enabled(), claude("claude-opus-4-7"), adaptive, [changed]],
  [
    "a top_p that thinking does not accept",
    { ...enabled(2000), sampling: { top_p: 0.5 } },
    claude("claude-opus-4-5"),
    { ...enabled(2000), sampling: {} },
    ["option_ignored top_p"],
  ],
  [
    "a top_p that thinking accepts",
    { ...enabled(2000), sampling: { top_p: 0.95 } },
    claude("claude-opus-4-5"),
    { ...enabled(2000), sampling: { top_p: 0.95 } },
    [],
  ],
  [
    "a forced tool together with thinking",
    { ...enabled(2000), tools: [tool("t")], tool_choice: { name: "t" } },
    claude("claude-opus-4-5"),
    { ...enabled(2000), tools: [tool("t")], tool_choice: "auto" },
    ["option_changed tool_choice"],
  ],
  [
    "chat: enabled is medium",
    enabled(),
    unknown("openai-chat"),
    effort("medium"),
    ["capability_unknown thinking"],
  ],
  [
    "chat: a budget is a level",
    enabled(2000),
    target("openai", "openai-chat", "o3", { thinking: true, thinking_modes: ["effort"] }),
    effort("low"),
    [changed],
  ],
  [
    "responses: adaptive is medium",
    adaptive,
    target("openai", "openai-responses", "gpt-5.4", { reasoning_effort_supported: true }),
    effort("medium"),
    [],
  ],
  [
    "OpenRouter keeps all forms",
    enabled(2000),
    target("openrouter", "openai-chat", "x", { thinking: true }, { variant: "openrouter" }),
    enabled(2000),
    [],
  ],
  [
    "Ollama: on",
    effort("high"),
    target("ollama", "ollama", "qwen3", { thinking: true }),
    enabled(),
    [changed],
  ],
  [
    "Ollama: a model with levels",
    effort("high"),
    target("ollama", "ollama", "gpt-oss", { thinking: true, reasoning_effort_supported: true }),
    effort("high"),
    [],
  ],
  [
    "a model that thinks by itself",
    enabled(),
    target("deepseek", "openai-chat", "deepseek-reasoner", { thinking: true, thinking_modes: ["enabled"] }),
    enabled(),
    [],
  ],
  ["adaptive on a model that cannot think", adaptive, BLIND, {}, ["option_ignored thinking"]],
  [
    "an effort that asks for no thinking on a model that cannot think",
    willing("high"),
    BLIND,
    {},
    ["option_ignored thinking"],
  ],
  ["an effort that asks for no thinking", willing("low"), claude("claude-opus-4-6"), willing("low"), []],
])("thinking: %s", (_, asked, to, left, warnings) => {
  expect(fitted(asked, to)).toEqual({ left, warnings });
});

const image: Part = { type: "image", url: "https://example.com/a.png" };
const audio: Part = { type: "audio", media_type: "audio/wav", data: "AA==" };
const pdf: Part = { type: "document", url: "https://example.com/a.pdf" };
const user = (part: Part): Partial<ModelRequest> => ({ messages: [{ role: "user", content: [part] }] });

test.each<[string, Partial<ModelRequest>, Declared]>([
  ["thinking", enabled(), {}],
  ["thinking", effort("high"), {}],
  ["vision", user(image), {}],
  ["vision", {}, { vision: true }],
  ["audio", user(audio), {}],
  ["audio", {}, { audio: true }],
  ["pdf", user(pdf), {}],
  ["pdf", {}, { pdf: true }],
])("%s on a model known not to support it is refused: %j %j", (option, asked, declared) => {
  expect(() => fitted(asked, BLIND, declared)).toThrow(
    expect.objectContaining({
      status: 400,
      data: expect.objectContaining({
        detail: expect.stringMatching(
          new RegExp(
            `^${option}: the model deepseek-chat of deepseek .*GET /llm/capabilities\\?provider=deepseek`,
          ),
        ),
        members: {
          kind: "terminal",
          reason: "invalid_request",
          category: "generic",
          option,
          provider: "deepseek",
          model: "deepseek-chat",
        },
      }),
    }),
  );
});

test("unknown members pass, media silently", () => {
  const silent = target("local", "openai-chat", "x", { vision: null, audio: null, pdf: null });
  for (const part of [image, audio, pdf]) {
    expect(fitted(user(part), silent, { vision: true, audio: true, pdf: true }).warnings).toEqual([]);
  }
  expect(fitted({}, BLIND, { vision: false })).toEqual({ left: {}, warnings: [] });
});
