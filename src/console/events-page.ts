/** `/console/sessions/{id}/events`: the events of a session. */

import { html } from "hono/html";
import type { EventData } from "../../typed/client/api.d.ts";
import { jsonShown } from "../bytes.ts";
import { counted } from "../plural.ts";
import type { Answer } from "./answers.ts";
import { type Api, asked } from "./api.ts";
import type { Page } from "./layout.ts";
import { numbers, optionList, table } from "./table.ts";
import { type Html, pretty, short } from "./text.ts";

/** Events on one page. */
const EVENTS = 100;
/** Most characters of an event's data. */
const SHOWN = 2000;

/** What the list offers as a filter. No list shows a stored response, so `response_part` is not there. */
const NAMES: Record<Exclude<keyof EventData, "response_part">, true> = {
  start: true,
  delta: true,
  thought: true,
  stderr: true,
  round: true,
  tool_call: true,
  tool_output: true,
  tool_result: true,
  artifact: true,
  approval_request: true,
  skill_matched: true,
  skill_activated: true,
  skill_deactivated: true,
  skill_scope_tools: true,
  skill_mcp_bound: true,
  skill_mcp_unbound: true,
  skill_mcp_bind_failed: true,
  tool_search_query: true,
  tool_search_result: true,
  feedback_injected: true,
  transcript_compacted: true,
  stage: true,
  daemon_wake: true,
  sub_agent_start: true,
  sub_agent_result: true,
  task_update: true,
  error: true,
  done: true,
};

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
<form method="get" action="${pathname}" class="row"><div><label for="event">Event</label><select id="event" name="event">${optionList(Object.keys(NAMES), name, "all")}</select></div><button>Filter</button></form>
<p>${counted(last, "event")}. ${from > 0 ? to(Math.max(0, from - EVENTS), "Earlier") : ""}${shown.next_cursor === null ? "" : to(shown.next_cursor, "Later")}</p>
${shown.data.length === 0 ? html`<p>${last === 0 ? "Nothing happened yet." : "None here."}</p>` : list(shown.data)}`,
  };
}

function list(data: Answer<"listSessionEvents">["data"]): Html {
  const rows = data.map(({ id, event, data: value }) => [
    id.split(":").at(-1) ?? "",
    event,
    html`<details><summary><code>${short(jsonShown(value), 100)}</code></summary><pre tabindex="0">${short(pretty(value), SHOWN)}</pre></details>`,
  ]);
  return table([numbers("Number"), "Event", { name: "Data", as: "wide" }], rows);
}
