/** Where everything of a session is served. */
import type { App } from "../context.ts";
import { type Handler, mount } from "../routes.ts";
import { getArtifact, getArtifacts } from "./artifacts.ts";
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
} from "./changes.ts";
import { mountSessionFiles } from "./files.ts";
import { getApprovals, postApproval, postFeedback, postMessage, postToolResult } from "./inbox.ts";
import { getEvents, getRun, getRuns, postCancel, postRun } from "./runs.ts";
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
} from "./sessions.ts";

type Methods = { [method in "GET" | "POST" | "DELETE"]?: Handler };

const ROUTES: { [path: string]: Methods } = {
  "/sessions": { GET: getSessions, POST: postSession },
  "/sessions/:id": { GET: getSession, DELETE: deleteSession },
  "/sessions/:id/exists": { GET: getExists },
  "/sessions/:id/length": { GET: getLength },
  "/sessions/:id/ancestry": { GET: getAncestry },
  "/sessions/:id/messages": { GET: getMessages, POST: postMessage },
  "/sessions/:id/transcript": { GET: getTranscript },
  "/sessions/:id/cassette": { GET: getCassette },
  "/sessions/:id/events": { GET: getEvents },
  "/sessions/:id/reset": { POST: postReset },
  "/sessions/:id/trim": { POST: postTrim },
  "/sessions/:id/compact": { POST: postCompact },
  "/sessions/:id/inject": { POST: postInject },
  "/sessions/:id/fork": { POST: postFork },
  "/sessions/:id/fork-at": { POST: postForkAt },
  "/sessions/:id/archive": { POST: postArchive },
  "/sessions/:id/abandon": { POST: postAbandon },
  "/sessions/:id/close": { POST: postClose },
  "/sessions/:id/resume": { POST: postResume },
  "/sessions/:id/feedback": { POST: postFeedback },
  "/sessions/:id/tool-results": { POST: postToolResult },
  "/sessions/:id/artifacts": { GET: getArtifacts },
  "/sessions/:id/artifacts/:artifact": { GET: getArtifact },
  "/sessions/:id/approvals": { GET: getApprovals },
  "/sessions/:id/approvals/:approval": { POST: postApproval },
  "/sessions/:id/runs": { GET: getRuns, POST: postRun },
  "/sessions/:id/runs/:run": { GET: getRun },
  "/sessions/:id/runs/:run/cancel": { POST: postCancel },
};

export function mountSessions(app: App): void {
  for (const [path, methods] of Object.entries(ROUTES)) mount(app, path, { scope: "invoke", methods });
  mountSessionFiles(app);
}
