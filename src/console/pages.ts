/** The console's paths: the page of each, and the action of each form. */

import { html } from "hono/html";
import { NotFound } from "../errors/request.ts";
import { toHullError } from "../errors.ts";
import { type Api, apiOf, formOf, type Host, keyOf, type Operation } from "./api.ts";
import { approvalsPage, decideApproval } from "./approvals-page.ts";
import { artifactFile, artifactPage, artifactView } from "./artifact-page.ts";
import { daemonPage, daemonsPage, sendEvent } from "./daemons-page.ts";
import { eventsPage } from "./events-page.ts";
import { keysPage, makeKey } from "./keys-page.ts";
import { linkAbove, type Page, seeOther, shownPage } from "./layout.ts";
import { mcpPage } from "./mcp-page.ts";
import { checkProvider, modelsPage, testCall } from "./models-page.ts";
import { problemMembers } from "./problem.ts";
import { referencePage } from "./reference-page.ts";
import { cancelRun, runAnswer, runCassette, runEval, runEvents, runPage } from "./run-page.ts";
import { runsPage } from "./runs-page.ts";
import SCRIPT from "./script.js?raw";
import {
  compactSession,
  deleteSession,
  downloadFile,
  forkSession,
  saySomething,
  sessionPage,
  sessionRunEvents,
  uploadFile,
} from "./session-page.ts";
import { openSession, sessionsPage } from "./sessions-page.ts";
import { saveConfig } from "./skill-config.ts";
import { rollBack, skillPage, trySkill } from "./skill-page.ts";
import { skillsPage } from "./skills-page.ts";
import STYLE from "./style.css?raw";
import { removeBudget, setBudget, usagePage } from "./usage-page.ts";
import {
  decideWorkflow,
  forkWorkflow,
  killWorkflowRun,
  resumeWorkflowRun,
  signalWorkflow,
  workflowRecord,
  workflowRunPage,
} from "./workflow-run-page.ts";
import { runWorkflow, workflowPage, workflowsPage } from "./workflows-page.ts";

type Params = readonly string[];
type Show = (api: Api, ...params: string[]) => Promise<Page>;
type Read = (api: Api, ...params: string[]) => Promise<Response>;
type Act = (api: Api, fields: FormData, ...params: string[]) => Promise<Response>;

/** The action of a form without fields, which asks for one operation on what the path names. */
const asks =
  (operation: Operation): Act =>
  async (api, _, id = "") => {
    await api.ask(operation, { params: { id }, json: {} });
    return seeOther(pageAbove(api.url.pathname));
  };

const ID = "([A-Za-z0-9][A-Za-z0-9._:-]{0,127})";
/** The names that tools give to things. */
const NAME = "([^/]+)";
/** A stored graph, also one version of it, or a graph of a skill. */
const GRAPH = "((?:[a-z0-9][a-z0-9-]{0,63}/)?[A-Za-z0-9][A-Za-z0-9._@-]{0,140})";
const at = (pattern: string): RegExp => new RegExp(`^${pattern}$`);

const PAGES: readonly (readonly [RegExp, Show])[] = [
  [at("/"), skillsPage],
  [at(`/console/skills/${ID}`), skillPage],
  [at("/docs"), referencePage],
  [at("/console/runs"), runsPage],
  [at(`/console/runs/${ID}`), runPage],
  [at("/console/sessions"), sessionsPage],
  [at(`/console/sessions/${ID}`), sessionPage],
  [at(`/console/sessions/${ID}/events`), eventsPage],
  [at(`/console/sessions/${ID}/artifacts/${NAME}`), artifactPage],
  [at("/console/approvals"), approvalsPage],
  [at("/console/daemons"), daemonsPage],
  [at(`/console/daemons/${ID}`), daemonPage],
  [at("/console/workflows"), workflowsPage],
  [at(`/console/workflows/runs/${ID}`), workflowRunPage],
  [at(`/console/workflows/${GRAPH}`), workflowPage],
  [at("/console/usage"), usagePage],
  [at("/console/models"), modelsPage],
  [at("/console/mcp"), mcpPage],
  [at("/console/keys"), keysPage],
];

const ACTIONS: readonly (readonly [RegExp, Act])[] = [
  [at(`/console/skills/${ID}/try`), trySkill],
  [at(`/console/skills/${ID}/config`), saveConfig],
  [at(`/console/skills/${ID}/versions/([0-9a-f]{64})`), rollBack],
  [at(`/console/runs/${ID}/cancel`), cancelRun],
  [at("/console/sessions"), openSession],
  [at(`/console/sessions/${ID}/say`), saySomething],
  [at(`/console/sessions/${ID}/fork`), forkSession],
  [at(`/console/sessions/${ID}/compact`), compactSession],
  [at(`/console/sessions/${ID}/archive`), asks("archiveSession")],
  [at(`/console/sessions/${ID}/resume`), asks("resumeSession")],
  [at(`/console/sessions/${ID}/delete`), deleteSession],
  [at(`/console/sessions/${ID}/files`), uploadFile],
  [at(`/console/approvals/${ID}/${ID}`), decideApproval],
  [at(`/console/daemons/${ID}/wake`), asks("wakeDaemon")],
  [at(`/console/daemons/${ID}/stop`), asks("stopDaemon")],
  [at(`/console/daemons/${ID}/resume`), asks("resumeDaemon")],
  [at(`/console/daemons/${ID}/send`), sendEvent],
  [at(`/console/workflows/runs/${ID}/pause`), asks("pauseWorkflowRun")],
  [at(`/console/workflows/runs/${ID}/resume`), resumeWorkflowRun],
  [at(`/console/workflows/runs/${ID}/cancel`), asks("cancelWorkflowRun")],
  [at(`/console/workflows/runs/${ID}/kill`), killWorkflowRun],
  [at(`/console/workflows/runs/${ID}/decide`), decideWorkflow],
  [at(`/console/workflows/runs/${ID}/signal`), signalWorkflow],
  [at(`/console/workflows/runs/${ID}/fork`), forkWorkflow],
  [at(`/console/workflows/${GRAPH}/run`), runWorkflow],
  [at("/console/usage/budget"), setBudget],
  [at("/console/usage/budget/remove"), removeBudget],
  [at("/console/models/call"), testCall],
  [at(`/console/models/${ID}/check`), checkProvider],
  [at("/console/keys"), makeKey],
  [at(`/console/keys/${ID}/revoke`), asks("revokeKey")],
];

/** Streams and files, which are not pages. */
const READS: readonly (readonly [RegExp, Read])[] = [
  [at(`/console/runs/${ID}/events`), runEvents],
  [at(`/console/runs/${ID}/cassette`), runCassette],
  [at(`/console/runs/${ID}/answer`), runAnswer],
  [at(`/console/runs/${ID}/eval`), runEval],
  [at(`/console/workflows/runs/${ID}/record`), workflowRecord],
  [at(`/console/sessions/${ID}/runs/${ID}/events`), sessionRunEvents],
  [at(`/console/sessions/${ID}/files/(.+)`), downloadFile],
  [at(`/console/sessions/${ID}/artifacts/${NAME}/view`), artifactView],
  [at(`/console/sessions/${ID}/artifacts/${NAME}/file`), artifactFile],
];

/** Answers a request for the console. A failure becomes a page too. */
export async function answerConsole(host: Host): Promise<Response> {
  const api = apiOf(host);
  try {
    return await answer(host, api);
  } catch (thrown) {
    // A program gets the API's error.
    if (!/text\/html/.test(api.request.headers.get("accept") ?? "")) throw thrown;
    const problem = api.problem(toHullError(thrown));
    return shownPage(api, problemPage(api, problem));
  }
}

async function answer(host: Host, api: Api): Promise<Response> {
  const path = api.url.pathname;
  if (api.request.method === "POST") {
    const [act, params] = found(ACTIONS, path);
    const fields = await formOf(host);
    return act(apiOf(host, await keyOf(fields)), fields, ...params);
  }
  const loaded = FILES.get(path);
  if (loaded !== undefined) return file(loaded);
  const read = READS.find(([pattern]) => pattern.test(path));
  if (read !== undefined) return read[1](api, ...paramsOf(read[0], path));
  // The address of a form's answer, e.g. after the caller signed in again.
  if (!isPage(path) && ACTIONS.some(([pattern]) => pattern.test(path))) return seeOther(pageAbove(path));
  const [show, params] = found(PAGES, path);
  // Every page shows the count, so Hull reads it while the page reads its own data.
  const [page] = await Promise.all([show(api, ...params), api.waiting()]);
  return shownPage(api, page);
}

const isPage = (path: string): boolean => PAGES.some(([pattern]) => pattern.test(path));

/** The page that holds the form with this action. */
function pageAbove(path: string): string {
  const above = path.slice(0, path.lastIndexOf("/"));
  return above === "" || isPage(above) ? above || "/" : pageAbove(above);
}

/** @throws NotFound */
function found<T>(all: readonly (readonly [RegExp, T])[], path: string): [T, Params] {
  const entry = all.find(([pattern]) => pattern.test(path));
  if (entry === undefined) throw new NotFound({ path });
  return [entry[1], paramsOf(entry[0], path)];
}

/** The decoded parameters of a path. @throws NotFound */
function paramsOf(pattern: RegExp, path: string): Params {
  try {
    return (pattern.exec(path) ?? []).slice(1).map(decodeURIComponent);
  } catch {
    throw new NotFound({ path });
  }
}

function problemPage(api: Api, problem: ReturnType<Api["problem"]>): Page {
  const { request, url } = api;
  const { status, title, detail, code, request_id } = problem;
  const way =
    request.method === "POST"
      ? html`Go back to change what you sent, or <a href="${isPage(url.pathname) ? url.pathname : pageAbove(url.pathname)}">open the page again</a>.`
      : isPage(url.pathname) && url.search !== ""
        ? html`<a href="${url.pathname}">Open the page without its filters</a>.`
        : linkAbove(api);
  return {
    title,
    status,
    body: html`<h1>${title}</h1><p class="note bad">${detail}</p>
${problemMembers(problem)}<p>${way}</p><p class="dim">${status} <code>${code}</code>, request <code>${request_id}</code></p>`,
  };
}

const FILES: ReadonlyMap<string, readonly [type: string, text: string]> = new Map([
  ["/console/style.css", ["text/css; charset=utf-8", STYLE]],
  ["/console/script.js", ["text/javascript; charset=utf-8", SCRIPT]],
]);

function file([type, text]: readonly [type: string, text: string]): Response {
  // Their addresses change with their contents, so browsers may keep them.
  return new Response(text, { headers: { "content-type": type, "cache-control": "private, max-age=86400" } });
}
