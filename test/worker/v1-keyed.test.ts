/** Kept answers of `/v1` inside workerd: expiry, sweeps, dead processes, stores that fail (docs/http.md). */
import { afterEach, beforeAll, expect, it, vi } from "vitest";
import { sweepAnswers } from "../../src/registry/kept-answers/rows.ts";
import { Client } from "./served.ts";
import { ADMIN, FOLDER, Tenant, tenant } from "./tenant.ts";

const DAY_MS = 86_400_000;
const open = new Client({ HULL_ADMIN_KEY: ADMIN, HULL_CONFIG: JSON.stringify({ rate_limit: null }) });
let red: Tenant;
beforeAll(async () => {
  await new Client().publish(FOLDER);
  red = new Tenant(open, (await tenant("red", "invoke")).key);
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
  const first = await conversation("a-day");
  later(DAY_MS - 1000);
  expect(await conversation("a-day")).toEqual({ id: first.id, again: true });
  vi.restoreAllMocks();
  const [kept, stored] = [await rows(), await bodies()];
  later(DAY_MS + 1000);
  const second = await conversation("a-day");
  expect(second).toMatchObject({ again: false });
  expect(second.id).not.toBe(first.id);
  await sweepAnswers(open.env);
  expect([await rows(), await bodies()]).toEqual([kept, stored]);
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

it("a creating request is not repeated after the death of its process", async () => {
  await conversation("dead");
  const forgotten = "UPDATE kept_answers SET answer = NULL, alive_ms = 0 WHERE expires_ms > ?";
  await open.env.DB.prepare(forgotten).bind(Date.now()).run();
  const headers = { "content-type": "application/json", "idempotency-key": "dead" };
  const refused = await red.fetch("/v1/conversations", { method: "POST", headers, body: "{}" });
  expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([502, "false"]);
  expect(await refused.json()).toMatchObject({ error: { code: "answer_lost" } });
});

it("a store that fails costs the kept answer, not the answer", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(open.env.FILES, "put").mockRejectedValue(new TypeError("R2 is away"));
  expect(await conversation("unkept")).toMatchObject({ again: false });
  expect(log.mock.calls.flat().join("\n")).toContain("answer_not_kept");
});

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

it("R2 that is away while an expired answer makes room costs neither the new answer nor the removal", async () => {
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
