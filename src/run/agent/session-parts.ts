/** How the runs of sessions are carried out: models through the host, tools in the runner, results as documents. */
import type { AgentEffects } from "../../engine/agent/step.ts";
import { Internal } from "../../errors.ts";
import { withRecords } from "../../llm/history.ts";
import type { CallWatcher } from "../../llm/host.ts";
import { emptyTranscript, uuidV7 } from "../../llm/transcript.ts";
import { cancelRequest } from "../../tool/runner-client.ts";
import { DeltaText } from "../delta.ts";
import { llmHost } from "../llm-host.ts";
import { llmError } from "../llm-problem.ts";
import { runnerEndpoint } from "../runner.ts";
import { agentEffects } from "./effects.ts";
import type { AgentParts, RunPlace } from "./parts.ts";
import { runResult } from "./result.ts";
import { runVault } from "./vault.ts";

const ids = (): string => uuidV7(Date.now(), crypto.getRandomValues(new Uint8Array(10)));

export const SESSION_PARTS: AgentParts = {
  async begin(spec, place, signal) {
    const { context, session_id } = place;
    const account = `session:${session_id}`;
    const host = await llmHost(context, { signal, session: session_id, skill: null, account });
    const vault = runVault(spec);
    const told = new ToldAnswer(place);
    const effects = agentEffects({ context, host, spec, vault, known: place, watcher: told.watcher });
    return { effects: { ...effects, callModel: told.telling(effects.callModel) }, vault };
  },
  resultOf(state, { created_at, settled_at }, records) {
    const { run } = state;
    if (run === null) throw new Internal({ cause: "a run ended without a state" });
    const transcript = withRecords(emptyTranscript(ids()), records, ids);
    return runResult(state, run, { transcript, durationMs: (settled_at ?? Date.now()) - created_at });
  },
  async stop({ context, run_id }, executions) {
    for (const execution of executions) {
      const runner = await runnerEndpoint(context, execution).catch(() => null);
      if (runner !== null) await cancelRequest(runner, run_id, Date.now());
    }
  },
};

/** Tells of each answer while it comes, secrets cut out across pieces. */
class ToldAnswer {
  readonly #place: RunPlace;
  #text: DeltaText;
  #thought: DeltaText;

  constructor(place: RunPlace) {
    this.#place = place;
    this.#text = this.#make("delta", 0);
    this.#thought = this.#make("thought", 0);
  }

  readonly watcher: CallWatcher = {
    onText: (text) => void this.#text.pushText(text),
    onReasoning: (text) => void this.#thought.pushText(text),
  };

  telling(callModel: AgentEffects["callModel"]): AgentEffects["callModel"] {
    return async (step, at) => {
      this.#text = this.#make("delta", step.iteration);
      this.#thought = this.#make("thought", step.iteration);
      try {
        return await callModel(step, at);
      } catch (error) {
        throw llmError(error, this.#place.context);
      } finally {
        await this.#text.end();
        await this.#thought.end();
      }
    };
  }

  #make(event: "delta" | "thought", round: number): DeltaText {
    const { context, emit } = this.#place;
    return new DeltaText(event, context.settings.redactor, async (told) => emit(told), { round });
  }
}
