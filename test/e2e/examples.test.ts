/** The example skills, served by `hull dev` and called as a user would. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { workerModules } from "../../scripts/dev/worker-bundle.ts";
import { commonHull, printedFirst } from "../support/common-hull.ts";
import type { FakeRequest } from "../support/fake-turn.ts";
import { json, REPO } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { dataOf, readEvents, textOf } from "../support/sse.ts";

const curl = promisify(execFile);

const { hull, fake } = await commonHull(`${REPO}skills`);
const siteHits: string[] = [];
const site = createServer((request, response) => {
  siteHits.push(`${request.method} ${request.url} ${request.headers["user-agent"]}`);
  response.writeHead(418, { server: "teapot/1" }).end();
}).listen(0, "127.0.0.1");
await once(site, "listening");
const bound = site.address();
const address = `127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`;
afterAll(() => {
  site.close();
});

test.each([
  ["text-tools", "one two three", '{"words":3,"sentences":1}'],
  ["page-address", "Über uns", '{"address":"uber-uns"}'],
])("%s: the mock calls a tool of its own, in an isolate", async (slug, text, answer) => {
  const response = await hull.call(`/skills/${slug}`, text);
  expect(await response.text()).toContain(answer);
});

test("all examples are listed, with and without a key", async () => {
  const response = await hull.call("/skills");
  const cards = await json<{ slug: string; mode: string }[]>(response);
  expect(response.status).toBe(200);
  expect(response.headers.get("x-total-count")).toBe("10");
  expect(cards.map((card) => [card.slug, card.mode])).toEqual([
    ["assistant", "llm"],
    ["echo-chat", "llm"],
    ["hello", "script"],
    ["page-address", "llm"],
    ["site-checker", "llm"],
    ["status-page", "static-file"],
    ["text-tools", "llm"],
    ["to-csv", "script"],
    ["weather-proxy", "proxy"],
    ["word-count", "script"],
  ]);
});

test("the static file and the proxy without its key", async () => {
  const page = await hull.call("/skills/status-page");
  expect([page.status, page.headers.get("content-security-policy")]).toEqual([200, "sandbox allow-scripts"]);
  expect(await page.text()).toContain("All systems");
  const weather = await hull.call("/skills/weather-proxy?q=Paris");
  expect(weather.status).toBe(503);
  expect(await json(weather)).toMatchObject({ code: "proxy_not_configured", variable: "WEATHER_API_KEY" });
});

test("S3: script, file, static file and model with a tool answer from workerd, whose bundle needs no Node", async () => {
  fake.script([
    { tool_calls: [{ name: "check_status", arguments: { url: address } }] },
    { text: "It answered 418." },
  ]);
  const answers = [
    await hull.call("/skills/hello", "Ada"),
    await hull.call("/skills/to-csv", '[{"a":1}]', { headers: { "content-type": "application/json" } }),
    await hull.call("/skills/status-page"),
    await hull.call("/skills/site-checker", address),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(answers[3]?.headers.get("x-hull-usage")).toMatch(/rounds=2;tools=1$/);
  for (const answer of answers) await answer.body?.cancel();
  const bundle = [...(await workerModules()).values()].join("\n");
  expect(bundle.length).toBeGreaterThan(100_000);
  const imported = Array.from(
    bundle.matchAll(/(?:from|import|require)\s*\(?\s*["']([a-z_:/]+)["']/g),
    ([, name]) => name,
  );
  expect(imported).toContain("cloudflare:workers");
  expect(imported.filter((name) => /child_process|^(?:node:)?fs\b/.test(name ?? ""))).toEqual([]);
});

describe("script examples", () => {
  test("the curl line that hull dev prints works as printed", async () => {
    const line = /^ {2}curl (\S+) --data 'world'$/m.exec(printedFirst("plain"));
    expect(line?.[1]).toMatch(/\/skills\/hello$/);
    // A server that was restarted has another port.
    const printed = (line?.[1] ?? "").replace(/:\d+/, `:${new URL(hull.url).port}`);
    const { stdout } = await curl("curl", ["-sS", printed, "--data", "world"]);
    expect(stdout).toBe("Hello, world!\n");
  });

  test.each([
    ["/skills/hello", "Ada", "Hello, Ada!\n", "text/plain; charset=utf-8"],
    ["/skills/hello", "", "Hello, world!\n", "text/plain; charset=utf-8"],
    [
      "/skills/word-count",
      "два слова\nthree",
      '{"lines": 2, "words": 3, "characters": 15}',
      "application/json",
    ],
  ])("%s with %j", async (path, body, answer, type) => {
    const response = await hull.call(path, body);
    expect([response.status, await response.text()]).toEqual([200, answer]);
    expect(response.headers.get("content-type")).toBe(type);
    expect(response.headers.get("x-hull-skill")).toMatch(new RegExp(`^${path.split("/")[2]}@[0-9a-f]{12}$`));
    expect(response.headers.get("x-hull-execution-id")).toMatch(/^ex_[0-9a-f]{32}$/);
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  test("to-csv takes a raw body and an upload, and names the file after it", async () => {
    const people = '[{"name": "Ada", "born": 1815}, {"name": "Grace, Rear Adm.", "tags": ["navy"]}]';
    const csv = 'name,born,tags\r\nAda,1815,\r\n"Grace, Rear Adm.",,"[""navy""]"\r\n';
    const raw = await hull.call("/skills/to-csv", people, {
      headers: { "content-type": "application/json" },
    });
    expect([raw.status, (await raw.text()).replaceAll("\r\n", "\n")]).toEqual([
      200,
      csv.replaceAll("\r\n", "\n"),
    ]);
    expect(raw.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    const form = new FormData();
    form.append("file", new Blob([people], { type: "application/json" }), "people.json");
    const upload = await hull.call("/skills/to-csv", form);
    expect([upload.status, (await upload.text()).replaceAll("\r\n", "\n")]).toEqual([
      200,
      csv.replaceAll("\r\n", "\n"),
    ]);
    expect(upload.headers.get("content-disposition")).toBe(
      `inline; filename="people.csv"; filename*=UTF-8''people.csv`,
    );
  });
});

describe("echo-chat, without any key", () => {
  test("plain", async () => {
    const response = await hull.call("/skills/echo-chat", "good morning");
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("The tool echo answered:\ngood morning\n\nYou asked: good morning");
    expect(response.headers.get("x-hull-usage")).toMatch(/^input=\d+;output=50;rounds=2;tools=1$/);
    expect(response.headers.get("x-hull-finish-reason")).toBe("stop");
  });

  test("streamed: the whole event order, ids counted up, done last", async () => {
    const response = await hull.call("/skills/echo-chat?stream=1", "good morning");
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
    ]);
    const events = await readEvents(response);
    const order = events
      .map((e) => e.event)
      .filter((name, i, all) => name !== "delta" || all[i - 1] !== "delta");
    expect(order).toEqual(["start", "round", "tool_call", "tool_result", "delta", "round", "done"]);
    const execution = response.headers.get("x-hull-execution-id");
    expect(events.map((e) => e.id)).toEqual(events.map((_, i) => `${execution}:${i + 1}`));
    expect(events[0]?.data).toEqual({
      execution_id: execution,
      request_id: response.headers.get("x-request-id"),
      skill: "echo-chat",
      mode: "llm",
    });
    const [call] = dataOf(events, "tool_call");
    expect(call).toMatchObject({ round: 1, name: "echo", arguments: { text: "good morning" } });
    expect(dataOf(events, "tool_result")).toEqual([
      {
        round: 1,
        name: "echo",
        status: "ok",
        call_id: call?.call_id,
        ok: true,
        exit_code: 0,
        duration_ms: expect.any(Number),
        bytes: 13,
        truncated: false,
      },
    ]);
    expect(dataOf(events, "round")).toMatchObject([
      { round: 1, usage: { output_tokens: 20 } },
      { round: 2, usage: { output_tokens: 30 } },
    ]);
    expect(textOf(events, "delta")).toBe("The tool echo answered:\ngood morning\n\nYou asked: good morning");
    expect(events.at(-1)?.data).toMatchObject({
      ok: true,
      finish_reason: "stop",
      usage: { output_tokens: 50, rounds: 2, tools: 1 },
      duration_ms: expect.any(Number),
    });
  });
});

/** Asks for the site in the user's words, then answers with what the tool found. */
function checkThenReport(request: FakeRequest) {
  const result = JSON.stringify(request.body.messages.at(-1)?.content ?? "");
  const status = /status_code\D{1,6}(\d{3})/.exec(result)?.[1];
  if (status === undefined) {
    return { tool_calls: [{ name: "check_status", arguments: { url: request.text } }] };
  }
  return { text: ["It ", "answered ", `${status}.`], usage: { input: 7, output: 3 } };
}

describe("site-checker against a provider", () => {
  test("Anthropic: the tool asks the real site, the model gets its findings", async () => {
    const before = fake.requests.length;
    fake.script(checkThenReport);
    const response = await hull.call("/skills/site-checker", address);
    expect([response.status, await response.text()]).toEqual([200, "It answered 418."]);
    expect(siteHits.at(-1)).toBe("GET / hull-site-checker");
    expect(response.headers.get("x-hull-usage")).toBe("input=17;output=8;rounds=2;tools=1");
    const [first, second] = fake.requests.slice(before);
    expect(first?.path).toBe("/v1/messages");
    expect(first?.headers).toMatchObject({
      "x-api-key": "sk-ant-e2e-key",
      "anthropic-version": "2023-06-01",
    });
    expect(first?.body).toMatchObject({
      model: "claude-haiku-4-5-20251001",
      max_tokens: 4096,
      tools: [
        {
          name: "check_status",
          input_schema: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
        },
      ],
    });
    expect(JSON.stringify(first?.body.system)).toContain("You report on the state of websites.");
    const result = JSON.stringify(second?.body.messages.at(-1));
    expect(result).toContain('"type":"tool_result"');
    expect(result).toMatch(/teapot\/1/);
  });

  test.each([
    ["openai", "gpt-6-luna", "Bearer sk-openai-e2e-key", "max_completion_tokens"],
    ["ollama", "llama3.2", undefined, "max_tokens"],
  ])("%s: the same skill through *_BASE_URL", async (provider, model, authorization, tokens) => {
    const before = fake.requests.length;
    const name = `site-checker-${provider}`;
    const manifest = await readFile(`${REPO}skills/site-checker/SKILL.md`, "utf8");
    const script = await readFile(`${REPO}skills/site-checker/check.py`, "utf8");
    await hull.write(`${name}/check.py`, script);
    await hull.write(
      `${name}/SKILL.md`,
      manifest
        .replace("name: site-checker", `name: ${name}`)
        .replace("mode: llm", `mode: llm\n    provider: ${provider}\n    max_tokens: 77`),
    );
    await until(
      async () => (await hull.call(`/skills/${name}/card`)).status,
      (status) => status === 200,
    );
    fake.script(checkThenReport);
    const response = await hull.call(`/skills/${name}`, address);
    expect([response.status, await response.text()]).toEqual([200, "It answered 418."]);
    const sent = fake.requests.slice(before);
    expect(sent.map((request) => request.path)).toEqual(["/v1/chat/completions", "/v1/chat/completions"]);
    expect(sent[0]?.headers.authorization).toBe(authorization);
    expect(sent[0]?.body).toMatchObject({ model, [tokens]: 77 });
    expect(sent[1]?.body.messages.at(-1)).toMatchObject({ role: "tool" });
  });

  test("S80: 20 tokens arrive as 20 deltas, each before the next one is sent", async () => {
    const tokens = Array.from({ length: 20 }, (_, i) => `token${i} `);
    const deltas: unknown[] = [];
    const paced = (delta: number) =>
      until(
        () => deltas.length,
        (count) => count === delta,
      );
    fake.script([{ text: tokens, paced }]);
    const answer = await hull.call("/skills/assistant?stream=1", "count");
    const events = await readEvents(answer, ({ event, data }) => {
      if (event === "delta") deltas.push(data.text);
    });
    expect(deltas).toEqual(tokens);
    expect(events.at(-1)).toMatchObject({ event: "done", data: { ok: true, finish_reason: "stop" } });
  });
});
