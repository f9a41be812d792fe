/** The console with much to show: pages stay small and quick. */
import { beforeAll, expect, it } from "vitest";
import type { RunEntry } from "../../src/session/run-entry.ts";
import { noteRuns } from "../../src/session/run-index.ts";
import { noteSession } from "../../src/session/session-index.ts";
import { Client, mockSkill } from "./served.ts";

const client = new Client();
const MANY = 220;
const SESSIONS = 10_000;
const BATCH = 500;
const ROUNDS = 120;

beforeAll(async () => {
  const names = Array.from({ length: MANY }, (_, i) => `skill-${i}`);
  await client.publish(Object.fromEntries(names.map((name) => [name, mockSkill(name)])));
});

/** Characters of a page that was found. */
async function sizeOf(path: string): Promise<number> {
  const response = await client.fetch(path, { headers: { accept: "text/html" } });
  expect([path, response.status]).toEqual([path, 200]);
  return (await response.text()).length;
}

it(`${MANY} skills are listed in pages`, async () => {
  const seen = new Set<string>();
  for (let path: string | undefined = "/"; path !== undefined; ) {
    const text = await (await client.fetch(path, { headers: { accept: "text/html" } })).text();
    expect(text).toContain(`${MANY} skills`);
    for (const [, slug = ""] of text.matchAll(/href="\/console\/skills\/([^"]+)"/g)) seen.add(slug);
    path = /<a href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
  }
  expect(seen.size).toBe(MANY);
});

it("a page of skills with its script and stylesheet weighs little", async () => {
  const files = await Promise.all(
    ["/console/style.css", "/console/script.js"].map((path) => client.fetch(path)),
  );
  const all = [...files, await client.fetch("/", { headers: { accept: "text/html" } })];
  let bytes = 0;
  for (const file of all) {
    const packed = file.body?.pipeThrough(new CompressionStream("gzip"));
    bytes += (await new Response(packed).arrayBuffer()).byteLength;
  }
  expect(bytes).toBeLessThan(30 * 1024);
});

it(`${SESSIONS} sessions and as many runs are listed in pages`, async () => {
  const created_at = "2026-01-01T00:00:00.000Z";
  await noteSession(
    { env: client.env, tenant: "default" },
    {
      id: "first",
      state: "active",
      created_at,
      parent_id: null,
      metadata: {},
    },
  );
  await client.env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO sessions (tenant, id, state, created_at, parent_id, metadata)
     SELECT 'default', 'many-' || i, 'active', ?, NULL, '{}' FROM n`,
  )
    .bind(SESSIONS, created_at)
    .run();
  expect(await sizeOf("/console/sessions")).toBeLessThan(50_000);
  const run: Omit<RunEntry, "id"> = {
    kind: "call",
    name: "skill-1",
    session: null,
    model: null,
    state: "done",
    created_at,
    settled_at: created_at,
    duration_ms: 1,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    price_known: true,
    code: null,
  };
  for (let at = 0; at < SESSIONS; at += BATCH) {
    const some = Array.from({ length: BATCH }, (_, i) => ({
      tenant: "default",
      run: { ...run, id: `r${at + i}` },
    }));
    await noteRuns(client.env, some);
  }
  expect(await sizeOf("/console/runs")).toBeLessThan(80_000);
});

it("the oldest of many approvals are shown", async () => {
  await client.post("/sessions", { id: "oldest" });
  const tools = [{ name: "ask", description: "Asks.", parameters: {} }];
  const mock = [{ tool_calls: [{ name: "ask", arguments: {} }] }];
  const approval_policy = { require_approval: ["ask"] };
  const options = { provider: "mock", mock, tools, approval_policy };
  await client.post("/sessions/oldest/runs?wait=idle", { prompt: "Ask.", options });
  const listed = async () =>
    (await client.fetch("/runs?state=awaiting_approval")).json<{ data: RunEntry[] }>();
  await expect.poll(async () => (await listed()).data.length).toBe(1);
  const [run] = (await listed()).data;
  if (run === undefined) expect.fail("no run waits");
  const created_at = new Date(Date.parse(run.created_at) + 60_000).toISOString();
  const others = Array.from({ length: 60 }, (_, i) => ({
    ...run,
    id: `w${i}`,
    session: `none-${i}`,
    created_at,
  }));
  await noteRuns(
    client.env,
    others.map((one) => ({ tenant: "default", run: one })),
  );
  const page = await client.fetch("/console/approvals", { headers: { accept: "text/html" } });
  const text = await page.text();
  expect(text).toContain('action="/console/approvals/oldest/');
  expect(text).toContain("The oldest 50 of 61 runs that wait.");
});

it("a run of more than two hundred steps shows them in pages", async () => {
  await client.post("/sessions", { id: "long" });
  const mock = [
    ...Array.from({ length: ROUNDS }, () => ({ tool_calls: [{ name: "none", arguments: {} }] })),
    { text: "Done." },
  ];
  const never = { loop_detect_warn: 9999, loop_detect_block: 9999, loop_detect_skip: 9999 };
  const options = { provider: "mock", mock, max_iterations: ROUNDS + 5, ...never };
  const answer = await client.post("/sessions/long/runs", { prompt: "Go on.", options });
  const { run_id } = await answer.json<{ run_id: string }>();
  await expect.poll(async () => (await client.fetch(`/runs/${run_id}`)).status).toBe(200);
  const first = await sizeOf(`/console/runs/${run_id}`);
  const next = await sizeOf(`/console/runs/${run_id}?cursor=100`);
  expect(first).toBeLessThan(100_000);
  expect(next).toBeGreaterThan(20_000);
});
