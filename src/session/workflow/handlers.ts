/** The operations of a session's workflow run, by name (`rpc.ts`). */
import { runDocument } from "../../engine/workflow/document.ts";
import { migrationErrors } from "../../engine/workflow/migrate.ts";
import { WorkflowEnded, WorkflowMisfit, WorkflowNotWaiting } from "../../errors/workflow.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { Handlers, SessionCaller } from "../conversation/rpc.ts";
import { nameAndContent } from "../named-request.ts";
import { MAX_ROW_WAIT_MS, waitAtMost } from "../wait-at-most.ts";
import { activeStages, waitingStages } from "./active-stages.ts";
import type { WorkflowOperations } from "./rpc.ts";
import type { Workflow } from "./workflow.ts";

export function workflowHandlers(
  conversation: Conversation,
  workflow: Workflow,
): Handlers<WorkflowOperations> {
  const { log } = conversation;
  const document = (active = activeStages(workflow.state())): JsonObject =>
    log.answered(runDocument(workflow.state(), active));
  /** Wraps an operation on a run that must exist. */
  const within404 =
    <I>(work: (input: I) => JsonObject | Promise<JsonObject>) =>
    async (input: I, caller: SessionCaller): Promise<JsonObject> => {
      await conversation.ready(caller, "workflow run");
      workflow.state();
      workflow.look();
      return work(input);
    };
  const under = (id: string): void => {
    const { finished } = workflow.state();
    if (finished !== null) throw new WorkflowEnded({ run: id, status: finished.status });
  };
  const runId = (): string => workflow.state().spec.run_id;
  return {
    beginWorkflow: async ({ spec, account, request }, caller) => {
      const metadata = { workflow: spec.workflow?.name ?? spec.graph.name };
      const fork = nameAndContent(request);
      await conversation.open(caller, { metadata, request_hash: null, imported: null, fork });
      const { request_id, mock_scope } = caller;
      conversation.once(request, () => {
        if (!workflow.here) workflow.begin(spec, { account, request_id, mock_scope });
        return null;
      });
      workflow.look();
      await Promise.all([waitAtMost(workflow.index(), MAX_ROW_WAIT_MS), conversation.listing.written()]);
      return document();
    },
    workflow: within404(async ({ wait }) => {
      if (wait === "terminal") await workflow.ended();
      return document(await waitingStages(conversation, workflow.state()));
    }),
    pauseWorkflow: within404(({ request }) => {
      conversation.once(request, () => {
        under(runId());
        if (!workflow.state().paused) workflow.note([{ type: "paused", at: workflow.now() }]);
        return null;
      });
      return document();
    }),
    resumeWorkflow: within404(({ request }) => {
      conversation.once(request, () => {
        under(runId());
        if (workflow.state().paused) workflow.note([{ type: "resumed", at: workflow.now() }]);
        return null;
      });
      return document();
    }),
    migrateWorkflow: within404(({ to, request }) => {
      conversation.once(request, () => {
        under(runId());
        const errors = migrationErrors(workflow.state(), to.graph);
        if (errors.length > 0) throw new WorkflowMisfit({ run: runId(), errors });
        workflow.note([{ type: "migrated", at: workflow.now(), ...to }]);
        return null;
      });
      return document();
    }),
    stopWorkflow: within404(({ kill, reason, request }) => {
      conversation.once(request, () => {
        under(runId());
        const { stopped } = workflow.state();
        // A kill also stops the compensations.
        if (stopped === null || (kill && !stopped.kill))
          workflow.note([{ type: "stopped", at: workflow.now(), kill, reason }]);
        return null;
      });
      return document();
    }),
    workflowEvent: within404(({ name, key, payload, request }) => {
      const id = conversation.once(request, () => {
        under(runId());
        workflow.note([{ type: "event", at: workflow.now(), id: crypto.randomUUID(), name, key, payload }]);
        return workflow.state().events.length;
      });
      return { ...document(), queued_events: id };
    }),
    answerWorkflow: within404(async ({ node, granted, by, reason, request }) => {
      conversation.once(request, () => {
        under(runId());
        const visit = workflow.state().visits.find((one) => one.node === node && one.wait?.approval != null);
        if (visit === undefined) throw new WorkflowNotWaiting({ run: runId(), node });
        workflow.note([
          { type: "answered", at: workflow.now(), node, visit: visit.visit, granted, by, reason },
        ]);
        return null;
      });
      // After the answer, the caller finds in the lists that the run no longer waits.
      await waitAtMost(workflow.index(), MAX_ROW_WAIT_MS);
      return document();
    }),
  };
}
