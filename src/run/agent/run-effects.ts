/** The effects of a run together with what its watchers see of its answers: the same in a session and without one. */
import type { AgentEffects } from "../../engine/agent/step.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { AnswerStream } from "../answer-stream.ts";
import type { RunEvent } from "../events.ts";
import { extraResultFields } from "./earlier-calls.ts";
import { agentEffects, type EffectsOptions } from "./effects.ts";

type CallModel = AgentEffects["callModel"];

/** Which parts of an answer are passed on while it comes. */
export type Streams = "nothing" | "text" | "text and reasoning";

interface RunEffectsOptions extends Omit<EffectsOptions, "watcher" | "emit"> {
  streams: Streams;
  /** Called once a model call is admitted. */
  admitted?: (() => void) | undefined;
  /** Receives what no record holds: pieces of answers, the output of tools. Never fails. */
  emit: (event: RunEvent) => Promise<void>;
  /** Runs one model call in the surroundings of the run. */
  around: (call: () => ReturnType<CallModel>) => ReturnType<CallModel>;
}

interface RunEffects {
  effects: AgentEffects;
  /** Ends what the effects hold open beyond a call. */
  close(): void;
  /** More members of the run's result, as this run attempt knows them. */
  further(): JsonObject;
}

export function runEffects({ streams, admitted, emit, around, ...options }: RunEffectsOptions): RunEffects {
  const { context, spec, host, vault, records } = options;
  const answers = streams === "nothing" ? null : new AnswerStream(context, emit);
  const { onText, onReasoning, onRestart } = answers?.watcher ?? {};
  const { close, ...effects } = agentEffects({
    ...options,
    watcher: {
      ...(onText === undefined ? {} : { onText }),
      ...(onRestart === undefined ? {} : { onRestart }),
      ...(streams !== "text and reasoning" || onReasoning === undefined ? {} : { onReasoning }),
      ...(admitted === undefined ? {} : { onAdmitted: admitted }),
    },
    emit: (event) => void emit(event),
  });
  /** The first iteration whose model call this run attempt made; `null`: none yet. */
  let first: number | null = null;
  const callModel: CallModel = (step, at) => {
    first ??= step.iteration;
    const call = (): ReturnType<CallModel> => effects.callModel(step, at);
    return around(answers === null ? call : () => answers.during(step.iteration + 1, call));
  };
  return {
    effects: { ...effects, callModel },
    close,
    further: () => extraResultFields(records.records(), { spec, host, vault, before: first }),
  };
}
