/** `/`: the served skills, with search and a link to try each. */

import { html } from "hono/html";
import type { Card, RunFigures } from "../../typed/client/api.d.ts";
import { counted } from "../plural.ts";
import { type Api, asked } from "./api.ts";
import type { Page } from "./layout.ts";
import { type Column, numbers, optionList, table } from "./table.ts";
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
<div><label for="mode">Mode</label><select id="mode" name="mode">${optionList(MODES, mode, "all")}</select></div>
<button>Search</button></form>
${
  found.length === 0
    ? nothing(q !== "" || mode !== "" || query.cursor !== null)
    : html`<p class="dim">${counted(total, "skill")}</p>${table(
        COLUMNS,
        found.map((card) => cells(card, byName.get(card.slug))),
      )}`
}
${next === undefined ? "" : html`<p><a href="/${next.slice(next.indexOf("?"))}" rel="next">Next page</a></p>`}`,
  };
}

function nothing(searched: boolean): Html {
  return searched
    ? html`<p>No skill matches. <a href="/">Show all skills</a>.</p>`
    : html`<p>No skill is served yet. Put a folder with a <code>SKILL.md</code> under <code>skills/</code>: <code>hull new hello</code> makes one.</p>`;
}

const COLUMNS: readonly (string | Column)[] = [
  "Skill",
  "Mode",
  { name: "What it does", as: "wide" },
  "State",
  { name: "Calls, 24 h", as: "n", title: "Of the last 24 hours; of scripts and models" },
  ...["Failed", "Median", "Cost"].map(numbers),
  "Version",
];

function cells(
  { slug, name, mode, method, route, description, version, stale, uploaded, daemon, agent }: Card,
  sums?: RunFigures["data"][number],
): (Html | string)[] {
  const failures = count(sums?.failures);
  return [
    html`<a href="/console/skills/${slug}"><bdi>${name}</bdi></a><br><small><code>${method} ${route}</code></small>`,
    mode,
    html`<span dir="auto">${short(description, 240)}</span>`,
    html`${stale === true ? html`<span class="state wait" title="The folder is broken; its last good version is served.">stale</span>` : "served"}${uploaded === true ? ", uploaded" : ""}${daemon === true ? ", daemon" : ""}${agent === true ? ", agent" : ""}`,
    count(sums?.calls),
    (sums?.failures ?? 0) > 0 ? html`<span class="bad">${failures}</span>` : failures,
    duration(sums?.p50_ms),
    money(sums?.cost_usd),
    html`<code>${version.slice(0, 12)}</code>`,
  ];
}
