/** Structured output of agent runs: the required form of a turn that ends the run. */
import type { ModelCost } from "../../engine/agent/records.ts";
import type { AgentRequest } from "../../engine/agent/step.ts";
import { type ModelTurn, textOfBlocks, totalUsage } from "../../engine/messages.ts";
import { addCost, type Cost, costIn } from "../../engine/shares.ts";
import { type HullError, toHullError } from "../../errors.ts";
import { extractJson } from "../../llm/extract.ts";
import { correction } from "../../llm/nudge.ts";
import { checkAnswer, type Structured, schemaFailure } from "../../llm/structured.ts";
import { readTextTurn } from "../../llm/text-turn.ts";
import { schemaErrors } from "../../llm/validate.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

interface StructuredRun {
  structured: Structured;
  /** If it is `null`, any turn without tool calls ends the run. */
  sentinel: string | null;
  /**
   * For a run that is one answer: whether the tool of this name only searches for tools. `null`: the run continues
   * after any call.
   */
  searches: ((name: string) => boolean) | null;
}

/** One attempt; `request` holds the correction of the previous attempt. */
export type Ask = (request: AgentRequest, attempt: number) => Promise<Answer>;

interface Answer extends Cost {
  turn: ModelTurn;
}

/**
 * Asks until the answer matches or no attempt is left. The model never sees its bad answers: each attempt sends the
 * original messages and one correction. A turn of a persistent run that does not claim to be the last is not checked.
 * The turn's tokens and cost are the sums over all attempts.
 * @returns the turn, or a fault with the cost of all attempts: SchemaValidation if `output_validation` is `error`, or the
 * error of a later `ask`
 * @throws what `ask` throws for the first attempt
 */
export async function structuredTurn(
  run: StructuredRun,
  request: AgentRequest,
  ask: Ask,
  log: (entry: Record<string, unknown>) => void,
): Promise<(Answer & { retries?: JsonObject[] }) | { fault: HullError; spent: ModelCost }> {
  const { structured } = run;
  const { validation, check } = structured;
  const retries: JsonObject[] = [];
  let answer = await ask(request, 0);
  const failed = (fault: HullError) => ({ fault, spent: { ...answer.turn.usage, ...costIn(answer) } });
  for (;;) {
    const errors = faultsOf(run, request, answer.turn);
    const attempt = retries.length + 1;
    const last = attempt > structured.retries;
    if (errors.length > 0 && last && validation === "error")
      return failed(schemaFailure(structured, answer.turn, errors, attempt));
    if (errors.length > 0 && last && validation === "warn") {
      // The errors may name what the model wrote, so the log has only their number.
      log({ event: "schema_mismatch", errors: errors.length, attempts: attempt });
      answer = { ...answer, turn: withWarning(answer.turn, errors) };
    }
    if (errors.length === 0 || last) return retries.length === 0 ? answer : { ...answer, retries };
    const nudge = correction(structured.nudge, errors, check);
    const retry = { attempt, errors, nudge_used: nudge !== null };
    log({ event: "schema_retry", ...retry, errors: errors.length });
    retries.push({ ...retry, correction_prompt: nudge });
    const asked = ask(nudge === null ? request : withMessage(request, nudge), attempt);
    const next = await asked.catch((error: unknown) => failed(toHullError(error)));
    if ("fault" in next) return next;
    const usage = totalUsage(answer.turn.usage, next.turn.usage);
    answer = { turn: { ...next.turn, usage }, ...addCost(answer, next) };
  }
}

/**
 * Appends the sentinel to a turn of a persistent run whose text is only JSON that matches the schema. A model that must
 * write JSON cannot write the sentinel itself.
 * @returns the turn and the appended text; `null`: the turn stays as it is
 */
export function withSentinel(
  turn: ModelTurn,
  { tools, tools_in_text = [] }: AgentRequest,
  { structured, sentinel }: StructuredRun,
): { turn: ModelTurn; text: string } | null {
  if (sentinel === null || structured.check === null) return null;
  const { blocks } = readTextTurn(turn, [...tools_in_text, ...tools]);
  if (blocks.some(({ type }) => type === "tool_call")) return null;
  const said = parsedJson(textOfBlocks(turn.blocks));
  if (said === undefined || schemaErrors(structured.check, said).length > 0) return null;
  const text = `\n${sentinel}`;
  return { turn: { ...turn, blocks: [...turn.blocks, { type: "output_text", text }] }, text };
}

/**
 * The turn with the text by which its answer was begun, so that its text holds the whole JSON. An answer that is JSON by
 * itself stays as it is, and so does that of a model that takes no beginning.
 */
export function withPrefill(turn: ModelTurn, prefill: string): ModelTurn {
  const left = turn.warnings?.some(({ option }) => option === "prefill") === true;
  if (prefill === "" || left || parsedJson(textOfBlocks(turn.blocks)) !== undefined) return turn;
  const first = turn.blocks.find(({ type }) => type === "output_text");
  const blocks = turn.blocks.map((block) =>
    block === first && block.type === "output_text" ? { ...block, text: prefill + block.text } : block,
  );
  return { ...turn, blocks };
}

function withWarning(turn: ModelTurn, errors: readonly string[]): ModelTurn {
  const message = `The answer does not match the schema: ${errors.join("; ")}`;
  const warning = { code: "schema_mismatch", message, option: "output_validation" };
  return { ...turn, warnings: [...(turn.warnings ?? []), warning] };
}

/** The request with a further message of the user. */
export const withMessage = (request: AgentRequest, text: string): AgentRequest => ({
  ...request,
  messages: [...request.messages, { role: "user", content: [{ type: "text", text }] }],
});

/** The data of a run's last answer; `undefined`: the answer holds no JSON. */
export function answerData(texts: readonly string[], sentinel: string | null): Json | undefined {
  const last = texts.at(-1) ?? "";
  return extractJson(sentinel === null ? last : last.replaceAll(sentinel, ""), [], null)?.value;
}

function faultsOf(
  { structured, sentinel, searches }: StructuredRun,
  { tools_in_text: listed = [], tools }: AgentRequest,
  turn: ModelTurn,
): string[] {
  // The provider continues this turn.
  if (turn.stop_reason === "pause") return [];
  const said = textOfBlocks(turn.blocks);
  const written = readTextTurn(turn, [...listed, ...tools]);
  const calls = written.blocks.filter((block) => block.type === "tool_call");
  if (calls.length > 0 && (searches === null || calls.every(({ name }) => searches(name)))) return [];
  // The loop itself asks again for a call that it cannot read.
  if (searches === null && listed.length > 0 && written.text_format?.tool_parse_errors.length !== 0)
    return [];
  const read = listed.length > 0 ? written : { ...turn, text: said, text_format: null };
  if (sentinel === null) return checkAnswer(structured, read).errors;
  if (!said.includes(sentinel)) return [];
  return checkAnswer(structured, { ...read, text: said.replaceAll(sentinel, "") }).errors;
}
