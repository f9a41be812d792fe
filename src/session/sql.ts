/** Reads and writes rows in the tables of a Durable Object. */

/** The columns of a row to write, by name. */
export type Columns = { [name: string]: SqlStorageValue | Uint8Array };

/** All rows that a statement returns. */
export const select = <T>(sql: SqlStorage, statement: string, ...values: SqlStorageValue[]): T[] =>
  sql.exec<T & Record<string, SqlStorageValue>>(statement, ...values).toArray();

/** @param how `INSERT OR IGNORE` or `INSERT OR REPLACE`, where a row may have the key already */
export function insertRow(sql: SqlStorage, table: string, row: Columns, how = "INSERT"): void {
  const names = Object.keys(row);
  const places = names.map(() => "?");
  sql.exec(`${how} INTO ${table} (${names}) VALUES (${places})`, ...Object.values(row));
}

/** Changes columns of the rows that a condition selects. */
export function updateRows(
  sql: SqlStorage,
  table: string,
  changes: Columns,
  where = "true",
  ...values: SqlStorageValue[]
): void {
  const names = Object.keys(changes);
  if (names.length === 0) return;
  const set = names.map((name) => `${name} = ?`);
  sql.exec(`UPDATE ${table} SET ${set} WHERE ${where}`, ...Object.values(changes), ...values);
}
