/** The executions that the runner may know, in the table `handed_in` of a Durable Object (docs/storage-schema.md). */
import type { KnownExecutions } from "../tool/runner-client.ts";
import type { Tables } from "./tables.ts";

export class SubmittedExecutions implements KnownExecutions {
  readonly #sql: SqlStorage;
  /** Whether the table has rows; `undefined`: unknown. Only this class writes it. */
  #any: boolean | undefined;

  readonly #tables: Tables<"handed_in">;

  constructor(sql: SqlStorage, tables: Tables<"handed_in">) {
    this.#sql = sql;
    this.#tables = tables;
  }

  known(id: string): "nothing" | "handed_in" | "admitted" {
    if (!this.#there) return "nothing";
    const query = "SELECT admitted FROM handed_in WHERE execution_id = ?";
    const [row] = this.#sql.exec<{ admitted: number }>(query, id).toArray();
    if (row === undefined) return "nothing";
    return row.admitted === 1 ? "admitted" : "handed_in";
  }

  note(id: string, fact: "handed_in" | "admitted"): void {
    this.#tables.need("handed_in");
    this.#sql.exec(
      `INSERT INTO handed_in (execution_id, admitted) VALUES (?1, ?2)
         ON CONFLICT (execution_id) DO UPDATE SET admitted = max(admitted, ?2)`,
      id,
      fact === "admitted" ? 1 : 0,
    );
    this.#any = true;
  }

  ids(): string[] {
    if (!this.#there) return [];
    const rows = this.#sql.exec<{ id: string }>("SELECT execution_id AS id FROM handed_in").toArray();
    return rows.map(({ id }) => id);
  }

  /** A number that grows with progress: 1 for each execution that may have reached the runner, 2 for each that has. */
  progress(): number {
    if (!this.#there) return 0;
    const query = "SELECT count(*) + coalesce(sum(admitted), 0) AS n FROM handed_in";
    return this.#sql.exec<{ n: number }>(query).one().n;
  }

  /** Removes all rows, once nothing will ask the runner about them. */
  clear(): void {
    if (this.#any !== false && this.#there) this.#sql.exec("DELETE FROM handed_in");
    this.#any = false;
  }

  get #there(): boolean {
    return this.#tables.has("handed_in");
  }

  /** Drops the cached value, after a failed transaction or after everything was removed. */
  forget(): void {
    this.#any = undefined;
  }
}
