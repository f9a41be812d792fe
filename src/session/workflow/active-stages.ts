/**
 * The sessions of a workflow's stages under way, and what their runs wait for. The journal does not contain that; the
 * stages' own records do.
 */
import { type ActiveStages, type ChildSession, visitName } from "../../engine/workflow/document.ts";
import { openAttempts } from "../../engine/workflow/next.ts";
import type { WorkflowState } from "../../engine/workflow/state.ts";
import { sessionClient } from "../../run/session-client.ts";
import { childRun, stageSession } from "../../run/workflow/attempt.ts";
import type { RunView } from "../conversation/answers.ts";
import type { Conversation } from "../conversation/conversation.ts";

/** The most sessions to ask for one record of a run. A map may have more under way. */
const MOST_ASKED = 32;

/** The sessions, without what they wait for; none if the run has ended. */
export function activeStages(state: WorkflowState): ActiveStages {
  const active = new Map<string, ChildSession[]>();
  if (state.finished !== null) return active;
  for (const key of openAttempts(state)) {
    const { kind, mode, verify } = state.spec.graph.nodes[key.node] ?? {};
    // The command of a verify node has no session.
    if (kind === "verify" && (mode !== "agent" || verify?.command !== undefined)) continue;
    const session = stageSession(state.spec.run_id, key);
    active.set(visitName(key), [...(active.get(visitName(key)) ?? []), { session, awaits: null }]);
  }
  return active;
}

/** The sessions with what each of them waits for. A session that does not answer counts as running. */
export async function waitingStages(conversation: Conversation, state: WorkflowState): Promise<ActiveStages> {
  const context = conversation.context();
  const asked = [...activeStages(state)].flatMap(([visit, below]) => below.map((one) => ({ visit, ...one })));
  const answers = await Promise.all(
    asked.slice(0, MOST_ASKED).map(async ({ visit, session }) => {
      const view = await sessionClient(context, session)
        .ask("run", { run_id: childRun(session) })
        .catch(() => null);
      return { visit, session, awaits: view === null ? null : awaits(view) };
    }),
  );
  const known = new Map<string, ChildSession[]>();
  for (const { visit, ...one } of [...answers, ...asked.slice(MOST_ASKED)])
    known.set(visit, [...(known.get(visit) ?? []), one]);
  return known;
}

function awaits({ status, approvals = [], awaiting = [] }: RunView): string | null {
  if (status === "awaiting_approval")
    return `for somebody to approve ${approvals.map(({ tool }) => tool).join(", ")}`;
  if (status === "awaiting_tool")
    return `for a client to answer ${awaiting.map(({ name }) => name).join(", ")}`;
  return null;
}
