/** How the runs of sessions are carried out: models through the host, tools in the runner, results as documents. */
import type { AgentEffects } from "../../engine/agent/step.ts";
import { Internal } from "../../errors.ts";
import { withRecords } from "../../llm/history.ts";
import type { CallWatcher } from "../../llm/host.ts";
import { emptyTranscript, newId } from "../../llm/transcript.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { cancelRequest } from "../../tool/runner-client.ts";
import { DeltaText } from "../delta.ts";
import type { RunEvent } from "../events.ts";
import { RunArtifacts } from "../handler/artifacts.ts";
import { llmHost } from "../llm-host.ts";
import { llmError } from "../llm-problem.ts";
import { runnerEndpoint } from "../runner.ts";
import { earlierMockCalls } from "./earlier-calls.ts";
import { agentEffects } from "./effects.ts";
import type { AgentParts, RunPlace } from "./parts.ts";
import { RunNotes, runResult } from "./result.ts";
import { runVault } from "./vault.ts";

export const SESSION_PARTS: AgentParts = {
  async begin(spec, place, signal) {
    const { context, session_id, workspace, memo } = place;
    const account = `session:${session_id}`;
    const of = { signal, session: session_id, skill: null, account };
    // Mocks that were used by earlier lives are not used again.
    const host = await llmHost(context, of, memo ?? spec.call.mock);
    const vault = runVault(spec, context);
    const told = new ToldAnswer(place);
    const effects = agentEffects({
      context,
      host,
      spec,
      vault,
      known: place,
      artifacts: new RunArtifacts((id) => place.artifact(id)),
      records: () => place.records(),
      workspace,
      watcher: told.watcher,
      emit: (event: RunEvent) => place.emit(event),
    });
    let first: number | null = null;
    const callModel: AgentEffects["callModel"] = async (step, at) => {
      first ??= step.iteration;
      try {
        return await told.telling(step.iteration, () => effects.callModel(step, at));
      } catch (error) {
        throw llmError(error, context);
      } finally {
        const left = host.mocksLeft();
        if (left !== null) place.remember(left);
      }
    };
    const further = (): JsonObject => {
      const { mock_calls: own, ...members } = host.further();
      if (!Array.isArray(own)) return JSON.parse(JSON.stringify(members));
      const earlier = earlierMockCalls(place.records(), { spec, host, vault, before: first });
      return JSON.parse(JSON.stringify({ ...members, mock_calls: [...earlier, ...own] }));
    };
    return { effects: { ...effects, callModel }, vault, further };
  },
  resultOf(state, { created_at, settled_at }, records) {
    const { run } = state;
    if (run === null) throw new Internal({ cause: "a run ended without a state" });
    const notes = new RunNotes();
    const transcript = withRecords(emptyTranscript(newId()), notes.reading(records), newId, run.spec);
    return runResult(state, run, {
      transcript,
      notes,
      durationMs: (settled_at ?? Date.now()) - created_at,
    });
  },
  async stop({ context, run_id, workspace }, executions) {
    if (executions.length === 0) return;
    const { id } = await workspace.workspaceVersion();
    const runner = await runnerEndpoint(context, id).catch(() => null);
    if (runner !== null) await cancelRequest(runner, run_id, Date.now());
  },
};

/** Tells of each answer while it comes, secrets cut out across pieces. */
class ToldAnswer {
  readonly #place: RunPlace;
  #round = 0;
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
    onRestart: () => this.#restart(),
  };

  async telling<T>(round: number, call: () => Promise<T>): Promise<T> {
    this.#round = round;
    this.#text = this.#make("delta", round);
    this.#thought = this.#make("thought", round);
    try {
      return await call();
    } finally {
      await this.#text.end();
      await this.#thought.end();
    }
  }

  /** What was told of the round so far is void. */
  #restart(): void {
    const [text, thought] = [this.#text, this.#thought];
    this.#text = this.#make("delta", this.#round);
    this.#thought = this.#make("thought", this.#round);
    void Promise.all([text.end(), thought.end()]);
    this.#place.emit({ event: "round", data: { round: this.#round, restarted: true } });
  }

  #make(event: "delta" | "thought", round: number): DeltaText {
    const { context, emit } = this.#place;
    return new DeltaText(event, context.settings.toldRedactor, async (told) => emit(told), { round });
  }
}
