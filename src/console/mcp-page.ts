/** `/console/mcp`: the MCP servers of hull.toml and the logins there, for administrators. */
import { html } from "hono/html";
import { type Api, asked } from "./api.ts";
import type { Page } from "./layout.ts";
import { table } from "./table.ts";
import { when } from "./text.ts";

const LOGINS = { none: "none", stored: "yes", client_credentials: "client credentials", header: "by header" };

export async function mcpPage(api: Api): Promise<Page> {
  const { data } = await asked(api, "listMcpServers");
  const rows = data.map(({ name, url, login, needs_login, expires_at, renewable, failure, failed_at }) => [
    name,
    html`<code>${url}</code>`,
    needs_login ? html`needed: <code>hull mcp login ${name}</code>` : LOGINS[login],
    renewable ? "renewed by Hull" : expires_at === null ? "" : when(expires_at),
    failure === null ? "" : html`${failure} ${failed_at === null ? "" : when(failed_at)}`,
  ]);
  return {
    title: "MCP servers",
    body: html`<h1>MCP servers</h1>
${data.length === 0 ? html`<p>hull.toml names no server under <code>[mcp.servers]</code>.</p>` : table(["Name", "Address", "Login", "Expires", "Last failure"], rows)}`,
  };
}
