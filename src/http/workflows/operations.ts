/** `POST /workflows/{operation}`: edits graphs, runs a task to its end, and handles workflow sessions. */
import {
  editBody,
  newSessionBody,
  ofSessionBody,
  persistBody,
  restoreBody,
  runSessionBody,
} from "../../api/bodies/workflows.ts";
import { diffGraphs, EDIT_OPERATIONS } from "../../engine/workflow/edit.ts";
import { memberInvalid } from "../../errors/member-invalid.ts";
import { BadPath, FileNotFound, InputInvalid, OperationNotFound } from "../../errors/request.ts";
import { Internal } from "../../errors.ts";
import { newId } from "../../llm/transcript.ts";
import { TRANSCRIPT_OPERATIONS } from "../../llm/transcript-operations/operations.ts";
import { clientWorkspace } from "../../run/session-client.ts";
import { type SessionParts, sessionDocument, sessionParts } from "../../run/workflow/session-document.ts";
import { readContent, writeFile } from "../../run/workspace/store.ts";
import { asJson } from "../../skill/json.ts";
import { parsedObject } from "../../skill/json-depth.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { nearest } from "../../skill/match.ts";
import { writeFault } from "../../tool/workspace-path.ts";
import { readJson } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow } from "../page.ts";
import type { Handler } from "../routes.ts";
import { MAX_FILE_BYTES, refusalOf } from "../sessions/files.ts";
import { sessionOf, shownNow } from "../sessions/object.ts";
import { transcriptAnswer } from "../transcripts.ts";
import { graphOf } from "./graphs.ts";
import { runOfPath } from "./run-request.ts";
import { postTaskRun } from "./runs.ts";

/** Operations other than those that edit one graph. */
const OTHERS: ReadonlyMap<string, (context: RequestContext) => Promise<Response>> = new Map([
  ["diff", postDiff],
  ["task_run", postTaskRun],
  ["session", postSession],
  ["session_new", postSessionNew],
  ["session_persist", postPersist],
  ["session_restore", postRestore],
  ...["fork", "archive", "resume", "compact", "reset"].map(
    (name) => [`session_${name}`, onTranscript(name)] as const,
  ),
]);

/** Sends the operation's result without an envelope. @throws OperationNotFound */
export const operateOnWorkflow: Handler = async (context, { name: asked = "" }) => {
  const name = asked.replace(/^workflow_/, "");
  const other = OTHERS.get(name);
  if (other !== undefined) return other(context);
  const operation = EDIT_OPERATIONS.get(name);
  if (operation === undefined) {
    const known = [...EDIT_OPERATIONS.keys(), ...OTHERS.keys()];
    throw new OperationNotFound({ on: "workflows", name, near: nearest(name, known, 3), known });
  }
  const { graph, ...input } = await readJson(context.request, editBody);
  return answered(
    operation(graphOf(needed("graph", graph)), input, { now: new Date().toISOString(), newId }),
  );
};

async function postDiff({ request }: RequestContext): Promise<Response> {
  const { left, right } = await readJson(request, editBody);
  return answered(diffGraphs(needed("left", left), needed("right", right), newId));
}

/** A graph of the body, which only some operations take. @throws InputInvalid if it is not there */
function needed(name: string, graph: Json | undefined): Json {
  if (graph === undefined) throw memberInvalid(name, "is required");
  return graph;
}

function answered(edited: ReturnType<typeof diffGraphs>): Response {
  if ("answer" in edited) return jsonNow(edited.answer);
  const [first = { path: "", message: "is invalid" }] = edited.faults;
  throw new InputInvalid({ reason: `${first.path}: ${first.message}`, errors: edited.faults });
}

function partsIn(given: JsonObject, path: string): SessionParts {
  const parts = sessionParts(given);
  if (parts === null) {
    const message = "is not a transcript, which is an object with _type and messages";
    throw memberInvalid(`${path}.transcript`, message);
  }
  if (parts.run === null && parts.transcript === null && given._type !== "workflow_session") {
    const accepted = "a run's record, an answer of execute or task_run, or a session";
    throw memberInvalid(path, `has neither a run nor a transcript; send ${accepted}`);
  }
  return parts;
}

const sessionAnswer = (context: RequestContext, parts: SessionParts): Response =>
  shownNow(context, sessionDocument(parts));

/** `session {result}`: the session in a run's record, or in the answer to a run. */
async function postSession(context: RequestContext): Promise<Response> {
  const { result } = await readJson(context.request, runSessionBody);
  return sessionAnswer(context, partsIn(result, "result"));
}

/** `session_new {metadata?}`: a session without a run. */
async function postSessionNew(context: RequestContext): Promise<Response> {
  const { metadata } = await readJson(context.request, newSessionBody);
  const nothing = { transcript: null, run: null, persisted_path: null, status: null };
  return sessionAnswer(
    context,
    await moved(context, nothing, "transcript", metadata === undefined ? {} : { metadata }),
  );
}

/** `session_<name> {session, …}`: applies that operation to the session's transcript; the rest stays as it is. */
function onTranscript(name: string): (context: RequestContext) => Promise<Response> {
  return async (context) => {
    const body = await readJson(context.request, ofSessionBody);
    const { session, ...given } = body;
    const parts = partsIn(session, "session");
    const options = asJson(given);
    const about = parts.transcript === null ? { messages: [] } : { transcript: asJson(parts.transcript) };
    return sessionAnswer(
      context,
      await moved(context, parts, name, name === "reset" ? options : { ...options, ...about }),
    );
  };
}

/** The session with the transcript that an operation returned. */
async function moved(
  context: RequestContext,
  parts: SessionParts,
  name: string,
  body: JsonObject,
): Promise<SessionParts> {
  const operation = TRANSCRIPT_OPERATIONS.get(name);
  if (operation === undefined) throw new Internal({ cause: `there is no operation ${name} on transcripts` });
  const transcript = asJson(await transcriptAnswer(context, operation, body));
  // The transcript differs from the stored one now.
  const { transcript: changed = null } = sessionParts({ transcript }) ?? {};
  return { ...parts, transcript: changed, persisted_path: null };
}

/**
 * `session_persist {session, path?}`: stores the session among the files of its run's session; it is removed with them.
 */
async function postPersist(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, persistBody);
  const parts = partsIn(body.session, "session");
  const { transcript, run } = parts;
  if (run === null || typeof run.id !== "string")
    throw memberInvalid("session", "has no run, among whose files it could be stored");
  const path = body.path ?? `sessions/${transcript?.id ?? "session"}.json`;
  const reason = writeFault(path);
  if (reason !== null) throw new BadPath({ path, reason });
  // A task's runs share its session.
  const owner = run.id.replace(/\.r\d+$/, "");
  const persisted_path = `${owner}/${path}`;
  const stored: SessionParts = { ...parts, run: { ...run, persisted_path }, persisted_path };
  const bytes = new TextEncoder().encode(JSON.stringify(sessionDocument(stored)));
  const intent = { path, expected: null, size: bytes.length };
  const workspace = clientWorkspace(sessionOf(context, owner));
  const written = await writeFile(context.env.FILES, workspace, intent, [bytes]);
  if ("refused" in written) throw refusalOf(written, path);
  return sessionAnswer(context, stored);
}

/** `session_restore {path}`: the `persisted_path` of a session or of a run's record, or the id of a run. */
async function postRestore(context: RequestContext): Promise<Response> {
  const { path: given } = await readJson(context.request, restoreBody);
  const whole = (await runOfPath(context, given)) ?? given;
  const [owner = "", ...rest] = whole.split("/");
  const session = sessionOf(context, owner);
  if (rest.length === 0)
    return sessionAnswer(context, partsIn(await session.ask("workflow", { wait: "none" }), "run"));
  const path = rest.join("/");
  const file = await clientWorkspace(session).findFile(path);
  const bytes =
    file === null || file.size > MAX_FILE_BYTES ? null : await readContent(context.env.FILES, file);
  if (bytes === null) throw new FileNotFound({ path });
  const document = parsedObject(new TextDecoder().decode(bytes));
  if (document?._type !== "workflow_session")
    throw memberInvalid("path", "names a file that is not a workflow session");
  return sessionAnswer(context, partsIn(document, "session"));
}
