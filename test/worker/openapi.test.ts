import { beforeAll, describe, expect, it } from "vitest";
import { FIXED_ROUTES } from "../../src/skill/fixed-routes.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";

const client = new Client(LOCAL, { documents: true });
const KEY = "hull-admin-canary-0123456789";

beforeAll(async () => {
  await client.publish({ cat: mockSkill("cat"), dog: mockSkill("dog", "route: /pets/dog\nmethod: GET\n") });
});

interface Operation {
  summary?: string;
  security?: object[];
  responses: Record<string, { content?: object }>;
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
}
const document = async (): Promise<Document> => (await client.fetch("/openapi.json")).json<Document>();

const catalogId = async (): Promise<string> =>
  (await (await client.fetch("/healthz")).json<{ catalog: string }>()).catalog;

/** The answer of a path to OPTIONS, which comes before everything else. */
async function methodsOf(path: string): Promise<string[]> {
  const response = await client.fetch(path, { method: "OPTIONS" });
  const allowed = (response.headers.get("allow") ?? "").toLowerCase().split(", ");
  return allowed.filter((method) => method !== "options" && method !== "head").sort();
}

describe("GET /openapi.json", () => {
  it("has every mounted route with its methods, every skill, and nothing else", async () => {
    const { openapi, paths } = await document();
    expect(openapi).toMatch(/^3\.1\./);
    const mounted = FIXED_ROUTES.map(([, , path]) => path.replace(/:(\w+)(?:\{[^}]*\})?/g, "{$1}"));
    const served = ["/skills/{slug}", "/skills/cat", "/pets/dog"];
    expect(Object.keys(paths).sort()).toEqual([...new Set(mounted), ...served].sort());
    for (const [path, item] of Object.entries(paths)) {
      const url = path.replace("{slug}", "dog").replace(/\{\w+\}/g, "x");
      expect([path, Object.keys(item).sort()]).toEqual([path, await methodsOf(url)]);
    }
  });

  it("describes each operation, and the forms in which /mcp refuses a message", async () => {
    const { paths } = await document();
    for (const [path, item] of Object.entries(paths)) {
      for (const [method, { summary }] of Object.entries(item)) {
        expect([path, method, summary]).toEqual([path, method, expect.stringMatching(/./)]);
      }
    }
    const refused = paths["/mcp"]?.post?.responses[400]?.content ?? {};
    for (const body of ["{", '{"jsonrpc":"2.0","id":1}']) {
      const response = await client.fetch("/mcp", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      expect([response.status, Object.keys(refused)]).toEqual([
        400,
        expect.arrayContaining([response.headers.get("content-type")]),
      ]);
    }
  });

  it("names the routes that need no key, and they need none", async () => {
    const { paths } = await document();
    const keyed = new Client({ HULL_ADMIN_KEY: KEY });
    for (const [path, item] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(item)) {
        const url = path.replace("{slug}", "dog").replace(/\{\w+\}/g, "x");
        const { status } = await keyed.fetch(url, { method: method.toUpperCase() });
        expect([method, path, status === 401]).toEqual([method, path, operation.security?.length !== 0]);
      }
    }
  });

  it("S55: a client that has it does not get it again; its validator changes with the skills, and changes back", async () => {
    const first = await client.fetch("/openapi.json");
    expect(first.headers.get("content-type")).toBe("application/json");
    // The stored text itself: nothing is built for a request.
    const { openapi } =
      (await client.env.SKILLS.get<{ openapi: string }>(`catalog:${await catalogId()}`, "json")) ?? {};
    expect(await first.text()).toBe(await client.env.SKILLS.get(`openapi:${openapi}`));
    const etag = first.headers.get("etag") ?? "";
    const again = (sent: string) => client.fetch("/openapi.json", { headers: { "if-none-match": sent } });
    const same = await again(etag);
    expect([same.status, await same.text(), same.headers.get("etag")]).toEqual([304, "", etag]);
    const before = await client.env.SKILLS.get<{ id: string }>("catalog:current", "json");
    await client.publish({ cat: mockSkill("cat"), dog: mockSkill("dog"), cow: mockSkill("cow") });
    const changed = await again(etag);
    expect(changed.status).toBe(200);
    expect(Object.keys((await changed.json<Document>()).paths)).toContain("/skills/cow");
    await client.post("/_hull/catalog", { id: before?.id });
    expect((await again(etag)).status).toBe(304);
  });

  it("HEAD has the headers and no body", async () => {
    const head = await client.fetch("/openapi.json", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(head.headers.has("etag")).toBe(true);
  });
});

describe("GET /docs/reader", () => {
  it("is a page that loads only what this deployment serves", async () => {
    const page = await client.fetch("/docs/reader");
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).not.toMatch(/unsafe|https?:/);
    const html = await page.text();
    expect(html).not.toMatch(/<script>|<style>|https?:/);
    const loaded = Array.from(html.matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g), ([, path]) => path ?? "");
    expect(loaded).toHaveLength(3);
    for (const path of loaded) {
      const file = await client.fetch(path);
      expect([path, file.status, file.headers.get("content-type")]).toEqual([
        path,
        200,
        `text/${path.endsWith(".css") ? "css" : "javascript"}; charset=utf-8`,
      ]);
    }
    expect(await (await client.fetch("/docs/start.js")).text()).toContain('url: "/openapi.json"');
  });

  it("serves no other file", async () => {
    for (const path of ["/docs/none.js", "/docs/swagger-ui.LICENSE.txt", "/docs/..%2fstart.js"]) {
      expect([path, (await client.fetch(path)).status]).toEqual([path, 404]);
    }
  });
});

describe("GET /metrics", () => {
  /** The value of a row that begins like this; 0 where there is none. */
  const value = (text: string, row: string): number =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(row))
        ?.split(" ")
        .at(-1) ?? 0,
    );
  const scrape = async (): Promise<string> => (await client.fetch("/metrics")).text();

  it("counts requests, runs, errors, model calls and tokens, in Prometheus' format", async () => {
    const before = await scrape();
    const input = { method: "POST", body: "one two" };
    const { headers } = await client.fetch("/skills/cat", input);
    const sent = Number(/input=(\d+)/.exec(headers.get("x-hull-usage") ?? "")?.[1]);
    await client.fetch("/skills/cat?stream=1", input);
    await client.fetch("/skills/none", { method: "GET" });
    await client.fetch("/skills/cat/card", { method: "GET" });
    const after = await scrape();
    const grown = (row: string): number => value(after, row) - value(before, row);
    expect(grown('hull_requests_total{route="skill",method="POST",status="200"}')).toBe(2);
    expect(grown('hull_requests_total{route="/skills/:slug/card",method="GET",status="200"}')).toBe(1);
    expect(grown('hull_requests_total{route="none",method="GET",status="404"}')).toBe(1);
    expect(grown('hull_request_duration_seconds_count{route="skill"}')).toBe(2);
    expect(grown('hull_request_duration_seconds_bucket{route="skill",le="+Inf"}')).toBe(2);
    expect(grown('hull_runs_total{skill="cat",status="200"}')).toBe(2);
    expect(grown('hull_problems_total{code="skill_not_found"}')).toBe(1);
    expect(grown('hull_model_calls_total{provider="mock",outcome="ok"}')).toBe(2);
    expect(grown('hull_tokens_total{provider="mock",direction="input"}')).toBe(2 * sent);
    const row = /^(?:# (?:HELP|TYPE) hull_\w+ .+|hull_\w+\{(?:\w+="(?:[^"\\\n]|\\.)*",?)*\} [0-9.e+-]+|)$/;
    expect(after.split("\n").filter((line) => !row.test(line))).toEqual([]);
  });

  it("does not grow with names that clients invent", async () => {
    const rows = async (): Promise<number> => (await scrape()).split("\n").length;
    const ask = (n: number): Promise<Response> => client.fetch(`/skills/made-up-${n}`, { method: "PURGE" });
    await ask(0);
    const before = await rows();
    for (let n = 1; n < 5; n++) await ask(n);
    expect(await rows()).toBe(before);
    expect(await scrape()).toContain('{route="none",method="other",status="404"} 5');
  });

  it("requires the scope admin, also where runs are public", async () => {
    const status = async (variables: Record<string, string>, headers: Record<string, string> = {}) =>
      (await new Client(variables).fetch("/metrics", { headers })).status;
    expect(await status({ HULL_PUBLIC: "1" })).toBe(503);
    expect(await status({ HULL_ADMIN_KEY: KEY, HULL_PUBLIC: "1" })).toBe(401);
    expect(await status({ HULL_ADMIN_KEY: KEY }, { authorization: `Bearer ${KEY}` })).toBe(200);
    expect(await status(LOCAL)).toBe(200);
  });
});
