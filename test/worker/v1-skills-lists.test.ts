/** `GET /v1/skills` inside workerd: pages, and a search. */
import { describe, expect, it } from "vitest";
import { Client } from "./served.ts";
import { Tenant } from "./tenant.ts";
import {
  blue,
  created,
  FOX,
  form,
  GA,
  type Headers,
  LEGACY,
  messageOf,
  OPENAI,
  red,
  UNCOUNTED,
  useTenants,
} from "./v1-client.ts";

useTenants();

describe("pages", () => {
  it("have cursors that belong to one list of one dialect", async () => {
    for (let n = 0; n < 3; n++) await created(form(FOX));
    const first = await red.fetch("/v1/skills?limit=2", { headers: GA });
    const { next_page: page } = await first.json<{ next_page: string }>();
    const status = async (path: string, headers: Headers, of = red) =>
      (await of.fetch(path, { headers })).status;
    expect(await status(`/v1/skills?limit=2&page=${page}`, GA)).toBe(200);
    expect(await status(`/anthropic/v1/skills?limit=1&page=${page}`, GA)).toBe(200);
    expect(await status(`/v1/skills?page=${page}`, LEGACY)).toBe(400);
    expect(await status(`/v1/skills?page=${page}`, GA, blue)).toBe(400);
    expect(await status(`/v1/skills?page=${page.replace(/\d/, "9")}`, GA)).toBe(400);
    expect(await status(`/v1/skills?source=plugin&page=${page}`, GA)).toBe(400);
    expect(await status("/v1/skills?page=x", GA)).toBe(400);
    const elsewhere = new Tenant(new Client({ ...UNCOUNTED, HULL_SECRET_KEY: "s".repeat(32) }), red.key);
    expect(await status(`/v1/skills?limit=2&page=${page}`, GA, elsewhere)).toBe(400);
  });

  it("say so if they end exactly at the limit", async () => {
    for (let n = 0; n < 4; n++) await created(form(FOX));
    const get = async (path: string, headers: Headers) =>
      (await red.fetch(path, { headers })).json<{
        data: object[];
        has_more: boolean;
        next_page: string | null;
      }>();
    expect(await get("/v1/skills?limit=4", GA)).toMatchObject({ next_page: null });
    expect(await get("/v1/skills?limit=4", LEGACY)).toMatchObject({ has_more: false, next_page: null });
    expect(await get("/v1/skills?limit=2", LEGACY)).toMatchObject({
      has_more: true,
      next_page: expect.any(String),
    });
    expect(await get("/v1/skills?limit=4", OPENAI)).toMatchObject({ has_more: false });
    expect(await get("/v1/skills?limit=3", OPENAI)).toMatchObject({ has_more: true });
    expect(await get("/v1/skills?limit=0", OPENAI)).toMatchObject({
      data: [],
      first_id: null,
      has_more: true,
    });
  });

  it.each([
    ["0", GA],
    ["1001", GA],
    ["101", LEGACY],
    ["101", OPENAI],
    ["x", OPENAI],
  ])("limit=%s is 400", async (limit, headers) => {
    const response = await red.fetch(`/v1/skills?limit=${limit}`, { headers });
    expect([response.status, await messageOf(response)]).toEqual([400, expect.stringContaining("limit")]);
  });
});

describe("parameters that only other lists have", () => {
  it.each([
    ["offset=20&limit=2", GA, "offset"],
    ["after_id=skill_1&before_id=skill_2&beta=true", LEGACY, "after_id, before_id"],
    ["after=skill_1&order=asc&source=custom&page=", GA, "after, order"],
    ["order=asc&page=x&source=custom&offset=1", OPENAI, "page, source, offset"],
    ["query=fox&top_k=3", OPENAI, null],
  ])("are named as ignored: %s", async (query, headers, ignored) => {
    const response = await red.fetch(`/v1/skills?${query}`, { headers });
    expect([response.status, response.headers.get("x-hull-ignored")]).toEqual([200, ignored]);
  });
});

describe("a search", () => {
  const search = async (
    query: string,
    headers: Headers,
    of = red,
  ): Promise<{ status: number; names: string[] }> => {
    const response = await of.fetch(`/v1/skills?${query}`, { headers });
    const { data = [] } = await response.json<{ data?: Record<string, string>[] }>();
    const names = data.map((one) => one.display_name ?? one.display_title ?? one.name ?? "");
    return { status: response.status, names };
  };

  it("finds skills by name, label and description, the best one first, in each dialect's shape", async () => {
    const described = (name: string, description: string) =>
      form([[`${name}/SKILL.md`, `---\nname: ${name}\ndescription: ${description}\n---\nDo it.\n`]]);
    await created(described("pdf-forms", "Fills in forms."));
    await created(described("letters", "Writes letters, also as a PDF."));
    await created(described("charts", "Draws charts."));
    await created(form(FOX, { display_name: "Hunting dogs" }));
    await created(described("beverages", `Écrit les ${"MENUS DE NOËL".normalize("NFD")}.`));
    await created(described("weather", "查询城市的天气预报。"));
    expect(await search("query=a+PDF+please", GA)).toMatchObject({ names: ["pdf-forms", "letters"] });
    expect(await search("query=pdf&top_k=1", OPENAI)).toMatchObject({ names: ["pdf-forms"] });
    expect(await search("query=dogs", LEGACY)).toMatchObject({ names: ["Hunting dogs"] });
    expect(await search("query=drawing", GA)).toMatchObject({ names: ["charts"] });
    expect(await search("query=writes", GA)).toMatchObject({ names: ["letters"] });
    for (const word of ["écrit", "noël"].flatMap((one) => [one, one.normalize("NFD")])) {
      const found = await search(`query=${encodeURIComponent(word)}`, GA);
      expect(found, word).toMatchObject({ names: ["beverages"] });
    }
    const tomorrow = encodeURIComponent("明天天气怎么样");
    expect(await search(`query=${tomorrow}`, GA)).toMatchObject({ names: ["weather"] });
    const long = `pdf+${Array.from({ length: 60 }, (_, n) => `something${n}`).join("+")}`;
    expect(await search(`query=${long}`, GA)).toMatchObject({ names: ["pdf-forms", "letters"] });
    expect(await search("query=submarine", GA)).toEqual({ status: 200, names: [] });
    expect(await search("query=%25_%27", GA)).toEqual({ status: 200, names: [] });
    expect(await search("query=pdf", GA, blue)).toEqual({ status: 200, names: [] });
  });

  it.each(["query=x&top_k=0", "query=x&top_k=101", "query=x&top_k=two", `query=${"x".repeat(4001)}`])(
    "%.20s is 400",
    async (query) => expect((await search(query, GA)).status).toBe(400),
  );
});
