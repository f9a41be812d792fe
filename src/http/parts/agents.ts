/** What the routes of runs, sessions, daemons, tasks, transcripts and model calls do. */
import * as daemons from "../daemons/daemons.ts";
import * as events from "../daemons/events.ts";
import * as daemonSpawn from "../daemons/spawn.ts";
import * as executions from "../executions.ts";
import * as files from "../files.ts";
import * as operations from "../operations.ts";
import * as artifacts from "../sessions/artifacts.ts";
import * as changes from "../sessions/changes.ts";
import * as sessionFiles from "../sessions/files.ts";
import * as inbox from "../sessions/inbox.ts";
import * as runs from "../sessions/runs.ts";
import * as sessions from "../sessions/sessions.ts";
import * as taskSpawn from "../tasks/spawn.ts";
import * as tasks from "../tasks/tasks.ts";
import * as transcripts from "../transcripts.ts";

export const HANDLERS = {
  ...artifacts,
  ...changes,
  ...daemons,
  ...daemonSpawn,
  ...events,
  ...executions,
  ...files,
  ...inbox,
  ...operations,
  ...runs,
  ...sessionFiles,
  ...sessions,
  ...tasks,
  ...taskSpawn,
  ...transcripts,
};
