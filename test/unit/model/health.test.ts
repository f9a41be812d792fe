/** Whether a provider answers, asked over real HTTP. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkHealth } from "../../../src/model/health.ts";
import { env, layered } from "./registry/support.ts";

const KEY = "key-that-must-not-show";
const TIMEOUT_MS = 300;

let server: Server;
let url = "";
let status: number | "hang" = 200;
let asked: IncomingMessage[] = [];
let body = "";

beforeAll(async () => {
  server = createServer(async (request, response) => {
    asked.push(request);
    body = "";
    for await (const chunk of request) body += chunk;
    if (status === "hang") return;
    response.writeHead(status, { location: "https://elsewhere.example/" }).end(`{"error":"bad key ${KEY}"}`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

const check = async (provider: string, fields: object = {}, variables: Record<string, string> = {}) => {
  asked = [];
  const health = await checkHealth(provider, {
    env: env({
      OPENAI_API_KEY: KEY,
      ANTHROPIC_API_KEY: KEY,
      OPENAI_BASE_URL: url,
      ANTHROPIC_BASE_URL: url,
      ...variables,
    }),
    registry: layered({ llm: { providers: { own: { base_url: `${url}/gw`, ...fields } } } }),
    fetch,
    timeout_ms: TIMEOUT_MS,
  });
  expect(JSON.stringify(health)).not.toContain(KEY);
  return health;
};

test("the check requests the list of models, with the key", async () => {
  status = 200;
  expect(await check("openai")).toMatchObject({ provider: "openai", valid: true, metadata: { status: 200 } });
  expect(asked.map(({ method, url: path, headers }) => [method, path, headers.authorization])).toEqual([
    ["GET", "/v1/models", `Bearer ${KEY}`],
  ]);
  expect(await check("anthropic")).toMatchObject({ valid: true });
  expect(asked[0]?.headers).toMatchObject({ "x-api-key": KEY, "anthropic-version": "2023-06-01" });
});

test("the check requests what the definition says", async () => {
  status = 200;
  await check("own", { healthcheck: { method: "POST", path: "/ping", body: "{}" } });
  expect([asked[0]?.method, asked[0]?.url, body]).toEqual(["POST", "/gw/ping", "{}"]);
  await check("own", { api: "ollama", base_url: `${url}/v1` });
  expect(asked[0]?.url).toBe("/api/tags");
  // If a variable replaces the base URL, the check goes there too.
  await check("own", { healthcheck: { url: "https://elsewhere.invalid/" } }, { OWN_BASE_URL: url });
  expect(asked[0]?.url).toBe("/gw/models");
});

test.each<[answer: number | "hang", reason: string]>([
  [401, "auth_failure"],
  [403, "auth_failure"],
  [404, "http_status"],
  [500, "http_status"],
  [302, "redirect"],
  ["hang", "timeout"],
])("%s is %s", async (answer, reason) => {
  status = answer;
  const { valid, metadata } = await check("openai");
  expect([valid, metadata.reason, metadata.status]).toEqual([
    false,
    reason,
    answer === "hang" ? undefined : answer,
  ]);
});

test("some checks need no call", async () => {
  status = 200;
  expect(await check("nobody")).toMatchObject({ valid: false, metadata: { reason: "unknown_provider" } });
  expect(await check("xai")).toMatchObject({
    valid: false,
    metadata: { reason: "not_configured", variable: "XAI_API_KEY" },
  });
  expect(await check("mock")).toMatchObject({ valid: true });
  expect(await check("workers-ai")).toMatchObject({ valid: false, metadata: { reason: "not_configured" } });
  expect(asked).toEqual([]);
  expect(await check("own", {}, { OWN_BASE_URL: "http://127.0.0.1:1" })).toMatchObject({
    metadata: { reason: "unreachable" },
  });
});

test("the check of Workers AI uses its binding", async () => {
  const ask = (askBinding: () => Promise<unknown>) =>
    checkHealth("workers-ai", { env: env({}), registry: layered(), fetch, askBinding, timeout_ms: 50 });
  expect(await ask(async () => [])).toMatchObject({ valid: true });
  expect(await ask(async () => Promise.reject(new TypeError(KEY)))).toMatchObject({
    valid: false,
    metadata: { reason: "unreachable" },
  });
  expect(await ask(() => new Promise(() => {}))).toMatchObject({ metadata: { reason: "timeout" } });
});

test("the check goes to the proxy of local dev instead, whatever address it names", async () => {
  status = 200;
  const fields = { healthcheck: { url: "https://status.example/up?x=1" } };
  expect(await check("own", fields, { HULL_ENV: "local", HULL_LLM_PROXY: url })).toMatchObject({
    valid: true,
  });
  expect(asked.map(({ url: path, headers }) => [path, headers["x-hull-upstream"]])).toEqual([
    ["/own/up?x=1", "https://status.example"],
  ]);
});
