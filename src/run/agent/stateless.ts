/**
 * Runs without a conversation around them. The process that received the request drives them. Their records are in
 * memory, or in the object of a call that outlives its process.
 */
import { type Applied, applyAll, fold } from "../../engine/agent/apply.ts";
import { driveAgent, type Rest } from "../../engine/agent/drive.ts";
import type { AgentRecord, AgentRecordBody } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { spentBy } from "../../engine/agent/spent.ts";
import { askedModel, type RunState } from "../../engine/agent/state.ts";
import { costIn } from "../../engine/shares.ts";
import { HullError, Internal } from "../../errors.ts";
import { systemClock } from "../../model/clock.ts";
import type { RunContext } from "../context.ts";
import { runAttributes, tracedRun } from "../gen-ai.ts";
import type { Durable } from "../handle.ts";
import { RunArtifacts } from "../handler/artifacts.ts";
import { finalFault } from "../llm-problem.ts";
import type { OpenSpan } from "../spans.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import { TemporaryWorkspace } from "../workspace/temporary.ts";
import { type RunEffects, type RunEffectsOptions, runEffects } from "./effects.ts";
import type { RunLog } from "./run-log.ts";
import { type RunVault, runVault } from "./vault.ts";

export interface StatelessOptions
  extends Pick<RunEffectsOptions, "host" | "own" | "model" | "streams" | "admitted" | "took" | "emit"> {
  signal: AbortSignal;
  /** The request's id for the run, which also names the run's span. */
  execution: string;
  /** Where its records are kept, including those of earlier run attempts. */
  log: RunLog;
  /** What outlives the process, in addition to the records; `null`: nothing. */
  durable: Durable | null;
  /** Records of the conversation before the run. */
  before?: readonly AgentRecord[];
  /** The vault, if already determined. Absent: derived from the specification. */
  vault?: RunVault | null;
  /** The run's files. Absent: they exist only during the run. */
  workspace?: WorkspaceAccess;
  /** Returns what continues a resting run. Absent, or `null`: nothing, and the drive ends. */
  woken?: (rest: Rest) => Promise<AgentRecordBody | null>;
  /** Receives each record once it is kept, beginning with those of earlier run attempts. */
  hear?: (applied: Applied) => void;
  /** Resolves when the reader of the events is not far behind. Events that were not read are held in memory. */
  room?: (() => Promise<void>) | undefined;
}

interface Driven extends Pick<RunEffects, "further"> {
  run: RunState;
}

/**
 * Drives the run, or continues it, until it is settled or rests.
 * @throws the HullError that ended the run
 */
export function driveStateless(
  context: RunContext,
  spec: AgentSpec,
  options: StatelessOptions,
): Promise<Driven> {
  // A single answer is not an agent's run: only its model calls have spans.
  if (spec.single === true) return drive(context, spec, options, null);
  return tracedRun(context, spec, options.execution, (span) => drive(context, spec, options, span));
}

async function drive(
  context: RunContext,
  spec: AgentSpec,
  options: StatelessOptions,
  span: OpenSpan | null,
): Promise<Driven> {
  const { log, host, signal, before = [], woken, hear } = options;
  const heard = (batch: Iterable<Applied>): void => {
    if (hear !== undefined) for (const applied of batch) hear(applied);
  };
  heard(fold(log.records()));
  if (log.state().run === null) {
    const started = { v: 1 as const, at: systemClock.now(), type: "run_started" as const };
    const batch = applyAll(log.state(), [...before, { ...started, run: spec.run_id, spec }]);
    log.begin(batch);
    heard(batch);
  }
  const { run: begun } = log.state();
  const files = filesOf(context, spec, options);
  const { vault = runVault(spec, context) } = options;
  /** Facts for the log about the fault that ended the run. */
  let operator: Record<string, unknown> = {};
  const onFault = (fault: HullError): void => {
    operator = fault.operator;
  };
  const { effects, close, further } = runEffects({
    ...options,
    context,
    spec,
    vault,
    known: options.durable,
    workspace: files,
    artifacts: new RunArtifacts((id) => options.durable?.artifact(id) ?? null),
    records: log,
    async around(call) {
      await options.room?.();
      return call().catch(finalFault(signal));
    },
  });
  const append = (batch: readonly Applied[]): void => {
    log.append(batch, host.mocksLeft());
    heard(batch);
  };
  try {
    for (;;) {
      const rest = await driveAgent(log.state(), {
        effects,
        vault,
        append,
        clock: systemClock,
        signal,
        onFault,
      });
      const { run } = rest.state;
      if (run === null) throw new Internal({ cause: "a run ended without a state" });
      span?.set(() => runAttributes(run, begun ?? run));
      if (run.error !== null) throw new HullError(run.error, operator);
      const next = rest.step.type === "settled" ? null : ((await woken?.(rest)) ?? null);
      if (next === null) return { run, further };
      append(applyAll(rest.state, [{ v: 1, at: systemClock.now(), ...next }]));
    }
  } finally {
    const { run } = log.state();
    if (run !== null) {
      context.log.usage = { ...run.totals };
      Object.assign(context.log, costIn(spentBy(run)));
      context.log.rounds = run.iterations;
      context.log.tool_calls = run.tools_used.length;
      context.log.refused = run.refused;
      context.log.model = askedModel(run);
    }
    close();
    if (files instanceof TemporaryWorkspace && files !== options.workspace)
      context.background(files.destroy());
  }
}

/** The run's files; `null`: no tool of the run needs any. */
function filesOf(
  context: RunContext,
  spec: AgentSpec,
  { workspace, durable }: StatelessOptions,
): WorkspaceAccess | null {
  if (workspace !== undefined) return workspace;
  if (spec.tools.every(({ executor }) => executor !== "workspace")) return null;
  return durable?.workspace() ?? new TemporaryWorkspace(context, spec.run_id);
}
