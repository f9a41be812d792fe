/** An artifact of a session: as text, or in a confining frame if a browser can show it. */
import { html, raw } from "hono/html";
import { NotFound } from "../errors/request.ts";
import { type Api, asked } from "./api.ts";
import type { Page } from "./layout.ts";
import { pretty, when } from "./text.ts";

const FRAMED: readonly string[] = ["html", "svg", "react"];

const asksFor = (api: Api, id: string, name: string) => ({
  params: { id, artifact: name },
  query: { version: api.url.searchParams.get("version") },
});

export async function artifactPage(api: Api, id: string, name: string): Promise<Page> {
  const shown = await asked(api, "getArtifact", asksFor(api, id, name));
  const path = `/console/sessions/${id}/artifacts/${encodeURIComponent(name)}`;
  const at = `?version=${shown.version}`;
  return {
    title: shown.title,
    body: html`<h1 dir="auto">${shown.title}</h1><p>${shown.type} of session <a href="/console/sessions/${id}">${id}</a>, version ${shown.version}, ${when(shown.created_at)}. <a href="${path}/file${at}">Download</a></p>
${FRAMED.includes(shown.type) ? html`<iframe sandbox="allow-scripts" src="${path}/view${at}" title="${shown.title}"></iframe>` : ""}
<h2>Content</h2><pre tabindex="0" dir="auto">${pretty(shown.content)}</pre>
<h2>Versions</h2><ul>${shown.versions.map((one) => html`<li><a href="${path}?version=${one.version}">${one.version}</a> ${when(one.created_at)}</li>`)}</ul>`,
  };
}

/** For the frame only: the artifact has an origin of its own and reaches neither the page around it nor any host. */
const CONFINED = [
  "sandbox allow-scripts",
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  "img-src data:",
  "font-src data:",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join("; ");

export async function artifactView(api: Api, id: string, name: string): Promise<Response> {
  const { type, title, content } = await asked(api, "getArtifact", asksFor(api, id, name));
  const mime =
    type === "html" || type === "react" ? "text/html" : type === "svg" ? "image/svg+xml" : "text/plain";
  return new Response(type === "react" ? await reactPage(api, title, pretty(content)) : pretty(content), {
    headers: {
      "content-type": `${mime}; charset=utf-8`,
      "content-security-policy": CONFINED,
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    },
  });
}

const REACT_FRAME = "console/react-frame.js";

/**
 * A page that compiles and renders a module of React. It holds the script that does so, since a confined page loads nothing:
 * not even from Hull, as browsers send no cookie with its requests.
 * @throws NotFound if that script was not installed
 */
async function reactPage(api: Api, title: string, source: string): Promise<string> {
  const script = await api.asset(REACT_FRAME);
  if (!script.ok) {
    await script.body?.cancel();
    throw new NotFound({ path: REACT_FRAME });
  }
  // Without this character no text ends the element around it.
  const json = JSON.stringify(source).replaceAll("<", "\\u003c");
  const page = await html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title></head>
<body><div id="root"></div>
<script type="application/json" id="source">${raw(json)}</script>
<script>${raw(await script.text())}</script></body></html>
`;
  return String(page);
}

export const artifactFile = (api: Api, id: string, name: string): Promise<Response> =>
  api.ask("getArtifact", {
    params: { id, artifact: name },
    query: { download: "1", version: api.url.searchParams.get("version") },
  });
