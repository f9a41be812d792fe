/** What a client learns when a provider fails, and what a fallback saves. */
import { describe, expect, test } from "vitest";
import { commonHull, UNREACHABLE, UNSET } from "../support/common-hull.ts";
import type { FakeTurn } from "../support/fake-turn.ts";
import { json } from "../support/hull-dev.ts";
import { dataOf, readEvents, textOf } from "../support/sse.ts";

const llm = (name: string, more = ""): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Test.\nmode: llm\n${more}---\nYou are a test.\n`,
});

const { hull, fake } = await commonHull({
  ...llm("anthropic"),
  ...llm("openai", "provider: openai\n"),
  ...llm("unreachable", `provider: ${UNREACHABLE}\nmodel: m\n`),
  ...llm("unset", `provider: ${UNSET.provider}\n`),
  ...llm("impatient", "timeout_ms: 1500\n"),
  ...llm("saved", `provider: ${UNREACHABLE}\nmodel: m\nfallback: [${UNSET.provider}/m, openai/gpt-4o]\n`),
  ...llm("late-saved", "timeout_ms: 1500\nidle_timeout_ms: 1500\nfallback: [openai/gpt-4o]\n"),
});

const ask = (slug: string): Promise<Response> => hull.call(`/skills/${slug}`, "hello");
const fails = (turn: FakeTurn): void => fake.script(() => turn);
const LONG = { error: { type: "invalid_request_error", message: `CANARY-BODY ${"x".repeat(5000)}` } };

interface Expected {
  status: number;
  code: string;
  /** Calls that the provider got. */
  calls: number;
  members?: Record<string, unknown>;
  retryAfter?: string | null;
}

describe("S94: every surface passes on the provider's wait, and its words once", () => {
  const options = { provider: "openai", model: "gpt-4o" };
  const node = { kind: "stage", model_policy: options };
  const messages = [{ role: "user", content: "Hi." }];
  const v1 = { model: "gpt-4o", max_tokens: 9, messages };
  const table: [string, object, Record<string, string>?][] = [
    ["/llm/call", { prompt: "Hi.", options }],
    ["/runs", { prompt: "Hi.", options }],
    ["/runs", { prompt: "Hi.", options }, { "idempotency-key": crypto.randomUUID() }],
    ["/sessions/waits/runs", { prompt: "Hi.", options }],
    ["/tasks", { task: "Hi.", node, wait: true }],
    ["/v1/messages", v1],
    ["/v1/messages", { ...v1, model: "skill/openai" }],
    ["/v1/chat/completions", v1],
    ["/v1/responses", { model: "gpt-4o", input: "Hi." }],
    ["/v1/responses", { model: "skill/openai", input: "Hi.", store: false }],
  ];
  test.each(table)("%s %j", async (path, body, headers = {}) => {
    fails({ status: 429, headers: { "retry-after": "120" } });
    await hull.post("/sessions", { id: "waits" });
    const answer = await hull.post(path, body, headers);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "120"]);
    expect((await answer.text()).match(/It says: /g)).toHaveLength(1);
  });
});

describe("S92, S94: outcomes", () => {
  const rejected = { status: 502, code: "provider_rejected_request", calls: 1 };
  const auth = { status: 502, code: "provider_auth_failed", calls: 1 };
  const broken = { status: 502, code: "provider_error", calls: 3 };
  const unreadable = { status: 502, code: "provider_bad_response" };
  const table: [string, FakeTurn, Expected][] = [
    ["401", { status: 401 }, { ...auth, members: { variable: "ANTHROPIC_API_KEY", provider_status: 401 } }],
    ["402", { status: 402 }, auth],
    ["403", { status: 403 }, { ...auth, members: { provider_status: 403 } }],
    [
      "400",
      { status: 400, body: LONG },
      { ...rejected, members: { provider_status: 400, provider_type: "invalid_request_error" } },
    ],
    ["404", { status: 404 }, { ...rejected, members: { provider_type: "not_found_error" } }],
    ["413", { status: 413 }, rejected],
    ["418", { status: 418 }, rejected],
    ["422", { status: 422 }, rejected],
    [
      "429",
      { status: 429, headers: { "retry-after": "120" } },
      { status: 429, code: "provider_rate_limited", calls: 1, retryAfter: "120" },
    ],
    ["500", { status: 500, body: "<html>CANARY-BODY" }, { ...broken, members: { provider_status: 500 } }],
    [
      "503 asking for a long wait",
      { status: 503, headers: { "retry-after": "90" } },
      { ...broken, calls: 1, retryAfter: "90" },
    ],
    ["529", { status: 529 }, { ...broken, members: { provider_status: 529 } }],
    [
      "302",
      { status: 302, headers: { location: "http://127.0.0.1:1/CANARY-BODY" } },
      { status: 502, code: "provider_redirect_refused", calls: 1, members: { provider_status: 302 } },
    ],
    ["200 with cut JSON", { body: '{"type":"message","content":[{"ty' }, { ...unreadable, calls: 1 }],
    ["an empty answer", { text: [] }, { status: 502, code: "provider_empty_answer", calls: 1 }],
    ["200 without JSON", { body: "CANARY-BODY" }, { ...unreadable, calls: 1 }],
    ["200 with an error object", { body: LONG }, { ...unreadable, calls: 1 }],
  ];
  test.each(table)("%s", async (_name, turn, expected) => {
    fails(turn);
    const response = await ask("anthropic");
    const body = await json(response);
    expect(body).toMatchObject({ code: expected.code, provider: "anthropic", ...expected.members });
    expect([response.status, body.status]).toEqual([expected.status, expected.status]);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    if (expected.retryAfter !== undefined)
      expect(response.headers.get("retry-after")).toBe(expected.retryAfter);
    expect(fake.requests).toHaveLength(expected.calls);
    // Local dev shows the provider's words in one member, at most 500 characters; nothing else does.
    const { provider_message, ...rest } = body;
    expect(JSON.stringify(rest)).not.toContain("CANARY-BODY");
    expect(JSON.stringify(rest)).not.toContain(fake.url);
    expect(String(provider_message ?? "").length).toBeLessThanOrEqual(500);
  });

  test("a 429 without Retry-After gets 5 s", async () => {
    fails({ status: 429 });
    const response = await ask("openai");
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "5"]);
    expect(fake.requests).toHaveLength(3);
  });

  test("a document and a stream that are cut", async () => {
    fails({ text: "never complete", cut: true });
    const whole = await ask("anthropic");
    expect([whole.status, (await json(whole)).code]).toEqual([502, "provider_bad_response"]);
    fails({ text: ["some ", "text"], cut: true });
    const events = await readEvents(await ask("anthropic?stream=1"));
    expect(textOf(events, "delta")).toBe("some text");
    expect(dataOf(events, "error")).toMatchObject([{ code: "provider_bad_response", status: 502 }]);
    expect(events.at(-1)).toMatchObject({ event: "done", data: { ok: false } });
  });

  test("nothing listens", async () => {
    const response = await ask("unreachable");
    expect([response.status, await json(response)]).toMatchObject([
      502,
      { code: "provider_unreachable", provider: UNREACHABLE },
    ]);
  });

  test("S93: no key is 503 with the variable to set; the skill is still listed", async () => {
    const response = await ask("unset");
    expect([response.status, await json(response)]).toMatchObject([
      503,
      { code: "provider_not_configured", ...UNSET },
    ]);
    expect(response.headers.get("retry-after")).toBeNull();
    expect((await hull.call("/skills/unset")).status).toBe(200);
    expect((await hull.call("/healthz")).status).toBe(200);
  });
});

describe("time", () => {
  test("S90: a silent provider is 504 in time", async () => {
    fails({ hang: true });
    const response = await ask("impatient");
    expect([response.status, await json(response)]).toMatchObject([
      504,
      { code: "provider_timeout", timeout_ms: 1500 },
    ]);
    expect(fake.requests).toHaveLength(1);
    expect(await fake.requests[0]?.left).toBe(true);
  });

  test("S88: a short Retry-After is waited for", async () => {
    fake.script([{ status: 429, headers: { "retry-after": "2" } }, { text: "second try" }]);
    expect(await (await ask("anthropic")).text()).toBe("second try");
    const [first, second] = fake.requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1990);
  });

  test("S89: 408, 409, 504 and others are tried again, after a wait", async () => {
    const waits: number[] = [];
    for (const statuses of [[408, 409], [504], [500, 529]]) {
      fake.requests.length = 0;
      fake.script([...statuses.map((status) => ({ status })), { text: "last try" }]);
      const response = await ask("anthropic");
      expect([response.status, await response.text()]).toEqual([200, "last try"]);
      expect(response.headers.get("x-hull-usage")).toBe("input=10;output=5;rounds=1;tools=0");
      expect(fake.requests).toHaveLength(statuses.length + 1);
      waits.push((fake.requests[1]?.at ?? 0) - (fake.requests[0]?.at ?? 0));
    }
    // 250 ms, and up to half of it more or less.
    expect(Math.min(...waits)).toBeGreaterThan(120);
  });

  test("when a client leaves, its provider call ends", async () => {
    fails({ text: Array.from({ length: 100 }, (_, i) => `${i} `), delta_ms: 50 });
    const abort = new AbortController();
    const response = await hull.call("/skills/anthropic?stream=1", "hello", { signal: abort.signal });
    const reader = response.body?.getReader();
    let seen = "";
    while (!seen.includes("event: delta")) seen += new TextDecoder().decode((await reader?.read())?.value);
    abort.abort();
    expect(await fake.requests[0]?.left).toBe(true);
  });
});

test("a vendor's stream begins while its model is silent, before a proxy gives it up, and may fail after that", async () => {
  const late = Promise.withResolvers<FakeTurn>();
  fake.script(() => late.promise);
  const asked: [string, object][] = [
    ["/v1/messages", { max_tokens: 9, messages: [{ role: "user", content: "Hi." }] }],
    ["/v1/chat/completions", { messages: [{ role: "user", content: "Hi." }] }],
    ["/v1/responses", { input: "Hi.", store: false }],
  ];
  const begun = await Promise.all(
    asked.map(([path, body]) => hull.post(path, { ...body, model: "gpt-4o", stream: true })),
  );
  late.resolve({ status: 400 });
  for (const answer of begun) {
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
    ]);
    expect(await answer.text()).toMatch(/^(?:: hb\n\n){2,}(?:event: \S+\n)?data: .*"error":\{/);
  }
}, 90_000);

describe("S112: fallback", () => {
  test("the next configured provider answers, and the usage is its own", async () => {
    fake.script([{ text: "from openai", usage: { input: 3, output: 4 } }]);
    const response = await ask("saved");
    expect([response.status, await response.text()]).toEqual([200, "from openai"]);
    expect(response.headers.get("x-hull-usage")).toBe("input=3;output=4;rounds=1;tools=0");
    expect(fake.requests.map((request) => request.body.model)).toEqual(["gpt-4o"]);
  });

  test("a timeout falls back too, streamed", async () => {
    fake.script([{ hang: true }, { text: ["in ", "time"] }]);
    const events = await readEvents(await ask("late-saved?stream=1"));
    expect(textOf(events, "delta")).toBe("in time");
    expect(events.at(-1)).toMatchObject({ event: "done", data: { ok: true } });
  });

  test("does not happen after text has reached the client", async () => {
    fake.script([{ text: ["spoken "], hang: true }]);
    const events = await readEvents(await ask("late-saved?stream=1"));
    expect(textOf(events, "delta")).toBe("spoken ");
    expect(dataOf(events, "error")).toMatchObject([{ code: "provider_timeout" }]);
    expect(fake.requests).toHaveLength(1);
  });
});

test.each([100, 490, 1990])(
  "a key at character %i of a provider's words is in no answer, nor a part of it",
  async (at) => {
    const message = `${"x ".repeat(at / 2)}sk-openai-e2e-key ${"y".repeat(2000)}`;
    const body = { error: { type: "invalid_request_error", message } };
    const options = { provider: "openai", model: "gpt-4o", llm_retries: 0 };
    const said: string[] = [];
    await hull.post("/sessions", { id: `echo-${at}` });
    const runs = `/sessions/echo-${at}/runs`;
    fails({ status: 400, body });
    for (const slug of ["openai", `openai?session_id=echo-${at}`]) said.push(await (await ask(slug)).text());
    for (const path of ["/runs", runs, "/llm/call"])
      said.push(await (await hull.post(path, { prompt: "Hi.", options })).text());
    for (const path of [runs, `/sessions/echo-${at}/transcript?view=raw`]) {
      const answer = await hull.call(path, undefined, { method: "GET" });
      said.push(await answer.text());
    }
    const { data } = JSON.parse(said.at(-2) ?? "");
    expect(data).toHaveLength(2);
    for (const text of said) expect(text).not.toMatch(/x[^x]*sk-/);
  },
);
