/** An artifact of a session: as text, or in a confining frame if a browser can show it. */
import { html } from "hono/html";
import { type Api, asked } from "./api.ts";
import type { Page } from "./layout.ts";
import { pretty, when } from "./text.ts";

const FRAMED: readonly string[] = ["html", "svg"];

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
    body: html`<h1>${shown.title}</h1><p>${shown.type} of session <a href="/console/sessions/${id}">${id}</a>, version ${shown.version}, ${when(shown.created_at)}. <a href="${path}/file${at}">Download</a></p>
${FRAMED.includes(shown.type) ? html`<iframe sandbox="allow-scripts" src="${path}/view${at}" title="${shown.title}"></iframe>` : ""}
<h2>Content</h2><pre tabindex="0">${pretty(shown.content)}</pre>
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
  const shown = await asked(api, "getArtifact", asksFor(api, id, name));
  const type = shown.type === "html" ? "text/html" : shown.type === "svg" ? "image/svg+xml" : "text/plain";
  return new Response(pretty(shown.content), {
    headers: {
      "content-type": `${type}; charset=utf-8`,
      "content-security-policy": CONFINED,
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    },
  });
}

export const artifactFile = (api: Api, id: string, name: string): Promise<Response> =>
  api.ask("getArtifact", {
    params: { id, artifact: name },
    query: { download: "1", version: api.url.searchParams.get("version") },
  });
