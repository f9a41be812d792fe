/** `/`: the served skills, with search and a link to try each. */

import { html } from "hono/html";
import { counted } from "../plural.ts";
import type { Card } from "../skill/manifest.ts";
import type { RunFigures } from "./answers.ts";
import { type Api, asked } from "./api.ts";
import type { Page } from "./layout.ts";
import { count, duration, type Html, money, short } from "./text.ts";

const MODES = ["llm", "script", "proxy", "static-file"] as const;
/** Browsers take long to lay out more rows. */
const PAGE_SIZE = "100";

export async function skillsPage(api: Api): Promise<Page> {
  const { searchParams } = api.url;
  const q = searchParams.get("q") ?? "";
  const mode = searchParams.get("mode") ?? "";
  const query = { q, mode, limit: PAGE_SIZE, cursor: searchParams.get("cursor") };
  const [answer, { data }] = await Promise.all([
    api.ask("listSkills", { query }),
    asked(api, "getRunFigures"),
  ]);
  const byName = new Map(data.map((sums) => [sums.name, sums]));
  const found = await answer.json<Card[]>();
  const total = Number(answer.headers.get("x-total-count") ?? found.length);
  const next = /<([^>]+)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
  return {
    title: "Skills",
    body: html`<h1>Skills</h1>
<form method="get" action="/" class="row" role="search">
<div><label for="q">Search</label><input id="q" name="q" type="search" value="${q}"></div>
<div><label for="mode">Mode</label><select id="mode" name="mode"><option value="">all</option>${MODES.map((one) => option(one, one === mode))}</select></div>
<button>Show</button></form>
${found.length === 0 ? nothing(q !== "" || mode !== "") : table(found, total, byName)}
${next === undefined ? "" : html`<p><a href="/${next.slice(next.indexOf("?"))}" rel="next">Next page</a></p>`}`,
  };
}

const option = (value: string, chosen: boolean): Html =>
  chosen
    ? html`<option value="${value}" selected>${value}</option>`
    : html`<option value="${value}">${value}</option>`;

function nothing(searched: boolean): Html {
  return searched
    ? html`<p>No skill matches. <a href="/">Show all skills</a>.</p>`
    : html`<p>No skill is served yet. Put a folder with a <code>SKILL.md</code> under <code>skills/</code>: <code>hull new hello</code> makes one.</p>`;
}

function table(found: readonly Card[], total: number, byName: ReadonlyMap<string, RunFigures>): Html {
  return html`<p class="dim">${counted(total, "skill")}</p>
<div class="scroll" tabindex="0"><table><thead><tr><th>Skill</th><th>Mode</th><th>What it does</th><th>State</th><th class="n" title="Of the last 24 hours; of scripts and models">Calls, 24 h</th><th class="n">Failed</th><th class="n">Median</th><th class="n">Cost</th><th>Version</th></tr></thead><tbody>
${found.map((card) => row(card, byName.get(card.slug)))}</tbody></table></div>`;
}

function row(
  { slug, name, mode, method, route, description, version, stale, uploaded, daemon }: Card,
  sums?: RunFigures,
): Html {
  return html`<tr><td><a href="/console/skills/${slug}">${name}</a><br><small><code>${method} ${route}</code></small></td><td>${mode}</td><td>${short(description, 240)}</td><td>${stale === true ? html`<span class="state wait" title="The folder is broken; its last good version is served.">stale</span>` : html`<span class="state good">served</span>`}${uploaded === true ? " uploaded" : ""}${daemon === true ? " daemon" : ""}</td><td class="n">${count(sums?.calls)}</td><td class="n">${count(sums?.failures)}</td><td class="n">${duration(sums?.p50_ms)}</td><td class="n">${money(sums?.cost_usd)}</td><td><code>${version.slice(0, 12)}</code></td></tr>
`;
}
