/** Vaults for tests, from a few words. */
import { expect } from "vitest";
import type { ToolCallBlock, ToolDefinition } from "../../../../src/engine/messages.ts";
import type { SearchTarget } from "../../../../src/engine/tool-vault/mode.ts";
import { readSearchOption, type SearchOption } from "../../../../src/engine/tool-vault/option.ts";
import { type ClientVault, createVault, type Vault } from "../../../../src/engine/tool-vault/vault.ts";
import type { Json } from "../../../../src/skill/manifest.ts";

export const tool = (
  name: string,
  description: string,
  fields: Partial<ToolDefinition> = {},
): ToolDefinition => ({
  name,
  description,
  parameters: { type: "object", properties: {} },
  ...fields,
});

/** A tool that a search must find first. */
export const deferred = (
  name: string,
  description: string,
  fields: Partial<ToolDefinition> = {},
): ToolDefinition => tool(name, description, { defer_loading: true, ...fields });

const PLAIN: SearchTarget = {
  provider: "ollama",
  model: "llama",
  defer_loading: false,
  tool_search: [],
  tool_format: "native",
  forced: false,
  refused: false,
};
export const CLAUDE: SearchTarget = {
  ...PLAIN,
  provider: "anthropic",
  model: "claude-opus-4-7",
  defer_loading: true,
  tool_search: ["bm25", "regex"],
};
export const GPT: SearchTarget = {
  ...PLAIN,
  provider: "openai",
  model: "gpt-5.4",
  defer_loading: true,
  tool_search: ["hosted", "client"],
};
export const OLD_GPT: SearchTarget = { ...PLAIN, provider: "openai", model: "gpt-4o" };

export function optionOf(given: Json): SearchOption {
  const option = readSearchOption(given);
  if (option === null || "faults" in option) return expect.fail(JSON.stringify(option));
  return option;
}

export function vaultOf(tools: readonly ToolDefinition[], given: Json, target: SearchTarget = PLAIN): Vault {
  const vault = createVault(tools, optionOf(given), target);
  return "refusal" in vault ? expect.fail(vault.refusal.detail) : vault;
}

export function clientVault(tools: readonly ToolDefinition[], given: Json = true): ClientVault {
  const vault = vaultOf(tools, given);
  return vault.mode === "client" ? vault : expect.fail(`the mode is ${vault.mode}`);
}

export const searchCall = (query: Json, name = "hull_tool_search", id = "call_1"): ToolCallBlock => ({
  type: "tool_call",
  id,
  name,
  arguments: { query },
  raw: JSON.stringify({ query }),
});
