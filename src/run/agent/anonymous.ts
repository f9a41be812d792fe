/** Agent runs that belong to no session: driven in memory, gone with their answer (agent-runtime.md §12.1). */
import { applyAgentRecord } from "../../engine/agent/apply.ts";
import { driveAgent } from "../../engine/agent/drive.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { type AgentState, EMPTY_SESSION } from "../../engine/agent/state.ts";
import type { AgentEffects } from "../../engine/agent/step.ts";
import { settled } from "../../engine/agent/turn.ts";
import { HullError, Internal } from "../../errors.ts";
import { withRecords } from "../../llm/history.ts";
import type { CallWatcher, LlmHost } from "../../llm/host.ts";
import { readMessages } from "../../llm/messages.ts";
import { emptyTranscript, type Transcript } from "../../llm/transcript.ts";
import { systemClock } from "../../model/clock.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import { RunArtifacts } from "../handler/artifacts.ts";
import { agentEffects } from "./effects.ts";
import { eventsOf } from "./events.ts";
import { RunNotes, runResult } from "./result.ts";
import { runVault } from "./vault.ts";
import { Waking } from "./waking.ts";

interface AnonymousOptions {
  host: LlmHost;
  signal: AbortSignal;
  watcher: CallWatcher;
  /** Whether a daemon goes on after it went idle. */
  until: "terminal" | "idle";
  /** What it goes on with; `null`: nothing. */
  transcript: Transcript | null;
  /** Called before anything takes effect: from then on failures are events. */
  started: () => void;
  emit: (event: RunEvent) => void;
  /** Resolves when who reads the events is not far behind: what was not read is held in memory. */
  room: () => Promise<void>;
}

/**
 * Drives a run to its end and answers its result.
 * @throws HullError that the run ended with
 */
export async function runAnonymous(
  context: RunContext,
  spec: AgentSpec,
  { host, signal, watcher, until, transcript, started, emit, room }: AnonymousOptions,
): Promise<JsonObject> {
  const vault = runVault(spec, context);
  const startedAt = Date.now();
  const first: AgentRecord = { v: 1, at: startedAt, type: "run_started", run: spec.run_id, spec };
  const before = transcript === null ? [] : [importOf(transcript, startedAt)];
  const records: AgentRecord[] = [...before, first];
  started();
  let seen = records.reduce(applyAgentRecord, EMPTY_SESSION);
  const tell = (batch: readonly AgentRecord[]): void => {
    for (const record of batch) {
      for (const event of eventsOf(record, seen)) emit(event);
      seen = applyAgentRecord(seen, record);
    }
  };
  const append = (batch: readonly AgentRecord[]): void => {
    records.push(...batch);
    tell(batch);
  };
  const { now } = systemClock;
  const place = { context, host, spec, vault, known: null, workspace: null, watcher, emit };
  const artifacts = new RunArtifacts(() => null);
  const own = agentEffects({ ...place, artifacts, records: () => records });
  const callModel: AgentEffects["callModel"] = async (step, at) => {
    await room();
    return own.callModel(step, at);
  };
  const effects = { ...own, callModel };
  const waking = new Waking(systemClock, signal);
  for (;;) {
    const { state, step } = await driveAgent(seen, { effects, vault, append, now, signal });
    const { run } = state;
    if (step.type === "settled" || run === null) {
      const after = records.slice(before.length);
      return settledResult(state, after, host, { startedAt, transcript });
    }
    const woken = until === "terminal" ? await waking.next(run) : null;
    append([{ v: 1, at: now(), ...(woken ?? settled(run, "done")) }]);
  }
}

function settledResult(
  state: AgentState,
  records: readonly AgentRecord[],
  host: LlmHost,
  { startedAt, transcript: given }: { startedAt: number; transcript: Transcript | null },
): JsonObject {
  const { run } = state;
  if (run === null) throw new Internal({ cause: "a run ended without a state" });
  if (run.error !== null) throw new HullError(run.error);
  const notes = new RunNotes();
  const transcript = withRecords(given ?? emptyTranscript(host.ids()), notes.reading(records), host.ids);
  return {
    ...runResult(state, run, { transcript, notes, durationMs: Date.now() - startedAt }),
    ...artifactsIn(records),
    ...json(host.further()),
  };
}

/** The messages of a transcript as those before the run. System messages are in its specification. */
function importOf(transcript: Transcript, at: number): AgentRecord {
  const { messages } = readMessages(transcript.messages, "options.transcript.messages");
  return { v: 1, at, type: "session_imported", messages, summary: transcript.summary ?? null, skills: [] };
}

/** Nothing keeps them but the answer: each as its last version is. */
function artifactsIn(records: readonly AgentRecord[]): JsonObject {
  const made = records.flatMap((record) =>
    record.type === "tool_settled" || record.type === "tool_executed" ? (record.result.artifacts ?? []) : [],
  );
  if (made.length === 0) return {};
  return json({ artifacts: [...new Map(made.map((artifact) => [artifact.id, artifact])).values()] });
}

const json = (value: Record<string, unknown>): JsonObject => JSON.parse(JSON.stringify(value));
