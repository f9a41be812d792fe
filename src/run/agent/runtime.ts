/** What a session needs to execute its runs, and what it provides for them: models through the host, tools in the runner. */
import type { Vault } from "../../engine/agent/next.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Artifact } from "../../engine/artifact.ts";
import { toHullError } from "../../errors.ts";
import type { LlmHost } from "../../llm/host.ts";
import type { ModelRegistry } from "../../model/registry/definition.ts";
import type { RunRequest } from "../../session/conversation/rpc.ts";
import type { Json } from "../../skill/manifest.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import { RunArtifacts } from "../handler/artifacts.ts";
import { llmHost } from "../llm-host.ts";
import { llmError } from "../llm-problem.ts";
import { withProviderWords } from "../problem.ts";
import { clientWorkspace, sessionClient } from "../session-client.ts";
import { stopRequests } from "../stop-requests.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import { type RunEffects, runEffects } from "./effects.ts";
import { type CheckedRun, checkedRun } from "./options.ts";
import type { RecordSource } from "./run-log.ts";
import { countedSkill } from "./skills.ts";
import { runVault } from "./vault.ts";

/** A request checked in the place where its run begins, with what the first attempt would have to find out again. */
export interface PreparedRun extends CheckedRun {
  context: RunContext;
  host: LlmHost;
}

/** The place where a run happens. Its methods have stored their values when they return. */
export interface RunEnvironment {
  run_id: string;
  session_id: string;
  context: RunContext;
  records: RecordSource;
  /** The executions that the runner may know. */
  known: KnownExecutions;
  /** The last version of an artifact of the session; `null`: there is none. */
  artifact(id: string): Artifact | null;
  /** The session's files. */
  workspace: WorkspaceAccess;
  /** Sends watchers something that no record holds: deltas, thoughts, output of tools. */
  emit(event: RunEvent): void;
  /** The value that an earlier run attempt kept with `remember`; `null`: none. */
  memo: Json;
  /** Keeps a value for later run attempts and replaces the one before. It is stored with the next records of the run. */
  remember(value: Json): void;
  /** The prepared request, for the first attempt; `null`: a later attempt, or the run was prepared elsewhere. */
  prepared: PreparedRun | null;
}

interface BegunRun extends RunEffects {
  vault: Vault | null;
}

export interface AgentRuntime {
  /**
   * Turns a request into a run: chooses its model, collects its skills and tools.
   * @throws as `checkedRun`
   */
  prepare(
    request: RunRequest,
    at: { run: string; session: string },
    context: RunContext,
  ): Promise<PreparedRun>;
  /**
   * Returns the effects of a run, for one run attempt. A planned call that an earlier attempt began has `again` set: ids
   * of run and effect identify the same work.
   * @param signal aborts when the run is cancelled
   * @throws the HullError that ends the run
   */
  begin(spec: AgentSpec, environment: RunEnvironment, signal: AbortSignal): Promise<BegunRun>;
  /**
   * Ends what the runner may still be doing for an abandoned run.
   * @param executions recorded ids
   * @param files the session whose files the run works on; absent: its own
   */
  stop(environment: RunEnvironment, executions: readonly string[], files?: string): Promise<void>;
}

/** The rules that a tenant installed never change a call of a skill's own route. */
async function servedModels(
  { deployment, background }: RunContext,
  called: boolean,
): Promise<{ served?: ModelRegistry }> {
  return called ? { served: await deployment.learnSecrets(background) } : {};
}

export const SESSION_RUNTIME: AgentRuntime = {
  async prepare(request, at, context) {
    // Each call of a run has a signal of its own.
    const { signal } = new AbortController();
    const skill = await countedSkill(context, undefined, request.options.skill);
    const of = {
      signal,
      session: at.session,
      skill,
      account: `session:${at.session}`,
      ...(await servedModels(context, request.called === true)),
    };
    const host = await llmHost(context, of, request.options.mock);
    return { ...(await checkedRun(context, host, request, at)), context, host };
  },
  async begin(spec, environment, signal) {
    const { context, session_id, memo, prepared, known, records } = environment;
    // A delegated run counts against the session of the original request.
    const session = spec.delegation?.account ?? session_id;
    const skill = spec.own_skill?.name ?? null;
    const of = { signal, session, skill, account: `session:${session}` };
    const made = async (): Promise<LlmHost> => {
      const served = await servedModels(context, spec.called !== undefined);
      // A mock that an earlier run attempt used is not used again.
      return llmHost(context, { ...of, ...served }, memo ?? spec.call.mock);
    };
    const host = prepared?.host ?? (await made());
    const { files } = spec.delegation ?? {};
    const workspace =
      files === undefined ? environment.workspace : clientWorkspace(sessionClient(context, files));
    const vault = runVault(spec, context);
    const { effects, further, close } = runEffects({
      context,
      host,
      spec,
      vault,
      model: prepared?.model,
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
          // The routes of skills show a provider's failure in Hull's words alone.
          const shown = spec.called === undefined ? llmError(error, context) : toHullError(error);
          throw withProviderWords(shown, context);
        } finally {
          const left = host.mocksLeft();
          if (left !== null) environment.remember(left);
        }
      },
    });
    return { effects, vault, further, close };
  },
  async stop({ context, run_id, workspace: own }, executions, files) {
    if (executions.length === 0) return;
    const workspace = files === undefined ? own : clientWorkspace(sessionClient(context, files));
    const { id } = await workspace.workspaceVersion();
    await stopRequests(context, id, [run_id]);
  },
};
