/**
 * Prints what a `hull dev` has stored of sessions, in the form of the files in `test/fixtures/stored`. To record a
 * version of Hull, let its `hull dev --direct` execute a run until the run waits, kill it with SIGKILL, and pass its
 * state folder to this program.
 *
 * `node test/support/stored-state.ts <state folder> <description> <id of the run> [ids of further sessions]`
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";

/** Three years, so that everything planned for later is due wherever a test runs. */
const EARLIER_MS = Date.UTC(2026, 0) - Date.UTC(2023, 0);

type Row = Record<string, SQLOutputValue>;

/** A row whose texts in bytes contain JSON. */
const shown = (row: Row): object =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? { json: JSON.parse(new TextDecoder().decode(value)) } : value,
    ]),
  );

/** Matches times, both as numbers and in RFC 3339, and nothing else that resembles them. */
const earlier = (line: string, now: number): string => {
  const near = (at: number): boolean => Math.abs(at - now) < EARLIER_MS;
  return line
    .replace(/\b\d{13}\b/g, (text) => (near(Number(text)) ? String(Number(text) - EARLIER_MS) : text))
    .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, (text) =>
      near(Date.parse(text)) ? new Date(Date.parse(text) - EARLIER_MS).toISOString() : text,
    );
};

function* linesOf(state: string, name: string, ids: readonly string[]): Generator<object> {
  yield { case: name, id: ids[0] };
  const folder = join(state, "worker/v3/do/hull-SessionObject");
  const files = readdirSync(folder).filter((file) => /^[0-9a-f]{64}\.sqlite$/.test(file));
  const objects = files.map((file) => new DatabaseSync(join(folder, file)));
  for (const id of ids) {
    const object = objects.find(
      (one) =>
        one.prepare("SELECT 1 FROM sqlite_master WHERE name = 'session'").all().length > 0 &&
        one.prepare("SELECT 1 FROM session WHERE id = ?").all(id).length > 0,
    );
    if (object === undefined) throw new RangeError(`no session ${id} in ${folder}`);
    const all = (query: string): Row[] => object.prepare(query).all();
    const made = all(
      "SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT GLOB '_cf*' ORDER BY type = 'index', rowid",
    );
    const [session] = all("SELECT tenant FROM session");
    const [due] = all("SELECT min(at) AS at FROM due");
    yield {
      // An execution's object has the execution's id alone as its name.
      object: id.startsWith("ex_") ? id : `${session?.tenant}/${id}`,
      alarm: due?.at ?? null,
      sql: made.map(({ sql }) => String(sql).replace(/\s+/g, " ")),
    };
    for (const { name: into, type } of made)
      if (type === "table") for (const row of all(`SELECT * FROM ${into}`)) yield { into, row: shown(row) };
  }
}

const [state = "", name = "", ...ids] = process.argv.slice(2);
for (const line of linesOf(state, name, ids)) console.log(earlier(JSON.stringify(line), Date.now()));
