/**
 * The Tool Vault: deferred tools stay out of a model's context until a search by the provider or by Hull finds them. A
 * vault belongs to one list of tools and one model. `VaultState` holds what a run has found.
 */
import { firstOf } from "../../cut.ts";
import type { Block, Message, ModelRequest, ToolDefinition, Warning } from "../messages.ts";
import { closedObject, text } from "../parameters.ts";
import type { SearchEvent } from "./events.ts";
import { decideMode, type NativeVariant, type Refusal, type SearchTarget } from "./mode.ts";
import type { SearchOption } from "./option.ts";
import { promote, type VaultState } from "./promotion.ts";
import { inScope, openly, type Scope, ToolSet } from "./tool-set.ts";

interface AnyVault {
  option: SearchOption;
  set: ToolSet;
  warnings: Warning[];
}

interface NativeVault extends AnyVault {
  mode: "native";
  variant: NativeVariant;
}

export interface ClientVault extends AnyVault {
  mode: "client";
  /** The tool that the model searches with. */
  search: ToolDefinition;
}

export type Vault = NativeVault | ClientVault;

/**
 * Creates the vault of a call, and refuses everything that must be refused before anything is sent. Warnings: options
 * without effect, a replaced variant, a search that fell back to Hull.
 * @param option as read by `readSearchOption`
 */
export function createVault(
  tools: readonly ToolDefinition[],
  option: SearchOption,
  target: SearchTarget,
): Vault | { refusal: Refusal } {
  const set = new ToolSet(tools, option.always_loaded);
  if (set.eager.length === 0) return { refusal: allDeferred(tools) };
  const decision = decideMode(option, target);
  if ("refusal" in decision) return decision;
  const warnings = [...decision.warnings, ...unknownPins(option, set), ...nothingDeferred(set)];
  if (decision.mode === "native") return { ...decision, option, set, warnings };
  if (set.has(option.name)) return { refusal: nameTaken(option) };
  return { mode: "client", option, set, search: searchTool(option), warnings };
}

/** All tools are in the model's context anyway. */
const nothingDeferred = ({ deferred }: ToolSet): Warning[] =>
  deferred.size > 0
    ? []
    : [
        {
          code: "option_ignored",
          option: "tool_search",
          message:
            "tool_search has no effect: no tool has defer_loading, or always_loaded names each that has it.",
        },
      ];

interface Offer {
  tools: ToolDefinition[];
  tool_search?: NonNullable<ModelRequest["tool_search"]>;
}

interface OfferOptions {
  /** Names that a skill's `allowed_tools` permit; the search itself is never hidden. */
  scope?: Scope;
  /**
   * The messages of the request. A tool that the provider's own search found is shown openly once they no longer say so,
   * e.g. after compaction: so it stays callable.
   */
  messages?: readonly Message[];
  /** The tool that `tool_choice` names: shown openly, since a model cannot call what it does not see. */
  chosen?: string | undefined;
}

/**
 * The tools of the next request. In client mode the search comes first, then tools that are not deferred, then promoted
 * ones, oldest first, so that a prompt cache keeps the longest prefix.
 */
export function offer(vault: Vault, state: VaultState, options: OfferOptions = {}): Offer {
  const { scope, messages, chosen } = options;
  const shown = ({ name }: ToolDefinition): boolean => inScope(scope, name);
  const eager = vault.set.eager.filter(shown);
  if (vault.mode === "client") {
    const names = chosen === undefined ? state.promoted : new Set([...state.promoted, chosen]);
    const found = Array.from(names)
      .flatMap((name) => vault.set.deferred.get(name) ?? [])
      .filter(shown);
    return { tools: [vault.search, ...[...eager, ...found].map(openly)] };
  }
  const open = new Set(messages === undefined ? [] : forgotten(state, messages));
  if (chosen !== undefined) open.add(chosen);
  const deferred = Array.from(vault.set.deferred.values()).filter(shown);
  // Providers refuse requests whose tools are all deferred, which a narrow scope can cause.
  const [first] = deferred;
  if (eager.length === 0 && first !== undefined) open.add(first.name);
  const definitions = deferred.map((tool) => (open.has(tool.name) ? visible(tool) : tool));
  return { tools: [...eager.map(visible), ...definitions], tool_search: { variant: vault.variant } };
}

/** The promoted tools that no search result in the messages names. */
function forgotten({ promoted }: VaultState, messages: readonly Message[]): string[] {
  if (promoted.length === 0) return [];
  const named = new Set<string>();
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const block of message.content)
      if (block.type === "tool_search_result")
        for (const { tool_name } of block.tool_references) named.add(tool_name);
  }
  return promoted.filter((name) => !named.has(name));
}

/** A definition that is in the model's context from the start; its namespace still counts. */
const visible = ({ defer_loading, ...definition }: ToolDefinition): ToolDefinition => definition;

/**
 * Whether a call of this name is the model's search. Then it is `search`ed, not dispatched, and exempt from policy,
 * hooks, approvals and loop detection. By identity: no tool of the list has this name.
 */
export function isSearchCall(vault: Vault, name: string): boolean {
  return vault.mode === "client" && name === vault.search.name;
}

/**
 * The events of the provider's own searches in a turn.
 * @param state what the run has found before: the events name as promoted what is new
 */
export function observe(vault: NativeVault, state: VaultState, blocks: readonly Block[]): SearchEvent[] {
  const mode = vault.variant === "hosted" ? "openai" : "anthropic";
  let now = state;
  return blocks.flatMap((block): SearchEvent[] => {
    if (block.type === "tool_search_query") {
      const { type, id, name, query } = block;
      return [{ type, id, name, query, mode }];
    }
    if (block.type !== "tool_search_result") return [];
    const { type, tool_use_id, tool_references } = block;
    const found = tool_references.map(({ tool_name }) => tool_name);
    const { state: next, added } = promote(now, found, vault.set, null);
    now = next;
    return [{ type, tool_use_id, tool_references, mode, promoted: added }];
  });
}

/**
 * A section for the tool contract that lists what a search can find, with the first sentence of each description; `null`
 * if not requested. It does not change when tools are promoted, for the prompt cache.
 */
export function stubListing(vault: Vault, scope: Scope): string | null {
  if (vault.mode !== "client" || !vault.option.include_stub_listing) return null;
  const listed = Array.from(vault.set.deferred.values()).filter(({ name }) => inScope(scope, name));
  if (listed.length === 0) return null;
  const lines = listed.map(({ name, description }) => {
    const sentence = firstSentence(description);
    return sentence === "" ? `- ${name}` : `- ${name}: ${sentence}`;
  });
  const title = "### Tools that a search finds";
  const rule = `These tools are not loaded yet. Call ${vault.search.name} to find them; what it returns can be called from the next turn.`;
  return [title, rule, ...lines].join("\n");
}

const MAX_SENTENCE = 200;

function firstSentence(text: string): string {
  const [paragraph = ""] = text.trim().split(/\n\s*\n/, 1);
  const line = paragraph.replace(/\s+/g, " ");
  const sentence = /^.*?[.!?](?=\s+[^a-z]|$)/.exec(line)?.[0] ?? line;
  return sentence.length > MAX_SENTENCE ? `${firstOf(sentence, MAX_SENTENCE)}…` : sentence;
}

/** How to phrase a query, by strategy. */
const PHRASING: Record<SearchOption["strategy"], string> = {
  bm25: "Write keywords for what the tool should do, as its name, description or parameters may have them. If nothing useful comes back, widen the net: fewer and more general words.",
  regex:
    "Write a regular expression for the tool's name, description or parameters, e.g. `deploy|release` or `^get_.*weather`. It is case-insensitive, `^` and `$` hold at the ends of a line; look-around and back-references are not supported.",
  semantic: "Say in natural language what the tool should do.",
  host: "Phrase the query as the host application expects it.",
};

function searchTool({ name, strategy }: SearchOption): ToolDefinition {
  return {
    name,
    description: `Searches for tools that are available but not loaded. Use it whenever none of the tools you have fits the task. ${PHRASING[strategy]} The answer is {"tool_names": [...]}. Only tools returned here become callable, from the next turn on.`,
    parameters: closedObject({ query: text("What to search for.") }, ["query"]),
  };
}

function allDeferred(tools: readonly ToolDefinition[]): Refusal {
  const what = tools.length === 0 ? "there are no tools" : "every tool has defer_loading";
  return {
    option: "tools",
    detail: `tool_search needs at least one tool that is not deferred, and ${what}. Leave defer_loading out of one, or name one in tool_search.always_loaded. (Anthropic answers 400 to a request whose tools are all deferred.)`,
  };
}

function nameTaken({ name }: SearchOption): Refusal {
  return {
    option: "tool_search.name",
    detail: `The search tool would be called "${name}", and so is one of the tools. Give tool_search.name another name.`,
  };
}

function unknownPins({ always_loaded }: SearchOption, set: ToolSet): Warning[] {
  const unknown = always_loaded.filter((name) => !set.has(name));
  if (unknown.length === 0) return [];
  return [
    {
      code: "unknown_tool",
      option: "tool_search.always_loaded",
      message: `tool_search.always_loaded names what is not a tool: ${unknown.join(", ")}.`,
    },
  ];
}
