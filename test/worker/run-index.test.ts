/** The index of a tenant's runs over all surfaces. */
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { beginningCall, type RunEntry } from "../../src/session/run-entry.ts";
import { forgetRuns, indexedRun, noteRuns, sweepRuns } from "../../src/session/run-index.ts";
import { sweepUnsettled } from "../../src/session/unsettled-runs.ts";
import { bindings } from "./file-bindings.ts";
import { listedRuns } from "./listed-runs.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";
import { inWorld, tool } from "./session-world.ts";

const client = new Client();
const MOCK = { provider: "mock" };

beforeAll(async () => {
  await client.publish({
    cat: mockSkill("cat"),
    page: "---\nname: page\ndescription: A page\nmode: static-file\nserve: SKILL.md\n---\nHi.\n",
  });
});

async function json<T>(path: string, from: Client = client): Promise<T> {
  const response = await from.fetch(path);
  expect(response.status).toBe(200);
  return response.json<T>();
}

/** The run's row, once it says that the run has come to this state. */
async function settled(id: string, state: string): Promise<RunEntry> {
  return expect
    .poll(async () => (await client.fetch(`/runs/${id}`)).json<RunEntry>())
    .toMatchObject({ id, state })
    .then(() => json<RunEntry>(`/runs/${id}`));
}

describe("a run is listed", () => {
  it("of a session: with its outcome, and no longer once the session is removed", async () => {
    await client.post("/sessions", { id: "listed" });
    const { run_id } = await (
      await client.post("/sessions/listed/runs", { prompt: "Hi.", options: MOCK })
    ).json<{ run_id: string }>();
    const row = await settled(run_id, "done");
    expect(row).toMatchObject({ kind: "run", session: "listed", code: null });
    expect(row.duration_ms).toBeGreaterThanOrEqual(0);
    expect(row.input_tokens).toBeGreaterThan(0);
    const { data } = await json<{ data: RunEntry[] }>("/runs?session=listed");
    expect(data.map(({ id }) => id)).toEqual([run_id]);
    expect(row.model).toBe("mock/mock");
    const ofModel = async (model: string) => {
      const query = `session=listed&model=${encodeURIComponent(model)}`;
      return (await json<{ data: RunEntry[] }>(`/runs?${query}`)).data.map(({ id }) => id);
    };
    expect([await ofModel("mock/mock"), await ofModel("mock/other")]).toEqual([[run_id], []]);
    await client.fetch("/sessions/listed", { method: "DELETE" });
    await expect.poll(async () => (await client.fetch(`/runs/${run_id}`)).status).toBe(404);
  });

  it("whatever word a later version of Hull has for its kind and its state", async () => {
    const row = { ...beginningCall("run_later", null, Date.now()), kind: "dream", state: "dreaming" };
    await noteRuns(bindings, [{ tenant: "later", run: row }]);
    expect(await indexedRun({ env: bindings, tenant: "later" }, "run_later")).toEqual(row);
  });

  it("of a call that an object carries out: with its tokens", async () => {
    const headers = { "content-type": "application/json", "idempotency-key": "figures" };
    const body = JSON.stringify({ prompt: "Hi.", options: MOCK });
    const called = await client.fetch("/llm/call", { method: "POST", headers, body });
    const row = await settled(called.headers.get("x-hull-execution-id") ?? "", "done");
    expect([row.kind, row.input_tokens > 0, row.output_tokens > 0]).toEqual(["call", true, true]);
  });

  it.each([
    ["/llm/call", { prompt: "Hi.", options: MOCK }, "/executions/"],
    ["/v1/responses", { model: "mock", input: "Hi." }, "/v1/responses/"],
  ])("of a call, and no longer once it is removed: %s", async (path, body, kept) => {
    const headers = { "content-type": "application/json", "idempotency-key": `removed-${path}` };
    const called = await client.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    const { id = called.headers.get("x-hull-execution-id") } = await called.json<{ id?: string }>();
    const execution = called.headers.get("x-hull-execution-id") ?? "";
    await settled(execution, "done");
    expect((await client.fetch(`${kept}${id}`, { method: "DELETE" })).ok).toBe(true);
    await expect.poll(async () => (await client.fetch(`/runs/${execution}`)).status).toBe(404);
    // The same request runs again, and is listed again.
    await (await client.fetch(path, { method: "POST", headers, body: JSON.stringify(body) })).text();
    if (path === "/llm/call") await settled(execution, "done");
  });

  it.each([
    ["runs", "/runs"],
    ["runs", "/runs?stream=1"],
    ["llm/call", "/llm/call"],
    ["llm/call", "/llm/stream"],
  ])("of a model call that the Worker itself makes: %s, by %s", async (name, path) => {
    const called = await client.post(path, { prompt: "Hi.", options: MOCK });
    await called.text();
    const row = await settled(called.headers.get("x-hull-execution-id") ?? "", "done");
    expect(row).toMatchObject({ kind: "call", name, session: null, code: null });
    expect([row.input_tokens > 0, row.output_tokens > 0]).toEqual([true, true]);
    const mock = [{ error: { category: "egress_blocked" } }];
    const failed = await client.post(path, { prompt: "Hi.", options: { ...MOCK, mock } });
    await failed.text();
    const newest = () => json<{ data: RunEntry[] }>("/runs?limit=1");
    await expect
      .poll(async () => (await newest()).data)
      .toMatchObject([{ name, state: "error", code: "mocked_failure" }]);
  });

  it("of a run: with the way in which it ended, in a session or not", async () => {
    await client.post("/sessions", { id: "ways" });
    const key = { "idempotency-key": "ways" };
    const later = { prefer: "respond-async" };
    const asked: [path: string, headers: object][] = [
      ["/sessions/ways/runs", {}],
      ["/runs", {}],
      ["/runs?stream=1", {}],
      ["/runs", key],
      ["/runs", later],
    ];
    const ways: [state: string, options: object][] = [
      ["done", {}],
      ["stuck", { persistent: true, max_nudges: 0 }],
      ["budget_exhausted", { persistent: true, max_iterations: 1 }],
      ["failed", { require_successful_tools: ["look"] }],
    ];
    for (const [state, more] of ways) {
      for (const [path, headers] of asked) {
        const each = "idempotency-key" in headers ? { "idempotency-key": `ways-${state}` } : headers;
        const sent = { "content-type": "application/json", ...each };
        const body = JSON.stringify({ prompt: "Hi.", options: { ...MOCK, ...more } });
        const answer = await client.fetch(path, { method: "POST", headers: sent, body });
        const text = await answer.text();
        const own = path.startsWith("/sessions/") ? String(JSON.parse(text).run_id) : null;
        const row = await settled(own ?? answer.headers.get("x-hull-execution-id") ?? "", state);
        expect([row.settled_at === null, row.code]).toEqual([false, null]);
      }
    }
    const { data } = await json<{ data: RunEntry[] }>("/runs?state=stuck&name=runs");
    expect(data).toHaveLength(asked.length - 1);
  });

  const messages = [{ role: "user", content: "Hi." }];
  const tools = [{ type: "code_execution_20250825", name: "code_execution" }];
  type Asked = [name: string, path: string, body: object];
  const message: Asked = ["messages", "/v1/messages", { model: "mock", max_tokens: 9, messages }];
  const completion: Asked = ["chat/completions", "/v1/chat/completions", { model: "mock", messages }];
  const underV1: Asked[] = [
    message,
    ["messages", "/v1/messages", { model: "skill/cat", max_tokens: 9, messages }],
    completion,
    ["chat/completions", "/v1/chat/completions", { model: "skill/cat", messages }],
    ["responses", "/v1/responses", { model: "mock", input: "Hi.", store: false }],
    ["responses", "/v1/responses", { model: "skill/cat", input: "Hi.", store: false }],
    ["responses/compact", "/v1/responses/compact", { model: "mock", input: "Hi." }],
  ];
  const newestOf = async (name: string, from = client): Promise<RunEntry> => {
    const { data } = await json<{ data: RunEntry[] }>(`/runs?name=${encodeURIComponent(name)}&limit=1`, from);
    return data[0] ?? expect.fail(`the list has no ${name}`);
  };

  it.each(underV1)(
    "of a request under /v1 that the Worker answers itself: %s, %s",
    async (name, path, body) => {
      const ids = new Set<string>();
      for (const stream of name === "responses/compact" ? [false] : [false, true]) {
        expect((await client.post(path, { ...body, stream })).status).toBe(200);
        const row = await newestOf(name);
        expect(row).toMatchObject({ kind: "call", session: null, state: "done", code: null });
        expect([row.input_tokens > 0, row.output_tokens > 0]).toEqual([true, true]);
        ids.add(row.id);
        expect((await client.post(path, { ...body, stream, model: "openai/gpt-4o" })).status).toBe(503);
        const refused = await newestOf(name);
        expect(refused).toMatchObject({ state: "error", code: "provider_not_configured" });
        ids.add(refused.id);
      }
      expect(ids.size).toBe(name === "responses/compact" ? 2 : 4);
    },
  );

  it.each([message, completion])(
    "of a response with a stream that breaks off: %s",
    async (name, path, body) => {
      const scripted = new Client({ ...LOCAL, HULL_LLM: '{"llm":{"mock_routes":true}}' });
      const call = { name: "bash_code_execution", arguments: { command: "true" } };
      await scripted.post("/llm/mocks", { text: "Now.", tool_calls: [call] });
      await scripted.post("/llm/mocks", { error: { category: "egress_blocked" } });
      const broken = await scripted.post(path, { ...body, tools, stream: true });
      expect([broken.status, await broken.text()]).toEqual([200, expect.stringContaining("Now.")]);
      const row = await newestOf(name, scripted);
      expect(row).toMatchObject({ state: "error", code: "mocked_failure" });
      expect(row.input_tokens).toBeGreaterThan(0);
    },
  );

  it.each<Asked>([
    ["llm/call", "/llm/call", { prompt: "Hi.", options: { model: "gpt-4o" } }],
    ["messages", "/v1/messages", { model: "gpt-4o", max_tokens: 9, messages }],
    ["chat/completions", "/v1/chat/completions", { model: "gpt-4o", messages }],
    ["chat/completions", "/v1/chat/completions", { model: "gpt-4o", messages, stream: true }],
    ["chat/completions", "/v1/chat/completions", { model: "gpt-4o", messages, tools }],
    ["responses", "/v1/responses", { model: "gpt-4o", input: "Hi.", store: false }],
  ])("of a response that its client leaves: as cancelled: %s, %s", async (name, path, body) => {
    const keyed = new Client({ ...LOCAL, OPENAI_API_KEY: "sk-o" });
    const leaving = new AbortController();
    vi.stubGlobal("fetch", (_: unknown, { signal }: RequestInit) => {
      leaving.abort();
      return new Promise((_, reject) => reject(signal?.reason));
    });
    const init = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    const answer = await keyed.fetch(path, { ...init, signal: leaving.signal });
    vi.unstubAllGlobals();
    expect(answer.status).toBe(499);
    expect(await newestOf(name, keyed)).toMatchObject({ state: "cancelled", code: "client_closed_request" });
  });

  it.each<Asked>([
    ["messages", "/v1/messages", { model: "gpt-4o", max_tokens: 9, messages }],
    ["messages", "/v1/messages", { model: "gpt-4o", max_tokens: 9, messages, tools }],
    ["chat/completions", "/v1/chat/completions", { model: "gpt-4o", messages, tools }],
    ["responses", "/v1/responses", { model: "gpt-4o", input: "Hi.", store: false }],
  ])(
    "of a client that left before the model call, which Hull then does not make: %s, %s",
    async (name, path, body) => {
      const keyed = new Client({ ...LOCAL, OPENAI_API_KEY: "sk-o" });
      const asked = vi.fn<typeof fetch>(async () => Response.json({}));
      vi.stubGlobal("fetch", asked);
      onTestFinished(() => void vi.unstubAllGlobals());
      for (const stream of [false, true]) {
        const init = {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ ...body, stream }),
        };
        const answer = await keyed.fetch(path, { ...init, signal: AbortSignal.abort() });
        expect([answer.status, asked.mock.calls.length]).toEqual([499, 0]);
        expect(await newestOf(name, keyed)).toMatchObject({
          state: "cancelled",
          code: "client_closed_request",
        });
      }
    },
  );

  it("with the model that it asked, stored or not, and with the one that failed", async () => {
    const body = { prompt: "Hi.", options: { provider: "openai", model: "gpt-9", mock: [{ text: "Hi." }] } };
    const failing = { ...body, options: { ...body.options, mock: [{ error: { category: "auth" } }] } };
    const models = async (path: string, sent: object, key?: string) => {
      const headers = {
        "content-type": "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key }),
      };
      const answer = await client.fetch(path, { method: "POST", headers, body: JSON.stringify(sent) });
      await answer.text();
      const id = answer.headers.get("x-hull-execution-id") ?? "";
      await expect.poll(async () => (await client.fetch(`/runs/${id}`)).status).toBe(200);
      await expect.poll(async () => (await json<RunEntry>(`/runs/${id}`)).settled_at).not.toBeNull();
      const { name, model, state } = await json<RunEntry>(`/runs/${id}`);
      return `${name} ${model} ${state}`;
    };
    const seen = [];
    for (const sent of [body, failing])
      for (const path of ["/llm/call", "/runs"])
        for (const key of [undefined, `${path}-${sent === body}`]) seen.push(await models(path, sent, key));
    expect(seen).toEqual([
      "llm/call openai/gpt-9 done",
      "llm/call openai/gpt-9 done",
      "runs openai/gpt-9 done",
      "runs openai/gpt-9 done",
      "llm/call openai/gpt-9 error",
      "llm/call openai/gpt-9 error",
      "runs openai/gpt-9 error",
      "runs openai/gpt-9 error",
    ]);
  });

  it("of a keyed request: once, however often it is repeated", async () => {
    const headers = { "content-type": "application/json", "idempotency-key": "listed-once" };
    const body = JSON.stringify({ model: "mock", messages });
    const ask = () => client.fetch("/v1/chat/completions", { method: "POST", headers, body });
    expect((await ask()).status).toBe(200);
    const { id } = await newestOf("chat/completions");
    expect((await ask()).headers.get("x-hull-replayed")).toBe("1");
    expect((await newestOf("chat/completions")).id).toBe(id);
  });

  it("of a response that does not wait for the list", async () => {
    const stuck = new Client();
    const batch = vi.spyOn(stuck.env.DB, "batch").mockImplementation(() => new Promise(() => {}));
    // The second row is collected for so many ms, which do not pass in this test, however long it takes.
    const collecting = 200;
    vi.spyOn(Date, "now").mockReturnValue(Date.now());
    const real = setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementation((work, ms, ...more) =>
      real(ms === collecting ? () => {} : work, ms, ...more),
    );
    onTestFinished(() => void vi.restoreAllMocks());
    for (const stream of [false, true]) {
      const body = JSON.stringify({ model: "mock", messages, stream });
      const init = { method: "POST", headers: { "content-type": "application/json" }, body };
      const answer = await stuck.stream("/v1/chat/completions", init);
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Hi.")]);
    }
    expect(batch).toHaveBeenCalledTimes(1);
  });

  it("while it continues: immediately if nobody waits for it, otherwise after a moment", async () => {
    let held = true;
    // The model answers once the test has seen that the run is under way.
    vi.stubGlobal("fetch", async () => {
      while (held) await new Promise((resolve) => setTimeout(resolve, 5));
      const message = { role: "assistant", content: "Awake." };
      return Response.json({
        id: "c",
        model: "m",
        choices: [{ index: 0, finish_reason: "stop", message }],
      });
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    const body = { prompt: "Rest.", options: { provider: "ollama", model: "m" } };
    await client.post("/sessions", { id: "resting" });
    const begun = await client.post("/sessions/resting/runs?wait=none", body);
    const { run_id } = await begun.json<{ run_id: string }>();
    await settled(run_id, "running");
    held = false;
    await settled(run_id, "done");
    held = true;
    const waits = client.post("/sessions/resting/runs", body);
    const running = () => json<{ data: RunEntry[] }>("/runs?session=resting&state=running");
    await expect.poll(async () => (await running()).data.length).toBe(1);
    held = false;
    expect((await waits).status).toBe(200);
    await expect.poll(async () => (await running()).data.length).toBe(0);
  });

  it("without a caller that waits for the end, before a moment has passed", async () => {
    const real = setTimeout;
    const moment = 250;
    vi.spyOn(globalThis, "setTimeout").mockImplementation((work, ms, ...more) =>
      real(ms === moment ? () => {} : work, ms, ...more),
    );
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    await inWorld({ replies: ["hi"], asked: () => answered }, async (world) => {
      const listed = async (): Promise<string[]> => {
        const data = await listedRuns({ env: bindings, tenant: "t" }, world.id);
        return data.map(({ id, state }) => `${id} ${state}`);
      };
      await world.open();
      await world.start("r1", "go");
      await expect.poll(listed).toEqual(["r1 running"]);
      answer();
      await world.ask("answer", { run_id: "r1", wait: "terminal" });
    });
    vi.restoreAllMocks();
  });

  it("with the error's code if it fails", async () => {
    await client.post("/sessions", { id: "failing" });
    const options = { ...MOCK, mock: [{ error: { category: "egress_blocked" } }] };
    const answer = await client.post("/sessions/failing/runs?wait=none", { prompt: "Hi.", options });
    const { run_id } = await answer.json<{ run_id: string }>();
    const row = await settled(run_id, "error");
    expect(row.code).toEqual(expect.any(String));
    const trace = await json(`/sessions/failing/runs/${run_id}/trace`);
    expect(trace).toMatchObject({ text: null, error: { code: row.code } });
    const page = await client.fetch(`/console/runs/${run_id}`, { headers: { accept: "text/html" } });
    expect(await page.text()).toContain(`It ended with the error ${row.code}.`);
  });

  it("of a skill, whether its caller waits or not; a file has none", async () => {
    const waited = await client.fetch("/skills/cat", { method: "POST", body: "hi" });
    const whole = await settled(waited.headers.get("x-hull-execution-id") ?? "", "done");
    expect(whole).toMatchObject({ kind: "call", name: "cat", session: null });
    const path = `/console/runs/${waited.headers.get("x-hull-execution-id")}`;
    const page = await (await client.fetch(path, { headers: { accept: "text/html" } })).text();
    expect(page).toContain("It ended with an answer.");
    expect(page).toContain("Hull keeps it only if the call had an <code>Idempotency-Key</code>");
    const later = await client.fetch("/skills/cat", {
      method: "POST",
      body: "hi",
      headers: { prefer: "respond-async" },
    });
    const { id } = await later.json<{ id: string }>();
    expect(await settled(id, "done")).toMatchObject({ kind: "call", name: "cat" });
    const file = await client.fetch("/skills/page", { method: "POST" });
    const gone = await client.fetch(`/runs/${file.headers.get("x-hull-execution-id")}`);
    expect(gone.status).toBe(404);
    const figures = await json<{ data: { name: string; calls: number; p50_ms: number }[] }>("/runs/figures");
    expect(figures.data.find(({ name }) => name === "cat")).toMatchObject({
      calls: 2,
      p50_ms: expect.any(Number),
    });
  });

  it("with their costs added to a nano-USD", async () => {
    const runs = [0.1, 0.2, 4e-10].map((cost_usd, i) => ({
      ...beginningCall(`paid${i}`, "paid", Date.now()),
      cost_usd,
    }));
    await noteRuns(
      client.env,
      runs.map((run) => ({ tenant: "default", run })),
    );
    const { data } = await json<{ data: { name: string; cost_usd: number }[] }>("/runs/figures");
    expect(data.find(({ name }) => name === "paid")).toMatchObject({ calls: 3, cost_usd: 0.3 });
  });

  it("with filters, page by page, and never to another tenant", async () => {
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
    const row = (id: string, second: number): RunEntry => ({
      id,
      kind: "call",
      name: "many",
      session: null,
      model: null,
      state: second % 2 === 0 ? "done" : "error",
      created_at: at(second),
      settled_at: at(second),
      duration_ms: 1,
      input_tokens: 0,
      output_tokens: 0,
      cost_usd: 0,
      price_known: true,
      code: null,
    });
    const runs = Array.from({ length: 5 }, (_, i) => ({ tenant: "default", run: row(`m${i}`, i) }));
    await noteRuns(client.env, [...runs, { tenant: "other", run: row("theirs", 9) }]);
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: { data: RunEntry[]; next_cursor: string | null } = await json(
        `/runs?name=many&limit=2${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(["m4", "m3", "m2", "m1", "m0"]);
    const failed = await json<{ data: RunEntry[] }>("/runs?name=many&state=error");
    expect(failed.data.map(({ id }) => id)).toEqual(["m3", "m1"]);
    expect((await client.fetch("/runs/theirs")).status).toBe(404);
    for (const [query, detail] of [
      ["kind=none", "kind must be one of run, daemon, "],
      ["state=x", "state must be one of running, idle, "],
    ] as const) {
      const refused = await client.fetch(`/runs?${query}`);
      expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(detail)]);
    }
  });

  it("for 30 days, and as long as it has not ended; a late note of its beginning does not undo its end", async () => {
    const old: RunEntry = {
      id: "old",
      kind: "call",
      name: "old",
      session: null,
      model: null,
      state: "done",
      created_at: "2026-02-01T00:00:00.000Z",
      settled_at: "2026-02-01T00:00:01.000Z",
      duration_ms: 1000,
      input_tokens: 0,
      output_tokens: 0,
      cost_usd: 0,
      price_known: true,
      code: null,
    };
    const waiting = {
      ...old,
      id: "waiting",
      state: "awaiting_approval",
      settled_at: null,
      duration_ms: null,
    };
    await noteRuns(
      client.env,
      [waiting, old].map((run) => ({ tenant: "default", run })),
    );
    const late = { ...old, state: "running", settled_at: null, duration_ms: null };
    await noteRuns(client.env, [{ tenant: "default", run: late }]);
    expect(await json("/runs/old")).toMatchObject({ state: "done" });
    await sweepRuns(client.env, Date.parse("2026-02-20T00:00:00Z"));
    expect((await client.fetch("/runs/old")).status).toBe(200);
    await sweepRuns(client.env, Date.parse("2026-04-01T00:00:00Z"));
    expect((await client.fetch("/runs/old")).status).toBe(404);
    expect(await json("/runs/waiting")).toMatchObject({ state: "awaiting_approval" });
    const ended = Array.from({ length: 2500 }, (_, n) => ({ ...old, id: n === 0 ? "waiting" : `old${n}` }));
    await noteRuns(
      client.env,
      ended.map((run) => ({ tenant: "default", run })),
    );
    await sweepRuns(client.env, Date.parse("2026-04-01T00:00:00Z"));
    for (const { id } of [ended[0], ended.at(-1)].flatMap((run) => run ?? []))
      expect((await client.fetch(`/runs/${id}`)).status).toBe(404);
  });
});

describe("of two notes of a run", () => {
  const noted = (created: number, settled: number | null, price_known: boolean): RunEntry => ({
    ...beginningCall("noted", "noted", created),
    state: settled === null ? "running" : "done",
    settled_at: settled === null ? null : new Date(settled).toISOString(),
    input_tokens: created,
    output_tokens: settled ?? 0,
    price_known,
  });
  const [begun, ended] = [noted(1, null, true), noted(1, 3, false)];

  it.each<[string, first: RunEntry, second: RunEntry, stays: 0 | 1]>([
    ["the end, after the beginning", begun, ended, 1],
    ["the end, before a late note of the beginning", ended, begun, 0],
    ["the later one, of two ends", ended, noted(1, 4, true), 1],
    ["the beginning of a further run with this id", ended, noted(2, null, true), 1],
  ])("the list keeps %s, with its price", async (name, ...given) => {
    const [first, second, stays] = given;
    const env = bindings;
    for (const [index, run] of [first, second].entries()) {
      await noteRuns(env, [{ tenant: name, run }]);
      const kept = index === 0 || stays === 1 ? run : first;
      expect(await indexedRun({ env, tenant: name }, "noted")).toEqual(kept);
    }
  });
});

describe("a run that the list shows as unsettled for long", () => {
  const HOUR = 3_600_000;
  const { env } = client;
  /** The row that a process wrote so long ago, and after which it died. */
  async function left(
    run: Pick<RunEntry, "id" | "kind" | "session"> & Partial<RunEntry>,
    ms: number,
  ): Promise<void> {
    await forgetRuns({ env, tenant: "default" }, [run.id]);
    const begun = beginningCall(run.id, "cat", Date.now() - ms);
    await noteRuns(env, [{ tenant: "default", run: { ...begun, ...run } }]);
  }
  const row = (id: string) => indexedRun({ env, tenant: "default" }, id);

  it("of a session, the last one or not, has ended: it is listed as it ended", async () => {
    await client.post("/sessions", { id: "swept" });
    const ids: string[] = [];
    for (const prompt of ["one", "two"]) {
      const ran = await client.post("/sessions/swept/runs", { prompt, options: MOCK });
      const { run_id } = await ran.json<{ run_id: string }>();
      ids.push(run_id);
      await settled(run_id, "done");
    }
    const before = await Promise.all(ids.map(row));
    for (const id of ids) await left({ id, kind: "run", session: "swept", name: null }, HOUR);
    await sweepUnsettled(env, Date.now());
    for (const [i, id] of ids.entries()) {
      await expect.poll(() => row(id)).toEqual(before[i]);
    }
  });

  it.each(["awaiting_tool", "awaiting_approval", "idle"])(
    "of a session, as %s, has ended, or its session is removed",
    async (state) => {
      const session = `swept-${state.replace("_", "-")}`;
      await client.post("/sessions", { id: session });
      const ran = await client.post(`/sessions/${session}/runs`, { prompt: "Hi.", options: MOCK });
      const { run_id } = await ran.json<{ run_id: string }>();
      await settled(run_id, "done");
      await left({ id: run_id, kind: "run", session, state }, HOUR);
      await left({ id: `gone_${state}`, kind: "daemon", session: "never-was", state }, HOUR);
      await sweepUnsettled(env, Date.now());
      await settled(run_id, "done");
      expect(await row(`gone_${state}`)).toBeNull();
    },
  );

  it("of a session rests as listed: nothing is written", async () => {
    const tools = [{ ...tool("ask"), executor: "client" as const }];
    await inWorld({ spec: { tools }, replies: [{ calls: [["ask", {}]] }] }, async (world) => {
      await world.open();
      await world.start("r-rests", "go");
      await world.ask("answer", { run_id: "r-rests", wait: "idle" });
      await world.over();
      const { listing } = world.conversation;
      const state = async () => (await indexedRun({ env: bindings, tenant: "t" }, "r-rests"))?.state;
      await forgetRuns({ env: bindings, tenant: "t" }, ["r-rests"]);
      expect(listing.relist("r-rests", "awaiting_tool")).toBe(true);
      await world.over();
      expect(await state()).toBeUndefined();
      expect(listing.relist("r-rests", "running")).toBe(true);
      await world.over();
      expect(await state()).toBe("awaiting_tool");
    });
  });

  it("of a session is in progress: it stays", async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    await inWorld({ replies: ["hi"], asked: () => answered }, async (world) => {
      await world.open();
      await world.start("r-under-way", "go");
      await world.conversation.listing.noteBegun();
      expect(world.conversation.listing.relist("r-under-way", "running")).toBe(true);
      await expect
        .poll(() => indexedRun({ env: bindings, tenant: "t" }, "r-under-way"))
        .toMatchObject({ state: "running" });
      answer();
      await world.ask("answer", { run_id: "r-under-way", wait: "terminal" });
    });
  });

  it("of a removed session is no longer listed", async () => {
    await left({ id: "run_gone", kind: "run", session: "never-was" }, HOUR);
    await sweepUnsettled(env, Date.now());
    expect(await row("run_gone")).toBeNull();
  });

  it("of a call: as its object knows it, else lost after a day", async () => {
    const headers = { "content-type": "application/json", "idempotency-key": "swept" };
    const body = JSON.stringify({ prompt: "Hi.", options: MOCK });
    const called = await client.fetch("/llm/call", { method: "POST", headers, body });
    const known = called.headers.get("x-hull-execution-id") ?? "";
    await settled(known, "done");
    await left({ id: known, kind: "call", session: null }, 25 * HOUR);
    await left({ id: "ex_young", kind: "call", session: null }, 23 * HOUR);
    await left({ id: "ex_old", kind: "call", session: null }, 25 * HOUR);
    await sweepUnsettled(env, Date.now());
    expect(await row("ex_young")).toMatchObject({ state: "running", settled_at: null });
    expect(await row("ex_old")).toMatchObject({
      state: "error",
      code: "execution_lost",
      settled_at: expect.any(String),
    });
    await settled(known, "done");
  });
});
