/** Uploaded skills over HTTP: two tenants, and isolates that learn of each other's changes. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Deployment } from "../../src/deployment.ts";
import { COMPLETE_FOR_MS, KNOWN_FOR_MS } from "../../src/registry/tenant-catalog.ts";
import { MAX_UPLOADS } from "../../src/registry/uploads.ts";
import { makeZip } from "../support/zip.ts";
import { withFaults } from "./faulty-storage.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";
import { ADMIN, FOLDER, keyed, refusal, skill, Tenant, tenant } from "./tenant.ts";

/** The same deployment as another isolate sees it: it shares nothing but what is stored. Counts what it asks of D1. */
function elsewhere(of: Tenant): Tenant & { asked: string[] } {
  const client = new Client({ HULL_ADMIN_KEY: ADMIN });
  const asked: string[] = [];
  const { DB } = client.env;
  client.env.DB = new Proxy(DB, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...values: unknown[]) => {
        if (name === "prepare" && String(values[0]).startsWith("SELECT")) asked.push(String(values[0]));
        return Reflect.apply(value, target, values);
      };
    },
  });
  return Object.assign(new Tenant(client, of.key), { asked });
}

let red: Tenant;
let blue: Tenant;
let operator: Tenant;
beforeAll(async () => {
  await new Client(LOCAL, { documents: true }).publish(FOLDER);
  operator = new Tenant(keyed, ADMIN);
  red = await tenant("red", "invoke", "publish");
  blue = await tenant("blue", "invoke", "publish");
});
beforeEach(async () => {
  for (const owner of [red, blue, operator]) {
    const { data } = await owner.get<{ data: { slug: string }[] }>("/_hull/skills?limit=1000");
    for (const { slug } of data) expect((await owner.remove(slug)).status).toBe(204);
  }
});
afterEach(() => vi.restoreAllMocks());

describe("S119: a skill that is uploaded", () => {
  it("is new for exactly one of simultaneous uploads", async () => {
    const puts = Array.from({ length: 6 }, (_, n) =>
      red.put("hare", skill("Hare", `max_tokens: ${n + 1}\n`)),
    );
    const statuses = (await Promise.all(puts)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 200, 200, 200, 200, 201]);
    const same = await Promise.all([1, 2, 3].map(() => red.put("lynx", skill("Lynx"))));
    expect(same.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
  });

  it("is stored although KV refuses a write of what another upload has just written", async () => {
    const put = { binding: "SKILLS", method: "put" } as const;
    const { answer, faults } = await withFaults(red.client.env, put, 1, () => red.put("fox", skill("fox")));
    expect([answer.status, faults]).toEqual([201, 1]);
  });

  it("has a name of up to 64 characters, whatever other skills there are", async () => {
    const long = "a".repeat(64);
    const below = skill("elk", `route: /skills/${long}/more\n`);
    const puts = [
      await blue.put("fox", skill("fox")),
      await red.put(long, skill(long)),
      await blue.put("elk", below),
    ];
    expect(puts.map(({ status }) => status)).toEqual([201, 201, 409]);
  });

  it("with a free slug is served to its tenant at once, like any other, and to nobody else", async () => {
    const before = (await red.fetch("/openapi.json")).headers.get("etag");
    const response = await red.put("fox", skill("Fox", "route: /wild/fox\ntimout_ms: 1\n"));
    expect([response.status, response.headers.get("location")]).toEqual([201, "/skills/fox"]);
    const made = await response.json<{ digest: string; warnings: { code: string }[] }>();
    expect(made).toMatchObject({ slug: "fox", tenant: "red", shadowed_by: null });
    expect(made.warnings.map(({ code }) => code)).toEqual(["unknown_field"]);

    const run = await red.run("/wild/fox");
    expect([run.status, run.headers.get("x-hull-skill")]).toEqual([200, `fox@${made.digest.slice(0, 12)}`]);
    expect(await red.get("/skills/fox")).toMatchObject({
      route: "/wild/fox",
      uploaded: true,
      version: made.digest,
    });
    expect((await red.run("/skills/fox?stream=1")).status).toBe(405);
    const listed = await red.fetch("/skills");
    expect((await listed.json<{ slug: string }[]>()).map(({ slug }) => slug)).toEqual([
      "cat",
      "deep",
      "dog",
      "fox",
    ]);
    expect(await (await red.fetch("/")).text()).toContain("POST /wild/fox");
    const document = await red.fetch("/openapi.json");
    const { paths } = await document.json<{ paths: Record<string, object> }>();
    expect(Object.keys(paths["/wild/fox"] ?? {})).toEqual(["get", "post"]);
    const tag = document.headers.get("etag") ?? "";
    expect(tag).not.toBe(before);
    for (const path of ["/openapi.json", "/skills"]) {
      const etag = (await red.fetch(path)).headers.get("etag") ?? "";
      expect((await red.fetch(path, { headers: { "if-none-match": etag } })).status).toBe(304);
      expect((await blue.fetch(path, { headers: { "if-none-match": etag } })).status).toBe(200);
    }

    const metrics = await (await operator.fetch("/metrics")).text();
    expect(metrics).toContain('hull_runs_total{skill="uploaded",status="200"}');
    expect(metrics).not.toContain("fox");

    const unknown = await refusal(await blue.run("/skills/none-such"));
    for (const path of ["/skills/fox", "/skills/fox/card", "/skills/fox/versions"]) {
      expect(await refusal(await blue.fetch(path))).toEqual({
        ...unknown,
        detail: unknown.detail?.replace("none-such", "fox"),
      });
    }
    expect((await blue.run("/wild/fox")).status).toBe(404);
    expect(await blue.get<object[]>("/skills")).toHaveLength(3);
    expect(await (await blue.fetch("/")).text()).not.toContain("fox");
    expect((await blue.fetch("/openapi.json")).headers.get("etag")).toBe(before);
    expect(await blue.get("/_hull/skills")).toEqual({ data: [], next_cursor: null });
  });

  it("attack: a workflow run's record that another tenant brings pins no version of it", async () => {
    const { digest } = await (await red.put("fox", skill("Fox"))).json<{ digest: string }>();
    const nodes = { a: { kind: "stage", model_policy: { provider: "mock", skill: "fox" } } };
    const graph = { _type: "workflow_graph", entry: "a", nodes, edges: [] };
    const made = { stages: [], transitions: [], artifacts: [], pending_nodes: ["a"] };
    const resume_run = {
      _type: "run_record",
      id: "wf_1",
      graph,
      ...made,
      skills: { digests: { fox: digest } },
    };
    const begun = (by: Tenant) =>
      by.fetch("/workflows/execute", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ task: "go", graph, options: { resume_run } }),
      });
    const stages = async (by: Tenant) =>
      (await (await begun(by)).json<{ run: { stages: object[] } }>()).run.stages;
    expect(await stages(red)).toMatchObject([{ node_id: "a", status: "completed" }]);
    expect(await stages(blue)).toMatchObject([{ status: "failed", error: { code: "skill_not_found" } }]);
  });

  it("attack: a session that another tenant made look like a container has no version of it", async () => {
    const { digest } = await (await red.put("fox", skill("Fox"))).json<{ digest: string }>();
    const HULL_LLM = JSON.stringify({ llm: { mock_routes: true } });
    const mocked = new Client({ HULL_ADMIN_KEY: ADMIN, HULL_LLM });
    const container_id = `container_01${"e".repeat(32)}`;
    const metadata = { container: true, skills: [{ id: "fox", version: "1", digest }] };
    const tools = [{ type: "shell", environment: { type: "container_reference", container_id } }];
    for (const [by, status] of [
      [red, 200],
      [blue, 404],
    ] as const) {
      const post = (path: string, body: object) =>
        new Tenant(mocked, by.key).fetch(path, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        });
      await post("/llm/mocks", { text: "Done." });
      expect((await post("/sessions", { id: container_id, metadata })).status).toBe(201);
      const answer = await post("/v1/responses", { model: "mock/any", input: "Go.", store: false, tools });
      expect(answer.status).toBe(status);
    }
  });

  it("runs idempotently and asynchronously, and its files are served", async () => {
    await red.put("fox", skill("Fox"));
    const headers = { "idempotency-key": "one", prefer: "respond-async" };
    const accepted = await red.run("/skills/fox", { headers });
    const { id } = await accepted.json<{ id: string }>();
    expect((await red.fetch(`/executions/${id}/result`)).status).toBe(200);
    expect((await blue.fetch(`/executions/${id}`)).status).toBe(404);
    const page = "---\nname: page\ndescription: d\nserve: p.html\n---\n";
    expect((await red.put("page", { "SKILL.md": page, "p.html": "<p>hi" })).status).toBe(201);
    const file = await red.fetch("/skills/page");
    expect([await file.text(), file.headers.get("content-security-policy")]).toEqual([
      "<p>hi",
      "sandbox allow-scripts",
    ]);
  });

  it("is replaced by its owner; its versions are listed, a page at a time", async () => {
    const digests: string[] = [];
    for (const [body, status] of [
      ["a", 201],
      ["b", 200],
      ["b", 200],
      ["a", 200],
    ] as const) {
      const response = await red.put("fox", skill("fox", "", body));
      expect(response.status).toBe(status);
      digests.push((await response.json<{ digest: string }>()).digest);
    }
    interface Versions {
      data: { digest: string; current: boolean; published_at: string }[];
      next_cursor: string | null;
    }
    const all = await red.get<Versions>("/skills/fox/versions");
    const [first, second] = digests;
    expect(all.data.map(({ digest, current }) => [digest, current])).toEqual([
      [first, true],
      [second, false],
      [first, false],
    ]);
    const start = await red.get<Versions>("/skills/fox/versions?limit=2");
    const rest = await red.get<Versions>(`/skills/fox/versions?limit=2&cursor=${start.next_cursor}`);
    expect([[...start.data, ...rest.data], rest.next_cursor]).toEqual([all.data, null]);
    expect((await red.fetch("/skills/fox/versions?cursor=x")).status).toBe(400);
  });

  it("is removed by its owner or the operator, and by nobody else", async () => {
    await red.put("fox", skill("fox"));
    expect(await refusal(await blue.remove("fox"))).toMatchObject({ status: 404, code: "skill_not_found" });
    expect((await red.run("/skills/fox")).status).toBe(200);
    expect((await red.remove("fox")).status).toBe(204);
    expect((await red.run("/skills/fox")).status).toBe(404);
    expect((await red.remove("fox")).status).toBe(404);
    expect(await refusal(await red.remove("cat"))).toMatchObject({
      status: 404,
      detail: expect.stringContaining("You uploaded no skill"),
    });
    await blue.put("fox", skill("fox"));
    expect((await blue.get<{ data: object[] }>("/skills/fox/versions")).data).toHaveLength(1);
    expect(await operator.get("/_hull/skills?tenant=blue")).toMatchObject({ data: [{ tenant: "blue" }] });
    expect(await red.get("/_hull/skills?tenant=blue")).toMatchObject({ data: [] });
    expect((await operator.remove("fox")).status).toBe(204);
    expect((await blue.run("/skills/fox")).status).toBe(404);
  });

  it("stored by a later version of Hull is not served, listed without its card, and replaced or removed", async () => {
    await red.put("elk", skill("elk"));
    for (const slug of ["fox", "hen"]) await red.put(slug, skill(slug, `route: /wild/${slug}\n`));
    const card = `json_set(card, '$.mode', 'dream')`;
    const { DB } = keyed.env;
    await DB.prepare(`UPDATE uploaded_skills SET card = ${card} WHERE slug IN ('fox', 'hen')`).run();
    const other = elsewhere(red);
    expect((await other.run("/skills/elk")).status).toBe(200);
    const body = JSON.stringify({ prompt: "hi", options: { provider: "mock", skills: ["fox"] } });
    for (const call of [other.run("/wild/fox"), other.fetch("/skills/fox"), other.run("/runs", { body })])
      expect(await refusal(await call)).toMatchObject({
        status: 404,
        code: "skill_not_found",
        detail: expect.stringContaining('"fox" is not served: a later version of Hull stored it'),
      });
    expect(await refusal(await blue.fetch("/skills/fox"))).toMatchObject({
      detail: expect.stringContaining("No skill is called"),
    });
    expect(await other.get("/_hull/skills")).toMatchObject({
      data: [
        { slug: "elk", card: { slug: "elk" } },
        { slug: "fox", card: null },
        { slug: "hen", card: null },
      ],
    });
    expect((await blue.put("fox", skill("fox"))).status).toBe(409);
    expect((await other.put("fox", skill("fox"))).status).toBe(200);
    expect((await other.run("/skills/fox")).status).toBe(200);
    expect((await other.remove("hen")).status).toBe(204);
  });

  it("requires the scope publish, to upload, to list and to remove", async () => {
    const reader = await tenant("red", "invoke");
    for (const response of [await reader.put("fox", skill("fox")), await reader.fetch("/_hull/skills")]) {
      expect(await refusal(response)).toMatchObject({ status: 403, code: "forbidden" });
    }
    expect((await reader.remove("fox")).status).toBe(403);
  });

  it("belongs to the caller in local dev without keys", async () => {
    const local = new Client();
    const zip = await makeZip([{ name: "fox/SKILL.md", content: mockSkill("fox") }]);
    expect((await local.fetch("/_hull/skills/fox", { method: "PUT", body: zip })).status).toBe(201);
    expect((await local.fetch("/skills/fox", { method: "POST", body: "hi" })).status).toBe(200);
    expect((await operator.run("/skills/fox")).status).toBe(200);
  });
});

describe("a slug or route that is taken", () => {
  it.each([
    ["cat", "", "folder", "cat"],
    ["fox", "route: /pets/dog\n", "folder", "dog"],
    ["fox", "route: /skills/cat/more\n", "folder", "cat"],
    ["cellar", "", "folder", "deep"],
    ["owl", "", "upload", undefined],
    ["fox", "route: /birds/owl\n", "upload", undefined],
    ["fox", "route: /skills/owl/more\n", "upload", undefined],
    ["hen", "route: /mine/cow\n", "upload", "cow"],
  ])("S119, S6: %s with %j is 409, held by %s %s", async (slug, extra, by, holder) => {
    await blue.put("owl", skill("owl", "route: /birds/owl\n"));
    await red.put("cow", skill("cow", "route: /mine/cow\n"));
    const taken = await refusal(await red.put(slug, skill(slug, extra)));
    expect(taken).toMatchObject({ status: 409, code: "slug_taken", held_by: by });
    expect(taken.holder).toBe(holder);
    expect(taken.detail).toContain(holder ?? "that is not yours");
    expect((await blue.run("/birds/owl")).status).toBe(200);
  });

  it("is decided by D1 where two upload it at once", async () => {
    const both = await Promise.all([red.put("fox", skill("fox")), blue.put("fox", skill("fox"))]);
    const routes = [skill("elk", "route: /one\n"), skill("gnu", "route: /one\n")];
    const same = await Promise.all([red.put("elk", routes[0] ?? {}), blue.put("gnu", routes[1] ?? {})]);
    const above = "route: /skills/hare/more\n";
    const below = [red.put("hare", skill("hare")), blue.put("stoat", skill("stoat", above))];
    const overlap = await Promise.all(below);
    for (const pair of [both, same, overlap])
      expect(pair.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  it("by a later publish: the folder's skill serves, the owner sees it, and gets it back", async () => {
    await red.put("fox", skill("fox"));
    await red.put("elk", skill("elk", "route: /wild/elk\n"));
    const publisher = new Client();
    await publisher.publish({
      ...FOLDER,
      fox: mockSkill("fox", "output: json\n"),
      x: mockSkill("x", "route: /wild/elk\n"),
    });
    expect(await red.get("/skills/fox")).toMatchObject({ output: "json" });
    expect(await red.get("/skills/fox")).not.toHaveProperty("uploaded");
    expect((await red.run("/wild/elk")).headers.get("x-hull-skill")).toMatch(/^x@/);
    expect((await red.fetch("/skills/elk")).status).toBe(404);
    expect(await red.get("/_hull/skills")).toMatchObject({
      data: [
        { slug: "elk", shadowed_by: { slug: "x", route: "/wild/elk" } },
        { slug: "fox", shadowed_by: { slug: "fox", route: "/skills/fox" } },
      ],
    });
    expect((await red.get<object[]>("/skills")).length).toBe(5);
    expect(await refusal(await red.put("fox", skill("fox")))).toMatchObject({
      status: 409,
      held_by: "folder",
    });
    await publisher.publish(FOLDER);
    expect(await red.get("/skills/fox")).toMatchObject({ output: "text", uploaded: true });
    expect((await red.run("/wild/elk")).headers.get("x-hull-skill")).toMatch(/^elk@/);
  });

  it(`${MAX_UPLOADS} skills are the most of one tenant`, async () => {
    await red.put("fox", skill("fox"));
    await keyed.env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${MAX_UPLOADS})
       INSERT INTO uploaded_skills SELECT 'fox-' || i, '/fox-' || i, owner, digest, card, created_at, updated_at
       FROM uploaded_skills, n WHERE slug = 'fox'`,
    ).run();
    expect(await refusal(await red.put("elk", skill("elk")))).toMatchObject({
      status: 409,
      code: "upload_limit",
    });
    expect((await red.put("fox", skill("fox", "", "new"))).status).toBe(200);
    expect((await blue.put("elk", skill("elk"))).status).toBe(201);
    const page = await red.get<{ data: object[]; next_cursor: string }>("/_hull/skills?limit=150");
    const rest = await red.get<{ data: object[] }>(`/_hull/skills?limit=150&cursor=${page.next_cursor}`);
    expect([page.data.length, rest.data.length]).toEqual([150, MAX_UPLOADS - 150]);
  });
});

describe("other isolates", () => {
  it("serve a new skill on the first request, a new version and a removal within seconds", async () => {
    const other = elsewhere(red);
    expect((await other.run("/skills/fox")).status).toBe(404);
    const { digest } = await (await red.put("fox", skill("fox"))).json<{ digest: string }>();
    const clock = vi.spyOn(Date, "now");
    const later = (ms: number) => clock.mockReturnValue(start + ms);
    const start = performance.timeOrigin + performance.now();
    later(COMPLETE_FOR_MS + 1000);
    const body = JSON.stringify({ prompt: "hi", options: { provider: "mock", skills: ["fox"] } });
    const headers = { "content-type": "application/json" };
    expect((await other.run("/runs", { body, headers })).status).toBe(200);
    expect((await other.run("/skills/fox")).headers.get("x-hull-skill")).toBe(`fox@${digest.slice(0, 12)}`);
    await red.put("fox", skill("fox", "", "new"));
    later(COMPLETE_FOR_MS + 4000);
    await other.run("/skills/fox");
    expect((await other.run("/skills/fox")).headers.get("x-hull-skill")).not.toBe(
      `fox@${digest.slice(0, 12)}`,
    );
    await red.remove("fox");
    later(COMPLETE_FOR_MS + 5000 + KNOWN_FOR_MS);
    expect((await other.run("/skills/fox")).status).toBe(404);
  });

  it("find a new skill wherever a request names one", async () => {
    const other = elsewhere(red);
    expect((await other.run("/skills/fox")).status).toBe(404);
    await red.put("fox", skill("fox"));
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + COMPLETE_FOR_MS + 1000);
    const headers = { "content-type": "application/json" };
    const post = (path: string, body: object) => other.run(path, { body: JSON.stringify(body), headers });
    const messages = [{ role: "user", content: "hi" }];
    const container = { skills: [{ type: "custom", skill_id: "fox" }], injection: "full" };
    const message = await post("/v1/messages", { model: "skill/cat", max_tokens: 100, messages, container });
    expect([message.status, await message.text()]).toEqual([200, expect.stringContaining("assistant")]);
  });

  it("count the first run of a new skill as one of this skill", async () => {
    const other = elsewhere(red);
    expect((await other.run("/skills/fox")).status).toBe(404);
    await red.put("fox", skill("fox"));
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + COMPLETE_FOR_MS + 1000);
    const body = JSON.stringify({ prompt: "hi", options: { skill: "fox" } });
    const run = await other.run("/runs", { body, headers: { "content-type": "application/json" } });
    expect([run.status, run.headers.get("x-hull-skill")]).toEqual([200, expect.stringMatching(/^fox@/)]);
  });

  it("are not reverted by a read that began before an upload and ends after it", async () => {
    const { env } = new Client();
    const { DB } = env;
    const answers: PromiseWithResolvers<void>[] = [];
    env.DB = new Proxy(DB, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (name !== "prepare") return typeof value === "function" ? value.bind(target) : value;
        const held = (sql: string) => ({
          bind: (...values: unknown[]) => ({
            all: async () => {
              const answer = Promise.withResolvers<void>();
              answers.push(answer);
              const rows = await target
                .prepare(sql)
                .bind(...values)
                .all();
              await answer.promise;
              return rows;
            },
          }),
        });
        return (sql: string) => (sql.startsWith("SELECT") ? held(sql) : target.prepare(sql));
      },
    });
    const { catalogs } = new Deployment(env);
    const slow = catalogs.read("red");
    await vi.waitFor(() => expect(answers).toHaveLength(1), 20_000);
    await red.put("fox", skill("fox"));
    const quick = catalogs.read("red");
    await vi.waitFor(() => expect(answers).toHaveLength(2), 20_000);
    answers[1]?.resolve();
    expect((await quick).uploads).toHaveLength(1);
    answers[0]?.resolve();
    expect((await slow).uploads).toHaveLength(1);
  });

  it("send D1 no query while published skills are called, and few for skills that do not exist", async () => {
    const now = Date.now();
    vi.spyOn(Date, "now").mockReturnValue(now);
    const other = elsewhere(red);
    await other.run("/skills/cat");
    const uploads = () => other.asked.filter((sql) => sql.includes("uploaded_skills")).length;
    await other.run("/skills/cat");
    await other.fetch("/skills/cat/card");
    await other.fetch("/pets/dog?input=x");
    expect(uploads()).toBe(0);
    for (let i = 0; i < 20; i++) expect((await other.run(`/skills/none-${i}`)).status).toBe(404);
    for (let i = 0; i < 5; i++) expect((await other.fetch("/skills")).status).toBe(200);
    expect(uploads()).toBe(1);
  });
});

it("an earlier version of an upload is served again, as the newest, and only its own tenant's", async () => {
  const put = (slug: string, value: object, who = red) =>
    who.fetch(`/_hull/skills/${slug}`, {
      method: "PUT",
      body: JSON.stringify(value),
      headers: { "content-type": "application/json" },
    });
  const versions = async (): Promise<{ digest: string; current: boolean }[]> =>
    (await red.get<{ data: { digest: string; current: boolean }[] }>("/skills/owl/versions")).data;
  const first = { ...skill("owl", "", "First."), "notes.txt": "one" };
  await red.put("owl", first);
  await red.put("owl", skill("owl", "", "Second."));
  const [second, old] = await versions();
  const again = await put("owl", { digest: old?.digest });
  expect([again.status, await again.json()]).toMatchObject([200, { digest: old?.digest }]);
  expect(await versions()).toMatchObject([
    { digest: old?.digest, current: true },
    { digest: second?.digest, current: false },
    { digest: old?.digest, current: false },
  ]);
  expect(await red.get("/skills/owl")).toMatchObject({ version: old?.digest });
  expect((await put("owl", { digest: "0".repeat(64) })).status).toBe(404);
  await red.put("elk", skill("elk"));
  expect((await put("elk", { digest: old?.digest })).status).toBe(404);
  expect((await put("owl", { digest: old?.digest }, blue)).status).toBe(404);
  expect((await put("owl", {})).status).toBe(422);
});
