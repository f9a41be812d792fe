/** Every way to run a skill obeys every limit of it. The provider is a stand-in that keeps what it is asked. */
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { anthropicAnswer } from "../support/fake-answers.ts";
import type { FakeRequestBody, FakeTurn } from "../support/fake-turn.ts";
import { Client } from "./served.ts";

const client = new Client({ HULL_ENV: "local", ANTHROPIC_API_KEY: "sk-a" });
const TALK = { name: "talk", description: "Talks", script: "talk.js", parameters: {} };
const skill = (name: string, fields = "") => ({
  "SKILL.md": `---\nname: ${name}\ndescription: d\nprovider: anthropic\nmodel: claude-sonnet-4-5\nworkspace_tools: false\n${fields}---\nTalk.\n`,
  "tools.json": JSON.stringify([TALK]),
  "talk.js": 'export default () => "a ".repeat(30_000);',
});
let bodies: FakeRequestBody[];
/** What the provider answers each request; `null`: nothing, until Hull gives up. */
let next: () => FakeTurn | null;
beforeEach(() => {
  bodies = [];
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    const body = await request.json<FakeRequestBody>();
    bodies.push(body);
    const turn = next();
    if (turn === null)
      return new Promise((_, reject) =>
        request.signal.addEventListener("abort", () => reject(request.signal.reason)),
      );
    const sent = { path: "/", headers: {}, body, text: "", at: 0, left: Promise.resolve(false) };
    return Response.json(anthropicAnswer(turn, sent).whole);
  });
});
afterEach(() => vi.unstubAllGlobals());

let count = 0;
const fresh = (name: string): string => `${name}-${++count}`;
const messages = [{ role: "user", content: "Hi." }];
const headers = (more: Record<string, string> = {}) => ({ "content-type": "application/json", ...more });
const post = async (path: string, body: object, more: Record<string, string> = {}): Promise<string> => {
  const init = { method: "POST", headers: headers(more), body: JSON.stringify(body) };
  const answer = await client.fetch(path, init);
  return `${answer.status} ${await answer.text()}`;
};
const made = async (): Promise<string> => {
  const id = fresh("desk");
  await client.post("/sessions", { id });
  return id;
};

/** Each way to run a skill. It resolves when the run has ended, with all that the caller learns of it. */
const DOORS: Record<string, (slug: string) => Promise<string>> = {
  "the skill's route": (slug) => post(`/skills/${slug}`, { input: "Hi." }),
  "its events": (slug) => post(`/skills/${slug}`, { input: "Hi." }, { accept: "text/event-stream" }),
  "an idempotent call": (slug) =>
    post(`/skills/${slug}`, { input: "Hi." }, { "idempotency-key": fresh("key") }),
  "its route in a session": async (slug) =>
    post(`/skills/${slug}?session_id=${await made()}`, { input: "Hi." }),
  "a run": (skill) => post("/runs", { prompt: "Hi.", options: { skill } }),
  "an idempotent run": (skill) =>
    post("/runs", { prompt: "Hi.", options: { skill } }, { "idempotency-key": fresh("key") }),
  "a run in a session": async (skill) =>
    post(`/sessions/${await made()}/runs`, { prompt: "Hi.", options: { skill } }),
  "a task": (skill) =>
    post("/tasks", { task: "Hi.", wait: true, node: { mode: "agent" }, options: { skill } }),
  "a sub-agent": (skill) => post("/sub-agents", { task: "Hi.", options: { skill } }),
  "a daemon": async (skill) => {
    const begun = await client.post("/daemons", { task: "Hi.", skill });
    const { id } = await begun.json<{ id: string }>();
    return vi.waitFor(async () => {
      const text = await (await client.fetch(`/daemons/${id}`)).text();
      expect(text).not.toContain('"daemon_state":"active"');
      return text;
    }, 60_000);
  },
  messages: (slug) => post("/v1/messages", { model: `skill/${slug}`, max_tokens: 4000, messages }),
  "chat completions": (slug) => post("/v1/chat/completions", { model: `skill/${slug}`, messages }),
  responses: (slug) => post("/v1/responses", { model: `skill/${slug}`, input: "Hi." }),
  "the MCP server": (slug) =>
    post(
      "/mcp",
      {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: slug.replaceAll("-", "_"), arguments: { input: "Hi." } },
      },
      { accept: "application/json, text/event-stream" },
    ),
};

/** A limit of a skill, and what shows that a run obeyed it. */
interface Limit {
  /** The fields of its frontmatter. */
  fields?: string;
  /** Its hard budget. */
  budget?: object;
  /** What the provider answers. */
  turn: () => FakeTurn | null;
  /** @param said what the caller learned */
  obeyed: (said: string) => void;
  /** Ways that have a rule of their own, which the documentation states. */
  otherwise?: Record<string, () => void>;
}

const done = (): FakeTurn => ({ text: "Done. ##DONE##" });
const calls = (output = 90): FakeTurn => ({
  text: "Part.",
  tool_calls: [{ name: "talk", arguments: {} }],
  usage: { input: 1000, output },
});
const asked = (times: number) => (said: string) => expect(bodies, said).toHaveLength(times);
const refused = (times: number) => (said: string) => {
  asked(times)(said);
  expect(said).toMatch(/budget_exceeded|budget_exhausted|billing_error|insufficient_quota/);
};

const LIMITS: Record<string, Limit> = {
  max_tokens: {
    fields: "max_tokens: 77\n",
    turn: done,
    obeyed: (said) =>
      expect(
        bodies.map(({ max_tokens }) => max_tokens),
        said,
      ).toEqual([77]),
  },
  max_tool_rounds: {
    fields: "max_tool_rounds: 2\n",
    turn: calls,
    obeyed(said) {
      asked(3)(said);
      expect(bodies.at(-1)?.tool_choice).toEqual({ type: "none" });
    },
    // The number of a node of the mode `agent`.
    otherwise: { "a task": () => asked(16)("") },
  },
  max_tool_output_bytes: {
    fields: "max_tool_output_bytes: 2048\n",
    turn: () => (bodies.length === 1 ? calls() : done()),
    obeyed(said) {
      const read = JSON.stringify(bodies[1]?.messages.at(-1) ?? said);
      expect(read).toContain("a a a");
      expect(read.length).toBeLessThan(2600);
    },
  },
  deadline_ms: {
    fields: "deadline_ms: 400\n",
    turn: () => null,
    obeyed: (said) => expect(said).toMatch(/deadline_exceeded|400 ms/),
  },
  "budget before its first call": {
    budget: { window: "day", max_output_tokens: 10 },
    turn: done,
    obeyed: refused(0),
  },
  "budget after its first call": {
    budget: { window: "day", max_cost_usd: 0.07 },
    turn: () => calls(4000),
    obeyed: refused(1),
  },
};

const ROWS = Object.entries(DOORS).flatMap(([door, run], at) =>
  Object.entries(LIMITS).flatMap(([name, limit], number) =>
    // The time of one call does not apply to a daemon.
    door === "a daemon" && name === "deadline_ms"
      ? []
      : [{ door, name, run, limit, slug: `limited-${at}-${number}` }],
  ),
);

beforeAll(() =>
  client.publish(Object.fromEntries(ROWS.map(({ slug, limit }) => [slug, skill(slug, limit.fields)]))),
);

it.each(ROWS)("$door obeys the skill's $name", async ({ door, run, slug, limit }) => {
  if (limit.budget !== undefined) {
    const init = { method: "PUT", headers: headers(), body: JSON.stringify(limit.budget) };
    expect((await client.fetch(`/budgets/skill:${slug}`, init)).ok).toBe(true);
  }
  next = limit.turn;
  const said = await run(slug);
  const { [door]: check = () => limit.obeyed(said) } = limit.otherwise ?? {};
  check();
});
