/** Nodes of workflow runs that wait for a person. */
import { html } from "hono/html";
import { type Api, asked, unless404 } from "./api.ts";
import { form } from "./layout.ts";
import { type Html, when } from "./text.ts";

/** A node that waits for an approval. */
interface WaitingNode {
  run: string;
  /** The workflow's name; absent on the run's own page. */
  workflow?: string;
  node: string;
  question: string;
  since: string;
  until: string | null;
}

/** The waiting nodes of these runs, the longest wait first. */
export async function workflowApprovals(api: Api, runs: readonly { id: string }[]): Promise<WaitingNode[]> {
  const found = await Promise.all(runs.map(({ id }) => nodesOf(api, id)));
  return found.flat().sort((a, b) => Date.parse(a.since) - Date.parse(b.since));
}

/** If a run is gone meanwhile, it waits for nothing. */
async function nodesOf(api: Api, run: string): Promise<WaitingNode[]> {
  const found = await unless404(asked(api, "getWorkflowRun", { params: { id: run } }));
  if (found === null) return [];
  return found.active.flatMap(({ node_id: node, started_at: since, waits_until, approval }) => {
    if (approval === undefined) return [];
    const { question } = approval;
    return [{ run, workflow: found.workflow_name, node, question, since, until: waits_until ?? null }];
  });
}

/** The question of a node, and a form to answer it. */
export function nodeCard(api: Api, { run, workflow, node, question, since, until }: WaitingNode): Html {
  const id = `${workflow === undefined ? "" : `${run}-`}${node}`;
  const by =
    workflow === undefined
      ? ""
      : html`<p>Asked by the workflow ${workflow}, <a href="/console/workflows/runs/${run}">run</a>, ${when(since)}.</p>`;
  // The first button is what Enter in the field would press: it must neither approve nor deny.
  const enter = html`<button disabled hidden></button>`;
  return html`<article class="card" aria-labelledby="wait-${id}"><h2 id="wait-${id}">${node} <span class="state wait">waits for approval</span></h2><p><span dir="auto">${question}</span>${until === null ? "" : html` It waits until ${when(until)}.`}</p>${by}
${form(api, `/console/workflows/runs/${run}/decide`, html`${enter}<input type="hidden" name="node" value="${node}"><div><label for="why-${id}">Reason</label><input id="why-${id}" name="reason" dir="auto"></div><button class="main" id="yes-${id}" name="decision" value="approve" aria-describedby="wait-${id}">Approve</button><button class="danger" id="no-${id}" name="decision" value="deny" aria-describedby="wait-${id}">Deny</button>`, "row")}</article>`;
}
