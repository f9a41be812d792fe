/** `/v1/files` inside workerd: names, expiry, quotas, pages, tenants, crashes, and uploads of `/files`. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { LOCAL_CALLER } from "../../src/auth/caller.ts";
import { RequestContext } from "../../src/http/context.ts";
import { withProducedFiles } from "../../src/http/skills/produced-files.ts";
import { saveFile, sweepStoredFiles } from "../../src/run/stored-files.ts";
import { Client } from "./served.ts";
import { withMethod } from "./statement.ts";
import { ADMIN, FOLDER, Tenant, tenant } from "./tenant.ts";
import { expectRemoved, killInParts } from "./upload-in-parts.ts";

const GA = { "anthropic-version": "2026-10-21" };
const LEGACY = { ...GA, "anthropic-beta": "files-api-2025-04-14" };
const OPENAI = {};
const JSON_TYPE = { "content-type": "application/json" };
type Headers = Record<string, string>;

const LIMITS = { max_upload_bytes: 1_000_000, max_file_bytes: 100_000, max_stored_bytes: 250_000 };
const open = new Client({
  HULL_ADMIN_KEY: ADMIN,
  HULL_CONFIG: JSON.stringify({ rate_limit: null, limits: LIMITS }),
});
let red: Tenant;
let blue: Tenant;
beforeAll(async () => {
  await new Client().publish(FOLDER);
  red = new Tenant(open, (await tenant("red", "invoke")).key);
  blue = new Tenant(open, (await tenant("blue", "invoke")).key);
});
afterEach(() => vi.restoreAllMocks());
beforeEach(async () => {
  const { data } = await (await red.fetch("/v1/files")).json<{ data: { id: string }[] }>();
  for (const { id } of data) await red.fetch(`/v1/files/${id}`, { method: "DELETE" });
});

function form(
  content: string | Uint8Array<ArrayBuffer>,
  name: string,
  fields: Record<string, string> = {},
  type = "text/csv",
) {
  const data = new FormData();
  data.append("file", new File([content], name, { type }), name);
  for (const [field, value] of Object.entries(fields)) data.append(field, value);
  return data;
}
const upload = (body: BodyInit, headers: Headers = GA, of = red): Promise<Response> =>
  of.fetch("/v1/files", { method: "POST", headers, body });
async function uploaded(name: string, headers: Headers = GA, fields: Record<string, string> = {}) {
  const response = await upload(form("a,b\n", name, fields), headers);
  expect(response.status).toBe(200);
  return response.json<{ id: string; filename: string; expires_at?: string | number | null }>();
}
const get = async <T>(path: string, headers: Headers = GA, of = red) => {
  const response = await of.fetch(path, { headers });
  return { status: response.status, body: await response.json<T>() };
};

it("an upload has each dialect's shape", async () => {
  const { id } = await uploaded("a/b.csv");
  const file = { id, filename: "b.csv" };
  const created_at = expect.stringMatching(/^\d{4}-.*Z$/);
  const own = {
    ...file,
    type: "file",
    mime_type: "text/csv",
    size_bytes: 4,
    created_at,
    downloadable: false,
  };
  expect((await get(`/v1/files/${id}`)).body).toEqual({ ...own, expires_at: null });
  expect((await get(`/v1/files/${id}`, LEGACY)).body).toEqual(own);
  expect((await get(`/v1/files/${id}`, OPENAI)).body).toEqual({
    ...file,
    object: "file",
    bytes: 4,
    created_at: expect.any(Number),
    purpose: "user_data",
    status: "processed",
  });
});

describe("names and sizes", () => {
  it.each([
    ["a/b.csv", "b.csv"],
    ["ü .txt", "ü .txt"],
    ["", "unnamed.csv"],
  ])("%j is kept as %j", async (name, kept) => {
    const boundary = "x";
    const body = `--x\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: text/csv\r\n\r\na\r\n--x--\r\n`;
    const response = await upload(body, {
      ...GA,
      "content-type": `multipart/form-data; boundary=${boundary}`,
    });
    expect(await response.json()).toMatchObject({ filename: kept });
  });

  it.each(["a|b.csv", "a\u0001b", "a\u007fb", "a\u0085b", "x".repeat(256)])("%j is refused", async (name) => {
    const body = `--x\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\na\r\n--x--\r\n`;
    const response = await upload(body, { ...GA, "content-type": "multipart/form-data; boundary=x" });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining("control characters"),
    ]);
  });

  it("a field may arrive in pieces that end within a character", async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const text = `--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nété\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\na\r\n--x--\r\n`;
    const sent = (async () => {
      const writer = writable.getWriter();
      for (const byte of new TextEncoder().encode(text)) await writer.write(Uint8Array.of(byte));
      await writer.close();
    })();
    const response = await upload(readable, { ...OPENAI, "content-type": "multipart/form-data; boundary=x" });
    expect(await response.json()).toMatchObject({ purpose: "été" });
    await sent;
  });

  it.each<[string, () => BodyInit, number, string]>([
    ["a name with a question mark", () => form("x", "a?.csv"), 400, "name of 1 to 255"],
    ["a name that is too long", () => form("x", "a".repeat(256)), 400, "name of 1 to 255"],
    ["no file", () => new FormData(), 400, "no part file"],
    [
      "two files",
      () => {
        const data = form("x", "a");
        data.append("file", new File(["y"], "b"));
        return data;
      },
      400,
      "one file",
    ],
    ["a file over the limit", () => form(new Uint8Array(100_001), "a"), 413, "limits.max_file_bytes"],
    [
      "an expiry that is too soon",
      () => form("x", "a", { expires_in_seconds: "3599" }),
      400,
      "expires_in_seconds",
    ],
    [
      "an expiry that is no number",
      () => form("x", "a", { expires_in_seconds: "1e4" }),
      400,
      "expires_in_seconds",
    ],
  ])("%s is refused, and leaves nothing", async (_, body, status, message) => {
    const response = await upload(body());
    const { error } = await response.json<{ error: { message: string } }>();
    expect([response.status, error.message]).toEqual([status, expect.stringContaining(message)]);
    expect((await get<{ data: object[] }>("/v1/files")).body.data).toEqual([]);
    expect((await open.env.FILES.list({ prefix: "files/red/" })).objects).toEqual([]);
  });

  it("a tenant's files together have a limit, also when they come at once", async () => {
    const answers = await Promise.all([1, 2, 3].map(() => upload(form(new Uint8Array(99_000), "a"))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 400]);
    const refused = answers.find(({ status }) => status === 400);
    expect(await refused?.json()).toMatchObject({
      error: { type: "invalid_request_error", details: { error_code: "storage_quota_exceeded" } },
    });
    expect((await upload(form(new Uint8Array(99_000), "a"), GA, blue)).status).toBe(200);
  });
});

describe("content", () => {
  const path = (id: string) => `/v1/files/${id}/content`;

  it("of an upload goes to OpenAI's clients, and not to Anthropic's", async () => {
    const { id } = await uploaded("a.csv");
    for (const headers of [GA, LEGACY]) {
      expect(await get(path(id), headers)).toMatchObject({
        status: 400,
        body: { error: { details: { error_code: "file_not_downloadable" } } },
      });
    }
    expect(await (await red.fetch(path(id))).text()).toBe("a,b\n");
  });

  it("of a generated file is sent to everybody, whole, in ranges, and not again to a client that has it", async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(5000));
    const context = new RequestContext(new Request("http://localhost/"), open.deployment, () => {});
    context.admit({ ...LOCAL_CALLER, tenant: "red" });
    const settled = { purpose: "assistants_output", downloadable: true, expires_ms: null };
    const file = { filename: "out.svg", mime: "image/svg+xml" };
    const { id } = await saveFile(context, file, [bytes], () => settled);
    const whole = await red.fetch(path(id), { headers: GA });
    expect(new Uint8Array(await whole.arrayBuffer())).toEqual(bytes);
    expect(whole.headers.get("content-disposition")).toMatch(/^attachment; filename="out\.svg"/);
    expect(whole.headers.get("x-content-type-options")).toBe("nosniff");
    const part = await red.fetch(path(id), { headers: { ...GA, range: "bytes=10-19" } });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 10-19/5000"]);
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(10, 20));
    const beyond = await red.fetch(path(id), { headers: { ...GA, range: "bytes=9000-" } });
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */5000"]);
    const etag = whole.headers.get("etag") ?? "";
    expect((await red.fetch(path(id), { headers: { ...GA, "if-none-match": etag } })).status).toBe(304);
    // It is a file of /files too.
    expect((await red.fetch(`/files/${id}`)).status).toBe(200);
    await red.fetch(`/files/${id}`, { method: "DELETE" });
    expect((await get(`/v1/files/${id}`)).status).toBe(404);
  });

  it("of an expired file is gone, while its metadata stays for 30 days", async () => {
    const { id, expires_at } = await uploaded("a.csv", GA, { expires_in_seconds: "3600" });
    const after = await upload(
      form("x", "b", { "expires_after[anchor]": "created_at", "expires_after[seconds]": "7200" }),
      OPENAI,
    );
    expect(await after.json()).toMatchObject({ expires_at: expect.any(Number) });
    const real = Date.now();
    vi.spyOn(Date, "now").mockImplementation(() => real + 3_600_001);
    for (const swept of [false, true]) {
      if (swept) await sweepStoredFiles(open.env);
      expect(await get(path(id), OPENAI)).toMatchObject({
        status: 404,
        body: { error: { code: "file_expired" } },
      });
      expect(await get(path(id))).toMatchObject({
        body: { error: { details: { error_code: "file_expired" } } },
      });
      expect((await get(`/v1/files/${id}`)).body).toMatchObject({ id, expires_at });
      expect((await open.env.FILES.head(`files/red/${id}`)) === null).toBe(swept);
    }
    vi.spyOn(Date, "now").mockImplementation(() => real + 31 * 24 * 3_600_000);
    expect((await get(`/v1/files/${id}`)).status).toBe(404);
  });

  it("is swept if it never arrived whole, and was never shown", async () => {
    const { FILES } = open.env;
    open.env.FILES = Object.create(FILES, {
      put: {
        value: async (...of: Parameters<R2Bucket["put"]>) => {
          await FILES.put(...of);
          throw new TypeError("killed");
        },
      },
    });
    const index = vi.spyOn(open.env.FILE_INDEX, "get").mockImplementation(() => {
      throw new TypeError("dead");
    });
    expect((await upload(form("x", "a"))).status).toBe(500);
    expect(index).toHaveBeenCalledOnce();
    index.mockRestore();
    open.env.FILES = FILES;
    const left = async () => (await FILES.list({ prefix: "files/red/" })).objects.length;
    expect([(await get<{ data: object[] }>("/v1/files")).body.data, await left()]).toEqual([[], 1]);
    const real = Date.now();
    vi.spyOn(Date, "now").mockImplementation(() => real + 25 * 3_600_000);
    const many = JSON.stringify(Array.from({ length: 1200 }, (_, n) => n));
    await open.env.DB.prepare(
      `INSERT INTO stored_files (tenant, id, filename, mime, size, purpose, downloadable, stored, created_us, expires_ms)
       SELECT 'many', 'file_' || value, '', '', 0, '', 0, 0, value, 1 FROM json_each(?)`,
    )
      .bind(many)
      .run();
    await sweepStoredFiles(open.env);
    expect(await left()).toBe(0);
    const count = open.env.DB.prepare("SELECT count(*) AS n FROM stored_files WHERE tenant = 'many'");
    expect(await count.first("n")).toBe(0);
  });

  it.each(["an upload", "a removal"])(
    "no list shows a file without bytes after %s that the database completes only in part",
    async (what) => {
      const { FILES, DB } = open.env;
      const known = what === "a removal" ? (await uploaded("a.csv")).id : null;
      const prepare = DB.prepare.bind(DB);
      let away = false;
      vi.spyOn(DB, "prepare").mockImplementation((statement) => {
        const lost = new Error("D1_ERROR: Network connection lost.");
        if (away || (known !== null && statement.startsWith("DELETE FROM stored_files"))) throw lost;
        const prepared = prepare(statement);
        if (!statement.startsWith("UPDATE stored_files SET filename")) return prepared;
        return withMethod(prepared, "first", async (execute) => {
          await execute();
          away = true;
          throw lost;
        });
      });
      const answer =
        known === null
          ? await upload(form("x", "a"))
          : await red.fetch(`/v1/files/${known}`, { method: "DELETE", headers: GA });
      expect(answer.status).toBe(503);
      vi.restoreAllMocks();
      const { data } = (await get<{ data: { id: string }[] }>("/v1/files")).body;
      for (const { id } of data) expect(await FILES.head(`files/red/${id}`)).not.toBeNull();
      if (known === null) return;
      expect(data).toEqual([]);
      await sweepStoredFiles(open.env);
      const left = open.env.DB.prepare("SELECT count(*) AS n FROM stored_files WHERE tenant = 'red'");
      expect([await left.first("n"), (await FILES.list({ prefix: "files/red/" })).objects]).toEqual([0, []]);
    },
  );

  it("of an upload in parts is removed if its Worker dies", async () => {
    const roomy = new Client({ HULL_ADMIN_KEY: ADMIN });
    const large = form(new Uint8Array(9 * 1024 * 1024), "a");
    const begun = killInParts(roomy);
    expect((await upload(large, GA, new Tenant(roomy, red.key))).status).toBe(500);
    await expectRemoved(roomy, "red", begun);
  });
});

describe("lists", () => {
  it("page in each dialect's way, the newest first", async () => {
    const ids: string[] = [];
    for (const name of ["1", "2", "3", "4"])
      ids.unshift((await uploaded(name, OPENAI, { purpose: "batch" })).id);
    type List = { data: { id: string }[]; next_page?: string | null; has_more?: boolean; first_id?: string };
    const list = async (query: string, headers: Headers) => {
      const { data, ...rest } = (await get<List>(`/v1/files?${query}`, headers)).body;
      return { ids: data.map(({ id }) => id), ...rest };
    };
    const first = await list("limit=2", GA);
    expect(first.ids).toEqual(ids.slice(0, 2));
    expect(await list(`limit=2&page=${first.next_page}`, GA)).toEqual({ ids: ids.slice(2), next_page: null });
    const some = `ids[]=${ids[3]}&ids[]=${ids[1]}&ids[]=${ids[1]}&ids[]=file_none`;
    expect(await list(some, GA)).toEqual({ ids: [ids[1], ids[3]], next_page: null });
    expect(await list(`limit=2&after_id=${ids[1]}`, LEGACY)).toEqual({
      ids: ids.slice(2),
      has_more: false,
      first_id: ids[2],
      last_id: ids[3],
    });
    expect(await list(`limit=2&before_id=${ids[3]}`, LEGACY)).toEqual({
      ids: ids.slice(1, 3),
      has_more: true,
      first_id: ids[1],
      last_id: ids[2],
    });
    expect(await list(`limit=3&after=${ids[0]}`, OPENAI)).toMatchObject({
      object: "list",
      ids: ids.slice(1),
      has_more: false,
    });
    expect(await list("limit=2&order=asc", OPENAI)).toMatchObject({ ids: [ids[3], ids[2]], has_more: true });
    expect(await list("purpose=vision", OPENAI)).toMatchObject({ ids: [], has_more: false });
  });

  it.each([
    ["ids[]=file_1&limit=2", GA, "ids"],
    [`${Array.from({ length: 101 }, (_, n) => `ids[]=${n}`).join("&")}`, GA, "at most 100"],
    ["before_id=file_1", GA, "before_id"],
    ["after_id=file_1", GA, "after_id"],
    ["limit=1001", LEGACY, "limit"],
    ["after=file_1", OPENAI, "after"],
  ])("?%.20s is 400", async (query, headers, message) => {
    const { status, body } = await get<{ error: { message: string } }>(`/v1/files?${query}`, headers);
    expect([status, body.error.message]).toEqual([400, expect.stringContaining(message)]);
  });
});

it("an empty after begins every list at its beginning", async () => {
  const post = async (path: string, body: object): Promise<{ id: string }> =>
    (await red.fetch(path, { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) })).json();
  const { id: container } = await post("/v1/containers", { name: "box" });
  const { id: conversation } = await post("/v1/conversations", {});
  const lists = ["files", "skills", "containers", `containers/${container}/files`];
  for (const list of [...lists, `conversations/${conversation}/items`])
    expect([list, (await get(`/v1/${list}?after=`, OPENAI)).status]).toEqual([list, 200]);
});

it("a container that is out of reach is a failure, not an unknown after", async () => {
  const made = await red.fetch("/v1/containers", {
    method: "POST",
    headers: JSON_TYPE,
    body: '{"name":"box"}',
  });
  const { id } = await made.json<{ id: string }>();
  const broken = new Client({ HULL_ADMIN_KEY: ADMIN, HULL_CONFIG: '{"rate_limit":null}' });
  broken.env.SESSIONS = new Proxy(broken.env.SESSIONS, {
    get(target, name) {
      if (name === "get") throw new Error("The object is overloaded.");
      return Reflect.get(target, name).bind(target);
    },
  });
  const answer = await new Tenant(broken, red.key).fetch(`/v1/containers?after=${id}`);
  expect(answer.status).toBe(500);
});

describe("a cleanup that fails does not hide what the caller did wrong", () => {
  const twoFiles = new FormData();
  for (const name of ["a.csv", "b.csv"]) twoFiles.append("file", new File(["x"], name));
  const box = JSON.stringify({ name: "box", file_ids: ["file_00000000000000000000000000"] });
  it.each([
    ["/v1/containers", { headers: JSON_TYPE, body: box }, "SESSIONS", '"type":"remove"', 404],
    ["/files", { body: twoFiles }, "FILE_INDEX", "drop", 422],
  ] as const)("%s", async (path, sent, name, cleanup, status) => {
    const broken = new Client({ HULL_ADMIN_KEY: ADMIN, HULL_CONFIG: '{"rate_limit":null}' });
    const failed: string[] = [];
    const stubs = (stub: object) =>
      new Proxy(stub, {
        get:
          (target, member) =>
          async (...asked: unknown[]) => {
            const call = `${String(member)} ${asked.map(String)}`;
            if (!call.includes(cleanup)) return Reflect.apply(Reflect.get(target, member), target, asked);
            failed.push(call);
            throw new Error("The object is overloaded.");
          },
      });
    const namespace = broken.env[name];
    Object.assign(broken.env, {
      [name]: new Proxy(namespace, {
        get: (target, member) =>
          member === "get"
            ? (id: DurableObjectId) => stubs(target.get(id))
            : Reflect.get(target, member).bind(target),
      }),
    });
    // What stays behind is not for the other tests.
    const { key } = await tenant("green", "invoke");
    const answer = await new Tenant(broken, key).fetch(path, { method: "POST", ...sent });
    expect([answer.status, failed.length > 0]).toEqual([status, true]);
  });
});

it("the log says why an answer with files ends early", async () => {
  const failed = vi.spyOn(console, "error").mockImplementation(() => {});
  const headers = { accept: "multipart/mixed" };
  const context = new RequestContext(
    new Request("http://localhost/", { headers }),
    open.deployment,
    () => {},
  );
  context.admit({ ...LOCAL_CALLER, tenant: "red" });
  const [card] = (await open.deployment.registry.catalog(() => {})).cards;
  const { manifest } = await open.deployment.registry.skill(card?.version ?? "");
  const id = `file_${"0".repeat(32)}`;
  const listed = `${id};path="a.txt";size=1;type="text/plain";sha256="${"0".repeat(64)}"`;
  const made = new Response("Done.", { headers: { "x-hull-files": listed } });
  const answer = await withProducedFiles(context, manifest, made);
  expect(answer.headers.get("content-type")).toMatch(/^multipart\/mixed/);
  await expect(answer.text()).rejects.toThrow(id);
  expect(failed).toHaveBeenCalledWith(expect.stringContaining(`"file":"${id}"`));
});

it("another tenant's file is unknown", async () => {
  const { id } = await uploaded("a.csv");
  const unknown = id.replace(/.{6}$/, "000000");
  for (const [method, path] of [
    ["GET", ""],
    ["GET", "/content"],
    ["DELETE", ""],
  ] as const) {
    const [foreign, none] = await Promise.all(
      [id, unknown].map(async (each) => {
        const headers = { ...GA, "x-request-id": "same-request-id" };
        const response = await blue.fetch(`/v1/files/${each}${path}`, { method, headers });
        return [response.status, (await response.text()).replaceAll(each, "ID")];
      }),
    );
    expect([foreign, foreign?.[0]]).toEqual([none, 404]);
  }
  expect((await get(`/v1/files/${id}`)).status).toBe(200);
});

describe("an upload of /files", () => {
  const native = (
    content: string | Uint8Array<ArrayBuffer>,
    query = "?filename=a/b.csv",
    headers: Headers = {},
  ) => red.fetch(`/files${query}`, { method: "POST", body: content, headers });
  const made = async (...of: Parameters<typeof native>) => {
    const response = await native(...of);
    expect(response.status).toBe(201);
    return response.json<{ id: string; created_at: string; expires_at: string }>();
  };

  it("is a file of each dialect, until it expires or is deleted", async () => {
    const { id, created_at, expires_at } = await made("a,b\n");
    const shown = { id, filename: "b.csv", created_at, expires_at };
    expect((await get(`/v1/files/${id}`)).body).toMatchObject({
      ...shown,
      mime_type: "text/plain;charset=UTF-8",
      size_bytes: 4,
    });
    expect((await get(`/v1/files/${id}`, OPENAI)).body).toMatchObject({ id, purpose: "user_data", bytes: 4 });
    for (const headers of [GA, LEGACY, OPENAI]) {
      expect((await get("/v1/files", headers)).body).toMatchObject({ data: [{ id }] });
    }
    expect(await (await red.fetch(`/v1/files/${id}/content`)).text()).toBe("a,b\n");
    expect((await get(`/v1/files/${id}/content`)).status).toBe(400);
    expect((await get(`/v1/files/${id}`, GA, blue)).status).toBe(404);
    const real = Date.now();
    vi.spyOn(Date, "now").mockImplementation(() => real + 24 * 3_600_000 + 1);
    expect((await get(`/v1/files/${id}/content`, OPENAI)).body).toMatchObject({
      error: { code: "file_expired" },
    });
  });

  it("is deleted here too if it is deleted there, and its key names another one", async () => {
    const key = { "idempotency-key": "again" };
    const { id } = await made("a,b\n", "", key);
    expect(await made("a,b\n", "", key)).toMatchObject({ id });
    expect((await get<{ data: object[] }>("/v1/files")).body.data).toMatchObject([
      { filename: "unnamed.txt" },
    ]);
    await red.fetch(`/v1/files/${id}`, { method: "DELETE" });
    expect((await red.fetch(`/files/${id}`)).status).toBe(404);
    const { id: next } = await made("a,b\n", "", key);
    expect(next).not.toBe(id);
    await red.fetch(`/files/${next}`, { method: "DELETE" });
    expect((await get<{ data: object[] }>("/v1/files")).body.data).toEqual([]);
  });

  it("counts toward the tenant's storage limit", async () => {
    for (const _ of [1, 2]) await made(new Uint8Array(99_000));
    const refused = await native(new Uint8Array(99_000));
    expect([refused.status, await refused.json()]).toMatchObject([400, { code: "storage_quota_exceeded" }]);
    expect((await open.env.FILES.list({ prefix: "files/red/" })).objects).toHaveLength(2);
  });
});
