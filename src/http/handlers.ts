/** What each operation of the fixed routes does. */
import type { OperationId } from "../skill/fixed-routes.ts";
import { deleteBudget, getBudget, getBudgets, putBudget } from "./budgets.ts";
import type { ConsoleOperation } from "./console.ts";
import {
  deleteDaemon,
  getDaemon,
  getDaemons,
  postRestart,
  postRestartAt,
  postStop,
  postWake,
} from "./daemons/daemons.ts";
import { postEvent } from "./daemons/events.ts";
import { postDaemon } from "./daemons/spawn.ts";
import { getDiscoveryArchive, getDiscoveryFile, getDiscoveryIndex, getLlmsText } from "./discovery/routes.ts";
import { docsFile } from "./docs.ts";
import {
  deleteExecution,
  getExecution,
  getExecutionEvents,
  getExecutionResult,
  getExecutionTrace,
} from "./executions.ts";
import { deleteFile, getFile, postFile } from "./files.ts";
import { healthz, readyz } from "./health.ts";
import { deleteKey, getKeys, postKey } from "./keys.ts";
import { deleteCapabilities, getCapabilities, putCapabilities } from "./llm/capabilities.ts";
import { deleteMocks, getMockCalls, postMocks } from "./llm/mocks.ts";
import { getCost, getInferred, getInfo, getModels, getPick, getResolved, getTier } from "./llm/models.ts";
import { getAvailableProviders, getProvider, getProviderHealth, getProviders } from "./llm/providers.ts";
import { getRateLimit, putRateLimit } from "./llm/rate-limit.ts";
import {
  deleteSoftBudget,
  getSessionCost,
  getSoftBudget,
  getTotalUsage,
  putSoftBudget,
} from "./llm/spending.ts";
import { postMcp } from "./mcp/endpoint.ts";
import { getMetrics } from "./metrics.ts";
import { getOpenapi } from "./openapi.ts";
import { postCall, postCompletion, postStream, postStructured } from "./operations.ts";
import { listObjects, publishCatalog, putBundle } from "./publish.ts";
import type { Handler } from "./routes.ts";
import { getAllRuns, getIndexedRun, getRunFigures } from "./run-index.ts";
import { getArtifact, getArtifacts } from "./sessions/artifacts.ts";
import {
  postAbandon,
  postArchive,
  postClose,
  postCompact,
  postFork,
  postForkAt,
  postInject,
  postReset,
  postResume,
  postTrim,
} from "./sessions/changes.ts";
import {
  deleteSessionFile,
  getSessionFile,
  inWorkspace,
  listSessionFiles,
  putSessionFile,
} from "./sessions/files.ts";
import { getApprovals, postApproval, postFeedback, postMessage, postToolResult } from "./sessions/inbox.ts";
import {
  getEvents,
  getRun,
  getRunEvents,
  getRuns,
  getRunTrace,
  postCancel,
  postNamedRun,
  postRun,
} from "./sessions/runs.ts";
import {
  deleteSession,
  getAncestry,
  getCassette,
  getExists,
  getLength,
  getMessages,
  getSession,
  getSessions,
  getTranscript,
  postSession,
} from "./sessions/sessions.ts";
import { postSignIn, postSignOut, showSignIn } from "./sign-in.ts";
import { listSkills } from "./skills/cards.ts";
import { getConfig, putConfig } from "./skills/config.ts";
import { cardRoute } from "./skills/routes.ts";
import { skillVersions } from "./skills/versions.ts";
import { postTranscripts } from "./transcripts.ts";
import { deleteSkill, getUploads, putSkill } from "./uploads.ts";
import { getUsage } from "./usage.ts";

import { postChatCompletions } from "./v1/chat.ts";
import {
  deleteStoredFile,
  getStoredFile,
  getStoredFileContent,
  getStoredFiles,
  postStoredFile,
} from "./v1/files/routes.ts";
import { postCountTokens, postMessages } from "./v1/messages.ts";
import { getModel, getModelList } from "./v1/models.ts";
import {
  deleteStoredSkill,
  deleteVersion,
  getContent,
  getDefaultContent,
  getSkill,
  getSkills,
  getVersion,
  getVersions,
  postDefault,
  postSkill,
  postVersion,
} from "./v1/skills/routes.ts";
import {
  deleteWorkflow,
  getWorkflow,
  getWorkflows,
  postOperation,
  postValidate,
  putWorkflow,
} from "./workflows/graphs.ts";
import {
  deleteWorkflowRun,
  getWorkflowEvents,
  getWorkflowRun,
  getWorkflowRuns,
  postExecute,
  postWorkflowApproval,
  postWorkflowCancel,
  postWorkflowFork,
  postWorkflowKill,
  postWorkflowPause,
  postWorkflowResume,
  postWorkflowSignal,
} from "./workflows/runs.ts";

export const HANDLERS: { readonly [id in Exclude<OperationId, ConsoleOperation>]: Handler } = {
  showSignIn,
  signIn: postSignIn,
  signOut: postSignOut,
  healthz,
  readyz,
  metrics: getMetrics,
  openapi: getOpenapi,
  getLlmsText,
  getDiscoveryIndex,
  getDiscoveryArchive,
  getDiscoveryFile,
  docsFile,
  listSkills,
  getCard: cardRoute,
  uploadFile: postFile,
  getFile,
  deleteFile,
  getExecution,
  deleteExecution,
  getExecutionResult,
  getExecutionEvents,
  traceExecution: getExecutionTrace,
  listObjects,
  putObjects: putBundle,
  publishCatalog,
  listKeys: getKeys,
  addKey: postKey,
  revokeKey: deleteKey,
  mcp: postMcp,
  getConfig,
  putConfig,
  runAgent: postNamedRun,
  listAllRuns: getAllRuns,
  getRunFigures,
  getIndexedRun,
  callModel: postCall,
  streamModel: postStream,
  callStructured: postStructured,
  completeText: postCompletion,
  getModelInfo: getInfo,
  listModels: getModels,
  resolveModel: getResolved,
  inferProvider: getInferred,
  tierOfModel: getTier,
  pickModel: getPick,
  priceTokens: getCost,
  getCapabilities,
  putCapabilities,
  deleteCapabilities,
  listProviders: getProviders,
  listAvailableProviders: getAvailableProviders,
  getProvider,
  checkProvider: getProviderHealth,
  getUsage,
  listBudgets: getBudgets,
  getBudget,
  putBudget,
  deleteBudget,
  getTotalUsage,
  getSessionCost,
  getSoftBudget,
  putSoftBudget,
  deleteSoftBudget,
  getRateLimit,
  putRateLimit,
  queueMocks: postMocks,
  clearMocks: deleteMocks,
  listMockCalls: getMockCalls,
  listSessions: getSessions,
  openSession: postSession,
  getSession,
  deleteSession,
  sessionExists: getExists,
  sessionLength: getLength,
  sessionAncestry: getAncestry,
  listMessages: getMessages,
  sendMessage: postMessage,
  getTranscript,
  getCassette,
  followSession: getEvents,
  resetSession: postReset,
  trimSession: postTrim,
  compactSession: postCompact,
  injectMessage: postInject,
  forkSession: postFork,
  forkSessionAt: postForkAt,
  archiveSession: postArchive,
  abandonSession: postAbandon,
  closeSession: postClose,
  resumeSession: postResume,
  sendFeedback: postFeedback,
  answerToolCall: postToolResult,
  listArtifacts: getArtifacts,
  getArtifact,
  listApprovals: getApprovals,
  decideApproval: postApproval,
  listRuns: getRuns,
  startRun: postRun,
  getRun,
  traceRun: getRunTrace,
  followRun: getRunEvents,
  cancelRun: postCancel,
  listDaemons: getDaemons,
  spawnDaemon: postDaemon,
  resumeDaemonAt: postRestartAt,
  getDaemon,
  deleteDaemon,
  sendEvent: postEvent,
  wakeDaemon: postWake,
  stopDaemon: postStop,
  resumeDaemon: postRestart,
  listSessionFiles: inWorkspace(listSessionFiles),
  getSessionFile: inWorkspace(getSessionFile),
  putSessionFile: inWorkspace(putSessionFile),
  deleteSessionFile: inWorkspace(deleteSessionFile),
  validateWorkflow: postValidate,
  executeWorkflow: postExecute,
  listWorkflowRuns: getWorkflowRuns,
  getWorkflowRun,
  deleteWorkflowRun,
  followWorkflowRun: getWorkflowEvents,
  cancelWorkflowRun: postWorkflowCancel,
  killWorkflowRun: postWorkflowKill,
  pauseWorkflowRun: postWorkflowPause,
  resumeWorkflowRun: postWorkflowResume,
  forkWorkflowRun: postWorkflowFork,
  signalWorkflowRun: postWorkflowSignal,
  decideWorkflowApproval: postWorkflowApproval,
  listWorkflows: getWorkflows,
  getWorkflow,
  putWorkflow,
  deleteWorkflow,
  operateOnWorkflow: postOperation,
  operateOnTranscript: postTranscripts,
  listVersions: skillVersions,
  listUploads: getUploads,
  putSkill,
  deleteSkill,
  createMessage: postMessages,
  countMessageTokens: postCountTokens,
  createChatCompletion: postChatCompletions,
  listV1Models: getModelList,
  getV1Model: getModel,
  listStoredSkills: getSkills,
  createStoredSkill: postSkill,
  getStoredSkill: getSkill,
  updateStoredSkill: postDefault,
  deleteStoredSkill,
  getStoredSkillContent: getDefaultContent,
  listStoredSkillVersions: getVersions,
  createStoredSkillVersion: postVersion,
  getStoredSkillVersion: getVersion,
  deleteStoredSkillVersion: deleteVersion,
  getStoredSkillVersionContent: getContent,
  listStoredFiles: getStoredFiles,
  createStoredFile: postStoredFile,
  getStoredFile,
  deleteStoredFile,
  getStoredFileContent,
};
