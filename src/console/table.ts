/** Tables and facts, each in the one shape that the stylesheet knows. */
import { html, raw } from "hono/html";
import type { Html } from "./text.ts";

/** A heading. `n`: its cells are numbers. `wide`: a narrow window shows its cells without the heading. */
export interface Column {
  name: string;
  as?: "n" | "wide";
  title?: string;
}

/** The heading of cells that are numbers. */
export const numbers = (name: string): Column => ({ name, as: "n" });

type Cell = Html | string;

/** A table; a narrow window shows each row as a block, its cells with their headings. @param ids of the rows */
export function table(
  columns: readonly (string | Column)[],
  rows: readonly (readonly Cell[])[],
  ids: readonly string[] = [],
): Html {
  const heads = columns.map((one): Column => (typeof one === "string" ? { name: one } : one));
  const head = ({ name, as, title }: Column): Html =>
    html`<th${attribute("class", as)}${attribute("title", title)}>${name}</th>`;
  const cell = (value: Cell, i: number): Html => {
    const { name, as } = heads[i] ?? { name: "" };
    // The first cell, and a wide one, stand for themselves.
    const named = i === 0 || as === "wide" ? undefined : name;
    return html`<td${attribute("class", as)}${attribute("data-head", named)}>${value}</td>`;
  };
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Table: ${heads[0]?.name ?? ""}"><table><thead><tr>${heads.map(head)}</tr></thead><tbody>
${rows.map((row, i) => html`<tr${attribute("id", ids[i])}>${row.map(cell)}</tr>\n`)}</tbody></table></div>`;
}

const attribute = (name: string, value: string | undefined): Html | "" =>
  value === undefined ? "" : html` ${raw(name)}="${value}"`;

/** Facts with their names, side by side where there is room. `null`: left out. */
export function facts(all: readonly (readonly [name: string, value: Cell | number] | null)[]): Html {
  return html`<dl>${all.map((one) => (one === null ? "" : html`<div><dt>${one[0]}</dt><dd>${one[1]}</dd></div>\n`))}</dl>`;
}

/** The options of a select. @param empty the text of a first option without a value; without it there is none */
export function optionList(
  values: readonly string[],
  chosen: string,
  empty?: string,
  textOf = (value: string): string => value,
): Html {
  const option = (value: string, text: string): Html =>
    value === chosen
      ? html`<option value="${value}" selected>${text}</option>`
      : html`<option value="${value}">${text}</option>`;
  return html`${empty === undefined ? "" : option("", empty)}${values.map((value) => option(value, textOf(value)))}`;
}
