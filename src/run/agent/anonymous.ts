/** Agent runs without a conversation around them, and their result. */
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { settled } from "../../engine/agent/turn.ts";
import type { Artifact } from "../../engine/artifact.ts";
import { historyOf } from "../../llm/history.ts";
import { emptyTranscript, type Transcript } from "../../llm/transcript.ts";
import { transcriptHistory, withVisible } from "../../llm/transcript-history.ts";
import { systemClock } from "../../model/clock.ts";
import type { RunResult } from "../../session/conversation/answers.ts";
import type { RunContext } from "../context.ts";
import { runResult } from "./result.ts";
import { driveStateless, type StatelessOptions } from "./stateless.ts";
import { WakeTimer } from "./wake-timer.ts";

interface AnonymousOptions extends Omit<StatelessOptions, "before" | "own" | "admitted" | "woken"> {
  /** Whether the run ends when a daemon goes idle, or only when it is settled. */
  until: "terminal" | "idle";
  /** The transcript to continue; `null`: none. */
  transcript: Transcript | null;
  /** Called before anything takes effect. From then on failures are events. */
  started: () => void;
}

/**
 * Drives a run to its end and returns its result.
 * @throws the HullError that ended the run
 */
export async function runAnonymous(
  context: RunContext,
  spec: AgentSpec,
  { until, transcript: given, started, ...options }: AnonymousOptions,
): Promise<RunResult> {
  const { log, host, signal } = options;
  const wakeTimer = new WakeTimer(systemClock, signal);
  started();
  const before = given === null ? [] : [importOf(given)];
  const { run, further } = await driveStateless(context, spec, {
    ...options,
    before,
    woken: async ({ state }) => {
      if (state.run === null) return null;
      const woken = until === "terminal" ? await wakeTimer.next(state.run) : null;
      return woken ?? settled(state.run, "done");
    },
  }).finally(() => {
    const totals = log.state().run?.totals;
    if (totals !== undefined) context.log.usage = { ...totals };
  });
  const all = [...log.records()];
  const own = all.slice(all.findIndex(({ type }) => type === "run_started"));
  const durationMs = Date.now() - (own[0]?.at ?? Date.now());
  const made = historyOf(given ?? emptyTranscript(host.ids()), own, host.ids);
  const shortened = made.transcript.summary !== undefined || given?.visible_messages !== undefined;
  const transcript = shortened ? withVisible(made.transcript, log.state().visible) : made.transcript;
  const history = { ...made, transcript };
  return {
    ...runResult(log.state(), run, { history, durationMs }),
    ...artifactsIn(own),
    ...further(),
  };
}

/** The messages of a transcript, as those before the run. System messages are in the run's specification. */
function importOf(transcript: Transcript): AgentRecord {
  const { messages } = transcriptHistory(transcript, "options.transcript");
  const at = systemClock.now();
  return { v: 1, at, type: "session_imported", messages, summary: transcript.summary ?? null, skills: [] };
}

/** The artifacts in their latest versions. Nothing but the answer keeps them. */
function artifactsIn(records: readonly AgentRecord[]): { artifacts?: Artifact[] } {
  const made = records.flatMap((record) =>
    record.type === "tool_settled" || record.type === "tool_executed" ? (record.result.artifacts ?? []) : [],
  );
  if (made.length === 0) return {};
  return { artifacts: [...new Map(made.map((artifact) => [artifact.id, artifact])).values()] };
}
