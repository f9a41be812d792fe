/** Errors of workflows. */
import { define } from "../errors.ts";

/** A fault of a graph: its path, and the node if there is one. */
interface GraphFault {
  path: string;
  message: string;
  node?: string;
}

/** The messages of the first five. */
function firstOf(errors: readonly GraphFault[]): string {
  const shown = errors.slice(0, 5).map(({ message }) => message);
  return [...shown, ...(errors.length > 5 ? [`And ${errors.length - 5} more.`] : [])].join(" ");
}

export const WorkflowInvalid = define<{ errors: readonly GraphFault[] }>(
  "workflow_invalid",
  422,
  ({ errors }) => ({
    title: "Invalid workflow",
    detail: `Hull cannot execute the graph: ${firstOf(errors)} POST /workflows/validate lists all of them.`,
    members: { errors },
  }),
);

/** `errors`: where the graph does not fit what the run has already done. */
export const WorkflowMisfit = define<{ run: string; errors: readonly GraphFault[] }>(
  "workflow_misfit",
  409,
  ({ run, errors }) => ({
    title: "Graph does not fit the run",
    detail: `The workflow run "${run}" cannot continue with this graph: ${firstOf(errors)} Fork the run from a node instead.`,
    members: { errors },
  }),
);

export const WorkflowEnded = define<{ run: string; status: string }>(
  "workflow_ended",
  409,
  ({ run, status }) => ({
    title: "Workflow run has ended",
    detail: `The workflow run "${run}" has ended as ${status}. POST /workflows/runs/${run}/fork begins another one from one of its nodes.`,
    members: { status },
  }),
);

export const WorkflowRunning = define<{ run: string }>("workflow_running", 409, ({ run }) => ({
  title: "Workflow run is under way",
  detail: `The workflow run "${run}" has not ended, so a run that continues it would do the same a second time. Wait for its end or cancel it. POST /workflows/runs/${run}/resume continues a paused run; POST /workflows/runs/${run}/fork begins another one from one of its nodes.`,
}));

export const WorkflowNotWaiting = define<{ run: string; node: string }>(
  "workflow_not_waiting",
  409,
  ({ run, node }) => ({
    title: "Node does not wait",
    detail: `The node "${node}" of the workflow run "${run}" does not wait for an approval now. GET /workflows/runs/${run} says what the run does.`,
  }),
);

export const WorkflowQueueFull = define<{ run: string }>("workflow_queue_full", 429, ({ run }) => ({
  title: "Queue of the workflow run full",
  detail: `No node of the workflow run "${run}" has taken its earlier signals yet, and they are as many as Hull keeps. Hull did not store this one; send it again later.`,
  retry_after_s: 1,
}));

export const ReplayMismatch = define<{ detail: string }>("replay_mismatch", 409, ({ detail }) => ({
  title: "Replay does not fit",
  detail,
}));
