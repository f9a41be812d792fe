/** `/console/sessions/{id}/events`: the events of a session. */

import { html } from "hono/html";
import { counted } from "../plural.ts";
import type { Answers } from "./answers.ts";
import { type Api, asked } from "./api.ts";
import type { Page } from "./layout.ts";
import { numbers, optionList, table } from "./table.ts";
import { type Html, jsonShown, pretty, short } from "./text.ts";

/** Events on one page. */
const EVENTS = 100;
/** Most characters of an event's data. */
const SHOWN = 2000;

const NAMES = [
  "start",
  "delta",
  "thought",
  "round",
  "tool_call",
  "tool_output",
  "tool_result",
  "approval_request",
  "artifact",
  "daemon_wake",
  "stage",
  "error",
  "done",
] as const;

export async function eventsPage(api: Api, id: string): Promise<Page> {
  const { searchParams, pathname } = api.url;
  const name = searchParams.get("event") ?? "";
  const params = { id };
  const { last_event: last } = await asked(api, "getSession", { params });
  const wanted = Number(searchParams.get("cursor") ?? Number.NaN);
  // Without a filter the page begins with the last events. With one it searches from the first one on.
  const newest = name === "" ? Math.max(0, last - EVENTS) : 0;
  const from = Number.isSafeInteger(wanted) && wanted >= 0 ? wanted : newest;
  const query = { limit: String(EVENTS), cursor: String(from), event: name };
  const shown = await asked(api, "listSessionEvents", { params, query });
  const to = (cursor: string | number, text: string): Html =>
    html`<a href="${pathname}?${new URLSearchParams({ event: name, cursor: String(cursor) }).toString()}">${text}</a> `;
  return {
    title: `Events of ${id}`,
    body: html`<h1>Events of session <a href="/console/sessions/${id}">${id}</a></h1>
<form method="get" action="${pathname}" class="row"><div><label for="event">Event</label><select id="event" name="event">${optionList(NAMES, name, "all")}</select></div><button>Filter</button></form>
<p>${counted(last, "event")}. ${from > 0 ? to(Math.max(0, from - EVENTS), "Earlier") : ""}${shown.next_cursor === null ? "" : to(shown.next_cursor, "Later")}</p>
${shown.data.length === 0 ? html`<p>${last === 0 ? "Nothing happened yet." : "None here."}</p>` : list(shown.data)}`,
  };
}

function list(data: Answers["listSessionEvents"]["data"]): Html {
  const rows = data.map(({ id, event, data: value }) => [
    id.split(":").at(-1) ?? "",
    event,
    html`<details><summary><code>${short(jsonShown(value), 100)}</code></summary><pre tabindex="0">${short(pretty(value), SHOWN)}</pre></details>`,
  ]);
  return table([numbers("Number"), "Event", { name: "Data", as: "wide" }], rows);
}
