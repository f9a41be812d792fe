/** Which executions the runner may know of, in the table `handed_in` of a Durable Object (docs/storage-schema.md). */
import type { KnownExecutions } from "../tool/runner-client.ts";

export class HandedIn implements KnownExecutions {
  readonly #sql: SqlStorage;
  /** Whether the table holds any; `undefined`: not known. Nobody else writes it. */
  #any: boolean | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  known(id: string): "nothing" | "handed_in" | "admitted" {
    const query = "SELECT admitted FROM handed_in WHERE execution_id = ?";
    const [row] = this.#sql.exec<{ admitted: number }>(query, id).toArray();
    if (row === undefined) return "nothing";
    return row.admitted === 1 ? "admitted" : "handed_in";
  }

  note(id: string, fact: "handed_in" | "admitted"): void {
    this.#sql.exec(
      `INSERT INTO handed_in (execution_id, admitted) VALUES (?1, ?2)
         ON CONFLICT (execution_id) DO UPDATE SET admitted = max(admitted, ?2)`,
      ...[id, fact === "admitted" ? 1 : 0],
    );
    this.#any = true;
  }

  ids(): string[] {
    const rows = this.#sql.exec<{ id: string }>("SELECT execution_id AS id FROM handed_in").toArray();
    return rows.map(({ id }) => id);
  }

  /** One for each that may have got there, two for each that has: grows as work goes on. */
  progress(): number {
    const query = "SELECT count(*) + coalesce(sum(admitted), 0) AS n FROM handed_in";
    return this.#sql.exec<{ n: number }>(query).one().n;
  }

  /** Nothing more is asked of the runner. */
  clear(): void {
    if (this.#any !== false) this.#sql.exec("DELETE FROM handed_in");
    this.#any = false;
  }

  /** What was known before a transaction that failed, or before all was removed, is not true. */
  forget(): void {
    this.#any = undefined;
  }
}
