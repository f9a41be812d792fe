/** HTML that is escaped by construction, and the formats of numbers, times and amounts. */

import { html } from "hono/html";
import { jsonShown } from "../bytes.ts";
import { firstOf } from "../cut.ts";

/** Escaped HTML. A template turns every value into text unless it is escaped HTML itself. */
export type Html = ReturnType<typeof html>;

const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
];

/** A time as its distance from now, with the exact one in the title. @param at RFC 3339 */
export function when(at: string | null | undefined): Html | string {
  if (at === null || at === undefined) return "–";
  return html`<time datetime="${at}" title="${at}">${distance((Date.now() - Date.parse(at)) / 1000)}</time>`;
}

function distance(seconds: number): string {
  const past = seconds >= 0;
  const size = Math.abs(seconds);
  const [unit, name] = UNITS.find(([long]) => size >= long) ?? [1, "s"];
  const count = `${Math.floor(size / unit)} ${name}`;
  return past ? `${count} ago` : `in ${count}`;
}

/** Milliseconds in a short form. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9_995 ? 2 : 1)} s`;
  // Rounded first, so that no part becomes 60.
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(ms / 60_000);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** US dollars: four digits below one dollar. A smaller amount is not shown as nothing. */
export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return "–";
  if (usd === 0) return "$0";
  if (usd > 0 && usd < 0.00005) return "< $0.0001";
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** What calls cost. @param known whether the price of each is; absent: it is */
export const cost = (usd: number, known = true): Html | string =>
  known
    ? money(usd)
    : html`${money(usd)} <span class="wait" title="The price of some calls is not known.">+ ?</span>`;

/** A count with separated thousands. */
export function count(number: number | null | undefined): string {
  return number === null || number === undefined ? "–" : number.toLocaleString("en-US");
}

/** Bytes in the nearest unit. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)} MiB`;
}

/**
 * A line of a waterfall: its subject, its place in time as a bar, its duration.
 * @param colour class of the bar @param place shares of the whole time, 0 to 1
 */
export function lane(
  title: Html,
  colour: string,
  { from, to }: { from: number; to: number },
  took: Html | string,
): Html {
  const x = Math.min(996, Math.max(0, Math.round(from * 1000)));
  const width = Math.min(1000 - x, Math.max(4, Math.round((to - from) * 1000)));
  return html`<span class="lane"><span>${title}</span><svg viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true"><rect class="${colour}" x="${x}" width="${width}" height="14"/></svg><span class="n">${took}</span></span>`;
}

/** JSON in a readable form; a text as it is. */
export function pretty(value: unknown): string {
  return typeof value === "string" ? value : jsonShown(value, 2);
}

/** A value that a click unfolds: a text, which may read from right to left, or JSON. */
export function folded(title: Html | string, value: unknown): Html {
  const direction = typeof value === "string" ? html` dir="auto"` : "";
  return html`<details><summary>${title}</summary><pre tabindex="0"${direction}>${pretty(value)}</pre></details>`;
}

/** Cuts a text to so many characters. */
export function short(text: string, length: number): string {
  return text.length <= length ? text : `${firstOf(text, length - 1)}…`;
}

/** A hash of a text (FNV-1a). It tells a page whether the text has changed. */
export function mark(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(16);
}
