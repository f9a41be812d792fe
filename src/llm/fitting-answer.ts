/** Attempts at an answer in the form that was asked for, of model calls and agent runs alike. */
import type { JsonObject } from "../skill/manifest.ts";
import { correction } from "./nudge.ts";
import { type Structured, schemaFailure } from "./structured.ts";

interface Attempts<A> {
  /**
   * Makes one attempt.
   * @param nudge a further user message, which corrects the attempt before; `null`: none
   * @param attempt counts from 0
   */
  ask: (nudge: string | null, attempt: number) => Promise<A>;
  /** What is wrong with an answer; nothing: it does. */
  errorsOf: (answer: A) => readonly string[];
  log: (entry: Record<string, unknown>) => void;
}

/**
 * Asks until an answer has the form that was asked for, or the attempts are used up. A bad answer is not shown to the model again:
 * each attempt sends the original messages and one correction.
 * @throws SchemaValidation where `output_validation` is `error`; what `ask` throws
 */
export async function fittingAnswer<A extends { turn: { provider: string; model: string } }>(
  structured: Structured,
  { ask, errorsOf, log }: Attempts<A>,
): Promise<{ answer: A; attempts: number; retries: JsonObject[] }> {
  const { validation, check } = structured;
  const retries: JsonObject[] = [];
  let nudge: string | null = null;
  for (let attempts = 1; ; attempts++) {
    const answer = await ask(nudge, attempts - 1);
    const errors = [...errorsOf(answer)];
    if (errors.length === 0) return { answer, attempts, retries };
    if (attempts > structured.retries) {
      if (validation === "error") throw schemaFailure(structured, answer.turn, errors, attempts);
      if (validation === "warn") log({ event: "schema_mismatch", errors, attempts });
      return { answer, attempts, retries };
    }
    nudge = correction(structured.nudge, errors, check);
    const retry = { attempt: attempts, errors, nudge_used: nudge !== null };
    log({ event: "schema_retry", ...retry });
    retries.push({ ...retry, correction_prompt: nudge });
  }
}
