/** What the effects of a session's run may read, store and send. */
import type { Deployment } from "../../deployment.ts";
import type { PreparedRun, RunEnvironment } from "../../run/agent/runtime.ts";
import { detachedContext } from "../../run/context.ts";
import type { RunEvent } from "../../run/events.ts";
import type { WorkspaceAccess } from "../../run/workspace/access.ts";
import type { Json } from "../../skill/manifest.ts";
import type { ConversationStore, SessionIdentity } from "./store.ts";

interface RunEnvironmentOptions {
  deployment: Deployment;
  background: (work: Promise<unknown>) => void;
  store: ConversationStore;
  workspace: WorkspaceAccess;
  session: SessionIdentity;
  run_id: string;
  request_id: string;
  mock_scope: string;
  /** Unix ms. */
  startedAt: number;
  emit: (event: RunEvent) => void;
  /** As JSON. */
  memo: string | null;
  remember: (value: Json) => void;
  prepared?: PreparedRun | null;
}

export function runEnvironment(options: RunEnvironmentOptions): RunEnvironment {
  const { deployment, background, store, workspace, session, run_id, request_id, mock_scope } = options;
  const { startedAt, emit, memo, remember, prepared = null } = options;
  const request = { requestId: request_id, mockScope: mock_scope, tenant: session.tenant, startedAt };
  return {
    run_id,
    session_id: session.id,
    workspace,
    context: prepared?.context ?? detachedContext(deployment, request, background),
    records: () => store.records(),
    artifact: (id) => store.artifacts.latest(id),
    emit,
    memo: memo === null ? null : JSON.parse(memo),
    remember,
    prepared,
    known: (execution) => store.submitted.known(execution),
    note: (execution, fact) => store.submitted.note(execution, fact),
  };
}
