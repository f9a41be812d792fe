/** Agent runs without a conversation around them, and their result. */
import type { Applied } from "../../engine/agent/apply.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { settled } from "../../engine/agent/turn.ts";
import type { Artifact } from "../../engine/artifact.ts";
import { History } from "../../llm/history.ts";
import { emptyTranscript, type Transcript } from "../../llm/transcript.ts";
import { transcriptHistory, withVisible } from "../../llm/transcript-history.ts";
import { systemClock } from "../../model/clock.ts";
import type { RunResult } from "../../session/conversation/answers.ts";
import type { RunContext } from "../context.ts";
import { runResult } from "./result.ts";
import { driveStateless, type StatelessOptions } from "./stateless.ts";
import { wakeTimer } from "./wake-timer.ts";

interface AnonymousOptions extends Omit<StatelessOptions, "before" | "own" | "woken" | "hear"> {
  /** Whether the run ends when a daemon goes idle, or only when it is settled. */
  until: "terminal" | "idle";
  /** The transcript to continue; `null`: none. */
  transcript: Transcript | null;
}

/**
 * Drives a run to its end and returns its result.
 * @throws the HullError that ended the run
 */
export async function runAnonymous(
  context: RunContext,
  spec: AgentSpec,
  { until, transcript: given, ...options }: AnonymousOptions,
): Promise<RunResult> {
  const { host, signal, log } = options;
  const history = new History(given ?? emptyTranscript(host.ids()), host.ids);
  /** The artifacts in their latest versions. Nothing but the answer keeps them. */
  const made = new Map<string, Artifact>();
  let begun = Date.now();
  const hear = (applied: Applied): void => {
    const { record } = applied;
    // The transcript itself is where the history begins.
    if (record.type === "session_imported") return;
    history.read(applied);
    if (record.type === "run_started") begun = record.at;
    if (record.type === "tool_settled" || record.type === "tool_executed")
      for (const artifact of record.result.artifacts ?? []) made.set(artifact.id, artifact);
  };
  const woken = wakeTimer(signal);
  const before = given === null ? [] : [importOf(given)];
  const { run, further } = await driveStateless(context, spec, {
    ...options,
    before,
    hear,
    woken: async ({ state: { run } }) => {
      if (run === null) return null;
      return (until === "terminal" ? await woken(run) : null) ?? settled(run, "done");
    },
  });
  const durationMs = Date.now() - begun;
  const { transcript: whole, ...recorded } = history.recorded;
  const shortened = whole.summary !== undefined || given?.visible_messages !== undefined;
  const transcript = shortened ? withVisible(whole, log.state().visible) : whole;
  return {
    ...runResult(log.state(), run, { recorded: { ...recorded, transcript }, durationMs }),
    ...(made.size === 0 ? {} : { artifacts: [...made.values()] }),
    ...further(),
  };
}

/** The messages of a transcript, as those before the run. System messages are in the run's specification. */
function importOf(transcript: Transcript): AgentRecord {
  const { messages } = transcriptHistory(transcript, "options.transcript");
  const at = systemClock.now();
  return { v: 1, at, type: "session_imported", messages, summary: transcript.summary ?? null, skills: [] };
}
