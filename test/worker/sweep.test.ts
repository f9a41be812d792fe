/** What the cron trigger removes: all that is due, however much it is, whatever else fails (docs/storage-schema.md). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { removeObjects } from "../../src/session/r2-objects.ts";
import { Client } from "./served.ts";
import { statementsIn, sweepAt } from "./triggers.ts";

const client = new Client();
const { env } = client;
const DAY_MS = 24 * 3_600_000;
const LATER = Date.now() + 70 * DAY_MS;

const { run, count } = statementsIn(env);
const sweep = (now = LATER, bindings = env): Promise<void> => sweepAt(bindings, now);
const objects = async (prefix: string): Promise<number> => {
  let [found, cursor]: [number, string | undefined] = [0, undefined];
  do {
    const page: R2Objects = await env.FILES.list({ prefix, ...(cursor === undefined ? {} : { cursor }) });
    found += page.objects.length;
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
  return found;
};
const numbers = (n: number): string => JSON.stringify(Array.from({ length: n }, (_, i) => i));
async function put(n: number, key: (i: number) => string): Promise<void> {
  for (let i = 0; i < n; i++) await env.FILES.put(key(i), "x");
}

const RUN = `INSERT INTO runs (tenant, id, kind, state, created_at, settled_at, input_tokens, output_tokens, cost_usd)
  SELECT 't', ?2 || value, 'call', 'done', ?3, ?3, 0, 0, 0 FROM json_each(?1)`;
const FILE = `INSERT INTO stored_files (tenant, id, filename, mime, size, purpose, downloadable, stored, created_us, expires_ms)
  SELECT 't', 'file_' || value, '', '', 0, '', 0, 1, value, ?2 FROM json_each(?1)`;

/** Things that age: how to make some, and how to count them. */
const THINGS: { what: string; make: (n: number) => Promise<unknown>; left: () => Promise<number[]> }[] = [
  {
    what: "bundles without a version",
    make: async (n) => {
      await put(n, (i) => `skill-bundles/t/${i}`);
      await run(
        `INSERT INTO stored_bundles (tenant, digest, key, size, stored, doomed, loose_ms)
         SELECT 't', 'd' || value, 'skill-bundles/t/' || value, 1, 1, 0, 1 FROM json_each(?)`,
        numbers(n),
      );
    },
    left: async () => [await count("stored_bundles"), await objects("skill-bundles/")],
  },
  {
    what: "files of /v1",
    make: async (n) => {
      await put(n, (i) => `files/t/file_${i}`);
      await run(FILE, numbers(n), Date.now());
    },
    left: async () => [await count("stored_files WHERE stored < 2"), await objects("files/")],
  },
  {
    what: "kept answers",
    make: async (n) => {
      await put(n, (i) => `answers/n${i}/a${i}`);
      await run(
        `INSERT INTO kept_answers (name, request_hash, attempt, effects, alive_ms, expires_ms)
         SELECT 'n' || value, '', 'a' || value, 0, 0, ?2 FROM json_each(?1)`,
        numbers(n),
        Date.now() + DAY_MS,
      );
    },
    left: async () => [await count("kept_answers"), await objects("answers/")],
  },
  {
    what: "rows of ended runs",
    make: (n) => run(RUN, numbers(n), "r", new Date().toISOString()),
    left: async () => [await count("runs")],
  },
  {
    what: "containers",
    make: async (n) => {
      for (let i = 0; i < n; i++) await container();
    },
    left: async () => [await count("sessions"), await objects("sessions/")],
  },
];

/** A container with a file. */
async function container(): Promise<string> {
  const made = await client.post("/v1/containers", { name: "box" });
  const { id } = await made.json<{ id: string }>();
  await addFile(id, "a.txt");
  return id;
}
async function addFile(id: string, name: string): Promise<number> {
  const body = new FormData();
  body.append("file", new File(["A."], name));
  return (await client.fetch(`/v1/containers/${id}/files`, { method: "POST", body })).status;
}
const status = async (id: string) => (await client.fetch(`/v1/containers/${id}`)).status;

beforeEach(async () => {
  for (const table of ["stored_bundles", "stored_files", "kept_answers", "runs", "sessions"])
    await run(`DELETE FROM ${table}`);
  for (const prefix of ["skill-bundles/", "files/", "answers/", "sessions/"])
    for (const { key } of (await env.FILES.list({ prefix })).objects) await env.FILES.delete(key);
});

describe("fifty of each go, rows and bytes", () => {
  it.each(THINGS)("$what", async ({ make, left }) => {
    await make(50);
    const before = await left();
    expect(before).toEqual(before.map(() => 50));
    await sweep();
    expect(await left()).toEqual(before.map(() => 0));
  });
});

it("a container stays for a day after it has expired", async () => {
  const id = await container();
  const begin = Date.now();
  await sweep(begin + 30.5 * DAY_MS);
  expect([await status(id), await objects("sessions/")]).toEqual([200, 1]);
  await sweep(begin + 32 * DAY_MS);
  expect([await status(id), await objects("sessions/")]).toEqual([404, 0]);
});

it("a container stays while somebody uses it", async () => {
  const id = await container();
  const begin = Date.now();
  await run("UPDATE sessions SET created_at = ?", new Date(begin - 60 * DAY_MS).toISOString());
  await sweep(begin + DAY_MS);
  expect([await status(id), await objects("sessions/")]).toEqual([200, 1]);
  await sweep(begin + 32 * DAY_MS);
  expect([await status(id), await objects("sessions/")]).toEqual([404, 0]);
});

it("a sweep that fails leaves the others alone, and the log names it", async () => {
  await run(RUN, numbers(50), "old", new Date().toISOString());
  const { DB } = env;
  const prepare = (query: string): D1PreparedStatement =>
    DB.prepare(query.includes("kept_answers") ? "SELECT * FROM no_such_table" : query);
  const batch: D1Database["batch"] = (statements) => DB.batch(statements);
  const broken = { ...env, DB: Object.assign(Object.create(null), { prepare, batch }) };
  const logged = vi.spyOn(console, "error").mockReturnValue();
  await sweep(LATER, broken);
  const failed = logged.mock.calls.map(([line]) => JSON.parse(String(line)));
  logged.mockRestore();
  expect(failed).toEqual([
    { event: "sweep_failed", sweep: "answers", error: expect.stringContaining("no_such_table") },
  ]);
  expect(await count("runs")).toBe(0);
});

it.each([
  [
    "daemons",
    "daemon_not_poked",
    `INSERT INTO daemons (tenant, id, status, check_at, created_at)
     SELECT 't', 'daemon_' || value, 'running', 1, ?2 FROM json_each(?1)`,
  ],
  [
    "sessions",
    "container_not_swept",
    `INSERT INTO sessions (tenant, id, state, created_at, metadata)
     SELECT 't', 'container_01' || value, 'active', ?2, '{"container":true}' FROM json_each(?1)`,
  ],
])("a sweep continues even if D1 does not remove some rows of %s", async (table, event, insert) => {
  await run(insert, numbers(20), new Date(Date.now() - 40 * DAY_MS).toISOString());
  let refused = 0;
  const prepare = (query: string): D1PreparedStatement => {
    if (!query.startsWith(`DELETE FROM ${table}`) || refused++ >= 6) return env.DB.prepare(query);
    throw new Error("D1_ERROR: D1 DB is overloaded.");
  };
  const batch: D1Database["batch"] = (statements) => env.DB.batch(statements);
  const logged = vi.spyOn(console, "error").mockReturnValue();
  await sweep(LATER, { ...env, DB: Object.assign(Object.create(null), { prepare, batch }) });
  const failed = logged.mock.calls.map(([line]) => JSON.parse(String(line)).event);
  logged.mockRestore();
  expect(failed).toEqual(Array.from({ length: 6 }, () => event));
  expect(await count(table)).toBe(6);
  await sweep();
  expect(await count(table)).toBe(0);
});

it("more expired files than one sweep removes keep the rows that know their bytes", async () => {
  await run(FILE, numbers(6000), Date.now() - 40 * DAY_MS);
  await sweep(Date.now());
  expect(await count("stored_files")).toBe(1000);
  await sweep(Date.now());
  expect(await count("stored_files")).toBe(0);
});

it("renewed rows at the beginning of the list do not keep old ones in it", async () => {
  await run(RUN, numbers(1000), "young", new Date(LATER).toISOString());
  await run(RUN, numbers(50), "old", new Date().toISOString());
  for (let i = 0; i < 200 && (await count("runs")) > 1000; i++) await sweep();
  expect(await count("runs")).toBe(1000);
});

it("asks R2 to remove at most a thousand objects at once, as many as it takes", async () => {
  const asked: number[] = [];
  const get = (target: R2Bucket, name: PropertyKey) =>
    name === "delete"
      ? (keys: string[]) => {
          asked.push(keys.length);
          return target.delete(keys);
        }
      : Reflect.get(target, name);
  await put(1, () => "many/2000");
  await removeObjects(
    new Proxy(env.FILES, { get }),
    Array.from({ length: 2001 }, (_, i) => `many/${i}`),
  );
  expect([asked, await objects("many/")]).toEqual([[1000, 1000, 1], 0]);
});
