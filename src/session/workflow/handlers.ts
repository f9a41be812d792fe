/** The operations of a session's workflow run, by name (`rpc.ts`). */
import {
  type ActiveStages,
  type ChildSession,
  runDocument,
  visitName,
} from "../../engine/workflow/document.ts";
import { migrationErrors } from "../../engine/workflow/migrate.ts";
import { openAttempts } from "../../engine/workflow/next.ts";
import type { WorkflowState } from "../../engine/workflow/state.ts";
import {
  WorkflowEnded,
  WorkflowMisfit,
  WorkflowNotWaiting,
  WorkflowQueueFull,
} from "../../errors/workflow.ts";
import { sessionClient } from "../../run/session-client.ts";
import { childRun, stageSession } from "../../run/workflow/attempt.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RunView } from "../conversation/answers.ts";
import { type Conversation, onKind } from "../conversation/conversation.ts";
import type { Handlers } from "../conversation/rpc.ts";
import { type Named, nameAndContent } from "../named-request.ts";
import { MAX_ROW_WAIT_MS, waitAtMost } from "../wait-at-most.ts";
import type { WorkflowOperations } from "./rpc.ts";
import type { Workflow } from "./workflow.ts";

/**
 * The most events that wait for a node, and the most characters of their JSON: the run's object holds them in memory.
 */
const MAX_WAITING = 1000;
const MAX_WAITING_CHARACTERS = 8 * 1024 * 1024;

export function workflowHandlers(
  conversation: Conversation,
  workflow: Workflow,
): Handlers<WorkflowOperations> {
  const { log } = conversation;
  const document = (active = activeStages(workflow.state())): JsonObject =>
    log.answered(runDocument(workflow.state(), active));
  const onRun = onKind(conversation, "workflow run", () => {
    const { spec } = workflow.state();
    workflow.look();
    return spec.run_id;
  });
  /** Changes a run that has not ended, once for each request. */
  const change = <T>({ request }: Named, run: string, work: () => T): T =>
    conversation.once(request, () => {
      const { finished } = workflow.state();
      if (finished !== null) throw new WorkflowEnded({ run, status: finished.status });
      return work();
    });
  /** Wraps an operation that only changes such a run. */
  const changes = <I extends Named>(work: (input: I, run: string) => void) =>
    onRun((input: I, run) => {
      change(input, run, () => work(input, run));
      return document();
    });
  return {
    beginWorkflow: async ({ spec, account, request }, caller) => {
      const metadata = { workflow: spec.workflow?.name ?? spec.graph.name };
      const fork = nameAndContent(request);
      await conversation.open(caller, { metadata, request_hash: fork, imported: null, fork });
      const { request_id, mock_scope } = caller;
      conversation.once(request, () => {
        if (!workflow.here) workflow.begin(spec, { account, request_id, mock_scope });
      });
      workflow.look();
      await Promise.all([waitAtMost(workflow.index(), MAX_ROW_WAIT_MS), conversation.listing.written()]);
      return document();
    },
    workflow: onRun(async ({ wait }) => {
      if (wait === "terminal") await workflow.ended();
      return document(await waitingStages(conversation, workflow.state()));
    }),
    pauseWorkflow: changes(() => {
      if (!workflow.state().paused) workflow.note([{ type: "paused", at: workflow.now() }]);
    }),
    resumeWorkflow: changes(() => {
      if (workflow.state().paused) workflow.note([{ type: "resumed", at: workflow.now() }]);
    }),
    migrateWorkflow: changes(({ to }, run) => {
      const errors = migrationErrors(workflow.state(), to.graph);
      if (errors.length > 0) throw new WorkflowMisfit({ run, errors });
      workflow.note([{ type: "migrated", at: workflow.now(), ...to }]);
    }),
    stopWorkflow: changes(({ kill, reason }) => {
      const { stopped } = workflow.state();
      // A kill also stops the compensations.
      if (stopped === null || (kill && !stopped.kill))
        workflow.note([{ type: "stopped", at: workflow.now(), kill, reason }]);
    }),
    workflowEvent: onRun((input, run) => {
      const queued_events = change(input, run, () => {
        const { name, key, payload } = input;
        const event = { at: workflow.now(), id: crypto.randomUUID(), name, key, payload };
        const waiting = [...workflow.state().events, event];
        if (waiting.length > MAX_WAITING || JSON.stringify(waiting).length > MAX_WAITING_CHARACTERS)
          throw new WorkflowQueueFull({ run });
        workflow.note([{ type: "event", ...event }]);
        return workflow.state().events.length;
      });
      return { ...document(), queued_events };
    }),
    answerWorkflow: onRun(async (input, run) => {
      change(input, run, () => {
        const { node, granted, by, reason } = input;
        const waits = workflow.state().visits.find((one) => one.node === node && one.wait?.approval != null);
        if (waits === undefined) throw new WorkflowNotWaiting({ run, node });
        const { visit } = waits;
        workflow.note([{ type: "answered", at: workflow.now(), node, visit, granted, by, reason }]);
      });
      // After the answer, the caller finds in the lists that the run no longer waits.
      await waitAtMost(workflow.index(), MAX_ROW_WAIT_MS);
      return document();
    }),
  };
}

/** The most sessions to ask for one record of a run. A map may have more under way. */
const MOST_ASKED = 32;

/** The sessions, without what they wait for; none if the run has ended. */
function activeStages(state: WorkflowState): ActiveStages {
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
async function waitingStages(conversation: Conversation, state: WorkflowState): Promise<ActiveStages> {
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
