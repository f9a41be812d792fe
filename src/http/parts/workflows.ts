/** What the routes of workflows and their runs do. */
import * as graphs from "../workflows/graphs.ts";
import * as operations from "../workflows/operations.ts";
import * as runs from "../workflows/runs.ts";

export const HANDLERS = { ...graphs, getSkillWorkflow: graphs.getWorkflow, ...operations, ...runs };
