/** How Hull carries out the runs of sessions: models through the host, tools in the runner, results as documents. */
import type { AgentEffects } from "../../engine/agent/step.ts";
import { Internal } from "../../errors.ts";
import { historyOf } from "../../llm/history.ts";
import { emptyTranscript, newId } from "../../llm/transcript.ts";
import { asJson } from "../../skill/json.ts";
import { cancelRequest } from "../../tool/runner-client.ts";
import { AnswerStream } from "../answer-stream.ts";
import type { RunEvent } from "../events.ts";
import { RunArtifacts } from "../handler/artifacts.ts";
import { llmHost } from "../llm-host.ts";
import { llmError } from "../llm-problem.ts";
import { runnerEndpoint } from "../runner.ts";
import { clientWorkspace, sessionClient } from "../session-client.ts";
import { furtherOf } from "./earlier-calls.ts";
import { agentEffects } from "./effects.ts";
import type { AgentParts } from "./parts.ts";
import { runResult } from "./result.ts";
import { runVault } from "./vault.ts";

export const SESSION_PARTS: AgentParts = {
  async begin(spec, environment, signal) {
    const { context, session_id, memo } = environment;
    // What a run delegates counts against the session that asked first.
    const session = spec.delegation?.account ?? session_id;
    const skill = spec.own_skill?.name ?? null;
    const of = { signal, session, skill, account: `session:${session}` };
    // A mock that an earlier life used is not used again.
    const host = await llmHost(context, of, memo ?? spec.call.mock);
    const { files } = spec.delegation ?? {};
    const workspace =
      files === undefined ? environment.workspace : clientWorkspace(sessionClient(context, files));
    const vault = runVault(spec, context);
    const answers = new AnswerStream(context, async (event) => environment.emit(event));
    const { close: _, ...effects } = agentEffects({
      context,
      host,
      spec,
      vault,
      known: environment,
      artifacts: new RunArtifacts((id) => environment.artifact(id)),
      records: () => environment.records(),
      workspace,
      watcher: answers.watcher,
      emit: (event: RunEvent) => environment.emit(event),
    });
    let first: number | null = null;
    const callModel: AgentEffects["callModel"] = async (step, at) => {
      first ??= step.iteration;
      try {
        return await answers.during(step.iteration + 1, () => effects.callModel(step, at));
      } catch (error) {
        throw llmError(error, context);
      } finally {
        const left = host.mocksLeft();
        if (left !== null) environment.remember(left);
      }
    };
    const further = () => furtherOf(environment.records(), { spec, host, vault, before: first });
    return { effects: { ...effects, callModel }, vault, further };
  },
  resultOf(state, { created_at, settled_at }, records) {
    const { run } = state;
    if (run === null) throw new Internal({ cause: "a run ended without a state" });
    const history = historyOf(emptyTranscript(newId()), records, newId, run.spec);
    const durationMs = (settled_at ?? Date.now()) - created_at;
    return asJson(runResult(state, run, { history, durationMs }));
  },
  async stop({ context, run_id, workspace }, executions) {
    if (executions.length === 0) return;
    const { id } = await workspace.workspaceVersion();
    const runner = await runnerEndpoint(context, id).catch(() => null);
    if (runner !== null) await cancelRequest(runner, run_id, Date.now());
  },
};
