/** What the routes of runs, sessions, daemons, tasks, transcripts and model calls do. */
import {
  deleteDaemon,
  getDaemon,
  getDaemons,
  postRestart,
  postRestartAt,
  postStop,
  postWake,
} from "../daemons/daemons.ts";

import { postEvent } from "../daemons/events.ts";
import { postDaemon } from "../daemons/spawn.ts";

import {
  deleteExecution,
  getExecution,
  getExecutionEvents,
  getExecutionResult,
  getExecutionTrace,
} from "../executions.ts";

import { deleteFile, getFile, postFile } from "../files.ts";
import { postCall, postCompletion, postStream, postStructured } from "../operations.ts";
import { getArtifact, getArtifacts } from "../sessions/artifacts.ts";

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
} from "../sessions/changes.ts";
import {
  deleteSessionFile,
  getSessionFile,
  inWorkspace,
  listSessionFiles,
  putSessionFile,
} from "../sessions/files.ts";
import { getApprovals, postApproval, postFeedback, postMessage, postToolResult } from "../sessions/inbox.ts";
import {
  getEventList,
  getEvents,
  getRun,
  getRunEvents,
  getRuns,
  getRunTrace,
  postCancel,
  postNamedRun,
  postRun,
} from "../sessions/runs.ts";
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
} from "../sessions/sessions.ts";
import { postSubAgent, postTask } from "../tasks/spawn.ts";
import {
  getTask,
  getTasks,
  postTaskClose,
  postTaskInput,
  postTaskResume,
  postTaskTrigger,
  postTaskWait,
} from "../tasks/tasks.ts";
import { postTranscripts } from "../transcripts.ts";

export const HANDLERS = {
  uploadFile: postFile,
  getFile,
  deleteFile,
  getExecution,
  deleteExecution,
  getExecutionResult,
  getExecutionEvents,
  traceExecution: getExecutionTrace,
  runAgent: postNamedRun,
  callModel: postCall,
  streamModel: postStream,
  callStructured: postStructured,
  completeText: postCompletion,
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
  listSessionEvents: getEventList,
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
  listTasks: getTasks,
  spawnTask: postTask,
  waitForTasks: postTaskWait,
  resumeTask: postTaskResume,
  getTask,
  inputTask: postTaskInput,
  triggerTask: postTaskTrigger,
  closeTask: postTaskClose,
  runSubAgent: postSubAgent,
  listSessionFiles: inWorkspace(listSessionFiles),
  getSessionFile: inWorkspace(getSessionFile),
  putSessionFile: inWorkspace(putSessionFile),
  deleteSessionFile: inWorkspace(deleteSessionFile),
  operateOnTranscript: postTranscripts,
};
