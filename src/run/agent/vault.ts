/** The Tool Vault of a run: what the loop offers, and how its search is answered. */

import type { Vault as LoopVault, VaultOffer } from "../../engine/agent/next.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { RunState } from "../../engine/agent/state.ts";
import type { ToolCallBlock, ToolDefinition } from "../../engine/messages.ts";
import type { SearchEvent } from "../../engine/tool-vault/events.ts";
import { readSearchOption } from "../../engine/tool-vault/option.ts";
import { EMPTY_VAULT, type VaultState } from "../../engine/tool-vault/promotion.ts";
import { queryEvent, type SearchDelegate, search } from "../../engine/tool-vault/search.ts";
import { createVault, isSearchCall, offer, stubListing, type Vault } from "../../engine/tool-vault/vault.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { isObject } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import { searchDelegate } from "../host-delegate.ts";

/** @throws InvalidRequest for what must be refused before the first call */
export function runVault(spec: AgentSpec, context: RunContext): RunVault | null {
  const option = readSearchOption(spec.tool_search);
  if (option === null) return null;
  if ("faults" in option) {
    const [fault] = option.faults;
    throw new InvalidRequest({ option: fault?.path ?? "tool_search", detail: fault?.message ?? "" });
  }
  const tools = spec.tools.map(({ definition }) => definition);
  const { provider, model, defer_loading, tool_search } = spec.model;
  const own = spec.call[provider];
  const forced = isObject(own) && own.force_native_tool_search === true;
  const target = {
    provider,
    model,
    defer_loading,
    tool_search,
    tool_format: spec.tool_format,
    forced,
    refused: false,
  };
  const vault = createVault(tools, option, target);
  if ("refusal" in vault) throw new InvalidRequest(vault.refusal);
  return new RunVault(vault, searchDelegate(context));
}

export class RunVault implements LoopVault {
  readonly #vault: Vault;
  readonly #delegate: SearchDelegate | undefined;

  constructor(vault: Vault, delegate: SearchDelegate | undefined) {
    this.#vault = vault;
    this.#delegate = delegate;
  }

  owns(name: string): boolean {
    return isSearchCall(this.#vault, { type: "tool_call", id: "", name, arguments: null, raw: "" });
  }

  offer(run: RunState, tools: readonly ToolDefinition[]): VaultOffer {
    const scope = new Set(tools.map(({ name }) => name));
    const { tool_choice } = run.spec;
    const named = isObject(tool_choice);
    const chosen = named && typeof tool_choice.name === "string" ? tool_choice.name : undefined;
    const stubs = stubListing(this.#vault, scope);
    const offered = offer(this.#vault, stateOf(run.vault), { scope, chosen });
    return { ...offered, further: stubs === null ? [] : [stubs] };
  }

  /** Carries out one search. */
  async search(
    call: ToolCallBlock,
    state: Json,
  ): Promise<{ state: Json; result: string; events: SearchEvent[] }> {
    if (this.#vault.mode !== "client") return { state, result: "{}", events: [] };
    const asked = queryEvent(this.#vault, call);
    const found = await search(this.#vault, stateOf(state), call, { delegate: this.#delegate });
    return {
      state: JSON.parse(JSON.stringify(found.state)),
      result: found.result.content,
      events: [asked, found.event],
    };
  }
}

function stateOf(value: Json): VaultState {
  const promoted = isObject(value) ? value.promoted : null;
  const names = Array.isArray(promoted) ? promoted.filter((name) => typeof name === "string") : [];
  return names.length === 0 ? EMPTY_VAULT : { ...EMPTY_VAULT, promoted: names };
}
