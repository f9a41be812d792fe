import { rename, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { gone, running, until } from "../support/runner.ts";

const script = (name: string, line: string): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: A script\nrun: [bash, run.sh]\n---\n`,
  [`${name}/run.sh`]: `${line}\n`,
});

const { hull, fake } = await commonHull({
  ...script("silent", "sh -c 'sleep 41.25; echo done'"),
  ...script("quick", "cat"),
  "loop/SKILL.md":
    "---\nname: loop\ndescription: Waits\nmode: llm\nprovider: mock\ntools:\n  - name: wait\n    description: Waits\n    command: [sleep, '41.5']\n---\nWait.\n",
});

/** Sends a call and answers its socket before any byte of the answer has come. */
async function begin(path: string): Promise<Socket> {
  const { port } = new URL(hull.url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.write(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\nhi`);
  return socket;
}

describe("S31: a client who leaves before the first byte", () => {
  test.each([
    ["/skills/silent", "sleep 41.25", 499],
    // The stream had begun, though its client had gone.
    ["/skills/silent?stream=1", "sleep 41.25", 200],
    ["/skills/loop", "sleep 41.5", 499],
  ])("%s: everything that the call runs is stopped long before it would end", async (path, mark, status) => {
    const at = hull.output().length;
    const socket = await begin(path);
    await running(mark);
    socket.end();
    socket.destroy();
    await gone(mark);
    // No client gets this status: the log and the metrics have it.
    await hull.printed(new RegExp(`POST ${path.split("?")[0]} ${status} client_closed_request`), at);
    const metrics = await (await hull.call("/metrics")).text();
    expect(metrics).toMatch(/^hull_problems_total\{code="client_closed_request"\} [1-9]/m);
  });

  test.each<[string, object]>([
    ["/llm/call", { prompt: "hi", options: { provider: "anthropic" } }],
    [
      "/v1/messages",
      { model: "claude-haiku-4-5", max_tokens: 9, messages: [{ role: "user", content: "hi" }] },
    ],
  ])("%s: the model call ends, too", async (path, body) => {
    const at = hull.output().length;
    fake.script([{ hang: true }]);
    const left = new AbortController();
    const asked = fetch(hull.url + path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
      signal: left.signal,
    });
    await until(
      async () => fake.requests.length,
      (sent) => sent === 1,
    );
    left.abort();
    await asked.catch(() => {});
    expect(await fake.requests[0]?.left).toBe(true);
    await hull.printed(new RegExp(`POST ${path} 499 client_closed_request`), at);
  });

  test("the server continues as before", async () => {
    expect(await (await hull.call("/skills/quick", "still here")).text()).toBe("still here");
  });
});

test.each([
  ["an unknown method", "FOO / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "bad_request"],
  [
    "a header that is too long",
    `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
    400,
    "bad_request",
  ],
  ["no Host", "GET /healthz HTTP/1.0\r\n\r\n", 400, "bad_request"],
  ["a Host that is no name", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 403, "host_not_allowed"],
])("S66, S68: %s is answered with a problem document and its headers", async (_, sent, status, code) => {
  const socket = connect(Number(new URL(hull.url).port), "127.0.0.1");
  socket.end(sent);
  const text = (await Array.fromAsync(socket.setEncoding("utf8"))).join("");
  const [head = "", body = ""] = text.split("\r\n\r\n");
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  for (const name of ["x-request-id", "x-content-type-options", "server-timing", "x-hull-duration-ms"])
    expect(head).toMatch(new RegExp(`^${name}: `, "im"));
  expect(head).toMatch(/^content-type: application\/problem\+json$/im);
  expect(JSON.parse(body)).toMatchObject({ status, code });
});

/** The number of internal errors so far, those that other files provoked included. */
const internals = async (): Promise<string> =>
  /^hull_problems_total\{code="internal"\} .*$/m.exec(await (await hull.call("/metrics")).text())?.[0] ?? "";
const MOCK = [{ text: "Well.", tool_calls: [{ name: "wait", arguments: {} }] }];
const MESSAGES = [{ role: "user", content: "hi" }];
describe.each<[string, object]>([
  ["/skills/loop", { input: "hi" }],
  ["/runs", { prompt: "hi", options: { skill: "loop", mock: MOCK } }],
  ["/v1/messages", { model: "skill/loop", max_tokens: 9, messages: MESSAGES }],
  ["/v1/chat/completions", { model: "skill/loop", messages: MESSAGES }],
  ["/v1/responses", { model: "skill/loop", input: "hi", store: false }],
])("when a client leaves %s, its processes end, and no internal error is counted", (path, body) => {
  test.each([true, false])("streamed: %s", async (stream) => {
    const at = hull.output().length;
    const before = await internals();
    const left = new AbortController();
    const accept = stream ? "text/event-stream" : "application/json";
    const asked = fetch(hull.url + path, {
      method: "POST",
      signal: left.signal,
      headers: { "content-type": "application/json", accept },
      body: JSON.stringify({ ...body, ...(path.startsWith("/v1/") ? { stream } : {}) }),
    });
    await running("sleep 41.5");
    if (stream) await asked;
    left.abort();
    await asked.catch(() => {});
    await gone("sleep 41.5");
    await hull.printed(new RegExp(`POST ${path} ${stream ? 200 : 499} client_closed_request`), at);
    expect(await internals()).toBe(before);
  });
});

describe("what passes the front", () => {
  test("is unchanged: bytes, headers, events, chunked bodies", async () => {
    const large = "x".repeat(3_000_000);
    const init: RequestInit = { method: "POST", body: new Blob([large]).stream(), duplex: "half" };
    const answer = await fetch(`${hull.url}/skills/quick`, init);
    expect((await answer.text()).length).toBe(large.length);
    const head = await fetch(`${hull.url}/skills`, {
      method: "HEAD",
      headers: { "x-request-id": "from-client-1" },
    });
    expect([head.status, head.headers.get("x-request-id")]).toEqual([200, "from-client-1"]);
    const notice = { "x-hull-client-left": "a client may not say so" };
    expect((await hull.call("/healthz", undefined, { headers: notice })).status).toBe(200);
    const evil = await fetch(`${hull.url}/skills/quick`, {
      method: "POST",
      body: "x",
      headers: { origin: "https://evil.example" },
    });
    expect(evil.status).toBe(403);
  });

  test("says what is wrong with an address that its client did not encode", async () => {
    const socket = connect(Number(new URL(hull.url).port), "127.0.0.1");
    socket.write("GET /skills?q=größe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    const answer = (await Array.fromAsync(socket)).join("");
    expect(answer).toMatch(/^HTTP\/1.1 400 .*"bad_request"/s);
    expect(answer).toContain("Percent-encode it: ü is %C3%BC.");
  });

  test("reaches a client that is still sending: the error in the first block of its upload", async () => {
    const body = "[".repeat(20_000_000);
    const path = `${hull.url}/_hull/bundles/${"0".repeat(64)}`;
    for (let n = 0; n < 4; n++) {
      const refused = await fetch(path, { method: "PUT", body });
      expect([refused.status, await json(refused)]).toMatchObject([422, { code: "bundle_invalid" }]);
    }
  });
});

test("S11, watch mode: a file that is replaced again and again is seen each time", async () => {
  const file = join(hull.root, "skills", "quick", "SKILL.md");
  for (let n = 1; n <= 4; n++) {
    const text = `---\nname: quick\ndescription: Version ${n}\nrun: [bash, run.sh]\n---\n`;
    await writeFile(`${file}.tmp~`, text);
    await rename(`${file}.tmp~`, file);
    await until(
      async () => (await hull.call("/skills/quick/card")).text(),
      (card) => card.includes(`Version ${n}`),
    );
  }
});
