/** What a verify node checks: the text that its command printed, or that its agent said. */
import { mayExecute } from "../../engine/agent/policy.ts";
import { sha256 } from "../../engine/sha256.ts";
import type { AttemptKey } from "../../engine/workflow/answers.ts";
import type { Node } from "../../engine/workflow/graph.ts";
import { openAttempts } from "../../engine/workflow/next.ts";
import { artifactIn, completed, failed } from "../../engine/workflow/outcomes.ts";
import { NO_USAGE, OUTCOME_UNKNOWN, type Outcome } from "../../engine/workflow/records.ts";
import { time, type WorkflowState } from "../../engine/workflow/state.ts";
import { providedFor } from "../../engine/workflow/trial.ts";
import { commandParts, commandText, NO_OUTPUT } from "../../engine/workspace-tools/command-result.ts";
import { workspaceTools } from "../../engine/workspace-tools/definitions.ts";
import { PUBLIC_TENANT } from "../../env.ts";
import { HullError } from "../../errors.ts";
import { newId } from "../../llm/transcript.ts";
import { defined } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import { judgedAlone } from "../handler/policy.ts";
import { stopRequests } from "../stop-requests.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import { runBash } from "../workspace-tools/bash.ts";
import { policyOf } from "./stage.ts";

/** What a command needs from the object in which the workflow run lives. */
export interface CommandPlace {
  context: RunContext;
  workspace: WorkspaceAccess;
  known: KnownExecutions;
  signal: AbortSignal;
  /**
   * Call it once the attempt's work has begun elsewhere; if a test lets the process die there, it never returns. `null`:
   * no test does.
   */
  called: (() => Promise<void>) | null;
}

/** The id of the command's execution. A later run attempt follows the same execution. */
const executionOf = (run: string, { node, visit, attempt }: AttemptKey): string =>
  `wfx_${sha256(`${run}/${node}/${visit}/${attempt}`).slice(0, 32)}`;

interface VerifyText {
  text: string;
  /** What models read about the command: its text, then how it ended. */
  report: string;
  /** The exit code of the command; `null`: there was no command, or it did not end by itself. */
  exit_code: number | null;
  /** Whether the command may or may not have taken effect. */
  unknown?: boolean;
  ran: Outcome | null;
}

export const NOTHING_RAN = { text: "", report: "", exit_code: null, ran: null };

export const saidBy = (ran: Outcome): VerifyText => ({
  text: ran.text,
  report: ran.text,
  exit_code: null,
  ran,
});

/** Runs the command of a verify node, within all policies, or follows it if an earlier run attempt began it. */
export async function checkedCommand(
  state: WorkflowState,
  node: Node,
  key: AttemptKey,
  place: CommandPlace,
  again: boolean,
): Promise<VerifyText> {
  const { spec } = state;
  const command = node.verify?.command ?? "";
  const { context, called } = place;
  const mock = providedFor(spec.test?.commands, key);
  const { policy: outer = null, ceiling = null } = spec.above?.policies ?? {};
  const limits = policyOf([context.settings.policy, ceiling, outer]);
  const policy = policyOf([limits, spec.policy, spec.graph.capability_policy, node.capability_policy]);
  const refused =
    context.tenant === PUBLIC_TENANT
      ? "commands are for callers with a key"
      : mock === undefined && context.settings.workspace_tools.enabled === "never"
        ? "this deployment has no workspace tools"
        : !mayExecute(policy)
          ? "the side-effect ceiling is below process_exec"
          : bashIsRefused(limits, command)
            ? "the policy of the deployment, or of the session above, refuses such a call of Bash"
            : null;
  if (refused !== null) {
    const message = `The command of the node "${node.id}" may not run: ${refused}.`;
    return { ...NOTHING_RAN, ran: failed("error", "tool_rejected", message) };
  }
  if (mock !== undefined) {
    await called?.();
    const { exit_code, output } = mock;
    const remark = exit_code === null ? "it did not end by itself" : null;
    const end = { exit_code, remark, notKept: [], offline: false, skills: null, memory_bytes: null };
    return { ...printed(commandText(command, output, end), exit_code), ran: null };
  }
  return ranCommand(state, node, key, place, again);
}

/** Runs the command of a verify node, or follows it if it has begun. */
async function ranCommand(
  { spec }: WorkflowState,
  node: Node,
  key: AttemptKey,
  { context, workspace, known, signal }: CommandPlace,
  again: boolean,
): Promise<VerifyText> {
  const execution = executionOf(spec.run_id, key);
  const command = node.verify?.command ?? "";
  const result = await runBash(
    {
      args: { command, ...defined({ timeout_ms: node.timeout_ms }) },
      call_id: execution,
      execution,
      // Other commands of the workflow continue when this one is stopped.
      run: execution,
      again,
      cwd: spec.cwd ?? "",
      ...defined({ variables: spec.variables }),
      skill: null,
      own_stderr: true,
      signal,
    },
    { context, workspace, known, emit: () => {}, skills: { toRun: async () => [] }, skillsKey: "" },
  );
  const unknown = result.error_category === "cancelled";
  return { ...printed(result.content, result.exit_code ?? null), unknown, ran: null };
}

/** Whether a policy above the run refuses the command, as it would refuse a model that calls Bash with it. */
function bashIsRefused(policy: JsonObject | null, command: string): boolean {
  return workspaceTools(["Bash"], []).some(
    (bash) => judgedAlone(policy, bash, { command }).verdict === "deny",
  );
}

/** What a command printed on both outputs, and the report about it. @param content the text of its result */
function printed(content: string, exit_code: number | null): Omit<VerifyText, "ran"> {
  const report = content === NO_OUTPUT ? "" : content;
  return { text: commandParts(content, exit_code, "").stdout, report, exit_code };
}

/** Checks the text of a verify node. */
export function verified(node: Node, { text, report, exit_code, unknown, ran }: VerifyText): Outcome {
  if (ran !== null && ran.branch === "error") return ran;
  const {
    command,
    assert_text,
    expect_text,
    expect_status = command === undefined ? undefined : 0,
  } = node.verify ?? {};
  const checks = [
    { check: "expect_status", wanted: expect_status, ok: exit_code === expect_status },
    { check: "assert_text", wanted: assert_text, ok: text.includes(assert_text ?? "") },
    { check: "expect_text", wanted: expect_text, ok: text.includes(expect_text ?? "") },
  ].flatMap(({ wanted, ...check }) => (wanted === undefined ? [] : [{ ...check, wanted }]));
  const ok = checks.every((check) => check.ok);
  const verification = { ok, exit_status: exit_code, checks };
  const made = { newId, now: time(Date.now()) };
  const artifact = artifactIn(node, { text: report, data: verification }, made);
  const shared: Partial<Outcome> = {
    text,
    artifacts: [artifact],
    verification,
    usage: ran?.usage ?? NO_USAGE,
    transcript: ran?.transcript ?? null,
    child_run_id: ran?.child_run_id ?? null,
    child_session_id: ran?.child_session_id ?? null,
    metadata: ran?.metadata ?? {},
    ...defined({ recorded: ran?.recorded, mocks_used: ran?.mocks_used }),
  };
  if (ok) return completed("verified", "passed", shared);
  if (unknown)
    return failed("failed", OUTCOME_UNKNOWN, `The node "${node.id}" lost its command. ${report}`, shared);
  const wrong = checks
    .filter((check) => !check.ok)
    .map(({ check, wanted }) => `${check} ${JSON.stringify(wanted)}`);
  const message = `The node "${node.id}" found ${wrong.join(" and ")} not fulfilled.`;
  return failed("failed", "verification_failed", message, shared);
}

/** Ends the command, if it has not ended, and waits until it has. */
export async function stopCommand(
  state: WorkflowState,
  node: Node,
  key: AttemptKey,
  place: CommandPlace,
): Promise<Outcome | null> {
  const execution = executionOf(state.spec.run_id, key);
  if (place.known.known(execution) === "nothing") return null;
  const { id } = await place.workspace.workspaceVersion();
  await stopRequests(place.context, id, [execution]);
  try {
    const { signal } = new AbortController();
    return verified(node, await ranCommand(state, node, key, { ...place, signal }, true));
  } catch (error) {
    // The runner refuses what was cancelled before it began.
    if (error instanceof HullError) return null;
    throw error;
  }
}

/** Ends the commands that a removed run may have at the runner. @param workspace id of the run's workspace */
export async function endCommands(
  state: WorkflowState,
  context: RunContext,
  workspace: string,
): Promise<void> {
  const { spec } = state;
  const commands = openAttempts(state).filter(
    ({ node }) => spec.graph.nodes[node]?.verify?.command !== undefined,
  );
  await stopRequests(
    context,
    workspace,
    commands.map((key) => executionOf(spec.run_id, key)),
  );
}
