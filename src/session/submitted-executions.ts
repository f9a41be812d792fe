/** The executions that the runner may know, in the table `handed_in` of a Durable Object (docs/storage-schema.md). */
import type { KnownExecutions } from "../tool/runner-client.ts";
import type { Tables } from "./tables.ts";

export class SubmittedExecutions implements KnownExecutions {
  readonly #tables: Tables<"handed_in">;
  #hasWorkspace = false;

  constructor(tables: Tables<"handed_in">) {
    this.#tables = tables;
  }

  known(id: string): "nothing" | "handed_in" | "admitted" {
    const query = "SELECT admitted FROM handed_in WHERE execution_id = ?";
    const [row] = this.#tables.exec<{ admitted: number }>("handed_in", query, id);
    if (row === undefined) return "nothing";
    return row.admitted === 1 ? "admitted" : "handed_in";
  }

  note(id: string, fact: "handed_in" | "admitted", workspace: string | null = null): void {
    this.#needWorkspace();
    this.#tables.exec(
      "handed_in",
      `INSERT INTO handed_in (execution_id, admitted, workspace) VALUES (?1, ?2, ?3)
         ON CONFLICT (execution_id) DO UPDATE SET admitted = max(admitted, ?2)`,
      id,
      fact === "admitted" ? 1 : 0,
      workspace,
    );
  }

  /** The table with its column `workspace`, which tables of earlier versions of Hull lack. */
  #needWorkspace(): void {
    this.#hasWorkspace ||= !this.#tables.has("handed_in");
    this.#tables.need("handed_in");
    if (this.#hasWorkspace) return;
    const query = "SELECT name FROM pragma_table_info('handed_in') WHERE name = 'workspace'";
    if (this.#tables.exec("handed_in", query).length === 0)
      this.#tables.exec("handed_in", "ALTER TABLE handed_in ADD COLUMN workspace TEXT");
    this.#hasWorkspace = true;
  }

  ids(): string[] {
    const query = "SELECT execution_id AS id FROM handed_in";
    return this.#tables.exec<{ id: string }>("handed_in", query).map(({ id }) => id);
  }

  /** The names by which `runnerEndpoint` finds the runners that may have them, each once. */
  runners(): string[] {
    if (this.ids().length === 0) return [];
    this.#needWorkspace();
    const query = "SELECT DISTINCT coalesce(workspace, execution_id) AS name FROM handed_in";
    return this.#tables.exec<{ name: string }>("handed_in", query).map(({ name }) => name);
  }

  /** A number that grows with progress: 1 for each execution that may have reached the runner, 2 for each that has. */
  progress(): number {
    const query = "SELECT count(*) + coalesce(sum(admitted), 0) AS n FROM handed_in";
    return this.#tables.exec<{ n: number }>("handed_in", query)[0]?.n ?? 0;
  }

  /** Removes all rows, once nothing will ask the runner about them. */
  clear(): void {
    this.#tables.exec("handed_in", "DELETE FROM handed_in");
  }
}
