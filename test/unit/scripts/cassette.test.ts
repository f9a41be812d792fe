/** Recording and replaying through the real servers: a replay returns what was recorded, byte for byte. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { asMock } from "../../../scripts/cassette/as-mocks.ts";
import { nearestCall } from "../../../scripts/cassette/nearest.ts";
import { type Recorder, startRecorder } from "../../../scripts/cassette/record.ts";
import { loadCassette, startReplay } from "../../../scripts/cassette/replay.ts";
import type { ProviderServer } from "../../../scripts/cassette/server.ts";
import type { ModelRequest, ModelTurn } from "../../../src/engine/messages.ts";
import { callModel } from "../../../src/model/call.ts";
import type { CassetteCall } from "../../../src/model/cassette.ts";
import { readMocks } from "../../../src/model/mock/read.ts";
import { resolveTarget } from "../../../src/model/providers.ts";
import { Redactor } from "../../../src/redact.ts";
import type { Json } from "../../../src/skill/manifest.ts";
import { failureOf } from "../../support/failure.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { type FakeProvider, NOBODY, startFakeProvider } from "../../support/fake-provider.ts";
import type { FakeTurn } from "../../support/fake-turn.ts";

const CANARY = "sk-canary-0123456789abcdef";
const OWN_CANARY = "own-provider-canary-98765";
const HEADER = { hull_cassette: 1 as const, created_at: "now", variables: [], settings: {} };

let folder: string;
let fake: FakeProvider;
let file: string;
const running: ProviderServer[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "hull-cassette-"));
  file = join(folder, "calls.jsonl");
  fake = await startFakeProvider();
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});
afterAll(async () => {
  await fake.close();
  await rm(folder, { recursive: true });
});

async function record(): Promise<Recorder> {
  const redactor = new Redactor([CANARY]);
  const recorder = await startRecorder({ file, header: HEADER, redactor, onLine: () => {} });
  running.push(recorder);
  return recorder;
}

async function replay(lines: string[] = [], realtime = false): Promise<ProviderServer> {
  const options = { host: "127.0.0.1", port: 0, file: "calls.jsonl", realtime };
  const server = await startReplay({
    ...options,
    cassette: await loadCassette(file),
    redactor: new Redactor([]),
    onLine: (line) => lines.push(line),
  });
  running.push(server);
  return server;
}

const REQUEST: ModelRequest = {
  system: "be brief",
  messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
  tools: [],
  max_tokens: 9,
  json: false,
};

interface Asked {
  provider: string;
  stream: boolean;
  prompt?: string;
}

/** A call of the Worker's, through a proxy; the events while it arrived, and the turn. */
async function call(proxy: ProviderServer, base: string, { provider, stream, prompt = "hi" }: Asked) {
  const variables: Record<string, string> = {
    HULL_ENV: "local",
    HULL_LLM_PROXY: proxy.url,
    [`${provider.toUpperCase()}_BASE_URL`]: base,
    [`${provider.toUpperCase()}_API_KEY`]: CANARY,
  };
  const target = resolveTarget({ provider, model: "m" }, (name) => variables[name]);
  const told: string[] = [];
  const request = {
    ...REQUEST,
    messages: [{ role: "user" as const, content: [{ type: "text" as const, text: prompt }] }],
  };
  const turn: ModelTurn = await callModel(request, target, {
    stream,
    onText: (text) => told.push(text),
    timeout_ms: 5000,
    signal: new AbortController().signal,
    clock: fakeClock(),
    fetch,
  });
  return { told, turn };
}

const TURN: FakeTurn = {
  text: ["Grüße ", "aus ", "Köln 😀"],
  reasoning: "hm",
  tool_calls: [{ id: "call_a", name: "look", arguments: { city: "Köln" } }],
};
/** Where providers would be if the network were there. */
const NOWHERE = "http://127.0.0.1:1";

describe("recorded calls are replayed", () => {
  const asked: Asked[] = ["anthropic", "openai", "ollama"].flatMap((provider) =>
    [true, false].map((stream) => ({ provider, stream })),
  );

  test("calls of every protocol, whole and streamed; keys are nowhere in the file", async () => {
    const recorder = await record();
    fake.script(asked.map(() => TURN));
    const live = [];
    for (const one of asked) live.push(await call(recorder, fake.url, one));
    expect(live[0]?.told).toEqual(["Grüße ", "aus ", "Köln 😀"]);
    await recorder.stop();
    expect(recorder.calls()).toBe(asked.length);
    const text = await readFile(file, "utf8");
    expect(text).not.toContain(CANARY);
    const offline = await replay();
    for (const [index, one] of asked.entries()) {
      expect(await call(offline, NOWHERE, one)).toEqual(live[index]);
    }
  });

  test("the bytes are the same, piece by piece, however they were cut", async () => {
    const bytes = Buffer.from(
      'data: {"choices":[{"delta":{"content":"Größe 😀"}}]}\r\n\r\ndata: [DONE]\r\n\r\n',
    );
    const raw_chunks = Array.from(bytes, (byte) => Uint8Array.of(byte));
    fake.script([{ raw_chunks }]);
    const recorder = await record();
    await call(recorder, fake.url, { provider: "openai", stream: true });
    await recorder.stop();
    const { body } = fake.requests.at(-1) ?? {};
    const again = await fetch(`${(await replay()).url}/openai/chat/completions`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    expect(again.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(Buffer.from(await again.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test.each<[string, FakeTurn | null, string]>([
    ["a refused key", { status: 401 }, "provider_auth_failed"],
    ["a rate limit", { status: 429, headers: { "retry-after": "40" } }, "provider_rate_limited"],
    ["an answer that breaks off", { text: ["half "], cut: true }, "provider_bad_response"],
    ["a server that is not there", null, "provider_unreachable"],
  ])("%s", async (_, turn, code) => {
    fake.script(() => turn ?? {});
    const recorder = await record();
    const base = turn === null ? NOBODY : fake.url;
    const live = await failureOf(call(recorder, base, { provider: "openai", stream: true }));
    await recorder.stop();
    const again = await failureOf(call(await replay(), NOWHERE, { provider: "openai", stream: true }));
    expect(live.code).toBe(code);
    expect(again.data).toEqual(live.data);
  });

  test("the same request in recorded order, then the last answer again", async () => {
    fake.script([{ text: "1" }, { text: "2" }]);
    const recorder = await record();
    const one = { provider: "anthropic", stream: false };
    for (let n = 0; n < 2; n++) await call(recorder, fake.url, one);
    await recorder.stop();
    const offline = await replay();
    const texts = [];
    for (let n = 0; n < 4; n++) {
      const [block] = (await call(offline, NOWHERE, one)).turn.blocks;
      texts.push(block?.type === "output_text" ? block.text : null);
    }
    expect(texts).toEqual(["1", "2", "2", "2"]);
  });

  test("a recording from another folder, also from a Hull with keys that depend on it", async () => {
    const system = (state: string) =>
      `Base directory for this skill: ${state}/runner/skills/0123456789abcdef/pdf`;
    const body = { model: "m", system: system("/home/ada/.hull/state"), messages: [] };
    const response = { status: 200, headers: {}, chunks: [{ at_ms: 0, text: "recorded" }] };
    const request = { method: "POST", path: "/messages", body };
    const recorded: CassetteCall = {
      kind: "model",
      n: 1,
      provider: "anthropic",
      request,
      key: "of then",
      response,
    };
    await writeFile(file, [HEADER, recorded].map((line) => JSON.stringify(line)).join("\n"));
    const lines: string[] = [];
    const offline = await replay(lines);
    const asked = async (messages: Json[]): Promise<string> => {
      const sent = JSON.stringify({ ...body, system: system("/ci/state"), messages });
      return (await fetch(`${offline.url}/anthropic/messages`, { method: "POST", body: sent })).text();
    };
    expect(await asked([])).toBe("recorded");
    await asked(["more"]);
    expect(lines).toEqual([expect.stringContaining("has no message 1")]);
  });

  test("a client that leaves is not recorded, and takes the provider's connection along", async () => {
    fake.script([{ text: ["a "], hang: true }]);
    const recorder = await record();
    const abort = new AbortController();
    const headers = { "x-hull-upstream": `${fake.url}/v1` };
    const body = JSON.stringify({ model: "m", stream: true, messages: [] });
    const sent = await fetch(`${recorder.url}/openai/chat/completions`, {
      method: "POST",
      headers,
      body,
      signal: abort.signal,
    });
    await sent.body?.getReader().read();
    abort.abort();
    expect(await fake.requests.at(-1)?.left).toBe(true);
    await recorder.stop();
    expect((await loadCassette(file)).calls).toEqual([]);
  });

  test("a piece that fills the connection leaves no listener behind", async () => {
    fake.script([{ raw_chunks: Array.from({ length: 40 }, () => "x".repeat(200_000)) }]);
    const recorder = await record();
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on("warning", warn);
    const sent = await fetch(`${recorder.url}/openai/chat/completions`, {
      method: "POST",
      headers: { "x-hull-upstream": `${fake.url}/v1` },
      body: JSON.stringify({ model: "m", stream: true, messages: [] }),
    });
    expect(await sent.text()).toHaveLength(8_000_000);
    await recorder.stop();
    process.off("warning", warn);
    expect(warnings).toEqual([]);
  });

  test("--realtime keeps the pauses", async () => {
    fake.script([{ text: ["a ", "b ", "c"], delta_ms: 60 }]);
    const recorder = await record();
    await call(recorder, fake.url, { provider: "openai", stream: true });
    await recorder.stop();
    const started = Date.now();
    await call(await replay([], true), NOWHERE, { provider: "openai", stream: true });
    expect(Date.now() - started).toBeGreaterThanOrEqual(150);
  });
});

test("recordings become mocks with the same answers", async () => {
  const script: FakeTurn[] = [TURN, TURN, TURN, { status: 429, headers: { "retry-after": "40" } }];
  fake.script([...script, { text: ["half "], cut: true }]);
  const recorder = await record();
  await call(recorder, fake.url, { provider: "anthropic", stream: true });
  await call(recorder, fake.url, { provider: "openai", stream: false });
  await call(recorder, fake.url, { provider: "ollama", stream: true });
  for (let n = 0; n < 2; n++) await failureOf(call(recorder, fake.url, { provider: "openai", stream: true }));
  await recorder.stop();
  const mocks = await Promise.all((await loadCassette(file)).calls.map(asMock));
  const said = {
    text: "Grüße aus Köln 😀",
    thinking: "hm",
    model: "m",
    input_tokens: 10,
    output_tokens: 5,
    tool_calls: [{ name: "look", arguments: { city: "Köln" } }],
  };
  expect(mocks).toMatchObject([
    { ...said, stop_reason: "tool_use" },
    { ...said, stop_reason: "tool_calls" },
    said,
    { error: { category: "rate_limit", retry_after_ms: 40_000 } },
    { error: { category: "transient_network" } },
  ]);
  expect(readMocks(mocks, "mocks")).toEqual({ mocks });
});

test("a key that only the call names is not in the file, though the provider repeats it", async () => {
  fake.script([{ text: [`your key is ${OWN_CANARY.slice(0, 9)}`, `${OWN_CANARY.slice(9)}, ${OWN_CANARY}`] }]);
  const recorder = await record();
  const body = { model: OWN_CANARY, messages: [{ role: "user", content: `key ${OWN_CANARY}` }] };
  const headers = { "x-hull-upstream": `${fake.url}/v1`, "x-team-api-key": OWN_CANARY };
  const sent = await fetch(`${recorder.url}/own/chat/completions`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  expect(await sent.text()).toContain(OWN_CANARY);
  expect(fake.requests.at(-1)?.headers).not.toHaveProperty("x-hull-upstream");
  await recorder.stop();
  expect(await readFile(file, "utf8")).not.toContain(OWN_CANARY);
});

test("the vendors' own clients are served, whole and streamed", async () => {
  const messages = [{ role: "user" as const, content: "hi" }];
  const params = { model: "m", max_tokens: 9, messages };
  const clients = (base: string, upstream?: string) => {
    const defaultHeaders = upstream === undefined ? {} : { "x-hull-upstream": `${upstream}/v1` };
    const common = { apiKey: "any", maxRetries: 0, defaultHeaders };
    return {
      anthropic: new Anthropic({ ...common, baseURL: `${base}/anthropic` }),
      openai: new OpenAI({ ...common, baseURL: `${base}/openai/v1` }),
    };
  };
  const ask = async ({ anthropic, openai }: ReturnType<typeof clients>) => [
    await anthropic.messages.create(params),
    await anthropic.messages.stream(params).finalMessage(),
    await openai.chat.completions.create(params),
    await openai.chat.completions.stream(params).finalChatCompletion(),
  ];
  fake.script([TURN, TURN, TURN, TURN]);
  const recorder = await record();
  const live = await ask(clients(recorder.url, fake.url));
  await recorder.stop();
  const offline = await replay();
  expect(JSON.stringify(await ask(clients(offline.url)))).toBe(JSON.stringify(live));
  const { anthropic, openai } = clients(offline.url);
  const changed = { ...params, messages: [{ role: "user" as const, content: "hello" }] };
  await expect(anthropic.messages.create(changed)).rejects.toThrow(/has no recording of this call/);
  await expect(openai.chat.completions.create(changed)).rejects.toThrow(/has no recording of this call/);
});

test("a changed prompt is an error that names the hash, the way to record, and the difference", async () => {
  fake.script([{ text: "a" }, { text: "b" }]);
  const recorder = await record();
  for (const prompt of ["The weather in Köln today", "Something else"]) {
    await call(recorder, fake.url, { provider: "anthropic", stream: false, prompt });
  }
  await recorder.stop();
  const lines: string[] = [];
  const offline = await replay(lines);
  const asked = { provider: "anthropic", stream: true, prompt: "The weather in Bonn today" };
  const error = await failureOf(call(offline, NOWHERE, asked));
  expect(error.data).toMatchObject({ code: "replay_missing", status: 502 });
  expect(error.data.members).toMatchObject({ kind: "terminal", provider: "anthropic" });
  expect(error.data.detail).toMatch(
    /^calls\.jsonl has no recording .* anthropic POST \/messages, hash [0-9a-f]{64} .*hull dev --record FILE/,
  );
  expect(error.data.detail).toMatch(
    /nearest .* differs in message 1:\n {2}recorded: .*Köln.*\n {2}now: .*Bonn/,
  );
  expect(lines).toEqual([error.data.detail]);
});

describe("the nearest recorded request", () => {
  const recorded = (body: Json, provider = "openai"): CassetteCall => ({
    kind: "model",
    n: 1,
    provider,
    key: "k",
    response: null,
    request: { method: "POST", path: "/x", body },
  });
  const said = (model: string, ...texts: string[]) => ({
    model,
    messages: texts.map((content, n) => ({ role: n % 2 === 0 ? "user" : "assistant", content })),
  });
  const place = { provider: "openai", path: "/x" };

  test.each<[string, Json, Json[], number, RegExp]>([
    ["a model", said("new", "a"), [said("old", "a")], 0, /differs in model:\n.*"old"\n.*"new"/],
    [
      "the one that agrees longest",
      said("m", "a", "b", "c"),
      [said("m", "a"), said("m", "a", "b", "x"), said("m", "z", "b", "c")],
      1,
      /differs in message 3:\n.*"user: x"\n.*"user: c"/,
    ],
    ["a message more", said("m", "a", "b"), [said("m", "a")], 0, /has no message 2: "assistant: b"/],
    ["a message less", said("m", "a"), [said("m", "a", "b")], 0, /has a further message 2: "assistant: b"/],
    [
      "a message of one part, in Anthropic's form, by its text",
      { model: "m", messages: [{ role: "user", content: [{ type: "text", text: "a" }] }] },
      [{ model: "m", messages: [{ role: "user", content: [{ type: "text", text: "b" }] }] }],
      0,
      /differs in message 1:\n.*"user: b"\n.*"user: a"/,
    ],
    [
      "a message of the same text in another form",
      said("m", "a"),
      [{ model: "m", messages: [{ role: "user", content: [{ type: "text", text: "a" }] }] }],
      0,
      /differs in message 1:\n.*\[\{.*\n.*"content/,
    ],
    [
      "a long text around the place",
      said("m", `${"x".repeat(500)}new${"y".repeat(500)}`),
      [said("m", `${"x".repeat(500)}old${"y".repeat(500)}`)],
      0,
      /recorded: …"x{40}oldy+"…\n/,
    ],
  ])("%s", (_, body, calls, index, difference) => {
    const all = calls.map((call) => recorded(call));
    const nearest = nearestCall(body, place, all);
    expect(nearest?.call).toBe(all[index]);
    expect(nearest?.difference).toMatch(difference);
  });

  test("is one of the same provider before all others", () => {
    const all = [recorded(said("m", "a"), "anthropic"), recorded(said("n", "z"))];
    expect(nearestCall(said("m", "a"), place, all)?.call).toBe(all[1]);
    expect(nearestCall(said("m", "a"), place, all.slice(0, 1))?.difference).toMatch(/another path/);
    expect(nearestCall(null, place, [])).toBeNull();
  });
});

test("only this machine is served, by its own names", async () => {
  fake.script([TURN]);
  const recorder = await record();
  await call(recorder, fake.url, { provider: "openai", stream: false });
  await recorder.stop();
  const { url } = await replay();
  const status = (headers: Record<string, string>, path: string) =>
    new Promise((resolve) => get(`${url}${path}`, { headers }, (response) => resolve(response.statusCode)));
  expect(await status({ host: "evil.example" }, "/openai/models")).toBe(403);
  expect(await status({ host: "localhost:1234" }, "/openai/models")).toBe(404);
  expect(await status({}, "/")).toBe(404);
});

test("an error reports a missing file, or one that is no cassette", async () => {
  await expect(loadCassette(join(folder, "nothing"))).rejects.toThrow(/There is no cassette .*nothing/);
  await expect(loadCassette(import.meta.filename)).rejects.toMatchObject({
    message: expect.stringMatching(/cannot be replayed:\n {2}line 1/),
    hint: expect.stringContaining("--mocks"),
  });
});
