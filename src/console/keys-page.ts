/** `/console/keys`: API keys, for callers who may manage them. */
import { html } from "hono/html";
import { type Api, asked } from "./api.ts";
import { textOf } from "./fields.ts";
import { form, nextPage, type Page, pageQuery, shownPage } from "./layout.ts";
import { table } from "./table.ts";
import { when } from "./text.ts";

const SCOPES = ["invoke", "publish", "admin"] as const;

export async function keysPage(api: Api): Promise<Page> {
  const { data, next_cursor } = await asked(api, "listKeys", { query: pageQuery(api) });
  const rows = data.map(({ id, prefix, tenant, scopes, name, created_at, last_used_at }) => {
    const revoke = html`<button class="danger" aria-label="Revoke ${name ?? prefix}">Revoke</button>`;
    return [
      name ?? "",
      html`<code>${prefix}…</code>`,
      tenant,
      scopes.join(", "),
      when(created_at),
      last_used_at === null ? "never" : when(last_used_at),
      form(api, `/console/keys/${id}/revoke`, revoke, "inline"),
    ];
  });
  const used = { name: "Last used", title: "To an hour" };
  const columns = ["Name", "Begins with", "Tenant", "Scopes", "Created", used, "Revoke"];
  return {
    title: "Keys",
    body: html`<h1>Keys</h1>
${data.length === 0 ? html`<p>No key yet. Make one here, or with <code>hull keys add</code>.</p>` : table(columns, rows)}
${nextPage(api, next_cursor)}
<h2>Create a key</h2>${form(
      api,
      "/console/keys",
      html`<div><label for="name">Name</label><input id="name" name="name" maxlength="100"></div><div><label for="tenant">Tenant</label><input id="tenant" name="tenant" value="${api.tenant}" required></div><fieldset><legend>Scopes</legend>${SCOPES.map((scope) => html`<label><input type="checkbox" name="scopes" value="${scope}"${scope === "invoke" ? html` checked` : ""}> ${scope}</label> `)}</fieldset><button>Create the key</button>`,
      "row",
    )}`,
  };
}

/** Makes a key and shows it this one time. */
export async function makeKey(api: Api, fields: FormData): Promise<Response> {
  const json = {
    tenant: textOf(fields, "tenant"),
    scopes: fields.getAll("scopes").map(String),
    name: textOf(fields, "name") || undefined,
  };
  const { key, scopes, tenant } = await asked(api, "addKey", { json });
  return shownPage(api, {
    title: "New key",
    body: html`<h1>New key</h1><p class="note wait">Copy it now: nobody can read it again.</p><pre id="key" tabindex="0">${key}</pre><button type="button" data-copy="key">Copy</button>
<p>It belongs to tenant ${tenant} and has the scopes ${scopes.join(", ")}. <a href="/console/keys">Keys</a></p>`,
  });
}
