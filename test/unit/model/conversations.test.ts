/** Which parts of a conversation Hull sends to a provider or protocol that did not make them. */
import { expect, test } from "vitest";
import type { Block, Message, ModelRequest } from "../../../src/engine/messages.ts";
import { WIRES } from "../../../src/model/call.ts";
import type { HttpTarget } from "../../../src/model/providers.ts";
import { ANTHROPIC } from "../../fixtures/wires/anthropic.ts";
import { call, request, target, tool } from "../../fixtures/wires/fixture.ts";
import { OPENAI_CHAT } from "../../fixtures/wires/openai-chat.ts";
import { OPENAI_COMPATIBLE } from "../../fixtures/wires/openai-compatible.ts";
import { OPENAI_RESPONSES } from "../../fixtures/wires/openai-responses.ts";

const PROTOCOLS = ["anthropic", "openai-chat", "openai-responses", "ollama"] as const;
const turns = [...ANTHROPIC, ...OPENAI_CHAT, ...OPENAI_COMPATIBLE, ...OPENAI_RESPONSES];

function sent(
  protocol: HttpTarget["protocol"],
  blocks: Block[],
  provider: HttpTarget["provider"] = "xai",
  searches = true,
) {
  const asked: ModelRequest = {
    ...request("hi", searches ? { tool_search: { variant: "hosted" } } : {}),
    messages: [...request("hi").messages, { role: "assistant", content: blocks }],
  };
  const body: { [key: string]: unknown } = {
    ...WIRES[protocol].body(asked, target(provider, protocol, "m"), false),
  };
  return JSON.stringify(body.messages ?? body.input);
}

test.each(PROTOCOLS)("%s: Hull sends only text and calls of another provider's turn", (protocol) => {
  for (const { turn } of turns) {
    const plain = turn.blocks.filter(({ type }) => type === "output_text" || type === "tool_call");
    const kept = protocol === "ollama" ? turn.blocks.filter(isPlainThought) : [];
    // Anthropic's signature is its own, whoever resells its models.
    const signed = protocol === "anthropic" ? turn.blocks.filter((block) => "signature" in block) : [];
    expect(sent(protocol, turn.blocks)).toBe(sent(protocol, [...kept, ...signed, ...plain]));
  }
});
const isPlainThought = (block: Block): boolean =>
  block.type === "reasoning" && !("native" in block) && !("signature" in block);

test("chat and Responses of one provider do not get each other's items", () => {
  const [reasoning, search] = OPENAI_RESPONSES;
  const plain = [{ type: "output_text" as const, text: "x" }];
  for (const blocks of [reasoning?.turn.blocks ?? [], search?.turn.blocks ?? []]) {
    const own = blocks.filter(({ type }) => type !== "output_text" && type !== "tool_call");
    expect(own.length).toBeGreaterThan(1);
    expect(sent("openai-chat", [...own, ...plain], "openai")).toBe(sent("openai-chat", plain, "openai"));
  }
  // What a proxy put among its calls goes back to it, as long as search is on.
  const entries = OPENAI_CHAT.at(-1)?.turn.blocks.slice(0, 2) ?? [];
  const found = [...entries, ...plain];
  expect(sent("openai-chat", found, "openrouter")).toContain("tool_search_output");
  expect(sent("openai-chat", found, "openrouter", false)).toBe(sent("openai-chat", plain));
  expect(sent("openai-responses", found, "openrouter")).toBe(sent("openai-responses", plain));
});

test("Hull sends what a search found while search is on", () => {
  for (const [protocol, fixture, provider] of [
    ["anthropic", ANTHROPIC[1], "anthropic"],
    ["openai-responses", OPENAI_RESPONSES[1], "openai"],
  ] as const) {
    const blocks = fixture?.turn.blocks.slice(0, 2) ?? [];
    expect(sent(protocol, blocks, provider)).toContain("tool_search");
    expect(sent(protocol, blocks, provider, false)).toBe(sent(protocol, [], provider));
  }
});

test("Responses: reasoning that led to nothing is left out", () => {
  const [summary] = OPENAI_RESPONSES[0]?.turn.blocks ?? [];
  if (summary === undefined) return expect.fail("no block");
  expect(sent("openai-responses", [summary], "openai")).toBe(sent("openai-responses", [], "openai"));
});

test.each<[HttpTarget["protocol"], Message, RegExp]>([
  [
    "anthropic",
    { role: "user", content: [{ type: "audio", media_type: "audio/wav", data: "AA" }] },
    /audio\/wav/,
  ],
  [
    "openai-responses",
    { role: "user", content: [{ type: "audio", media_type: "audio/wav", data: "AA" }] },
    /audio\/wav/,
  ],
  [
    "ollama",
    { role: "user", content: [{ type: "audio", media_type: "audio/wav", data: "AA" }] },
    /audio\/wav/,
  ],
  [
    "ollama",
    { role: "user", content: [{ type: "document", media_type: "application/pdf", data: "AA" }] },
    /pdf/,
  ],
  [
    "ollama",
    { role: "user", content: [{ type: "image", url: "https://example.com/a.png" }] },
    /by URL; send the bytes/,
  ],
])("%s refuses options that its protocol does not have", (protocol, message, text) => {
  const asked = { ...request("hi"), messages: [message] };
  expect(() => WIRES[protocol].body(asked, target("xai", protocol, "m"), false)).toThrow(text);
});

test("Ollama: tools that may not be called are not declared", () => {
  const asked = request("hi", { tools: [tool("t")], tool_choice: "none" });
  expect(WIRES.ollama.body(asked, target("ollama", "ollama", "m"), true)).not.toHaveProperty("tools");
  expect(sent("ollama", [call("c", "bad name", { q: "x" })])).toContain('"name":"bad_name"');
});
