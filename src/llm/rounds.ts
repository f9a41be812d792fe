/**
 * One answer of a model, tool searches included: while an answer holds nothing but calls of Hull's
 * search tool, they are answered and the model is asked again, so that a call behaves as with the provider's own search.
 */
import type { Block, Message, ModelTurn, ToolCallBlock, Warning } from "../engine/messages.ts";
import { type SearchEvent, searchBlock } from "../engine/tool-vault/events.ts";
import { fallsBack } from "../engine/tool-vault/mode.ts";
import { EMPTY_VAULT } from "../engine/tool-vault/promotion.ts";
import { queryEvent, search } from "../engine/tool-vault/search.ts";
import { isSearchCall, observe, type Vault } from "../engine/tool-vault/vault.ts";
import { HullError } from "../errors.ts";
import { added } from "./figures.ts";
import type { CallWatcher, LlmHost } from "./host.ts";
import { exchangeTerms, type Plan, type RoundState, requestFor } from "./prepare.ts";
import { type CallFigures, type CallTurn, turnText } from "./result.ts";
import { readTextTurn } from "./text-turn.ts";

const MAX_SEARCH_ROUNDS = 5;

export interface Answered {
  /** The last turn; blocks of searches stand before its own. */
  turn: CallTurn;
  /** All rounds together. */
  figures: CallFigures;
  events: SearchEvent[];
  /** Messages of the searches, for the transcript. */
  further: Message[];
  warnings: Warning[];
}

/** @param correction a further user message, where the answer before it would not do */
export async function ask(
  plan: Plan,
  correction: string | null,
  host: LlmHost,
  watcher: CallWatcher,
): Promise<Answered> {
  let round: RoundState = { vault: plan.vault, state: EMPTY_VAULT, further: [], correction };
  let figures: CallFigures | null = null;
  const events: SearchEvent[] = [];
  const warnings: Warning[] = [];
  for (let searches = 0; ; ) {
    let turn: ModelTurn;
    try {
      turn = await exchange(plan, round, host, watcher);
    } catch (error) {
      const client = refusedSearch(plan, round.vault, error);
      if (client === null) throw error;
      warnings.push(...client.warnings);
      round = { ...round, vault: client };
      continue;
    }
    figures = added(figures, host.figures(turn));
    warnings.push(...(turn.warnings ?? []));
    const read = readTurn(plan, turn);
    const calls = read.blocks.filter((block) => block.type === "tool_call");
    const own = calls.filter((call) => isSearchCall(round.vault, call));
    if (round.vault.mode === "native") events.push(...observe(round.vault, round.state, read.blocks).events);
    if (own.length === 0) return { turn: read, figures, events, further: [...round.further], warnings };
    const searched = await carryOut(round, own, host);
    events.push(...searched.events);
    const over = ++searches >= MAX_SEARCH_ROUNDS;
    if (own.length < calls.length || over) {
      const rest = read.blocks.filter((block) => !own.some((call) => call === block));
      const blocks: Block[] = [...searched.events.map(searchBlock), ...rest];
      return { turn: { ...read, blocks }, figures, events, further: [...round.further], warnings };
    }
    const said: Message = { role: "assistant", content: read.blocks };
    const found: Message = { role: "tool", results: searched.results };
    round = { ...round, state: searched.state, further: [...round.further, said, found] };
  }
}

async function carryOut(round: RoundState, calls: readonly ToolCallBlock[], host: LlmHost) {
  let { state } = round;
  const events: SearchEvent[] = [];
  const results = [];
  for (const call of calls) {
    if (round.vault.mode !== "client") continue;
    events.push(queryEvent(round.vault, call));
    const found = await search(round.vault, state, call, { delegate: host.searchDelegate });
    state = found.state;
    events.push(found.event);
    results.push(found.result);
  }
  return { state, events, results };
}

/** The vault for another try where the provider refused its own search and nobody insisted on it. */
function refusedSearch(plan: Plan, vault: Vault, error: unknown): Vault | null {
  if (vault.mode !== "native" || !(error instanceof HullError)) return null;
  const { provider_status, reason } = error.data.members;
  const status = typeof provider_status === "number" ? provider_status : null;
  return fallsBack(vault.option, vault, { status, reason: String(reason) }) ? plan.clientVault() : null;
}

function exchange(
  plan: Plan,
  round: RoundState,
  host: LlmHost,
  { onText, onReasoning }: CallWatcher,
): Promise<ModelTurn> {
  const asked = host.exchange({
    targets: plan.targets,
    request: (target) => requestFor(plan, target, round),
    own: plan.own,
    native_search: round.vault.mode === "native",
    ...exchangeTerms(plan.options, host),
    onText,
    onReasoning,
  });
  return asked.then(({ turn }) => turn);
}

function readTurn(plan: Plan, turn: ModelTurn): CallTurn {
  if (plan.tool_format === "text" && plan.tools.length > 0) return readTextTurn(turn, plan.tools);
  return { ...turn, text: turnText(turn.blocks), text_format: null };
}
