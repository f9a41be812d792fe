/** The ids under which the runner knows the executions of an agent run's tool calls. */
import type { AgentEffectContext } from "../../engine/agent/step.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";

type Attempt = Pick<AgentEffectContext, "run" | "effect" | "attempt">;

/**
 * The id of a call's execution. The runner starts no second process under an id that it knows, so each attempt has its
 * own id, which it keeps in later run attempts.
 */
export function executionIdOf({ run, effect, attempt }: Attempt): string {
  return attempt === 0 ? `${run}-${effect}` : `${run}-${effect}-${attempt}`;
}

/** The last attempt of a call that the runner may have. @param known `null`: nobody remembers any */
export function attemptOf(call: Attempt, known: KnownExecutions | null): number {
  let attempt = 0;
  const isKnown = (attempt: number): boolean =>
    known !== null && known.known(executionIdOf({ ...call, attempt })) !== "nothing";
  while (isKnown(attempt + 1)) attempt++;
  return attempt;
}
