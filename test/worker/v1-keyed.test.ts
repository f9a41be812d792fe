/** Kept answers of `/v1` inside workerd: expiry, sweeps, dead processes, stores that fail (docs/http.md). */
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { sweepAnswers } from "../../src/registry/kept-answers/rows.ts";
import { Client } from "./served.ts";
import { withMethod } from "./statement.ts";
import { ADMIN, FOLDER, Tenant, tenant } from "./tenant.ts";
import { form } from "./v1-client.ts";

const DAY_MS = 86_400_000;
const open = new Client({ HULL_ADMIN_KEY: ADMIN, HULL_CONFIG: JSON.stringify({ rate_limit: null }) });
let red: Tenant;
beforeAll(async () => {
  await new Client().publish(FOLDER);
  red = new Tenant(open, (await tenant("red", "invoke", "publish")).key);
});
afterEach(() => vi.restoreAllMocks());

/** The id of the conversation that a request with this key makes or made, and whether it was made before. */
async function conversation(key: string): Promise<{ id: string; again: boolean }> {
  const headers = { "content-type": "application/json", "idempotency-key": key };
  const response = await red.fetch("/v1/conversations", { method: "POST", headers, body: "{}" });
  expect(response.status).toBe(200);
  const { id } = await response.json<{ id: string }>();
  return { id, again: response.headers.has("x-hull-replayed") };
}
/** Calls the mock model with this key. */
async function said(key: string): Promise<{ status: number; again: boolean }> {
  const headers = { "content-type": "application/json", "idempotency-key": key };
  const body = JSON.stringify({ model: "mock", messages: [{ role: "user", content: "hi" }] });
  const response = await red.fetch("/v1/chat/completions", { method: "POST", headers, body });
  await response.arrayBuffer();
  return { status: response.status, again: response.headers.has("x-hull-replayed") };
}
const bodies = async (): Promise<number> =>
  (await open.env.FILES.list({ prefix: "answers/" })).objects.length;
const rows = async (): Promise<number> =>
  (await open.env.DB.prepare("SELECT count(*) AS n FROM kept_answers").first<number>("n")) ?? -1;
const later = (ms: number): void => {
  const now = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => now + ms);
};

it("an answer is kept for a day; then the key makes a new one, and nothing of the old one stays", async () => {
  const begun = Date.now();
  const clock = vi.spyOn(Date, "now").mockReturnValue(begun);
  const first = await conversation("a-day");
  clock.mockReturnValue(begun + DAY_MS - 1);
  expect(await conversation("a-day")).toEqual({ id: first.id, again: true });
  const [kept, stored] = [await rows(), await bodies()];
  clock.mockReturnValue(begun + DAY_MS + 1000);
  const second = await conversation("a-day");
  expect(second).toMatchObject({ again: false });
  expect(second.id).not.toBe(first.id);
  await sweepAnswers(open.env);
  expect([await rows(), await bodies()]).toEqual([kept, stored]);
});

it("a key counts for one path: one key serves two conversations", async () => {
  const headers = { "content-type": "application/json", "idempotency-key": "both" };
  const body = JSON.stringify({ items: [{ type: "message", role: "user", content: "hi" }] });
  const add = async (id: string) => {
    const response = await red.fetch(`/v1/conversations/${id}/items`, { method: "POST", headers, body });
    return [response.status, response.headers.has("x-hull-replayed")];
  };
  const ids = [(await conversation("one")).id, (await conversation("other")).id];
  for (const again of [false, true]) for (const id of ids) expect(await add(id)).toEqual([200, again]);
  for (const id of ids) {
    const items = await red.fetch(`/v1/conversations/${id}/items`);
    expect((await items.json<{ data: object[] }>()).data).toHaveLength(1);
  }
});

it("a refused request leaves nothing, and its key serves another one", async () => {
  const [kept, stored] = [await rows(), await bodies()];
  const headers = { "content-type": "application/json", "idempotency-key": "refused" };
  const refused = await red.fetch("/v1/conversations", { method: "POST", headers, body: '{"items": 5}' });
  expect([refused.status, await rows(), await bodies()]).toEqual([400, kept, stored]);
  expect(await conversation("refused")).toMatchObject({ again: false });
});

it("a sweep removes expired answers with their bodies, and no others", async () => {
  await conversation("old");
  later(DAY_MS / 2);
  await conversation("young");
  vi.restoreAllMocks();
  later(DAY_MS + 1000);
  await sweepAnswers(open.env);
  expect(await conversation("young")).toMatchObject({ again: true });
  vi.restoreAllMocks();
  expect(await rows()).toBe(await bodies());
  expect(await conversation("old")).toMatchObject({ again: false });
});

it("a sweep removes as many expired answers as there are", async () => {
  const numbers = Array.from({ length: 2500 }, (_, n) => n);
  await open.env.DB.prepare(
    `INSERT INTO kept_answers (name, request_hash, attempt, effects, alive_ms, expires_ms)
     SELECT 'many/' || value, '', 'many-' || value, 0, 0, 1 FROM json_each(?)`,
  )
    .bind(JSON.stringify(numbers))
    .run();
  const before = await rows();
  await sweepAnswers(open.env);
  expect(await rows()).toBe(before - numbers.length);
});

it("a creating request that begins again after the death of its process finds what it made", async () => {
  const { id } = await conversation("dead");
  const forgotten = "UPDATE kept_answers SET answer = NULL, alive_ms = 1 WHERE expires_ms > ?";
  await open.env.DB.prepare(forgotten).bind(Date.now()).run();
  expect(await conversation("dead")).toEqual({ id, again: false });
  expect(await conversation("dead")).toEqual({ id, again: true });
});

/**
 * The database carries out the requests that match, but their answers are lost: a container's row comes from two writers.
 * @param other an id: a late write for what has it is another matter
 */
function loseAnswer(to: RegExp, other: string): { lost: () => boolean } {
  const { DB } = open.env;
  let lost = false;
  const answered = <T>(statements: readonly string[], answer: T): T => {
    if (!statements.some((one) => to.test(one) && !one.includes(other))) return answer;
    lost = true;
    throw new Error("D1_ERROR: Network connection lost.");
  };
  const statement: D1PreparedStatement = Object.getPrototypeOf(DB.prepare("SELECT 1"));
  const text = (of: object): string =>
    "statement" in of && "params" in of ? JSON.stringify([of.statement, of.params]) : "";
  const { run, first, all } = statement;
  const { batch } = DB;
  vi.spyOn(statement, "run").mockImplementation(async function (this: typeof statement) {
    return answered([text(this)], await run.call(this));
  });
  vi.spyOn(statement, "all").mockImplementation(async function (this: typeof statement) {
    return answered([text(this)], await all.call(this));
  });
  vi.spyOn(statement, "first").mockImplementation(async function (this: typeof statement) {
    return answered([text(this)], await first.call(this));
  });
  vi.spyOn(DB, "batch").mockImplementation(async (statements) =>
    answered(statements.map(text), await batch.call(DB, statements)),
  );
  return { lost: () => lost };
}

describe("a creation whose answer the database lost", () => {
  const SKILL = "---\nname: fox\ndescription: Finds foxes.\n---\nLook.\n";
  const upload = (): FormData => form([["fox/SKILL.md", SKILL]]);
  const file = (): FormData => {
    const data = new FormData();
    data.append("file", new File(["a fox"], "fox.txt"));
    return data;
  };
  const text = (body: object) => () => JSON.stringify(body);
  const item = { type: "message", role: "user", content: "hi" };
  const inConversation = async (): Promise<string> =>
    `/v1/conversations/${(await conversation(crypto.randomUUID())).id}/items`;
  const ofSkill = async (): Promise<string> => {
    const made = await red.fetch("/v1/skills", { method: "POST", body: upload() });
    return `/v1/skills/${(await made.json<{ id: string }>()).id}/versions`;
  };
  const at = (path: string) => async () => path;
  const daemon = () =>
    JSON.stringify({ task: "Watch.", provider: "mock", persist_path: `at/${crypto.randomUUID()}` });

  it.each([
    ["conversation", at("/v1/conversations"), text({ items: [item] }), /INTO conversations/, "conversations"],
    ["items", at("/v1/conversations"), text({ items: [item] }), /INTO conversation_items/, "conversations"],
    ["items", inConversation, text({ items: [item, item] }), /INTO conversation_items/, "conversation_items"],
    ["container", at("/v1/containers"), text({ name: "mine" }), /INTO sessions/, "sessions"],
    ["skill", at("/v1/skills"), upload, /INTO stored_skills/, "stored_skills"],
    ["bundle", at("/v1/skills"), upload, /INTO stored_bundles/, "stored_skills"],
    ["version", ofSkill, upload, /INTO stored_skill_versions/, "stored_skill_versions"],
    ["file", at("/v1/files"), file, /INTO stored_files/, "stored_files"],
    ["file", at("/v1/files"), file, /UPDATE stored_files/, "stored_files"],
    ["upload", at("/files"), text({}), /INTO stored_files/, "stored_files"],
    ["daemon", at("/daemons"), daemon, /INTO daemons/, "daemons"],
    ["API key", at("/admin/keys"), text({ tenant: "red", scopes: ["invoke"] }), /INTO api_keys/, "api_keys"],
    ["claim", at("/v1/conversations"), text({}), /INTO kept_answers/, "conversations"],
  ])("is found by the next request with its key: %s", async (_, path, body, statement, table) => {
    const by = table === "api_keys" ? new Tenant(open, ADMIN) : red;
    const to = await path();
    const count = async (): Promise<number> =>
      (await open.env.DB.prepare(`SELECT count(*) AS n FROM ${table}`).first<number>("n")) ?? -1;
    const key = crypto.randomUUID();
    const sent = body();
    const asked = async (): Promise<{ status: number; answer: string }> => {
      const type = typeof sent === "string" ? { "content-type": "application/json" } : {};
      const headers = { ...type, "idempotency-key": key };
      const response = await by.fetch(to, { method: "POST", headers, body: sent });
      return { status: response.status, answer: await response.text() };
    };
    const other = await by.fetch(to, { method: "POST", body: body() });
    expect(other.ok).toBe(true);
    const { id = "no id" } = await other.json<{ id?: string }>();
    const before = await count();
    const made = table === "conversation_items" ? 2 : 1;
    const fault = loseAnswer(statement, id);
    expect([(await asked()).status, fault.lost()]).toEqual([503, true]);
    vi.restoreAllMocks();
    // The process that claimed the key does not know that it did.
    if (statement.test("INTO kept_answers")) later(11_000);
    const second = await asked();
    expect(second.status).toBeLessThan(300);
    expect(await asked()).toMatchObject({ status: second.status, answer: second.answer });
    expect(await count()).toBe(before + made);
    // Without a key, or with another, a request makes another one.
    expect((await by.fetch(to, { method: "POST", body: body() })).ok).toBe(true);
    expect(await count()).toBe(before + 2 * made);
  });
});

it("a store that fails costs the kept answer, not the answer", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(open.env.FILES, "put").mockRejectedValue(new TypeError("R2 is away"));
  expect(await conversation("unkept")).toMatchObject({ again: false });
  expect(log.mock.calls.flat().join("\n")).toContain("answer_not_kept");
});

it.each(["rejects", "loses the answer"])(
  "a call that has not begun since the database twice %s begins with the next request with its key",
  async (fault) => {
    const { DB } = open.env;
    const prepare = DB.prepare.bind(DB);
    let faults = 0;
    vi.spyOn(DB, "prepare").mockImplementation((statement) => {
      const prepared = prepare(statement);
      if (!statement.startsWith("UPDATE kept_answers SET effects = 1") || faults++ > 1) return prepared;
      return withMethod(prepared, "run", async (execute) => {
        if (fault === "loses the answer") await execute();
        throw new Error("D1_ERROR: Network connection lost.");
      });
    });
    const key = crypto.randomUUID();
    const agent = { model: "skill/cat", messages: [{ role: "user", content: "hi" }] };
    const ask = async () => {
      const headers = { "content-type": "application/json", "idempotency-key": key };
      const response = await red.fetch("/v1/chat/completions", {
        method: "POST",
        headers,
        body: JSON.stringify(agent),
      });
      await response.arrayBuffer();
      return [response.status, response.headers.has("x-hull-replayed")];
    };
    expect([await ask(), faults]).toEqual([[503, false], 2]);
    expect(await ask()).toEqual([200, false]);
    expect(await ask()).toEqual([200, true]);
  },
);

it("the body of an answer whose row was not written goes, though another process took the request over", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const { DB } = open.env;
  const prepare = DB.prepare.bind(DB);
  const away = vi.spyOn(DB, "prepare").mockImplementation((statement) => {
    if (statement.startsWith("UPDATE kept_answers SET answer")) throw new TypeError("D1 is away");
    return prepare(statement);
  });
  const before = await bodies();
  expect(await said("halfway")).toEqual({ status: 200, again: false });
  expect(log.mock.calls.flat().join("\n")).toContain("answer_not_kept");
  expect(await bodies()).toBe(before + 1);
  away.mockRestore();
  later(11_000);
  expect(await said("halfway")).toEqual({ status: 200, again: false });
  expect(await said("halfway")).toEqual({ status: 200, again: true });
  vi.restoreAllMocks();
  later(3 * DAY_MS);
  await sweepAnswers(open.env);
  expect([await rows(), await bodies()]).toEqual([0, 0]);
});

it("if R2 fails while an expired answer makes room, neither the new answer nor the removal is lost", async () => {
  await conversation("again");
  later(DAY_MS + 1000);
  const away = vi.spyOn(open.env.FILES, "delete").mockRejectedValue(new TypeError("R2 is away"));
  const second = await conversation("again");
  expect(second).toMatchObject({ again: false });
  expect(await conversation("again")).toEqual({ id: second.id, again: true });
  away.mockRestore();
  later(3 * DAY_MS);
  await sweepAnswers(open.env);
  expect([await rows(), await bodies()]).toEqual([0, 0]);
});
