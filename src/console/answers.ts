/**
 * The answers of the API operations that the console's pages call. Types only, because the handlers run in the same
 * process. The client's types follow from the API's schemas. A type that neither the client nor a handler exports lists
 * only the members that the pages read.
 */

import type { ApiKey } from "../auth/api-key.ts";
import type { Card, DaemonSnapshot, Daemons, Execution, SessionFiles } from "../client/api.ts";
import type { RunDocument } from "../engine/workflow/answers.ts";
import type { Graph } from "../engine/workflow/graph.ts";
import type { PublicMessage } from "../llm/messages.ts";
import type { Health } from "../model/health.ts";
import type { Version } from "../registry/versions.ts";
import type {
  ApprovalView,
  ArtifactEntry,
  ArtifactView,
  CompactedSession,
  RunSteps,
  SessionView,
} from "../session/conversation/answers.ts";
import type { UsageGroup } from "../session/ledger/rpc.ts";
import type { RunEntry, RunFigures } from "../session/run-entry.ts";
import type { SessionEntry } from "../session/session-entry.ts";
import type { KnownWorkflow, ListedRun } from "../session/workflow/listed.ts";
import type { ConfigParam } from "../skill/manifest.ts";

/** USD per million tokens. */
interface Rates {
  in: number;
  out: number;
  cache_read?: number;
  cache_write?: number;
}

/** `above`: of prompts with more tokens. */
export type ModelPrice = Rates & { above?: Rates & { tokens: number } };

/** A model, as `GET /llm/models?id=` shows it. */
export interface ModelFacts {
  id: string;
  provider: string;
  tier: string;
  tool_format: string;
  /** By name: a flag, a number, a text, or texts. `null`: unknown. */
  capabilities: Record<string, unknown>;
  /** Tokens; `null`: unknown. */
  context_window: number | null;
  /** `null`: unknown. */
  price: ModelPrice | null;
  /** A date; `null`: none is announced. */
  retires_at: string | null;
}

/** A page of a list. */
interface List<T> {
  data: T[];
  next_cursor: string | null;
}

export interface Provider {
  name: string;
  protocol: string;
  base_url: string | null;
  auth_env: string[];
  default_model: string | null;
  available: boolean;
}

export interface ToolConfig {
  params: ConfigParam[];
  values: Record<string, unknown>;
  sources: Record<string, string>;
}

/** One group of usage. The member named after the grouping holds its value; `null`: usage without such a value. */
export interface UsageRow extends Partial<Record<UsageGroup | "provider", string | null>> {
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  price_known: boolean;
}

export interface ShownBudget {
  scope: string;
  window: string;
  max_cost_usd?: number;
  max_input_tokens?: number;
  max_output_tokens?: number;
  spent: { cost_usd: number; input_tokens: number; output_tokens: number };
  resets_at: string | null;
}

/** By operation. */
export interface Answers {
  openapi: { paths: Record<string, Record<string, unknown>> };
  getCard: Card;
  listVersions: List<Version>;
  getConfig: { tools: Record<string, ToolConfig> };
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
  listWorkflows: List<KnownWorkflow>;
  getWorkflow: KnownWorkflow & { graph: Graph };
  getSkillWorkflow: KnownWorkflow & { graph: Graph };
  listWorkflowRuns: List<ListedRun>;
  getWorkflowRun: RunDocument;
  getUsage: List<UsageRow>;
  listBudgets: List<ShownBudget>;
  listProviders: List<Provider>;
  /** Another document if the query names a model. */
  listModels: List<string> | ModelFacts;
  checkProvider: Health;
  callModel: { text?: string };
  listKeys: List<ApiKey>;
  addKey: ApiKey & { key: string };
}
