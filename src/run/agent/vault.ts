/** The Tool Vault of a run: the tools that the loop offers, and the answers to searches. */

import type { Vault as LoopVault, VaultOffer } from "../../engine/agent/next.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { RunState } from "../../engine/agent/state.ts";
import type { Message, ModelTurn, ToolCallBlock, ToolDefinition, Warning } from "../../engine/messages.ts";
import type { SearchEvent } from "../../engine/tool-vault/events.ts";
import { FELL_BACK, fallsBack, fellBack } from "../../engine/tool-vault/mode.ts";
import { readSearchOption } from "../../engine/tool-vault/option.ts";
import { vaultState } from "../../engine/tool-vault/promotion.ts";
import { queryEvent, type SearchDelegate, search } from "../../engine/tool-vault/search.ts";
import {
  createVault,
  isSearchCall,
  observe,
  offer,
  stubListing,
  type Vault,
} from "../../engine/tool-vault/vault.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { HullError } from "../../errors.ts";
import { asJson, isObject } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import { searchDelegate } from "../host-delegate.ts";

/** Whether the provider's own part of the options says that it searches, whatever Hull knows of the model. */
export function forcesNativeSearch(options: { readonly [name: string]: unknown }, provider: string): boolean {
  const own = options[provider];
  return isObject(own) && own.force_native_tool_search === true;
}

/** @throws InvalidRequest for what Hull must refuse before the first call */
export function runVault(spec: AgentSpec, context: RunContext): RunVault | null {
  const option = readSearchOption(spec.tool_search);
  if (option === null) return null;
  if ("faults" in option) {
    const [fault] = option.faults;
    throw new InvalidRequest({ option: fault?.path ?? "tool_search", detail: fault?.message ?? "" });
  }
  const tools = spec.tools.map(({ definition }) => definition);
  const { provider, model, defer_loading, tool_search } = spec.model;
  const forced = forcesNativeSearch(spec.call, provider);
  const target = { provider, model, defer_loading, tool_search, tool_format: spec.tool_format, forced };
  const make = (refused: boolean): Vault => {
    const vault = createVault(tools, option, { ...target, refused });
    if ("refusal" in vault) throw new InvalidRequest(vault.refusal);
    return vault;
  };
  return new RunVault(make(false), () => make(true), searchDelegate(context));
}

export class RunVault implements LoopVault {
  readonly #vault: Vault;
  /** Creates the vault for a provider that refuses to search. */
  readonly #makeSubstitute: () => Vault;
  #substitute: Vault | null = null;
  readonly #delegate: SearchDelegate | undefined;

  constructor(vault: Vault, makeSubstitute: () => Vault, delegate: SearchDelegate | undefined) {
    this.#vault = vault;
    this.#makeSubstitute = makeSubstitute;
    this.#delegate = delegate;
  }

  get warnings(): readonly Warning[] {
    return this.#vault.warnings;
  }

  #inForce(refused = this.#substitute !== null): Vault {
    if (!refused) return this.#vault;
    this.#substitute ??= this.#makeSubstitute();
    return this.#substitute;
  }

  owns(name: string, run?: RunState): boolean {
    return isSearchCall(this.#inForce(run?.searchRefused), name);
  }

  offer(run: RunState, tools: readonly ToolDefinition[], messages: readonly Message[]): VaultOffer {
    const scope = new Set(tools.map(({ name }) => name));
    const { tool_choice } = run.spec;
    const named = isObject(tool_choice);
    const chosen = named && typeof tool_choice.name === "string" ? tool_choice.name : undefined;
    const vault = this.#inForce(run.searchRefused);
    const stubs = stubListing(vault, scope);
    const offered = offer(vault, vaultState(run.vault), { scope, messages, chosen });
    return { ...offered, further: stubs === null ? [] : [stubs] };
  }

  /** Whether a provider refused to search, so that Hull repeats the call and searches itself. */
  isRefusal(error: unknown): boolean {
    if (this.#vault.mode !== "native" || !(error instanceof HullError)) return false;
    const { provider_status, reason } = error.data.members;
    const status = typeof provider_status === "number" ? provider_status : null;
    return fallsBack(this.#vault.option, this.#vault, { status, reason: String(reason) });
  }

  /** The warnings once these models' providers have refused to search. */
  afterRefusal(by: readonly { provider: string; model: string }[]): Warning[] {
    const own = this.#inForce(true).warnings.filter(({ code }) => code !== FELL_BACK);
    return [...by.map(fellBack), ...own];
  }

  /** The searches that the provider itself made in a turn. @param state the run's promotions before it */
  observed({ blocks }: ModelTurn, state: Json): SearchEvent[] {
    return this.#vault.mode === "native" ? observe(this.#vault, vaultState(state), blocks) : [];
  }

  /** Executes one search. @param scope names of the tools that it may find */
  async search(
    call: ToolCallBlock,
    state: Json,
    scope: ReadonlySet<string>,
  ): Promise<{ state: Json; result: string; events: SearchEvent[] }> {
    // Only a search by Hull is a call.
    const vault = this.#inForce(this.#vault.mode !== "client");
    if (vault.mode !== "client") return { state, result: "{}", events: [] };
    const asked = queryEvent(vault, call);
    const found = await search(vault, vaultState(state), call, { scope, delegate: this.#delegate });
    return { state: asJson(found.state), result: found.result.content, events: [asked, found.event] };
  }
}
