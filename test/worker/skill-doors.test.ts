/** A skill's two doors, its route and its route in a session, ask the model the same, within the same limits. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { SESSION_RUNTIME } from "../../src/run/agent/runtime.ts";
import { SHIPPED } from "../../src/skill/known-providers.ts";
import { openAiAnswer } from "../support/fake-answers.ts";
import type { FakeRequest } from "../support/fake-turn.ts";
import { Client } from "./served.ts";
import { inWorld, SPEC } from "./session-world.ts";
import { tenant } from "./tenant.ts";

const client = new Client({ HULL_ENV: "local", OPENAI_API_KEY: "sk-o" });
const skill = (name: string, extra: string, text: string): string =>
  `---\nname: ${name}\ndescription: d\nprovider: openai\nmodel: gpt-4o\n${extra}---\n${text}\n`;
const USUAL = 300_000;

let bodies: FakeRequest["body"][];
let answers: (signal: AbortSignal | null | undefined) => Promise<unknown>;
beforeAll(async () => {
  const skills = {
    elsewhere: skill("elsewhere", "", "Answer.").replace("provider: openai", "provider: house"),
    args: skill("args", "workspace_tools: [Read]\n", "It says <$ARGUMENTS>."),
    hinted: skill("hinted", "argument-hint: <from> <to>\n", "Port $0 to $1, $2."),
    unhinted: skill("unhinted", "", "Print $0 and $1."),
    unnamed: skill("unnamed", "", "Answer."),
    named: skill("named", `deadline_ms: ${USUAL}\n`, "Answer."),
    brief: skill("brief", "deadline_ms: 280000\n", "Answer."),
    longer: skill("longer", "timeout_ms: 299000\n", "Answer."),
  };
  // Its catalog was published when the deployment had one more provider.
  await client.publish(skills, {}, { ...SHIPPED, names: [...SHIPPED.names, "house"] });
});
beforeEach(() => {
  bodies = [];
  answers = async () => {};
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    const body = await request.json<FakeRequest["body"]>();
    bodies.push(body);
    await answers(init?.signal);
    const sent = { path: "/", headers: {}, body, text: "", at: 0, left: Promise.resolve(false) };
    return Response.json(openAiAnswer({ text: "Done." }, sent).whole);
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

let sessions = 0;
const DOORS: [string, () => Promise<string>][] = [
  ["its route", async () => ""],
  [
    "its route in a session",
    async () => {
      const id = `door-${++sessions}`;
      await client.post("/sessions", { id });
      return `?session_id=${id}`;
    },
  ],
];

const UNNAMED: [slug: string, limit: number][] = [
  ["unnamed", USUAL],
  ["longer", USUAL],
];

describe.each(DOORS)("%s", (door, query) => {
  it.each([
    [
      "text and a file",
      "sum up",
      ["a.txt"],
      "It says <sum up>.",
      "sum up\n\nFiles of this request, in the work folder:\n- a.txt",
    ],
    [
      "a file alone",
      null,
      ["a.txt"],
      "It says <>.",
      "Begin.\n\nFiles of this request, in the work folder:\n- a.txt",
    ],
    ["text alone", "sum up", [], "It says <sum up>.", "sum up"],
  ])(
    "$ARGUMENTS is what the caller says, without what Hull adds: %s",
    async (_, said, files, system, prompt) => {
      const form = new FormData();
      if (said !== null) form.append("prompt", said);
      for (const name of files) form.append("file", new File(["x"], name, { type: "text/plain" }));
      const answer = await client.fetch(`/skills/args${await query()}`, { method: "POST", body: form });
      expect([answer.status, await answer.text()]).toEqual([200, "Done."]);
      const [first, second] = bodies[0]?.messages ?? [];
      expect(String(first?.content)).toContain(system);
      expect(second).toMatchObject({ role: "user", content: prompt });
    },
  );

  it.each([
    ["hinted", "Port java to go, $2."],
    ["unhinted", "Print $0 and $1."],
  ])("fills words of the input in if the skill says that it takes arguments: %s", async (slug, system) => {
    const answer = await client.post(`/skills/${slug}${await query()}`, { input: "java go" });
    expect([answer.status, await answer.text()]).toEqual([200, "Done."]);
    expect(String(bodies[0]?.messages?.[0]?.content)).toContain(system);
  });

  it("blames the deployment for a provider that it lacks: 503", async () => {
    const answer = await client.post(`/skills/elsewhere${await query()}`, { input: "x" });
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { code: expect.stringMatching(/^provider_/) },
    ]);
  });

  it("does not change with the model rules of the tenant", async () => {
    const rules = '[[provider.openai]]\nmodel_match = "*"\nnative_tools = false\n';
    const headers = { "content-type": "application/toml" };
    const { status } = await client.fetch("/llm/capabilities", { method: "PUT", headers, body: rules });
    expect(status).toBe(200);
    try {
      const answer = await client.post(`/skills/args${await query()}`, { input: "x" });
      expect([answer.status, await answer.text()]).toEqual([200, "Done."]);
      expect(bodies[0]?.tools).toMatchObject([{ function: { name: "Read" } }]);
    } finally {
      await client.fetch("/llm/capabilities", { method: "DELETE" });
    }
  });

  // In a session a person may have to decide, so that only a deadline that the manifest names counts.
  it.each<[slug: string, limit: number]>([
    ["named", USUAL],
    ["brief", 280_000],
    ...(door === "its route" ? UNNAMED : []),
  ])("ends the call of the skill %s after %i ms", async (slug, limit) => {
    const real = setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementation((work, ms = 0, ...more) =>
      real(work, ms > limit - 5000 && ms <= limit ? 20 : ms, ...more),
    );
    answers = (signal) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const answer = await client.post(`/skills/${slug}${await query()}`, { input: "x" });
    const due = { code: "deadline_exceeded", timeout_ms: limit };
    expect([answer.status, await answer.json()]).toMatchObject([504, due]);
  });
});

it("in a session the call goes on without the model rules of the tenant after its process died", async () => {
  const owner = await tenant("t", "admin");
  const body = '[[provider.openai]]\nmodel_match = "*"\nvision = false\n';
  const headers = { "content-type": "application/toml" };
  const { status } = await owner.fetch("/llm/capabilities", { method: "PUT", headers, body });
  expect(status).toBe(200);
  answers = () => (bodies.length === 1 ? new Promise(() => {}) : Promise.resolve());
  const script = { runtime: SESSION_RUNTIME, env: client.env, replies: [] };
  await inWorld(script, async (world) => {
    await world.open();
    const image = { type: "image" as const, media_type: "image/png", data: "aGk=" };
    const model = { provider: "openai", model: "gpt-4o" };
    const called = { ...SPEC, called: { json: false }, call: model, run_id: "r1", session_id: world.id };
    const spec = { ...called, model: { ...SPEC.model, ...model } };
    const prompt = [{ role: "user" as const, content: [image] }];
    const request = { name: "n", hash: "h" };
    await world.ask("start", { run_id: "r1", work: { spec: { ...spec, prompt } }, request, wait: "none" });
    await expect.poll(() => bodies.length).toBe(1);
    await world.revive();
    const ended = await world.ask("answer", { run_id: "r1", wait: "terminal" });
    expect(ended).toMatchObject({ status: "done" });
  });
  expect(bodies).toHaveLength(2);
});

it.each(["unnamed", "longer"])(
  "in a session the skill %s has no deadline that it does not name",
  async (slug) => {
    const [, query] = DOORS[1] ?? expect.fail("no session");
    const waits = vi.spyOn(globalThis, "setTimeout");
    expect((await client.post(`/skills/${slug}${await query()}`, { input: "x" })).status).toBe(200);
    const limits = waits.mock.calls.map(([, ms = 0]) => ms);
    expect(limits.filter((ms) => ms > USUAL - 5000 && ms <= USUAL && ms !== 299_000)).toEqual([]);
  },
);
