/** `/console/approvals`: the tool calls that wait for a person, the oldest first. */
import { html } from "hono/html";
import type { Approval, IndexedRun } from "../../typed/client/api.d.ts";
import { type Api, asked, unless404 } from "./api.ts";
import { form, type Page, seeOther } from "./layout.ts";
import { type Html, mark, pretty, when } from "./text.ts";
import { nodeCard, workflowApprovals } from "./workflow-approvals.ts";

/** Runs on the page. */
const RUNS = 50;

/** A waiting call, and its place. */
interface Waiting {
  session: string;
  /** The skill that asks; `null`: the run does not belong to a skill. */
  skill: string | null;
  open: Approval;
}

export async function approvalsPage(api: Api): Promise<Page> {
  const all = await asked(api, "listAllRuns", { query: { state: "awaiting_approval", limit: "1000" } });
  // The list begins with the newest.
  const data = all.data.slice(-RUNS);
  const isWorkflow = ({ kind }: IndexedRun): boolean => kind === "workflow";
  const runs = data.filter((run) => !isWorkflow(run));
  const [found, flows] = await Promise.all([
    Promise.all(runs.map((run) => waitingIn(api, run))),
    workflowApprovals(api, data.filter(isWorkflow)),
  ]);
  const oldest = found
    .flat()
    .sort((a, b) => Date.parse(a.open.requested_at) - Date.parse(b.open.requested_at));
  const waiting = oldest.length + flows.length;
  const said = waiting === 1 ? "1 decision waits for you" : `${waiting} decisions wait for you`;
  const ids = [...oldest.map(({ open }) => open.id), ...flows.map(({ node, run }) => `${run} ${node}`)];
  return {
    title: "Approvals",
    body: html`<h1>Approvals</h1>
<div id="approvals" data-refresh="3000" data-mark="${mark(ids.join())}" data-say="${said}">${waiting === 0 ? nothing() : ""}${oldest.map((one) => card(api, one))}${flows.map((one) => nodeCard(api, one))}${all.data.length > RUNS ? html`<p>The oldest ${RUNS} of ${all.data.length} runs that wait.</p>` : ""}</div>`,
  };
}

/** If the run's session is gone meanwhile, the run waits for nothing. */
async function waitingIn(api: Api, { session, name }: IndexedRun): Promise<Waiting[]> {
  if (session === null) return [];
  const list = await unless404(asked(api, "listApprovals", { params: { id: session } }));
  return (list?.data ?? []).map((open) => ({ session, skill: name, open }));
}

function nothing(): Html {
  return html`<p>Nothing waits. A call waits here if the <code>approval_policy</code> of its run, or <code>[approvals]</code> of hull.toml, asks for an approval; a node of a workflow, if it has <code>wait.approval</code>.</p>`;
}

function card(api: Api, { session, skill, open }: Waiting): Html {
  const { id, run_id, tool, arguments: given, arguments_digest, risk, cause, said } = open;
  const { requested_at, expires_at } = open;
  const action = `/console/approvals/${session}/${id}`;
  const bound = html`<input type="hidden" name="arguments_digest" value="${arguments_digest}">`;
  return html`<article class="card" aria-labelledby="tool-${id}"><h2 id="tool-${id}">${tool} <span class="state wait">risk ${risk === "" ? "unknown" : risk}</span></h2>
<p>Asked by ${skill === null ? "" : html`<a href="/console/skills/${skill}">${skill}</a> in `}session <a href="/console/sessions/${session}">${session}</a>, <a href="/console/runs/${run_id}">run</a>, ${when(requested_at)}; expires ${when(expires_at)}.${cause === undefined ? "" : ` ${cause}`}</p>
${said === "" ? "" : html`<h3>What the model said</h3><pre tabindex="0" dir="auto">${said}</pre>`}
<h3>Arguments</h3><pre tabindex="0">${pretty(given)}</pre>
<p class="dim">Digest <code>${arguments_digest.slice(0, 16)}…</code>: the decision counts for these arguments alone.</p>
${form(api, action, html`${bound}<input type="hidden" name="decision" value="approve"><button class="main" id="once-${id}" name="scope" value="once" aria-describedby="tool-${id}">Approve once</button><button id="session-${id}" name="scope" value="session" aria-describedby="tool-${id}">Approve for the session</button>`, "row")}
${form(api, action, html`${bound}<input type="hidden" name="decision" value="deny"><div><label for="reason-${id}">Reason</label><input id="reason-${id}" name="reason" dir="auto"></div><button class="danger" id="deny-${id}" aria-describedby="tool-${id}">Deny</button>`, "row")}</article>
`;
}

/** Decides a call with the arguments that the page showed. @throws HullError if they have changed, or somebody has decided */
export async function decideApproval(
  api: Api,
  fields: FormData,
  session: string,
  id: string,
): Promise<Response> {
  const text = (name: string): string => String(fields.get(name) ?? "");
  const json = {
    decision: text("decision"),
    arguments_digest: text("arguments_digest"),
    ...(text("decision") === "approve" ? { scope: text("scope") || "once" } : {}),
    ...(text("reason") === "" ? {} : { reason: text("reason") }),
  };
  await api.ask("decideApproval", { params: { id: session, approval: id }, json });
  return seeOther("/console/approvals");
}
