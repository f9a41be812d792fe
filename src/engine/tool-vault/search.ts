/** A search that Hull executes for a model. It may find nothing, but it never fails a run. */
import { firstWords } from "../../cut.ts";
import { objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { ToolCallBlock, ToolResultMessage } from "../messages.ts";
import { compilePattern } from "../regex/pattern.ts";
import type { SearchQueryEvent, SearchResultEvent } from "./events.ts";
import type { SearchOption } from "./option.ts";
import { promote, type VaultState } from "./promotion.ts";
import type { Scope } from "./tool-set.ts";
import type { ClientVault } from "./vault.ts";

/** The host delegate's method `tool_search/query`. Throws if it cannot be reached. */
export type SearchDelegate = (query: {
  strategy: "semantic" | "host";
  query: string;
  candidates: string[];
}) => Promise<Json>;

interface SearchOptions {
  scope?: Scope;
  /** Answers `semantic` and `host`; absent: none is configured. */
  delegate?: SearchDelegate | undefined;
}

interface Found {
  tool_names: string[];
  /** Tells the model why nothing came, or how to search better. */
  diagnostic?: string;
}

/** The event of a search call; record it before `search` runs. */
export function queryEvent(vault: ClientVault, call: ToolCallBlock): SearchQueryEvent {
  const { strategy } = vault.option;
  return {
    type: "tool_search_query",
    id: call.id,
    name: `tool_search_tool_${kindOf(vault.option)}`,
    query: call.arguments ?? call.raw,
    strategy,
    mode: "client",
  };
}

/** Which of Anthropic's two searches is most similar. */
function kindOf({ strategy, variant }: SearchOption): "bm25" | "regex" {
  return strategy === "bm25" || strategy === "regex" ? strategy : variant;
}

/**
 * Executes a search call: the tool result for the model, the event, and the state for the next turn's `offer`.
 * Faults of the query, of the delegate or of its answer become a diagnostic in the result.
 */
export async function search(
  vault: ClientVault,
  state: VaultState,
  call: ToolCallBlock,
  options: SearchOptions = {},
): Promise<{ state: VaultState; result: ToolResultMessage; event: SearchResultEvent }> {
  const { option, set } = vault;
  const found = await find(vault, call, options);
  const { state: next, added } = promote(state, found.tool_names, set, option.budget_tokens);
  const content = JSON.stringify(found);
  return {
    state: next,
    result: { call_id: call.id, name: call.name, content, is_error: false },
    event: {
      type: "tool_search_result",
      tool_use_id: call.id,
      tool_references: found.tool_names.map((tool_name) => ({ tool_name })),
      mode: "client",
      promoted: added,
      strategy: option.strategy,
    },
  };
}

const nothing = (diagnostic: string): Found => ({ tool_names: [], diagnostic });

async function find(
  { option, set }: ClientVault,
  call: ToolCallBlock,
  options: SearchOptions,
): Promise<Found> {
  const { scope, delegate } = options;
  const query = call.arguments?.query;
  if (typeof query !== "string" || query.trim() === "") {
    return nothing('The query is empty. Send {"query": "..."} with what the tool should do.');
  }
  const candidates = set.candidates(scope);
  if (candidates.length === 0) {
    return nothing("There are no deferred tools to search; all available tools are already listed.");
  }
  const { strategy } = option;
  if (strategy === "bm25") return byWords(set.byWords(query, scope));
  if (strategy === "regex") return byPattern(query, set, scope);
  if (delegate === undefined) {
    return nothing(
      `The search strategy "${strategy}" needs a host delegate, and none is configured. Go on with the tools at hand.`,
    );
  }
  try {
    return hostAnswer(await delegate({ strategy, query, candidates: [...candidates] }), new Set(candidates));
  } catch {
    // The call of the delegate logs the fault for the operator.
    return nothing(
      "The host's tool search failed. If that is transient, search again; the strategies bm25 and regex need no host.",
    );
  }
}

function byWords(names: string[] | null): Found {
  if (names === null) return nothing("The query has no letters or digits. Send keywords.");
  if (names.length > 0) return { tool_names: names };
  return nothing("No tool matches. Use shorter, more general terms.");
}

function byPattern(query: string, set: ClientVault["set"], scope: Scope): Found {
  const compiled = compilePattern(query);
  if (!compiled.ok) return nothing(`The regular expression does not compile: ${compiled.reason}.`);
  const names = set.byPattern(compiled.pattern, scope);
  if (names === null) return nothing("The regular expression takes too long to match. Use a simpler one.");
  if (names.length > 0) return { tool_names: names };
  return nothing("No tool matches. Widen the regular expression, e.g. to one word of it.");
}

const MAX_DIAGNOSTIC = 2000;

/** Reads `{tool_names, diagnostic?}`, at the top or below `result`. Keeps the host's order and drops unknown names. */
function hostAnswer(answer: Json, candidates: ReadonlySet<string>): Found {
  const { tool_names, diagnostic } = body(answer);
  if (!Array.isArray(tool_names)) {
    return nothing(
      "The host's tool search answered without a list tool_names. Go on with the tools at hand.",
    );
  }
  const known = tool_names.filter((name) => typeof name === "string").filter((name) => candidates.has(name));
  return {
    tool_names: Array.from(new Set(known)),
    ...(typeof diagnostic === "string" ? { diagnostic: firstWords(diagnostic, MAX_DIAGNOSTIC) } : {}),
  };
}

function body(answer: Json): JsonObject {
  const outer = objectOf(answer);
  return outer.tool_names === undefined ? objectOf(outer.result) : outer;
}
