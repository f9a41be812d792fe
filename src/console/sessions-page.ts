/** `/console/sessions`: the tenant's conversations. */
import { html } from "hono/html";
import { jsonShown } from "../bytes.ts";
import { type Api, asked } from "./api.ts";
import { textOf } from "./fields.ts";
import { form, nextPage, type Page, pageQuery, seeOther } from "./layout.ts";
import { stateLabel } from "./run-shapes.ts";
import { table } from "./table.ts";
import { short, when } from "./text.ts";

export async function sessionsPage(api: Api): Promise<Page> {
  const { data, next_cursor } = await asked(api, "listSessions", { query: pageQuery(api) });
  const rows = data.map(({ id, state, created_at, parent_id, metadata }) => [
    html`<a href="/console/sessions/${id}">${id}</a>`,
    stateLabel(state),
    when(created_at),
    parent_id === null ? "" : html`<a href="/console/sessions/${parent_id}">${parent_id}</a>`,
    Object.keys(metadata).length === 0 ? "" : html`<code>${short(jsonShown(metadata), 200)}</code>`,
  ]);
  return {
    title: "Sessions",
    body: html`<h1>Sessions</h1>
${form(api, "/console/sessions", html`<div><label for="id">Id, or empty for a new one</label><input id="id" name="id"></div><button>Open a session</button>`, "row")}
${data.length === 0 ? html`<p>No session yet. Open one here, or with <code>curl -H 'authorization: Bearer &lt;key&gt;' -X POST ${api.url.origin}/sessions</code>.</p>` : table(["Session", "State", "Opened", "Forked from", "Metadata"], rows)}
${nextPage(api, next_cursor)}`,
  };
}

/** Opens the session with this id, or a new one. */
export async function openSession(api: Api, fields: FormData): Promise<Response> {
  const given = textOf(fields, "id");
  const { id } = await asked(api, "openSession", { json: given === "" ? {} : { id: given } });
  return seeOther(`/console/sessions/${id}`);
}
