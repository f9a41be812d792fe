/** Spans of runs in workerd, as a tail Worker receives them: what Workers observability records. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildRoots } from "../../scripts/build/build.ts";
import { workerOptions } from "../../scripts/dev/direct.ts";
import { REPO_DIR } from "../../scripts/dev/paths.ts";
import { workerModules } from "../../scripts/dev/worker-bundle.ts";
import { bindingsOf } from "../../scripts/dev/wrangler-toml.ts";
import { RegistryClient } from "../../scripts/publish/registry-client.ts";
import { type FakeProvider, startFakeProvider } from "../support/fake-provider.ts";
import { startRunner, type TestRunner, until } from "../support/runner.ts";

/** Writes down every event of a trace that is about a span. */
const TAIL = `export default {
  tailStream: () => ({ event, spanContext }) => {
    if (/^(spanOpen|spanClose|attributes)$/.test(event.type)) {
      const plain = (_, value) => (typeof value === "bigint" ? Number(value) : value);
      console.log(JSON.stringify({ tail: event, on: spanContext.spanId }, plain));
    }
  },
};`;

/** A span of ours: those of the platform itself have names without a blank, but for the queue's. */
const OURS = /^(queue|invoke_agent|(invoke_agent|chat|execute_tool|run|upstream) .+)$/;

interface Span {
  name: string;
  /** Name of the nearest span of ours around it. */
  in: string | null;
  attributes: Record<string, unknown>;
}

/** A span in a log line. */
type Noted = {
  name: string;
  at_ms: number;
  duration_ms: number;
};

interface TailEvent {
  tail: { type: string; name?: string; spanId?: string; info?: { name: string; value: unknown }[] };
  on: string;
}

const SKILLS = {
  "asker/SKILL.md":
    "---\nname: asker\ndescription: d\nmode: llm\nmodel: claude-test\ntools:\n  - {name: look, description: Looks, " +
    "command: [echo], parameters: [{name: where, description: w}]}\n---\nSystem words.\n",
  "hasty/SKILL.md":
    "---\nname: hasty\ndescription: d\nmode: llm\nmodel: claude-test\ntimeout_ms: 900\n---\nH.\n",
  "shout/SKILL.md": "---\nname: shout\ndescription: d\nrun: [sh, -c, 'exit 3']\n---\nS.\n",
  "relay/SKILL.md":
    "---\nname: relay\ndescription: d\nmethod: GET\nproxy: ${UPSTREAM_URL}/v1/nothing?key=${UPSTREAM_KEY}\n---\nR.\n",
};

const CODE = { type: "code_execution_20250825", name: "code_execution" };
const SECRET = "sk-provider-key-of-the-test";
let provider: FakeProvider;
let runner: TestRunner;
let dir: string;

beforeAll(async () => {
  [provider, runner] = await Promise.all([startFakeProvider(), startRunner()]);
  dir = await mkdtemp(join(tmpdir(), "hull-spans-"));
  const upstream = {
    ...SKILLS,
    "relay/SKILL.md": SKILLS["relay/SKILL.md"].replace("${UPSTREAM_URL}", provider.url),
  };
  for (const [path, text] of Object.entries(upstream)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
});
afterAll(async () => {
  await provider?.close();
  await runner?.stop();
  await rm(dir, { recursive: true, force: true });
});

describe.each([
  ["as deployed", {}],
  ["with HULL_TRACE_CONTENT", { HULL_TRACE_CONTENT: "1" }],
])("%s", (_, more) => {
  const content = "HULL_TRACE_CONTENT" in more;
  let worker: Miniflare;
  let url: URL;
  let events: TailEvent[] = [];
  let lines: { event: string; spans?: Noted[] }[] = [];

  beforeAll(async () => {
    const variables = {
      HULL_ENV: "local",
      ANTHROPIC_API_KEY: SECRET,
      ANTHROPIC_BASE_URL: provider.url,
      UPSTREAM_KEY: "upstream-key-1",
      HULL_RUNNER_URL: runner.url,
      HULL_RUNNER_SECRET: runner.secret,
      HULL_TRACE: "1",
      HULL_LLM_TIMEOUT: "5",
      ...more,
    };
    const main = workerOptions({
      repoDir: REPO_DIR,
      config: await bindingsOf(REPO_DIR),
      host: "127.0.0.1",
      port: 0,
      variables: new Map(Object.entries(variables)),
      modules: await workerModules(),
    });
    const flags = ["streaming_tail_worker", "experimental"];
    worker = new Miniflare(
      convertV4MiniflareOptions({
        workers: [
          { ...main, streamingTails: ["tail"] },
          {
            name: "tail",
            modules: [{ type: "ESModule", path: "tail.mjs", contents: TAIL }],
            compatibilityDate: main.compatibilityDate,
            compatibilityFlags: flags,
          },
        ],
        handleStructuredLogs: ({ message }) => {
          if (message.startsWith('{"tail":')) events.push(JSON.parse(message));
          else lines.push(JSON.parse(message));
        },
      }),
    );
    url = await worker.ready;
    await new RegistryClient(url.origin, undefined).publish(await buildRoots([dir], { projectDir: dir }));
  });
  afterAll(() => worker?.dispose());
  beforeEach(() => {
    events = [];
    lines = [];
  });

  /** The spans of ours once so many have closed, in the order of their beginnings. */
  async function spans(count: number): Promise<Span[]> {
    const opened = () =>
      events.filter(({ tail }) => tail.type === "spanOpen").map(({ tail, on }) => ({ ...tail, parent: on }));
    const ours = () => opened().filter(({ name = "" }) => OURS.test(name));
    const closed = () =>
      ours().filter((span) => events.some(({ tail, on }) => tail.type === "spanClose" && on === span.spanId));
    await until(closed, (list) => list.length >= count);
    const around = (id: string): string | null => {
      const parent = opened().find(({ spanId }) => spanId === id);
      if (parent === undefined) return null;
      return OURS.test(parent.name ?? "") ? (parent.name ?? "") : around(parent.parent);
    };
    return ours().map(({ name = "", spanId = "", parent }) => {
      const told = events.filter(({ tail, on }) => tail.type === "attributes" && on === spanId);
      const pairs = told.flatMap(({ tail }) => tail.info ?? []).map(({ name: key, value }) => [key, value]);
      return { name, in: around(parent), attributes: Object.fromEntries(pairs) };
    });
  }

  const call = (path: string, body?: string, headers: Record<string, string> = {}) =>
    fetch(new URL(path, url), body === undefined ? { headers } : { method: "POST", body, headers });

  const AGENT = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "asker",
    "gen_ai.usage.input_tokens": 31,
    "hull.execution_id": expect.stringMatching(/^ex_/),
    "hull.tool_calls": 1,
  };
  const CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "claude-test",
    "gen_ai.request.max_tokens": 4096,
    "gen_ai.response.model": "claude-test",
    "gen_ai.response.finish_reasons": "end_turn",
    "gen_ai.usage.input_tokens": 21,
    "gen_ai.usage.output_tokens": 8,
  };
  const TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "look",
    "gen_ai.tool.call.id": "call_7",
  };
  const script = (): void =>
    provider.script([
      { tool_calls: [{ id: "call_7", name: "look", arguments: { where: `at ${SECRET}` } }] },
      { text: "Said words.", usage: { input: 21, output: 8 } },
    ]);

  /** Neither a secret nor, unless configured, a word of the conversation. */
  function expectContent(seen: unknown): void {
    const everything = JSON.stringify(seen);
    expect(everything).not.toContain(SECRET);
    for (const words of ["System words.", "User words.", "Said words.", "where"]) {
      expect([words, everything.includes(words)]).toEqual([words, content]);
    }
  }

  test("an llm run: the agent around models and tools, in GenAI naming", async () => {
    script();
    const response = await call("/skills/asker", "User words.");
    expect([response.status, await response.text()]).toEqual([200, "Said words."]);
    const seen = await spans(5);
    expect(seen.map(({ name, in: parent }) => [name, parent])).toEqual([
      ["invoke_agent asker", null],
      ["chat claude-test", "invoke_agent asker"],
      ["execute_tool look", "invoke_agent asker"],
      ["queue", "execute_tool look"],
      ["chat claude-test", "invoke_agent asker"],
    ]);
    const [agent, , tool, queue, chat] = seen.map(({ attributes }) => attributes);
    expect(agent).toMatchObject(AGENT);
    expect(chat).toMatchObject(CHAT);
    expect(tool).toMatchObject(TOOL);
    expect(queue).toMatchObject({ "hull.queue_ms": expect.any(Number) });
    expectContent(seen);
    if (content) {
      const messages = JSON.parse(String(chat?.["gen_ai.input.messages"]));
      expect(messages.map((m: { role: string }) => m.role)).toEqual(["user", "assistant", "tool"]);
      expect(tool?.["gen_ai.tool.call.result"]).toBe('"at [redacted]"');
    }
  });

  const post = (path: string, body: object) =>
    call(path, JSON.stringify(body), { "content-type": "application/json" });

  test("a run without a session, and a model call", async () => {
    script();
    const options = { skill: "asker" };
    expect(await (await post("/runs", { prompt: "User words.", options })).json()).toMatchObject({
      status: "done",
    });
    const seen = await spans(5);
    expect(seen.map(({ name, in: parent }) => [name, parent])).toEqual([
      ["invoke_agent asker", null],
      ["chat claude-test", "invoke_agent asker"],
      ["execute_tool look", "invoke_agent asker"],
      ["queue", "execute_tool look"],
      ["chat claude-test", "invoke_agent asker"],
    ]);
    const [agent, , tool, , chat] = seen.map(({ attributes }) => attributes);
    expect([agent, tool, chat]).toMatchObject([AGENT, TOOL, CHAT]);
    expectContent(seen);
    provider.script([{ text: "Said words." }]);
    await post("/llm/call", { prompt: "x", options: { provider: "anthropic", model: "claude-test" } });
    expect((await spans(6)).at(-1)).toMatchObject({ name: "chat claude-test", in: null });
  });

  test.skipIf(content)("HULL_LLM_TIMEOUT bounds the model calls of a run", async () => {
    provider.script([{ hang: true }]);
    const model = { provider: "anthropic", model: "claude-test", llm_retries: 0 };
    const response = await post("/runs", { prompt: "x", options: model });
    expect([response.status, await response.json()]).toMatchObject([504, { timeout_ms: 5000 }]);
  });

  test.skipIf(content).each([
    ["HULL_LLM_TIMEOUT", { model: "claude-test", tools: [CODE] }, 5000],
    ["a skill's timeout_ms", { model: "skill/hasty" }, 900],
  ])("%s bounds the model calls of an agent run of /v1", async (_, more, limit) => {
    provider.script([{ hang: true }]);
    const messages = [{ role: "user", content: "x" }];
    const response = await post("/v1/messages", { max_tokens: 100, messages, ...more });
    expect([response.status, await response.json()]).toMatchObject([
      504,
      { error: { type: "timeout_error", message: expect.stringContaining(`within ${limit} ms`) } },
    ]);
  });

  test("the run of a session: its log line has the spans", async () => {
    script();
    const id = content ? "spanned-1" : "spanned-2";
    await post("/sessions", { id });
    const ran = await post(`/sessions/${id}/runs`, { prompt: "User words.", options: { skill: "asker" } });
    expect(await ran.json()).toMatchObject({ status: "done" });
    const line = await until(
      async () => lines.find(({ event }) => event === "run"),
      (found) => found !== undefined,
    );
    const { "hull.execution_id": _, ...of } = AGENT;
    const agent = { ...of, "gen_ai.conversation.id": id, "hull.run_id": expect.stringMatching(/^run_/) };
    expect(line?.spans).toEqual(
      expect.arrayContaining([agent, CHAT, TOOL].map((some) => expect.objectContaining(some))),
    );
    expect(line?.spans).toHaveLength(5);
    expectContent(line);
  });

  test("the run of a session that rests: each attempt has a log line of its own", async () => {
    const tool = { name: "where", description: "Tells.", parameters: {} };
    provider.script([
      { tool_calls: [{ id: "call_8", name: "where", arguments: {} }], usage: { input: 12, output: 5 } },
      { text: "Said words.", usage: { input: 21, output: 8 } },
    ]);
    const id = content ? "resting-1" : "resting-2";
    await post("/sessions", { id });
    const options = { provider: "anthropic", model: "claude-test", tools: [tool] };
    const ran = await post(`/sessions/${id}/runs?wait=idle`, { prompt: "User words.", options });
    expect(await ran.json()).toMatchObject({ status: "awaiting_tool" });
    const line = (name: string) =>
      until(
        async () => lines.find(({ event }) => event === name),
        (found) => found !== undefined,
      );
    const names = (spans: Noted[] = []): string[] => spans.map(({ name }) => name).sort();
    const rested = await line("run_attempt");
    expect(rested).toMatchObject({ status: "awaiting_tool", session_id: id });
    expect(names(rested?.spans)).toEqual(["chat claude-test", "invoke_agent"]);
    await post(`/sessions/${id}/tool-results`, { tool_call_id: "call_8", content: "here" });
    const ended = await line("run");
    expect(names(ended?.spans)).toEqual(["chat claude-test", "invoke_agent"]);
    // Each span has what happened in it, so that their sums are those of the run.
    const took = (spans: Noted[] = []) =>
      spans.map((span: Record<string, unknown>) =>
        ["input_tokens", "output_tokens"].map((kind) => span[`gen_ai.usage.${kind}`]),
      );
    expect([took(rested?.spans), took(ended?.spans)]).toEqual([
      Array(2).fill([12, 5]),
      Array(2).fill([21, 8]),
    ]);
    const rounds = [rested, ended].flatMap((line) =>
      (line?.spans ?? []).flatMap((span: Record<string, unknown>) => span["hull.rounds"] ?? []),
    );
    expect(rounds).toEqual([1, 1]);
    expect(lines.filter(({ event }) => event === "run_attempt")).toHaveLength(1);
  });

  test("the summary of a session's older messages has a log line of its own", async () => {
    provider.script([{ text: "Said words." }, { text: "Earlier words.", usage: { input: 21, output: 8 } }]);
    const id = content ? "shortened-1" : "shortened-2";
    await post("/sessions", { id });
    const options = { provider: "anthropic", model: "claude-test" };
    await post(`/sessions/${id}/runs`, { prompt: "User words.", options });
    const answer = await post(`/sessions/${id}/compact`, { strategy: "llm", keep_last: 0, options });
    expect(answer.status).toBe(200);
    const line = await until(
      async () => lines.find(({ event }) => event === "compaction"),
      (found) => found !== undefined,
    );
    const usage = { "gen_ai.usage.input_tokens": 21, "gen_ai.usage.output_tokens": 8 };
    expect(line).toMatchObject({
      session_id: id,
      usage: { input_tokens: 21, output_tokens: 8 },
      spans: [{ name: "chat claude-test", ...usage }],
    });
  });

  test("the run of an execution, which outlives its call: its log line has the spans, with HULL_TRACE", async () => {
    script();
    const response = await call("/skills/asker", "User words.", { "idempotency-key": "spans-1" });
    expect(await response.text()).toBe("Said words.");
    const line = await until(
      async () => lines.find(({ event }) => event === "execution"),
      (found) => found !== undefined,
    );
    const seen = (line?.spans ?? []).toSorted((a, b) => a.at_ms - b.at_ms || b.duration_ms - a.duration_ms);
    expect(seen.map(({ name }) => name).sort()).toEqual(
      ["chat claude-test", "chat claude-test", "execute_tool look", "invoke_agent asker", "queue"].sort(),
    );
    expect(seen).toEqual(
      expect.arrayContaining([AGENT, CHAT, TOOL].map((some) => expect.objectContaining(some))),
    );
    for (const { at_ms, duration_ms } of seen) expect(Math.min(at_ms, duration_ms)).toBeGreaterThanOrEqual(0);
    expectContent(seen);
  });

  test("failures say their code", async () => {
    provider.script([{ status: 400 }]);
    expect((await call("/skills/asker", "x")).status).toBe(502);
    expect((await spans(2)).map(({ name, attributes }) => [name, attributes["error.type"]])).toEqual([
      ["invoke_agent asker", "provider_rejected_request"],
      ["chat claude-test", "provider_rejected_request"],
    ]);
  });

  test("a script and its wait for a slot", async () => {
    expect((await call("/skills/shout", "x")).status).toBe(500);
    const seen = await spans(2);
    expect(seen.map(({ name, in: parent }) => [name, parent])).toEqual([
      ["run shout", null],
      ["queue", "run shout"],
    ]);
    expect(seen[0]?.attributes).toMatchObject({ "hull.skill": "shout", "error.type": "script_failed" });
  });

  test("a proxy's upstream, without its address", async () => {
    expect((await call("/skills/relay")).status).toBe(404);
    const [upstream] = await spans(1);
    expect(upstream).toEqual({
      name: "upstream relay",
      in: null,
      attributes: { "hull.skill": "relay", "http.request.method": "GET", "http.response.status_code": 404 },
    });
  });
});
