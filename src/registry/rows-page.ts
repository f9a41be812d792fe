/** Lists whose pages begin after a position. */

/** Selects the rows of a page: those after a position in the order of a column. */
export interface RowsPage {
  limit: number;
  /** What the column has in the last row of the previous page; `null`: begin at the start. */
  after: number | null;
  ascending: boolean;
}

/** The end of a query whose parameter ?3 is `after` and whose ?4 is `limit`. */
export function pagedBy(column: string, { ascending }: RowsPage): string {
  const [beyond, order] = ascending ? [">", "ASC"] : ["<", "DESC"];
  return `AND (?3 IS NULL OR ${column} ${beyond} ?3) ORDER BY ${column} ${order} LIMIT ?4`;
}
