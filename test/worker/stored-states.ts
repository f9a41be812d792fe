/**
 * States that earlier versions of Hull have stored (`test/fixtures/stored`), loaded into objects of their names. Each
 * file has one JSON value per line, and was written by its version through that version's own routes, during a run that
 * waits or is running. Its times are in the past, so that everything planned for later is due.
 */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { bindings } from "./file-bindings.ts";

type Value = string | number | null | { json: unknown };
interface Row {
  [column: string]: Value;
}
interface StoredObject {
  /** `<tenant>/<id>`, or the id of an execution. */
  name: string;
  /** Unix ms; `null`: none. */
  alarm: number | null;
  /** Creates its tables and indexes. */
  sql: string[];
  rows: { into: string; row: Row }[];
}
export interface StoredCase {
  /** What the state is of. */
  name: string;
  id: string;
  objects: StoredObject[];
  /** Rows of D1. */
  listed: { into: string; row: Row }[];
}

type Line =
  | { case: string; id: string }
  | { object: string; alarm: number | null; sql: string[] }
  | { into: string; row: Row }
  | { listed: string; row: Row };

export function readStored(text: string): StoredCase[] {
  const cases: StoredCase[] = [];
  for (const one of text.split("\n").filter((each) => each !== "")) {
    const line: Line = JSON.parse(one);
    const last = cases.at(-1);
    if ("case" in line) cases.push({ name: line.case, id: line.id, objects: [], listed: [] });
    else if ("object" in line)
      last?.objects.push({ name: line.object, alarm: line.alarm, sql: line.sql, rows: [] });
    else if ("listed" in line) last?.listed.push({ into: line.listed, row: line.row });
    else last?.objects.at(-1)?.rows.push(line);
  }
  return cases;
}

const insertion = ({ into, row }: { into: string; row: Row }): string => {
  const names = Object.keys(row);
  return `INSERT INTO ${into} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
};
const boundTo = (row: Row): unknown[] =>
  Object.values(row).map((value) =>
    value !== null && typeof value === "object"
      ? new TextEncoder().encode(JSON.stringify(value.json))
      : value,
  );

/** Stores a case as its version had left it: each object's process has died, and its alarm is set. */
export async function plant({ objects, listed }: StoredCase): Promise<void> {
  const { SESSIONS, DB } = bindings;
  for (const one of listed)
    await DB.prepare(insertion(one))
      .bind(...boundTo(one.row))
      .run();
  for (const { name, sql, rows } of objects) {
    const stub = SESSIONS.get(SESSIONS.idFromName(name));
    await runInDurableObject(stub, (_, { storage }) => {
      for (const statement of sql) storage.sql.exec(statement);
      for (const one of rows) storage.sql.exec(insertion(one), ...boundTo(one.row));
    });
    await evictDurableObject(stub);
  }
  // Overdue alarms fire at once, and may call the other objects.
  for (const { name, alarm } of objects) {
    if (alarm === null) continue;
    const stub = SESSIONS.get(SESSIONS.idFromName(name));
    await runInDurableObject(stub, (_, { storage }) => storage.setAlarm(alarm));
  }
}
