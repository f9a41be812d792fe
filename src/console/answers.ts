/**
 * The answers of the API operations that the console's pages call. Types only, because the handlers run in the same
 * process. The client's types follow from the API's schemas. A type that neither the client nor a handler exports lists
 * only the members that the pages read.
 */

import type { Card, DaemonSnapshot, Daemons, Execution, SessionFiles } from "../../typed/client/api.d.ts";
import type { Model, ModelProvider } from "../api/answers/models.ts";
import type { ShownConfig } from "../api/answers/skills.ts";
import type { Budget, Usage } from "../api/answers/spending.ts";
import type { ApiKey } from "../auth/api-key.ts";
import type { RunDocument } from "../engine/workflow/answers.ts";
import type { Graph } from "../engine/workflow/graph.ts";
import type { PublicMessage } from "../llm/messages.ts";
import type { Health } from "../model/health.ts";
import type { McpServerEntry, Version } from "../registry/answers.ts";
import type {
  ApprovalView,
  ArtifactEntry,
  ArtifactView,
  CompactedSession,
  RunSteps,
  SessionView,
} from "../session/conversation/answers.ts";
import type { DaemonWake } from "../session/daemon/answers.ts";
import type { RunEntry, RunFigures } from "../session/run-entry.ts";
import type { SessionEntry } from "../session/session-entry.ts";
import type { KnownWorkflow, ListedRun } from "../session/workflow/listed.ts";

/** A page of a list. */
interface List<T> {
  data: T[];
  next_cursor: string | null;
}

/** By operation. */
export interface Answers {
  openapi: { paths: Record<string, Record<string, unknown>> };
  getCard: Card;
  listVersions: List<Version>;
  getConfig: ShownConfig;
  listAllRuns: List<RunEntry>;
  getIndexedRun: RunEntry;
  getRunFigures: { data: RunFigures[] };
  getExecution: Execution;
  traceExecution: RunSteps;
  traceRun: RunSteps;
  listSessions: List<SessionEntry>;
  openSession: SessionView;
  getSession: SessionView;
  forkSession: SessionView;
  compactSession: CompactedSession;
  forkSessionAt: SessionView;
  listMessages: List<PublicMessage>;
  listSessionEvents: List<{ id: string; event: string; data: unknown }>;
  listSessionFiles: SessionFiles;
  listArtifacts: List<ArtifactEntry>;
  getArtifact: ArtifactView;
  listApprovals: List<ApprovalView>;
  listDaemons: Daemons;
  getDaemon: DaemonSnapshot;
  listDaemonWakes: List<DaemonWake>;
  listWorkflows: List<KnownWorkflow>;
  getWorkflow: KnownWorkflow & { graph: Graph };
  getSkillWorkflow: KnownWorkflow & { graph: Graph };
  listWorkflowRuns: List<ListedRun>;
  getWorkflowRun: RunDocument;
  getUsage: List<Usage>;
  listBudgets: List<Budget>;
  listProviders: List<ModelProvider>;
  /** Another document if the query names a model. */
  listModels: List<string> | Model;
  checkProvider: Health;
  callModel: { text?: string };
  listKeys: List<ApiKey>;
  listMcpServers: { data: McpServerEntry[] };
  addKey: ApiKey & { key: string };
}
