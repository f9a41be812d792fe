/** Agent runs of a running Hull, as `hull run` and `hull chat` start them. */

import type { ApprovalDecision, EventData, RunRequest, SessionRun } from "../typed/client/api.d.ts";
import { type AdminClient, SERVER_FLAGS } from "./admin-client.ts";
import { printStream } from "./call/answer.ts";
import { EXIT, VALUE } from "./command.ts";

/** Flags of the commands that start runs. */
export const RUN_FLAGS = { ...SERVER_FLAGS, session: VALUE, provider: VALUE, model: VALUE, system: VALUE };

/** The body of a run, from the flags. @param skill slug of a served llm skill */
export const runBody = (
  { provider, model, system }: { [flag in "provider" | "model" | "system"]?: string | undefined },
  skill: string | undefined,
): Pick<RunRequest, "system" | "options"> => ({
  system,
  options: { skill: skill ?? null, provider: provider ?? null, model: model ?? null },
});

/** A call that waits for a decision. */
export interface Approval extends Pick<EventData["approval_request"], "id" | "tool" | "arguments_digest"> {
  /** The session of the sub-agent that waits for the decision. Absent: the run's own. */
  session?: string;
}

/**
 * Prints the output of an agent run as it arrives: text on stdout, tool calls on stderr.
 * @param begun the answer of the route that runs it
 * @param onApproval called for each call that waits for a decision
 * @returns the exit code
 */
export async function streamRun(
  begun: Promise<Response>,
  onApproval: (approval: Approval) => void,
): Promise<number> {
  let text = "";
  /** Sessions of sub-agents, by run. */
  const sessions = new Map<unknown, string>();
  const exit = await printStream(await begun, {
    json: false,
    onEvent(event, value, say) {
      const below = value.parent_run_id !== undefined;
      if (event === "delta" && typeof value.text === "string" && !below) text = value.text;
      if (event === "sub_agent_start") sessions.set(value.run_id, String(value.session_id));
      if (event === "approval_request") {
        const session = sessions.get(value.run_id);
        onApproval({
          ...(session === undefined ? {} : { session }),
          id: String(value.id),
          tool: String(value.tool),
          arguments_digest: String(value.arguments_digest),
        });
      }
      const { status } = value;
      if (event === "done" && typeof status === "string" && !/^(?:done|idle|awaiting_\w+)$/.test(status))
        say(`The run ended as ${status}.`);
    },
  });
  if (exit === EXIT.ok && !process.stdout.isTTY && !text.endsWith("\n")) process.stdout.write("\n");
  return exit;
}

/** Cancels the run that is under way in a session; returns the run, or `null` if there is none. */
export async function cancelRun(server: AdminClient, id: string): Promise<SessionRun | null> {
  const { run } = await server.ask("GET /sessions/{id}", { path: { id } }, { needs: ["run"] });
  return (
    run &&
    server.ask(
      "POST /sessions/{id}/runs/{run}/cancel",
      { path: { id, run: run.run_id } },
      { needs: ["run_id"] },
    )
  );
}

/** Decides a waiting call. Throws `CommandError` as `AdminClient.ask` does. @param session its id */
export async function decide(
  server: AdminClient,
  session: string,
  { id, arguments_digest }: Pick<Approval, "id" | "arguments_digest">,
  decision: Omit<ApprovalDecision, "arguments_digest">,
): Promise<void> {
  const path = { id: session, approval: id };
  await server.ask("POST /sessions/{id}/approvals/{approval}", {
    path,
    json: { ...decision, arguments_digest },
  });
}
