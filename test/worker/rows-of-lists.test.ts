/** What lists and lookups in D1 read: the rows that they show, however many rows there are. */
import { beforeAll, describe, expect, it } from "vitest";
import { listKeys } from "../../src/auth/key-store.ts";
import { itemsAfter } from "../../src/registry/conversations/rows.ts";
import {
  addFile,
  beginFile,
  finishFile,
  hideFile,
  removeFileRow,
  sweepFileRows,
} from "../../src/registry/stored-files/rows.ts";
import { findSkillNamed } from "../../src/registry/stored-skills/rows.ts";
import { sweepUploads } from "../../src/registry/sweep-uploads.ts";
import { beginningCall, type RunEntry } from "../../src/session/run-entry.ts";
import { listIndexedRuns, runRows } from "../../src/session/run-index.ts";
import { listSessions, listSessionsBy } from "../../src/session/session-index.ts";
import { listWorkflowRuns } from "../../src/session/workflow/directory.ts";
import { countingDatabase } from "./rows-read.ts";
import { Client } from "./served.ts";
import { sweepAt } from "./triggers.ts";

const { env } = new Client();
const { DB } = env;
const DAY_MS = 24 * 3_600_000;
const NOW = Date.now();
/** Rows of each table that the questions are not about. */
const MANY = 600;
/** More than a question that an index answers may read: a few rows, each with what belongs to it. */
const FEW = 40;
const PAGE = { limit: 10, cursor: null };
const ANY = { state: null, kind: null, name: null, session: null, model: null, code: null, stages: false };

const of = (database: D1Database) => ({ env: { ...env, DB: database }, tenant: "t" });

/** Makes rows 0, 1, … of a table, each with these expressions of `value`, the number of the row. */
const rows = (table: string, n: number, columns: Record<string, string>): D1PreparedStatement =>
  DB.prepare(
    `INSERT INTO ${table} (${Object.keys(columns)}) SELECT ${Object.values(columns)} FROM json_each(?)`,
  ).bind(JSON.stringify(Array.from({ length: n }, (_, i) => i)));

const at = (ms: number): string => `'${new Date(ms).toISOString()}'`;
/** A time for each row: the last row is the newest. */
const TIME = "'2026-01-01T00:00:00.' || printf('%03d', value) || 'Z'";

beforeAll(async () => {
  const owner = of(DB);
  // The tables, with their indexes.
  await sweepAt(env, NOW);
  await listIndexedRuns(owner, { ...PAGE, ...ANY });
  await listKeys(env, { tenant: "t", limit: 1, cursor: null });
  await listWorkflowRuns(owner, { ...PAGE, status: null });
  await itemsAfter(owner, "none", 0);
  const run = { tenant: "'t'", kind: "'run'", input_tokens: "0", output_tokens: "0", cost_usd: "0" };
  const done = { ...run, state: "'done'", settled_at: TIME };
  const file = { tenant: "'t'", filename: "''", mime: "''", purpose: "''", downloadable: "0" };
  const skill = { tenant: "'t'", default_number: "1", last_number: "1", last_epoch: "1", updated_us: "1" };
  const workflow = { tenant: "'t'", workflow: "'w'", task: "''", created_at: TIME };
  await DB.batch([
    rows("runs", 3, {
      ...done,
      id: "'asked' || value",
      name: "'asked'",
      session: "'asked'",
      created_at: TIME,
    }),
    rows("runs", 3, {
      ...run,
      id: "'waits' || value",
      state: "'awaiting_approval'",
      session: "'w'",
      created_at: TIME,
    }),
    rows("runs", 2, { ...run, id: "'runs' || value", state: "'running'", session: "'r'", created_at: TIME }),
    rows("runs", MANY, {
      ...done,
      id: "'r' || value",
      name: "'n'",
      session: "'s' || value",
      created_at: TIME,
    }),
    // The last ones are those of workflow stages, which lists leave out.
    rows("runs", MANY, {
      ...done,
      id: "'run_' || value",
      session: "'wfs_' || value",
      created_at: "'2027' || value",
    }),
    rows("sessions", MANY, {
      tenant: "'t'",
      id: "'wfs_' || value",
      state: "'active'",
      created_at: "'2027' || value",
      parent_id: "'w'",
      metadata: "'{}'",
    }),
    rows("sessions", 3, {
      tenant: "'t'",
      id: "'container_01' || value",
      state: "'active'",
      created_at: TIME,
      metadata: "'{}'",
    }),
    rows("sessions", MANY, {
      tenant: "'t'",
      id: "'s' || value",
      state: "'active'",
      created_at: TIME,
      metadata: "'{}'",
    }),
    rows("stored_skills", 1, { ...skill, id: "'asked'", name: "'asked'", created_us: "0" }),
    rows("stored_skills", MANY, {
      ...skill,
      id: "'s' || value",
      name: "'n' || value",
      created_us: "value + 1",
    }),
    rows("api_keys", MANY, {
      id: "'key_' || printf('%04x', value)",
      hash: "value",
      prefix: "'p'",
      tenant: "iif(value < 3, 't', 'other')",
      scopes: "'invoke'",
      created_at: TIME,
    }),
    rows("workflow_runs", 2, { ...workflow, id: "'asked' || value", status: "'failed'" }),
    rows("workflow_runs", MANY, { ...workflow, id: "'w' || value", status: "'completed'" }),
    // Files whose bytes a sweep has removed: only their rows are left.
    rows("stored_files", MANY, {
      ...file,
      id: "'f' || value",
      size: "1",
      stored: "2",
      created_us: "value",
      expires_ms: String(NOW - DAY_MS),
    }),
  ]);
});

const filtered =
  (filter: { [name: string]: string }, stages = false) =>
  (database: D1Database) =>
    listIndexedRuns(of(database), { ...PAGE, ...ANY, ...filter, stages });

describe("a list reads the rows that it shows", () => {
  it.each<[what: string, list: (database: D1Database) => Promise<{ data: unknown[] }>, shown: number]>([
    ["runs without those of stages", filtered({}), 10],
    ["runs, also those of stages", filtered({}, true), 10],
    ["runs of a kind, also those of stages", filtered({ kind: "run" }, true), 10],
    ["runs of a session, also those of stages", filtered({ session: "asked" }, true), 3],
    ["runs of a skill, also those of stages", filtered({ name: "asked" }, true), 3],
    ["runs with an error, also those of stages", filtered({ code: "asked" }, true), 0],
    ["runs that wait, also those of stages", filtered({ state: "awaiting_approval" }, true), 3],
    [
      "sessions, also those of stages",
      (database) => listSessions(of(database), { ...PAGE, stages: true }),
      10,
    ],
    [
      "sessions without those of stages",
      (database) => listSessions(of(database), { ...PAGE, stages: false }),
      10,
    ],
    ["runs of a session", filtered({ session: "asked" }), 3],
    ["runs of no session", filtered({ session: "none" }), 0],
    ["runs of a skill", filtered({ name: "asked" }), 3],
    ["runs that wait for an approval", filtered({ state: "awaiting_approval" }), 3],
    ["runs that run", filtered({ state: "running" }), 2],
    ["runs that are idle", filtered({ state: "idle" }), 0],
    [
      "containers",
      (database) =>
        listSessionsBy(of(database), {
          from: "container_01",
          to: "container_02",
          name: null,
          limit: 10,
          after: null,
        }),
      3,
    ],
    [
      "keys of a tenant",
      (database) => listKeys(of(database).env, { tenant: "t", limit: 10, cursor: null }),
      3,
    ],
    [
      "workflow runs of a status",
      (database) => listWorkflowRuns(of(database), { ...PAGE, status: "failed" }),
      2,
    ],
  ])("%s", async (_, list, shown) => {
    const counting = countingDatabase(DB);
    expect((await list(counting.DB)).data).toHaveLength(shown);
    expect(counting.read("tenant = ?")).toBeLessThan(FEW);
  });
});

it("lists of everything show both what stages of workflows did and the rest, in order, page by page", async () => {
  const created = {
    created_at: "'2030-' || printf('%02d', 1 + value / 2)",
    id: "iif(value % 2, 'wfs_', 'x') || value",
  };
  const row = { tenant: "'mixed'", state: "'done'" };
  const run = { kind: "'run'", input_tokens: "0", output_tokens: "0", cost_usd: "0", settled_at: TIME };
  await DB.batch([
    rows("runs", 9, {
      ...row,
      ...run,
      id: "iif(value % 2, 'run_', 'x') || value",
      session: "'wfs_' || value",
      created_at: created.created_at,
    }),
    rows("sessions", 9, { ...row, ...created, parent_id: "'w'", metadata: "'{}'" }),
  ]);
  const owner = { env, tenant: "mixed" };
  const pages = async (
    list: (cursor: string | null) => Promise<{ data: { id: string }[]; next_cursor: string | null }>,
  ) => {
    const ids: string[] = [];
    for (let cursor: string | null = null; ; ) {
      const { data, next_cursor } = await list(cursor);
      ids.push(...data.map(({ id }) => id.replace(/\D/g, "")));
      if (next_cursor === null) return ids.join("");
      cursor = next_cursor;
    }
  };
  const all = { limit: 2, stages: true };
  // Those of one time are in the order of their ids.
  expect(await pages((cursor) => listIndexedRuns(owner, { ...ANY, ...all, cursor }))).toBe("867452301");
  expect(await pages((cursor) => listSessions(owner, { ...all, cursor }))).toBe("867452301");
});

/** Rows that D1 writes for a run, also those of indexes. */
async function written(...notes: RunEntry[]): Promise<number[]> {
  const counts: number[] = [];
  for (const run of notes) {
    const results = await DB.batch(await runRows(env, [{ tenant: "w", run }]));
    counts.push(results.reduce((sum, { meta }) => sum + meta.rows_written, 0));
  }
  return counts;
}

it.each<[string, Partial<RunEntry>, number[]]>([
  ["a turn", { kind: "run", session: "s" }, [5, 2, 1]],
  ["a call", { name: "a" }, [5, 2, 1]],
  ["a turn of a named agent", { kind: "run", session: "s", name: "a" }, [6, 2, 1]],
  ["a stage", { kind: "run", session: "wfs_1", id: "run_1" }, [5, 2, 1]],
])("the list of runs costs few rows: %s that begins, waits and ends", async (what, more, expected) => {
  const begun = { ...beginningCall(what.replaceAll(" ", "-"), null, NOW), input_tokens: 5, ...more };
  const ended = { ...begun, state: "done", settled_at: begun.created_at, output_tokens: 5 };
  expect(await written(begun, { ...begun, state: "idle" }, ended)).toEqual(expected);
  const [row = 0] = expected;
  expect(
    await written({ ...ended, id: `${ended.id}-short`, session: begun.session && `s${begun.session}` }),
  ).toEqual([row - 1]);
});

describe("what reads only what it asks for", () => {
  it.each(["asked", "n3", "none"])("a stored skill by its name: %s", async (name) => {
    const counting = countingDatabase(DB);
    expect(await findSkillNamed(of(counting.DB), name)).toBe({ asked: "asked", n3: "s3", none: null }[name]);
    expect(counting.read("stored_skills")).toBeLessThan(FEW);
  });

  it("the room for one more file: files that are no longer stored", async () => {
    const counting = countingDatabase(DB);
    const file = { filename: "a", mime: "text/plain", size: 5, purpose: "p", downloadable: false };
    const added = { ...file, id: "new", expires_ms: null, created_ms: NOW };
    expect(await addFile(of(counting.DB), added, 5)).toBe(true);
    expect(await addFile(of(counting.DB), { ...added, id: "more" }, 9)).toBe(false);
    expect(counting.read("stored_files")).toBeLessThan(FEW);
  });

  it("the room for one more file: files that are stored, none of which has expired", async () => {
    const file = { filename: "''", mime: "''", purpose: "''", downloadable: "0", stored: "1" };
    const live = { ...file, tenant: "'full'", size: "2", created_us: "value" };
    await DB.batch([
      rows("stored_files", MANY, { ...live, id: "'l' || value" }),
      rows("stored_files", 1, { ...live, id: "'old'", created_us: String(MANY), expires_ms: "1" }),
    ]);
    const counting = countingDatabase(DB);
    const owner = { ...of(counting.DB), tenant: "full" };
    const more = { filename: "a", mime: "", size: 5, purpose: "", downloadable: false, expires_ms: null };
    const add = (id: string, quota: number) => addFile(owner, { ...more, id, created_ms: NOW }, quota);
    const used = 2 * MANY;
    expect(await add("a", used + 4)).toBe(false);
    expect(await add("a", used + 5)).toBe(true);
    await beginFile(owner, "b");
    expect(await finishFile(owner, { ...more, id: "b" }, used + 9)).toBeNull();
    expect(await finishFile(owner, { ...more, id: "b" }, used + 10)).toMatchObject({ size: 5 });
    // The same again needs no more room.
    expect(await add("a", 0)).toBe(true);
    expect(await finishFile(owner, { ...more, id: "b", size: 3 }, 0)).toMatchObject({ size: 3 });
    const counted = () =>
      DB.prepare("SELECT tenant, bytes FROM stored_bytes WHERE tenant = 'full'").first("bytes");
    expect(await counted()).toBe(used + 2 + 5 + 3);
    await hideFile(owner, "a");
    await removeFileRow(owner, "a");
    await removeFileRow(owner, "b");
    expect(await counted()).toBe(used + 2);
    expect(counting.read("stored_files")).toBeLessThan(FEW);
    await DB.prepare("UPDATE stored_files SET stored = 2 WHERE tenant = 'full'").run();
    expect(await counted()).toBeNull();
  });

  it("a sweep of files: those that it removed before", async () => {
    const counting = countingDatabase(DB);
    await sweepFileRows(of(counting.DB).env, () => Promise.reject(new RangeError("nothing is due")), NOW);
    expect(counting.read("SELECT tenant, id FROM stored_files")).toBeLessThan(FEW);
  });

  it("a sweep of uploads: runs that have ended since", async () => {
    const old = NOW - 40 * DAY_MS;
    await DB.batch([
      rows("runs", MANY, {
        tenant: "'u'",
        id: "'r' || value",
        kind: "'run'",
        input_tokens: "0",
        output_tokens: "0",
        cost_usd: "0",
        state: "'done'",
        created_at: at(old),
        settled_at: at(old),
      }),
      rows("uploaded_records", 1, { digest: "'loose'", tenant: "'u'", loose_ms: String(old) }),
    ]);
    const counting = countingDatabase(DB);
    await sweepUploads(of(counting.DB).env, NOW);
    expect(counting.read("uploaded_records")).toBeLessThan(FEW);
    expect(await DB.prepare("SELECT * FROM uploaded_records").all()).toMatchObject({ results: [] });
  });
});

it.each([
  ["short ones in two", 1500, 10, [1000, 500]],
  ["long ones by their length", 40, 200_000, [21, 19]],
  ["as many as fit in one", 3, 10, [3]],
])("the items of a conversation are read many at a time: %s", async (_, n, length, found) => {
  const conversation = `conv_${n}_${length}`;
  await DB.batch([
    rows("conversation_items", n, {
      tenant: "'t'",
      conversation: `'${conversation}'`,
      seq: "value + 1",
      id: "'item' || value",
      item: `'{"n":' || value || ',"text":"' || replace(hex(zeroblob(${length / 2})), '00', 'xx') || '"}'`,
    }),
  ]);
  const read: unknown[][] = [];
  for (let after: number | null = 0; after !== null; ) {
    const { items, next } = await itemsAfter(of(DB), conversation, after);
    read.push(items.map((item) => item.n));
    after = next;
  }
  expect(read.map(({ length: items }) => items)).toEqual(found);
  expect(read.flat()).toEqual(Array.from({ length: n }, (_, i) => i));
});
