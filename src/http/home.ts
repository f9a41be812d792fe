/** `GET /`: what is served here, for people as HTML and for programs as JSON. */
import type { Card } from "../skill/manifest.ts";
import type { RequestContext } from "./context.ts";
import { DISCOVERY_LINKS } from "./discovery/routes.ts";
import { escapeHtml, HTML_HEADERS, htmlPage } from "./html.ts";
import { servedTo } from "./served.ts";

/** Most skills listed on the page; the rest is at `GET /skills`. */
const MAX_ROWS = 200;

const STALE = ' <small title="The folder is broken; its last good version is served.">(stale)</small>';

export async function home(context: RequestContext): Promise<Response> {
  const catalog = await servedTo(context);
  const { name } = context.settings;
  if ((context.request.headers.get("accept") ?? "").includes("application/json")) {
    const index = { name, skills: catalog.cards.length, catalog: catalog.id, listing: "/skills" };
    return Response.json(index, { headers: { link: DISCOVERY_LINKS } });
  }
  return new Response(page(name, catalog.cards), {
    headers: { ...HTML_HEADERS, "cache-control": "no-cache", link: DISCOVERY_LINKS },
  });
}

function page(name: string, cards: readonly Card[]): string {
  const rows = cards
    .slice(0, MAX_ROWS)
    .map(
      (card) =>
        `<tr><td><a href="/skills/${card.slug}/card">${escapeHtml(card.name)}</a>${card.stale === true ? STALE : ""}</td><td>${card.mode}</td>` +
        `<td><code>${card.method} ${escapeHtml(card.route)}</code></td><td>${escapeHtml(card.description)}</td></tr>`,
    );
  const more = cards.length > MAX_ROWS ? `<p><a href="/skills">All ${cards.length} skills</a></p>` : "";
  return htmlPage(
    name,
    `<h1>${escapeHtml(name)}</h1>
<p>${cards.length === 1 ? "1 skill is" : `${cards.length} skills are`} served here. <a href="/skills">JSON list</a> · <a href="/docs">API reference</a></p>
<table><thead><tr><th>Skill</th><th>Mode</th><th>Call</th><th>What it does</th></tr></thead><tbody>
${rows.join("\n")}
</tbody></table>${more}`,
  );
}
