import { columnsOf, padded } from "./terminal-columns.ts";

/** Rows as text with aligned columns, each on one line; the last column keeps its own width. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map((cell) => cell.replace(/(?<!\s)\s*[\r\n]\s*/g, " ")));
  const columns = rows[0]?.length ?? 0;
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => columnsOf(row[column] ?? ""))),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => padded(cell, widths[i] ?? 0))
      .join("  ")
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join("");
}
