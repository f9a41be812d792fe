/** Structured output of agent runs: what a turn that ends the run must look like. */
import type { AgentRequest } from "../../engine/agent/step.ts";
import type { ModelTurn } from "../../engine/messages.ts";
import { extractJson } from "../../llm/extract.ts";
import { correction } from "../../llm/nudge.ts";
import { turnText } from "../../llm/result.ts";
import { checkAnswer, type Structured, schemaFailure } from "../../llm/structured.ts";
import { readTextTurn } from "../../llm/text-turn.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

interface StructuredRun {
  structured: Structured;
  /** `null`: the run ends with any turn that calls no tool. */
  sentinel: string | null;
}

/** One attempt; `request` has the correction that the attempt before it needs. */
export type Ask = (request: AgentRequest, attempt: number) => Promise<{ turn: ModelTurn; cost_usd: number }>;

/**
 * Asks until the answer matches, or the attempts are used up. Turns that call tools, in whichever form, and those of a persistent run that do
 * not claim to be the last, are no answers. Tokens and cost of all attempts are those of the turn.
 * @throws SchemaValidation where `output_validation` is `error`
 */
export async function structuredTurn(
  { structured, sentinel }: StructuredRun,
  request: AgentRequest,
  ask: Ask,
  log: (entry: Record<string, unknown>) => void,
): Promise<{ turn: ModelTurn; cost_usd: number; retries?: JsonObject[] }> {
  let sum = await ask(request, 0);
  const retries: JsonObject[] = [];
  const answer = () => (retries.length === 0 ? sum : { ...sum, retries });
  for (let attempt = 1; ; attempt++) {
    const { turn } = sum;
    const errors = faultsOf(structured, sentinel, request, turn);
    if (errors.length === 0) return answer();
    if (attempt > structured.retries) {
      if (structured.validation === "error") throw schemaFailure(structured, turn, errors, attempt);
      if (structured.validation === "warn") log({ event: "schema_mismatch", errors, attempts: attempt });
      return answer();
    }
    const nudge = correction(structured.nudge, errors, structured.check);
    const retry = { attempt, errors, nudge_used: nudge !== null };
    log({ event: "schema_retry", ...retry });
    retries.push({ ...retry, correction_prompt: nudge });
    const messages: AgentRequest["messages"] =
      nudge === null
        ? request.messages
        : [...request.messages, { role: "user", content: [{ type: "text", text: nudge }] }];
    const next = await ask({ ...request, messages }, attempt);
    sum = { turn: withUsage(next.turn, turn), cost_usd: sum.cost_usd + next.cost_usd };
  }
}

/** The data of a run's last answer; `undefined`: it holds no JSON. */
export function answerData(texts: readonly string[], sentinel: string | null): Json | undefined {
  const last = texts.at(-1) ?? "";
  return extractJson(sentinel === null ? last : last.replaceAll(sentinel, ""), [], null)?.value;
}

function faultsOf(
  structured: Structured,
  sentinel: string | null,
  { tools_in_text: listed = [], tools }: AgentRequest,
  turn: ModelTurn,
): string[] {
  const said = turnText(turn.blocks);
  const written = readTextTurn(turn, [...listed, ...tools]);
  if (written.blocks.some(({ type }) => type === "tool_call")) return [];
  // The loop itself asks for a call again that it cannot read.
  if (listed.length > 0 && written.text_format?.tool_parse_errors.length !== 0) return [];
  const read = listed.length > 0 ? written : { ...turn, text: said, text_format: null };
  if (sentinel === null) return checkAnswer(structured, read).errors;
  if (!said.includes(sentinel)) return [];
  return checkAnswer(structured, { ...read, text: said.replaceAll(sentinel, "") }).errors;
}

function withUsage(turn: ModelTurn, { usage: before }: ModelTurn): ModelTurn {
  const { usage } = turn;
  return {
    ...turn,
    usage: {
      input_tokens: before.input_tokens + usage.input_tokens,
      output_tokens: before.output_tokens + usage.output_tokens,
      cache_read_tokens: before.cache_read_tokens + usage.cache_read_tokens,
      cache_write_tokens: before.cache_write_tokens + usage.cache_write_tokens,
    },
  };
}
