/** The HTTP surface around the skills, through wrangler dev. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { describe, expect, test } from "vitest";
import { json } from "../support/hull-dev.ts";
import { sharedHull } from "../support/shared.ts";

const skill = (name: string, more = ""): string =>
  `---\nname: ${name}\ndescription: The ${name} skill.\nrun: [cat]\n${more}---\nDocs of ${name}.\n`;

const hull = await sharedHull({
  skills: {
    "cat/SKILL.md": skill("Cat"),
    "query/SKILL.md": skill("Query", "method: GET\n"),
    "routed/SKILL.md": skill("Routed", "route: /api/deep/path\n"),
    "prompt/SKILL.md":
      "---\nname: Prompt\ndescription: A prompt.\nmode: llm\nprovider: mock\n---\nSecret prompt.\n",
    "side-effect/SKILL.md":
      "---\nname: Side Effect\ndescription: Leaves a trace.\nrun: [sh, -c, 'echo ran >&2; exit 9']\n---\nx\n",
    ...Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`many-${i}/SKILL.md`, skill(`Many ${i}`)])),
  },
});

interface Raw {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}
/** A request whose target and headers go out exactly as given. */
function raw(method: string, path: string, headers: Record<string, string> = {}, body = ""): Promise<Raw> {
  const { promise, resolve, reject } = Promise.withResolvers<Raw>();
  const { hostname, port } = new URL(hull.url);
  const request = httpRequest({ hostname, port, method, path, headers }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    response.on("end", () =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
    );
  });
  request.on("error", reject);
  request.end(body);
  return promise;
}

describe("listing and cards", () => {
  test("S53: pages follow Link to the end, each card once and without doc", async () => {
    const slugs: string[] = [];
    let next: string | undefined = "/skills?limit=5";
    let pages = 0;
    while (next !== undefined) {
      const response: Response = await hull.call(next);
      const cards: Record<string, string>[] = await json(response);
      expect(response.headers.get("x-total-count")).toBe("12");
      expect(cards.every((card) => !("doc" in card))).toBe(true);
      slugs.push(...cards.map((card) => card.slug ?? ""));
      next = /^<([^>]+)>; rel="next"$/.exec(response.headers.get("link") ?? "")?.[1];
      pages += 1;
    }
    expect([pages, slugs.length, new Set(slugs).size]).toEqual([3, 12, 12]);
    expect(slugs).toEqual([...slugs].sort());
  });

  test.each([
    ["?q=many", 7],
    ["?mode=llm", 1],
    ["?mode=proxy", 0],
    ["?q=prompt&mode=script", 0],
  ])("GET /skills%s finds %i", async (query, count) => {
    const response = await hull.call(`/skills${query}`);
    expect([(await json(response)).length, response.headers.get("x-total-count")]).toEqual([
      count,
      String(count),
    ]);
  });

  test.each(["?limit=0", "?limit=1001", "?limit=x", "?mode=lmm"])("GET /skills%s is 400", async (query) => {
    const response = await hull.call(`/skills${query}`);
    expect([response.status, (await json(response)).code]).toEqual([400, "bad_request"]);
  });

  test("validators: the same list and card answer 304", async () => {
    for (const path of ["/skills", "/skills/cat"]) {
      const etag = (await hull.call(path)).headers.get("etag") ?? "";
      const again = await hull.call(path, undefined, { headers: { "if-none-match": etag } });
      expect([path, again.status, await again.text()]).toEqual([path, 304, ""]);
    }
  });

  test("a card shows how to call the skill, but not its prompt", async () => {
    expect(await json(await hull.call("/skills/cat"))).toMatchObject({
      name: "Cat",
      slug: "cat",
      description: "The Cat skill.",
      mode: "script",
      method: "POST",
      route: "/skills/cat",
      input: "text",
      output: "text",
      doc: expect.stringContaining("Docs of Cat."),
      version: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const prompt = await (await hull.call("/skills/prompt/card")).text();
    expect(prompt).not.toContain("Secret prompt");
    expect(await json(await hull.call("/skills/query/card"))).toMatchObject({ method: "GET" });
  });

  test("a skill with its own route is run there and described under its slug too", async () => {
    expect(await (await hull.call("/api/deep/path", "x")).text()).toBe("x");
    expect(await json(await hull.call("/skills/routed"))).toMatchObject({ route: "/api/deep/path" });
    expect((await hull.call("/skills/routed", "x")).status).toBe(405);
  });

  test("the index: HTML for people, JSON for programs", async () => {
    const page = await hull.call("/");
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    expect(await page.text()).toContain("Many 6");
    const data = await hull.call("/", undefined, { headers: { accept: "application/json" } });
    expect(await json(data)).toMatchObject({ skills: 12 });
  });
});

describe("paths and methods", () => {
  test.each([
    ["/skills/%63at", 200],
    ["/skills/cat/", 200],
    ["/skills//cat", 404],
    ["/skills/Cat", 404],
    ["/skills/cat/card", 200],
    ["/nothing", 404],
    ["/skills/ca%2Ft", 404],
  ])("S59: GET %s is %i", async (path, status) => {
    expect([path, (await raw("GET", path)).status]).toEqual([path, status]);
  });

  test("404 names skills with similar names", async () => {
    const { status, body } = await raw("POST", "/skills/side-efect");
    expect([status, JSON.parse(body)]).toMatchObject([
      404,
      { code: "skill_not_found", near: ["side-effect"] },
    ]);
    expect(JSON.parse((await raw("GET", "/nothing")).body)).toMatchObject({ code: "not_found" });
  });

  test.each(["/healthz", "/readyz", "/skills", "/skills/cat", "/skills/cat/card", "/"])(
    "S58: HEAD %s is 200 without a body",
    async (path) => {
      const { status, body, headers } = await raw("HEAD", path);
      expect([status, body]).toEqual([200, ""]);
      expect(headers["x-request-id"]).toBeDefined();
    },
  );

  test.each([
    ["DELETE", "/skills", "GET, HEAD, OPTIONS"],
    ["POST", "/healthz", "GET, HEAD, OPTIONS"],
    ["PUT", "/skills/cat", "GET, HEAD, POST, OPTIONS"],
    ["HEAD", "/skills/query", "GET, OPTIONS"],
    ["POST", "/skills/query", "GET, OPTIONS"],
    ["PUT", "/_hull/catalog", "GET, HEAD, POST, OPTIONS"],
  ])("S67: %s %s is 405 with Allow: %s", async (method, path, allow) => {
    const { status, headers, body } = await raw(method, path);
    expect([status, headers.allow]).toEqual([405, allow]);
    if (method !== "HEAD") {
      expect(JSON.parse(body)).toMatchObject({ code: "method_not_allowed", allowed: allow.split(", ") });
    }
    const options = await raw("OPTIONS", path);
    expect([options.status, options.headers.allow, options.body]).toEqual([204, allow, ""]);
  });
});

describe("who may call", () => {
  test.each(["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example"])(
    "S69: Host %s is 403",
    async (host) => {
      for (const [method, path] of [
        ["GET", "/skills"],
        ["POST", "/skills/cat"],
        ["GET", "/healthz"],
        ["OPTIONS", "/skills"],
      ] as const) {
        const { status, body } = await raw(method, path, { host });
        expect([method, path, status]).toEqual([method, path, 403]);
        expect(JSON.parse(body).code).toBe("host_not_allowed");
      }
    },
  );

  test("localhost and [::1] are the machine itself", async () => {
    const { port } = new URL(hull.url);
    for (const host of [`localhost:${port}`, `[::1]:${port}`, "LOCALHOST"]) {
      expect([host, (await raw("GET", "/skills", { host })).status]).toEqual([host, 200]);
    }
  });

  test.each([
    [{ origin: "https://evil.example" }],
    [{ origin: "null" }],
    [{ "sec-fetch-site": "cross-site" }],
  ])("S70: %j is 403 and runs nothing", async (headers) => {
    for (const [method, path] of [
      ["POST", "/skills/side-effect"],
      ["GET", "/skills/query?input=x"],
    ] as const) {
      const {
        status,
        body,
        headers: answered,
      } = await raw(method, path, { "content-type": "text/plain", ...headers }, method === "POST" ? "x" : "");
      expect([status, JSON.parse(body).code]).toEqual([403, "origin_not_allowed"]);
      expect(answered["x-hull-execution-id"]).toBeUndefined();
      expect(answered["access-control-allow-origin"]).toBeUndefined();
    }
  });

  test("a page that Hull serves itself may call", async () => {
    const origin = hull.url;
    expect((await raw("POST", "/skills/cat", { origin }, "x")).status).toBe(200);
  });
});

describe("S66: headers of every response", () => {
  test.each([
    ["GET", "/", 200],
    ["GET", "/healthz", 200],
    ["GET", "/skills", 200],
    ["POST", "/skills/cat", 200],
    ["POST", "/skills/cat?stream=1", 200],
    ["POST", "/skills/side-effect", 500],
    ["GET", "/nothing", 404],
    ["DELETE", "/skills", 405],
    ["OPTIONS", "/skills", 204],
    ["GET", "/files/nothing", 404],
  ])("%s %s", async (method, path, status) => {
    const sent = "client-id.42_x";
    const { headers, ...answer } = await raw(
      method,
      path,
      { "x-request-id": sent },
      method === "POST" ? "x" : "",
    );
    expect(answer.status).toBe(status);
    expect(headers["x-request-id"]).toBe(sent);
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["server-timing"]).toMatch(/^total;dur=\d+/);
    expect(headers["x-hull-duration-ms"]).toMatch(/^\d+$/);
    if (status >= 400)
      expect(JSON.parse(answer.body)).toMatchObject({ request_id: sent, code: expect.any(String) });
  });

  test.each(["short", "has blank in it", "x".repeat(129)])("the client's id %j is replaced", async (id) => {
    const made = (await raw("GET", "/healthz", { "x-request-id": id })).headers["x-request-id"];
    expect(made).toMatch(/^[A-Za-z0-9._-]{8,128}$/);
    expect(made).not.toBe(id);
  });

  test("a script's run is timed in its parts", async () => {
    const { headers } = await raw("POST", "/skills/cat", {}, "x");
    expect(headers["server-timing"]).toMatch(/^total;dur=\d+, queue;dur=\d+, run;dur=\d+$/);
  });
});

test("health and readiness", async () => {
  const health = await json(await hull.call("/healthz"));
  expect(health).toEqual({ status: "ok", skills: 12, catalog: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(await json(await hull.call("/readyz"))).toMatchObject({
    status: "ok",
    runner: "ok",
    catalog: "ok",
  });
});

test("one log line per request, with the run's details", async () => {
  const id = `log-line-${Date.now()}`;
  await raw("POST", "/skills/side-effect", { "x-request-id": id }, "x");
  expect(await hull.printed(new RegExp(id))).toMatch(
    new RegExp(`POST /skills/side-effect 500 script_failed \\d+ ms ${id}`),
  );
});
