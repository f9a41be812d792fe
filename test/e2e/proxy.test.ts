import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { CANARIES, commonHull } from "../support/common-hull.ts";
import { until } from "../support/runner.ts";

const CANARY = CANARIES.lower;

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** The upstream: answers by path, notes what it was asked. */
const seen: Seen[] = [];
/** Requests whose body broke off. */
let broken = 0;
const upstream = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    broken += 1;
    return;
  }
  const body = Buffer.concat(chunks).toString();
  const url = request.url ?? "";
  seen.push({ method: request.method ?? "", url, headers: request.headers, body });
  await (ANSWERS[url.split("?")[0] ?? ""] ?? notFound)(response);
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const notFound = (response: ServerResponse): void => void response.writeHead(404).end("nothing here");

/** Sends five bytes, and is gone after so many ms; 0: once they are sent. */
const dies =
  (ms: number, headers: Record<string, string> = {}) =>
  async (response: ServerResponse): Promise<void> => {
    const sent = Promise.withResolvers<void>();
    response
      .writeHead(200, { "content-type": "text/plain", ...headers })
      .write("begin", () => sent.resolve());
    await sent.promise;
    if (ms > 0) await pause(ms);
    response.destroy();
  };

const ZIPPED = "a text that was compressed ".repeat(20);

const ANSWERS: Record<string, (response: ServerResponse) => unknown> = {
  "/ok": (r) =>
    r
      .writeHead(201, {
        "content-type": "text/plain",
        "retry-after": "7",
        "x-ratelimit-remaining": "3",
        etag: '"v1"',
        "cache-control": "max-age=5",
        "set-cookie": "a=1",
        "x-custom": "c",
        "x-other": "o",
        location: "/things/1",
      })
      .end("made"),
  "/html": (r) => r.writeHead(200, { "content-type": "text/html" }).end("<script>1</script>"),
  "/xml": (r) => r.writeHead(200, { "content-type": "application/xml" }).end("<x/>"),
  "/two-types": (r) =>
    r.writeHead(200, { "content-type": "text/plain, text/html" }).end("<script>1</script>"),
  "/svg": (r) => r.writeHead(200, { "content-type": "image/svg+xml; charset=utf-8" }).end("<svg/>"),
  "/redirect": (r) => r.writeHead(302, { location: "https://elsewhere.example/" }).end(),
  "/redirect-home": (r) => r.writeHead(302, { location: "/ok" }).end(),
  "/reset": (r) => r.socket?.resetAndDestroy(),
  "/zipped": (r) => {
    const bytes = gzipSync(ZIPPED);
    r.writeHead(200, { "content-encoding": "gzip", "content-length": bytes.length }).end(bytes);
  },
  "/half-zipped": (r) => r.writeHead(200, { "content-encoding": "gzip" }).end("no gzip at all"),
  "/no-content": (r) => r.socket?.end("HTTP/1.1 205 Reset\r\nContent-Length: 4\r\n\r\nbody"),
  "/status-000": (r) => r.socket?.end("HTTP/1.1 000 Zero\r\nContent-Length: 4\r\n\r\nbody"),
  "/status-999": (r) => r.writeHead(999).end("denied"),
  "/switch": (r) => r.socket?.end("HTTP/1.1 101 Switch\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
  "/silent": () => pause(60_000),
  "/events": async (r) => {
    r.writeHead(200, { "content-type": "text/event-stream" });
    for (let i = 0; i < 8; i++) {
      r.write(`data: ${i}\n\n`);
      await pause(250);
    }
    r.end();
  },
  "/stall": (r) => r.writeHead(200, { "content-type": "text/event-stream" }).write("data: 0\n\n"),
  "/dies-at-once": dies(0),
  "/dies-early": dies(100),
  "/dies-late": dies(1000),
  "/dies-early-short": dies(100, { "content-length": "100" }),
  "/dies-late-short": dies(1000, { "content-length": "100" }),
};

const DEATHS = ["dies-at-once", "dies-early", "dies-late", "dies-early-short", "dies-late-short"];
await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
const proxy = (name: string, path: string, extra = ""): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Proxy\nproxy: ${path.startsWith("http") ? path : origin + path}\n${extra}---\n`,
});
const { hull } = await commonHull({
  ...proxy(
    "echo",
    "/ok?key=${lower}&fixed=1",
    'headers: {X-Token: "Bearer ${lower}", X-Literal: "$${not}"}\nforward_headers: [X-Forward]\nreturn_headers: [X-Custom]\n',
  ),
  ...proxy("get", "/ok", "method: GET\n"),
  ...proxy("unset", "/ok?key=${NOT_SET}"),
  ...proxy("html", "/html"),
  ...proxy("unset-header", "/ok", 'headers: {x-key: "Bearer ${NOT_SET}"}\n'),
  ...proxy("svg", "/svg"),
  ...proxy("xml", "/xml"),
  ...proxy("two-types", "/two-types"),
  ...proxy("redirect", "/redirect", 'headers: {Authorization: "${lower}"}\n'),
  ...proxy("redirect-home", "/redirect-home?key=${lower}", 'headers: {Authorization: "${lower}"}\n'),
  ...proxy("reset", "/reset?key=${lower}"),
  ...proxy("silent", "/silent", "timeout_ms: 300\n"),
  ...proxy("events", "/events", "timeout_ms: 1500\n"),
  ...proxy("stall", "/stall?key=${lower}", "idle_timeout_ms: 1500\n"),
  ...[...DEATHS, "zipped", "half-zipped", "no-content", "status-000", "status-999", "switch"].reduce(
    (all, name) => Object.assign(all, proxy(name, `/${name}`)),
    {},
  ),
  ...proxy("down", "http://127.0.0.1:1/x?key=${lower}"),
  ...proxy("small", "/ok", "max_input_bytes: 1000\n"),
  ...proxy("bodiless", "/ok", "input: none\n"),
  ...proxy("png", "/ok", "input_mime: image/png\n"),
});

afterAll(async () => {
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
  expect(hull.output()).not.toContain(CANARY);
});

const last = (): Seen => seen.at(-1) ?? { method: "", url: "", headers: {}, body: "" };
const problem = async (response: Response): Promise<Record<string, unknown>> =>
  JSON.parse(await response.text());

/**
 * Sends so many bytes piece by piece, until all are sent or the answer is there; answers its type and body. Who refuses a body may
 * close the connection under the next piece: once the answer has come, that is no fault.
 */
async function pour(path: string, size: number, headers: Record<string, string>): Promise<[unknown, string]> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const block = new Uint8Array(64 * 1024);
  let left = size;
  let answered = false;
  const request = httpRequest(`${hull.url}${path}`, { method: "POST", headers }, (response) => {
    answered = true;
    resolve(response);
  });
  // This does not change a promise that is settled.
  request.on("error", reject);
  const more = (): void => {
    while (left > 0 && !answered) {
      const piece = block.subarray(0, Math.min(left, block.length, size / 2));
      left -= piece.length;
      if (!request.write(piece)) {
        request.once("drain", more);
        return;
      }
    }
    if (left === 0) request.end();
  };
  more();
  try {
    const response = await promise;
    return [response.headers["content-type"], await textOf(response)];
  } finally {
    request.destroy();
  }
}

describe("the call upstream", () => {
  test("S45: secrets are put into query and headers, the caller's query is added, the manifest's takes precedence", async () => {
    const asked = "q=a%20b&flag&old=caf%E9&q=+&&fixed=2&key=mine&k%65y=mine&x=1;key=mine";
    const response = await hull.call(`/skills/echo?${asked}`, "hello", {
      headers: {
        "content-type": "text/plain",
        authorization: "Bearer mine",
        cookie: "c=1",
        "x-forward": "f",
        "x-stay": "s",
      },
    });
    expect(response.status).toBe(201);
    const { method, url, headers, body } = last();
    expect([method, body]).toEqual(["POST", "hello"]);
    const { search, searchParams } = new URL(url, "http://u");
    expect([searchParams.getAll("key"), searchParams.getAll("fixed")]).toEqual([[CANARY], ["1"]]);
    // As it was written, but for a ; which some servers read as &.
    expect(search).toMatch(/&q=a%20b&flag&old=caf%E9&q=\+&x=1%3Bkey=mine$/);
    expect(headers).toMatchObject({
      "x-token": `Bearer ${CANARY}`,
      "x-literal": "${not}",
      "x-forward": "f",
      "content-type": "text/plain",
      "accept-encoding": "identity",
    });
    for (const name of ["authorization", "cookie", "x-stay"]) expect(headers).not.toHaveProperty(name);
  });

  test("S45: an unset variable is 503 with its name, and nothing is sent", async () => {
    const before = seen.length;
    for (const slug of ["unset", "unset-header"]) {
      const response = await hull.call(`/skills/${slug}`, "x");
      expect(response.status).toBe(503);
      expect(await problem(response)).toMatchObject({ code: "proxy_not_configured", variable: "NOT_SET" });
    }
    expect(seen.length).toBe(before);
  });

  test("with input: none the upstream gets no body", async () => {
    const response = await hull.call("/skills/bodiless", "hello");
    expect([response.status, last().method, last().body]).toEqual([201, "POST", ""]);
  });

  test("a body of a type that input_mime does not name is 415, and nothing is sent", async () => {
    const before = seen.length;
    const headers = (type: string) => ({ headers: { "content-type": type } });
    const refused = await hull.call("/skills/png", "%PDF", headers("application/pdf"));
    expect(refused.status).toBe(415);
    expect(await problem(refused)).toMatchObject({
      code: "unsupported_media_type",
      accepted: ["image/png"],
    });
    expect(seen.length).toBe(before);
    const taken = await hull.call("/skills/png", "png", headers("image/png"));
    expect([taken.status, last().body, last().headers["content-type"]]).toEqual([201, "png", "image/png"]);
  });

  test("HEAD of a GET proxy reaches the upstream as HEAD", async () => {
    const response = await hull.call("/skills/get", undefined, { method: "HEAD" });
    expect([response.status, last().method, await response.text()]).toEqual([201, "HEAD", ""]);
  });

  test.each([
    ["small", 1000, 1001],
    ["html", 52_428_800, 60_000_000],
  ])("S50: %s: bodies over the limit of %i are 413, declared or chunked", async (slug, limit, size) => {
    const complete = seen.length;
    for (const headers of [{ "content-length": String(size) }, {}]) {
      const [type, text] = await pour(`/skills/${slug}`, size, headers);
      expect(type).toBe("application/problem+json");
      expect(JSON.parse(text)).toMatchObject({ status: 413, code: "body_too_large", limit });
    }
    // The upstream saw the large one begin, and took no part of it for the whole.
    if (size > 1_000_000)
      await until(
        () => broken,
        (count) => count > 0,
      );
    expect(seen.length).toBe(complete);
  });
});

describe("the answer", () => {
  test("S46: headers that describe it pass, cookies and the rest do not", async () => {
    const response = await hull.call("/skills/echo", "x");
    expect(await response.text()).toBe("made");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "retry-after": "7",
      "x-ratelimit-remaining": "3",
      etag: '"v1"',
      "cache-control": "max-age=5",
      "x-custom": "c",
      location: "/things/1",
    });
    for (const name of ["set-cookie", "x-other"]) expect(response.headers.has(name)).toBe(false);
    expect(response.headers.get("x-hull-skill")).toMatch(/^echo@/);
  });

  test.each(["html", "svg", "xml", "two-types"])("attack: S52: %s is a download", async (slug) => {
    const response = await hull.call(`/skills/${slug}`, "x");
    expect(response.headers.get("content-disposition")).toBe("attachment");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("a body that the upstream compresses unasked arrives with its original content", async () => {
    const response = await hull.call("/skills/zipped", "x");
    expect([response.status, await response.text()]).toEqual([200, ZIPPED]);
    expect((await hull.call("/skills/no-content", "x")).status).toBe(205);
  });

  test("a text whose pieces come as they are made says that nothing on the way may compress it", async () => {
    for (const [slug, coding] of [
      ["dies-late", "identity"],
      ["dies-late-short", null],
    ]) {
      const answer = await hull.call(`/skills/${slug}`, "x");
      expect(answer.headers.get("content-encoding")).toBe(coding);
      await answer.body?.cancel();
    }
  });

  test("S48: an event stream lives longer than timeout_ms, and its silence ends in an error event", async () => {
    const events = await (await hull.call("/skills/events", "x")).text();
    expect(events.match(/data: \d/g)).toHaveLength(8);
    const stalled = await (await hull.call("/skills/stall", "x")).text();
    expect(stalled).toContain("data: 0");
    for (const hidden of [CANARY, "127.0.0.1"]) expect(stalled).not.toContain(hidden);
    expect(stalled).toMatch(/event: error\ndata: \{.*"code":"upstream_timeout"/);
  });
});

describe("faults", () => {
  test.each([
    ["redirect", 502, "upstream_redirect_refused"],
    ["redirect-home", 502, "upstream_redirect_refused"],
    ["reset", 502, "upstream_unreachable"],
    ["silent", 504, "upstream_timeout"],
    ["down", 502, "upstream_unreachable"],
    ["dies-at-once", 502, "upstream_body_truncated"],
    ["half-zipped", 502, "upstream_body_truncated"],
    ["status-000", 502, "upstream_unreachable"],
    ["status-999", 502, "upstream_unreachable"],
    ["switch", 502, "upstream_unreachable"],
  ])("S47, S49, S51: %s → %i %s, without address or secret", async (slug, status, code) => {
    const before = seen.length;
    const response = await hull.call(`/skills/${slug}`, "x");
    const text = await response.text();
    expect(response.status).toBe(status);
    expect(JSON.parse(text)).toMatchObject({ code });
    // What a redirect leads to is not called, with or without the secret.
    expect(seen.length - before).toBeLessThanOrEqual(1);
    for (const hidden of [CANARY, "127.0.0.1", "elsewhere"]) expect(text).not.toContain(hidden);
  });

  test.each([
    ["dies-early", 502],
    ["dies-late", 200],
    ["dies-early-short", 200],
    ["dies-late-short", 200],
  ])(
    "S49: %s is a transport error, or 502 where nothing was sent yet; never a clean end",
    async (slug, status) => {
      const response = await hull.call(`/skills/${slug}`, "x");
      // A slow machine reports the early end only after it has sent the beginning.
      expect([status, 200]).toContain(response.status);
      if (response.status === 200) await expect(response.text()).rejects.toThrow();
      else expect(await problem(response)).toMatchObject({ code: "upstream_body_truncated" });
    },
  );

  test("a client that leaves ends the call upstream", async () => {
    const { port } = new URL(hull.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.write("POST /skills/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n\r\nx");
    await new Promise((resolve) => socket.once("data", resolve));
    socket.destroy();
    const again = await hull.call("/skills/events", "x");
    expect(again.status).toBe(200);
    await again.body?.cancel();
  });
});
