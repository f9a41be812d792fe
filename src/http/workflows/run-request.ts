/** Reads and checks the request for a workflow run, and builds the run's specification. */

import { type GivenOptions, workflowOptions } from "../../api/bodies/workflows.ts";
import type { Ceilings } from "../../engine/agent/spec.ts";
import { shapeErrors } from "../../engine/fault.ts";
import { least } from "../../engine/least.ts";
import type { PinnedSkills } from "../../engine/workflow/answers.ts";
import type { WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import type { Graph } from "../../engine/workflow/graph.ts";
import { runAt } from "../../engine/workflow/origin.ts";
import type { Origin, WorkflowSpec, WorkflowTest } from "../../engine/workflow/records.ts";
import { type Owner, PUBLIC_TENANT } from "../../env.ts";
import { memberInvalid } from "../../errors/member-invalid.ts";
import { agentSpec } from "../../run/agent/options.ts";
import { llmHost } from "../../run/llm-host.ts";
import { checkValid } from "../../run/workflow/check-graph.ts";
import { pinSkills } from "../../run/workflow/pin-skills.ts";
import { type CommandEnvironment, policyOf } from "../../run/workflow/stage.ts";
import { runWithRecordAt } from "../../session/workflow/directory.ts";
import { defined, withoutNulls } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { writeFault } from "../../tool/workspace-path.ts";
import type { RequestContext } from "../context.ts";
import { accountOf } from "../llm/account.ts";
import { refusedAt } from "./graphs.ts";
import { readTest } from "./trial.ts";

type WorkflowOptions = Omit<GivenOptions, "resume_path" | "replay_path">;

/** `null` counts as absent. @throws InputInvalid with a path below `at` for each fault */
export async function readWorkflowOptions(
  context: RequestContext,
  options: JsonObject,
  at = "options",
): Promise<WorkflowOptions> {
  const parsed = workflowOptions().safeParse(withoutNulls(options));
  if (!parsed.success) {
    throw refusedAt(at, shapeErrors(parsed.error));
  }
  const { resume_path, replay_path, ...own } = parsed.data;
  const fault =
    own.persist_path === undefined
      ? null
      : context.tenant === PUBLIC_TENANT
        ? "is for callers with a key"
        : writeFault(own.persist_path);
  if (fault !== null) throw refusedAt(at, [{ path: "persist_path", message: fault }]);
  const run = async (path: string | undefined, option: "resume_path" | "replay_path") => {
    if (path === undefined) return undefined;
    const named = await runOfPath(context, path);
    if (named !== null) return named;
    const message = "is not the path of a run's record: the persist_path of a run, or runs/<id>.json";
    throw refusedAt(at, [{ path: option, message }]);
  };
  const resume_run = own.resume_run ?? (await run(resume_path, "resume_path"));
  const replay_run = own.replay_run ?? (await run(replay_path, "replay_path"));
  if (resume_run !== undefined && replay_run !== undefined) {
    const path = own.replay_run === undefined ? "replay_path" : "replay_run";
    throw refusedAt(at, [{ path, message: "cannot be given with a run that is resumed" }]);
  }
  return { ...own, ...defined({ resume_run, replay_run }) };
}

/** The run that wrote its record last at this path; `null`: it is not such a path. */
export async function runOfPath(owner: Owner, path: string): Promise<string | null> {
  return (await runWithRecordAt(owner, path)) ?? runAt(path);
}

/** @throws InputInvalid for what does not fit the graph, and for a caller without a key */
function testOf(context: RequestContext, { test }: WorkflowOptions, graph: Graph): WorkflowTest | undefined {
  if (test === undefined) return undefined;
  if (context.tenant !== PUBLIC_TENANT) return readTest(test, graph);
  throw memberInvalid("options.test", "is for callers with a key");
}

export interface WorkflowRunRequest {
  task: string;
  graph: Graph;
  workflow: WorkflowSpec["workflow"];
  artifacts: WorkflowArtifact[];
  options: JsonObject;
  own: WorkflowOptions;
  /**
   * The run that this one continues or repeats, with the first run of their chain, and the versions of skills that it
   * pinned for this one (`null`: none). Absent: this run is the first.
   */
  before?: { origin: Origin; root: string; skills: PinnedSkills | null };
  /** Limits of the session that delegates the run. Absent: the run is not delegated. */
  above?: Ceilings;
  /**
   * The folder in which the commands of the run's stages begin, and their variables. Absent: the stages' own folder, and
   * no variables.
   */
  environment?: CommandEnvironment;
}

/**
 * @throws WorkflowInvalid, InputInvalid and the like, also for faults in the options of stages, before the run begins
 */
export async function workflowSpec(
  context: RequestContext,
  run_id: string,
  runRequest: WorkflowRunRequest,
): Promise<WorkflowSpec> {
  const { graph, own, before, task, above, environment = {} } = runRequest;
  await checkValid(context, graph);
  if (runRequest.options.tool_configs !== undefined) {
    const message = "holds secrets, which a stored run does not keep; configure the skill instead";
    throw memberInvalid("options.tool_configs", message);
  }
  const options = Object.fromEntries(
    Object.entries(runRequest.options).filter(([name]) => !Object.hasOwn(workflowOptions().shape, name)),
  );
  const skills = await pinSkills(context, graph, options, before?.skills ?? null);
  if (skills !== undefined) context.pinned = skills;
  await checkOptions(context, {
    run: run_id,
    task,
    options,
    account: accountOf(context, above?.account ?? run_id),
  });
  const { deadline_ms, max_concurrent, compensation_ms, persist_path } = own;
  const test = testOf(context, own, graph);
  const wanted = deadline_ms === undefined ? null : Date.now() + deadline_ms;
  return {
    run_id,
    workflow: runRequest.workflow,
    ...(skills === undefined ? {} : { skills }),
    graph,
    task,
    ...(persist_path === undefined ? {} : { persist_path }),
    max_steps: own.max_steps ?? Math.max(1, Object.keys(graph.nodes).length * 4),
    options: { ...options, ...(max_concurrent === undefined ? {} : { max_concurrent }) },
    policy: policyOf([own.policy]),
    artifacts: runRequest.artifacts,
    deadline: least(wanted, above?.deadline?.at),
    ...(compensation_ms === undefined ? {} : { compensation_ms }),
    parent_run_id: own.parent_run_id ?? before?.origin.run_id ?? above?.run_id ?? null,
    root_run_id: own.root_run_id ?? before?.root ?? run_id,
    metadata: { ...own.metadata, ...(own.audit === undefined ? {} : { audit: own.audit }) },
    ...(above === undefined ? {} : { above }),
    ...environment,
    ...(test === undefined ? {} : { test }),
    ...(before === undefined ? {} : { origin: before.origin }),
  };
}

async function checkOptions(
  context: RequestContext,
  { run, account, task, options }: { run: string; account: string; task: string; options: JsonObject },
): Promise<void> {
  const { signal } = context.request;
  const host = await llmHost(context, { signal, session: run, skill: null, account }, options.mock);
  await agentSpec(
    context,
    host,
    { prompt: task, system: null, options, publishes: false },
    { run, session: run },
  );
}
