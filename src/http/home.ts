/** `GET /`: what is served here, for people as HTML and for programs as JSON. */
import type { Card } from "../skill/manifest.ts";
import type { RequestContext } from "./context.ts";
import { servedTo } from "./served.ts";

/** Most skills listed on the page; the rest is at `GET /skills`. */
const MAX_ROWS = 200;

const STALE = ' <small title="The folder is broken; its last good version is served.">(stale)</small>';

export async function home(context: RequestContext): Promise<Response> {
  const catalog = await servedTo(context);
  const { name } = context.settings;
  if ((context.request.headers.get("accept") ?? "").includes("application/json")) {
    return Response.json({ name, skills: catalog.cards.length, catalog: catalog.id, listing: "/skills" });
  }
  return new Response(page(name, catalog.cards), {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    },
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
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(name)}</title>
<style>
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .8rem .4rem 0;vertical-align:top;border-bottom:1px solid #8884}
code{white-space:nowrap}
</style>
<h1>${escapeHtml(name)}</h1>
<p>${cards.length === 1 ? "1 skill is" : `${cards.length} skills are`} served here. <a href="/skills">JSON list</a> · <a href="/docs">API reference</a></p>
<table><thead><tr><th>Skill</th><th>Mode</th><th>Call</th><th>What it does</th></tr></thead><tbody>
${rows.join("\n")}
</tbody></table>${more}
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
