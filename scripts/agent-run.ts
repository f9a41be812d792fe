/** Agent runs of a running Hull, as `hull run` and `hull chat` start them. */

import { type AdminClient, SERVER_FLAGS } from "./admin-client.ts";
import { printStream } from "./call/answer.ts";
import { EXIT, VALUE } from "./command.ts";

/** Flags of the commands that start runs. */
export const RUN_FLAGS = { ...SERVER_FLAGS, session: VALUE, provider: VALUE, model: VALUE, system: VALUE };

/** The body of a run, from the flags. @param skill slug of a served llm skill */
export const runBody = (
  { provider, model, system }: { [flag in "provider" | "model" | "system"]?: string | undefined },
  skill: string | undefined,
): object => ({ system, options: { skill, provider, model } });

/** A call that waits for a decision. */
export interface Approval {
  id: string;
  tool: string;
  arguments: unknown;
  arguments_digest: string;
  /** The session of the sub-agent that waits for the decision. Absent: the run's own. */
  session?: string;
}

/**
 * Runs an agent and prints its output as it arrives: text on stdout, tool calls on stderr.
 * @param path of the route that runs it
 * @param onApproval called for each call that waits for a decision
 * @returns the exit code
 */
export async function streamRun(
  server: AdminClient,
  path: string,
  body: object,
  onApproval: (approval: Approval) => void,
): Promise<number> {
  const answer = await server.open(path, body);
  let text = "";
  /** Sessions of sub-agents, by run. */
  const sessions = new Map<unknown, string>();
  const exit = await printStream(answer, {
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
          arguments: value.arguments,
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

/**
 * Cancels the run that is under way in a session; returns the run, or `null` if there is none.
 * @param session its path
 */
export async function cancelRun(server: AdminClient, session: string): Promise<{ run_id: string } | null> {
  const { run }: { run: { run_id: string } | null } = JSON.parse(await server.send("GET", session));
  return run && JSON.parse(await server.send("POST", `${session}/runs/${run.run_id}/cancel`, {}));
}

/** Decides a waiting call. Throws `CommandError` as `AdminClient.send` does. @param session path of the session */
export async function decide(
  server: AdminClient,
  session: string,
  { id, arguments_digest }: Pick<Approval, "id" | "arguments_digest">,
  decision: { decision: "approve" | "deny"; scope?: "session"; reason?: string },
): Promise<void> {
  const path = `${session}/approvals/${encodeURIComponent(id)}`;
  await server.send("POST", path, { ...decision, arguments_digest });
}
