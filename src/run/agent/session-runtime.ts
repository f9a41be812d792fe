/** How Hull executes the runs of sessions: models through the host, tools in the runner, results as documents. */
import { Internal } from "../../errors.ts";
import { asJson } from "../../skill/json.ts";
import { RunArtifacts } from "../handler/artifacts.ts";
import { llmHost } from "../llm-host.ts";
import { llmError } from "../llm-problem.ts";
import { clientWorkspace, sessionClient } from "../session-client.ts";
import { stopRequests } from "../stop-requests.ts";
import { runEffects } from "./effects.ts";
import { checkedRun } from "./options.ts";
import { runResult } from "./result.ts";
import type { AgentRuntime } from "./runtime.ts";
import { countedSkill } from "./skills.ts";
import { runVault } from "./vault.ts";

export const SESSION_RUNTIME: AgentRuntime = {
  async prepare(request, at, context) {
    // Each call of a run has a signal of its own.
    const { signal } = new AbortController();
    const skill = await countedSkill(context, undefined, request.options.skill);
    const of = { signal, session: at.session, skill, account: `session:${at.session}` };
    const host = await llmHost(context, of, request.options.mock);
    return { ...(await checkedRun(context, host, request, at)), context, host };
  },
  async begin(spec, environment, signal) {
    const { context, session_id, memo, prepared, known, records } = environment;
    // A delegated run counts against the session of the original request.
    const session = spec.delegation?.account ?? session_id;
    const skill = spec.own_skill?.name ?? null;
    const of = { signal, session, skill, account: `session:${session}` };
    // A mock that an earlier run attempt used is not used again.
    const host = prepared?.host ?? (await llmHost(context, of, memo ?? spec.call.mock));
    const { files } = spec.delegation ?? {};
    const workspace =
      files === undefined ? environment.workspace : clientWorkspace(sessionClient(context, files));
    const vault = runVault(spec, context);
    const { effects, further, close } = runEffects({
      context,
      host,
      spec,
      vault,
      ...(prepared === null ? {} : { model: prepared.model }),
      known,
      artifacts: new RunArtifacts((id) => environment.artifact(id)),
      records,
      workspace,
      streams: "text and reasoning",
      emit: async (event) => environment.emit(event),
      async around(call) {
        try {
          return await call();
        } catch (error) {
          throw llmError(error, context);
        } finally {
          const left = host.mocksLeft();
          if (left !== null) environment.remember(left);
        }
      },
    });
    return { effects, vault, further, close };
  },
  resultOf(state, { created_at, settled_at }, told) {
    const { run } = state;
    if (run === null) throw new Internal({ cause: "a run ended without a state" });
    const durationMs = (settled_at ?? Date.now()) - created_at;
    return asJson(runResult(state, run, { told, durationMs }));
  },
  async stop({ context, run_id, workspace }, executions) {
    if (executions.length === 0) return;
    const { id } = await workspace.workspaceVersion();
    await stopRequests(context, id, [run_id]);
  },
};
