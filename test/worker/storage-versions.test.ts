/** The versions of what Durable Objects store. A change of tables needs a new one, which an earlier Hull recognises. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, it, vi } from "vitest";
import { sha256 } from "../../src/bytes.ts";
import { OPTIONAL_TABLES } from "../../src/session/conversation/schema.ts";
import { bindings } from "./file-bindings.ts";
import { Client, LOCAL } from "./served.ts";
import { client, codeOf, post, send } from "./session-client.ts";

const { FILE_INDEX, LEDGER, MOCKS, SESSIONS } = bindings;
const session = (id: string) => SESSIONS.get(SESSIONS.idFromName(`default/${id}`));
const mocked = new Client({ ...LOCAL, HULL_LLM: JSON.stringify({ llm: { mock_routes: true } }) });

/** Objects whose tables have versions, with the table that holds the version, and a request that needs them. */
const OBJECTS = [
  {
    of: "a session",
    object: () => session("kept"),
    tables: "schema_version",
    request: () => client.fetch("/sessions/kept"),
  },
  {
    of: "a workspace",
    object: () => session("filed"),
    tables: "workspace_version",
    request: () => client.fetch("/sessions/filed/files"),
  },
  {
    of: "a daemon",
    object: () => session(guard),
    tables: "daemon_version",
    request: () => client.fetch(`/daemons/${guard}`),
  },
  {
    of: "mocks",
    object: () => MOCKS.get(MOCKS.idFromName("default/")),
    tables: "schema_version",
    request: () => mocked.fetch("/llm/mocks/calls"),
  },
  {
    of: "a file index",
    object: () => FILE_INDEX.get(FILE_INDEX.idFromName("default")),
    tables: "schema_version",
    request: () => send("POST", "/files?filename=b.txt", "b"),
  },
  {
    of: "a ledger",
    object: () => LEDGER.get(LEDGER.idFromName("tenant:default")),
    tables: "schema_version",
    request: () => client.fetch("/budgets"),
  },
] as const;

let guard = "";
beforeAll(async () => {
  for (const id of ["kept", "filed"]) await post("/sessions", { id });
  await send("PUT", "/sessions/filed/files/a.txt", "a");
  guard = (await (await post("/daemons", { task: "Watch.", provider: "mock" })).json<{ id: string }>()).id;
  await mocked.fetch("/llm/mocks", { method: "POST", body: JSON.stringify([{ text: "hi" }]) });
  await send("POST", "/files?filename=a.txt", "a");
  await send("PUT", "/budgets/tenant", { window: "day", max_cost_usd: 100 });
});

/**
 * The newest version of the tables, and a hash of them. If a deployed version of Hull made the tables, a change needs a
 * step of its own and with it a new version, since objects that exist keep their tables. A column or an index that the
 * code adds to such tables itself (`RunRows`, `SubmittedExecutions`, `Accounts`) needs none, and an earlier version of
 * Hull still reads the object.
 */
const TABLES: Record<string, [number, string]> = {
  "a session": [1, "542cce12c2dd89c7"],
  "a workspace": [1, "82b7d6139e3a02b6"],
  "a daemon": [1, "640685638b9c4715"],
  mocks: [1, "f78f8568ff319e44"],
  "a file index": [1, "ca7597fb68f2c330"],
  "a ledger": [1, "398045aaf55e9288"],
};

it.each(OBJECTS)("tables change only with a new version: $of", async ({ of, object, tables }) => {
  await runInDurableObject(object(), async (_, { storage: { sql } }) => {
    if (of === "a session") for (const statement of Object.values(OPTIONAL_TABLES)) sql.exec(statement);
    const { at } = sql.exec(`SELECT max(version) AS at FROM ${tables}`).one();
    const part = tables === "schema_version" ? "" : tables.replace("_version", "");
    const rows = sql.exec<{ sql: string }>(
      "SELECT sql FROM sqlite_master WHERE name LIKE ? || '%' AND name NOT LIKE '\\_%' ESCAPE '\\' AND sql IS NOT NULL ORDER BY name",
      part,
    );
    const text = Array.from(rows, (row) => row.sql.replaceAll(/\s+/g, " ")).join("\n");
    expect([at, (await sha256(text)).slice(0, 16)]).toEqual(TABLES[of]);
  });
});

it.each(OBJECTS)("refuses what a later version of Hull stored: $of", async ({ object, tables, request }) => {
  expect((await request()).ok).toBe(true);
  await runInDurableObject(object(), (_, { storage }) => {
    storage.sql.exec(`INSERT INTO ${tables} VALUES (99)`);
  });
  await evictDurableObject(object());
  expect(await codeOf(await request())).toEqual([503, "storage_unreadable"]);
});

it.each(OBJECTS.filter(({ of }) => of !== "a ledger"))(
  "keeps the alarm of what a later version of Hull stored: $of",
  async ({ of, object, tables }) => {
    const alarm = () => runInDurableObject(object(), (_, { storage }) => storage.getAlarm());
    await runInDurableObject(object(), async (_, { storage }) => {
      storage.sql.exec(`INSERT OR IGNORE INTO ${tables} VALUES (99)`);
      await storage.setAlarm(Date.now() + 3_600_000);
    });
    await evictDurableObject(object());
    const logged = vi.spyOn(console, "error").mockReturnValue();
    expect(await runDurableObjectAlarm(object())).toBe(true);
    expect(await alarm()).toBeGreaterThan(Date.now());
    const lines = logged.mock.calls.map(([line]) => JSON.parse(String(line)));
    logged.mockRestore();
    // A session without its workspace handles its alarm.
    const putOff = of === "a workspace" ? [] : [{ event: "alarm_put_off", code: "storage_unreadable" }];
    expect(lines).toMatchObject(putOff);
  },
);

it("a session that could not be opened is opened by the next call", async () => {
  await post("/sessions", { id: "opened" });
  const versions = (change: string) =>
    runInDurableObject(session("opened"), (_, { storage }) => {
      storage.sql.exec(`ALTER TABLE schema_version RENAME COLUMN ${change}`);
    });
  await versions("version TO hidden");
  await evictDurableObject(session("opened"));
  expect((await client.fetch("/sessions/opened")).status).toBe(500);
  await versions("hidden TO version");
  expect((await client.fetch("/sessions/opened")).status).toBe(200);
});
