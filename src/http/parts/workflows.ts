/** What the routes of workflows and their runs do. */
import { deleteWorkflow, getWorkflow, getWorkflows, postValidate, putWorkflow } from "../workflows/graphs.ts";
import { postOperation } from "../workflows/operations.ts";

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
  postWorkflowMigrate,
  postWorkflowPause,
  postWorkflowResume,
  postWorkflowSignal,
} from "../workflows/runs.ts";

export const HANDLERS = {
  validateWorkflow: postValidate,
  executeWorkflow: postExecute,
  listWorkflowRuns: getWorkflowRuns,
  getWorkflowRun,
  deleteWorkflowRun,
  followWorkflowRun: getWorkflowEvents,
  cancelWorkflowRun: postWorkflowCancel,
  killWorkflowRun: postWorkflowKill,
  migrateWorkflowRun: postWorkflowMigrate,
  pauseWorkflowRun: postWorkflowPause,
  resumeWorkflowRun: postWorkflowResume,
  forkWorkflowRun: postWorkflowFork,
  signalWorkflowRun: postWorkflowSignal,
  decideWorkflowApproval: postWorkflowApproval,
  listWorkflows: getWorkflows,
  getWorkflow,
  getSkillWorkflow: getWorkflow,
  putWorkflow,
  deleteWorkflow,
  operateOnWorkflow: postOperation,
};
