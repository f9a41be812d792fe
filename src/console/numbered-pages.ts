/** Pages of a list whose items have numbers; `?from=` is the number of items before the page. */
import { html } from "hono/html";
import type { Api } from "./api.ts";
import type { Html } from "./text.ts";

interface NumberedList {
  /** How many items it has. */
  length: number;
  /** Most items of a page. */
  most: number;
}

/** How many items precede the page: the last ones are shown, unless the query says otherwise. */
export function firstOf({ url }: Api, { length, most }: NumberedList): number {
  const asked = Number(url.searchParams.get("from") ?? Number.NaN);
  return Number.isSafeInteger(asked) && asked >= 0 ? asked : Math.max(0, length - most);
}

/** Says which items the page shows, and links to the others. @param what one item is called */
export function pageNote(
  { url }: Api,
  what: string,
  from: number,
  { length, most }: NumberedList,
): Html | "" {
  if (length > 0 && from >= length)
    return html`<p>There is no ${what} ${from + 1}: the last one is ${length}. <a href="${url.pathname}">Show the last ones</a>.</p>`;
  if (length <= most) return "";
  const to = (at: number, name: string) => html`<a href="${url.pathname}?from=${at}">${name}</a> `;
  const noun = `${what.charAt(0).toUpperCase()}${what.slice(1)}s`;
  return html`<p>${noun} ${from + 1} to ${Math.min(length, from + most)} of ${length}. ${from > 0 ? to(Math.max(0, from - most), "Earlier") : ""}${from + most < length ? to(from + most, "Later") : ""}</p>`;
}
