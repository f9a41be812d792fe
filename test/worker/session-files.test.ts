/** A session's files in its object and a real bucket, over HTTP. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { sha256 } from "../../src/bytes.ts";
import { deploymentOf } from "../../src/deployment.ts";
import { HullError } from "../../src/errors.ts";
import { RequestContext } from "../../src/http/context.ts";
import { MAX_FILE_BYTES, storeFile } from "../../src/http/sessions/files.ts";
import { detachedContext } from "../../src/run/context.ts";
import { writeInputsUnless } from "../../src/run/served-files.ts";
import { clientWorkspace, sessionClient, sessionObject } from "../../src/run/session-client.ts";
import type { FileChange, WorkspaceAccess } from "../../src/run/workspace/access.ts";
import { SPARE_MS, USE_MS } from "../../src/session/workspace/contents.ts";
import { type WatchedChange, Workspace } from "../../src/session/workspace/workspace.ts";
import { Client } from "./served.ts";
import { client, codeOf, post } from "./session-client.ts";
import { accessTo } from "./workspace-access.ts";

const { env } = client;

let id = "";
let limits: { bytes: number; files: number } | undefined;
let told: WatchedChange[] = [];
beforeEach(async () => {
  id = crypto.randomUUID();
  limits = undefined;
  told = [];
  await post("/sessions", { id });
});

const prefix = () => `sessions/default/${id}/files/`;
const object = () => sessionObject({ env, tenant: "default" }, id);
/** The session's workspace, as a run outside of its object reaches it. */
function remote(): WorkspaceAccess {
  const asked = { requestId: "r", mockScope: "", tenant: "default", startedAt: 0 };
  const context = detachedContext(deploymentOf(env), asked, () => {});
  return clientWorkspace(sessionClient(context, id));
}
/** A second workspace of the session in addition to the object's own, as after an eviction. */
function within<T>(work: (workspace: Workspace) => T | Promise<T>): Promise<T> {
  return runInDurableObject(object(), async (_, { storage }) => {
    const changed = (changes: readonly WatchedChange[]) => void told.push(...changes);
    const host = { storage, bucket: env.FILES, prefix: prefix(), changed };
    return work(new Workspace(limits === undefined ? host : { ...host, limits }));
  });
}
const access = accessTo(within);

const send = (path: string, init: RequestInit) => client.fetch(`/sessions/${id}/files/${path}`, init);
const put = (path: string, body: BodyInit, headers = {}) => send(path, { method: "PUT", body, headers });
const get = (path: string, headers = {}) => send(path, { method: "GET", headers });
const remove = (path: string, headers = {}) => send(path, { method: "DELETE", headers });
const list = async (query = ""): Promise<{ data: { path: string }[]; next_cursor: string | null }> =>
  (await client.fetch(`/sessions/${id}/files${query}`)).json();
const objects = async () => (await env.FILES.list({ prefix: prefix() })).objects.map(({ key }) => key);
const code = async (response: Response) => (await codeOf(response)).join(" ");
/** With limits of the test's own. */
async function putWithin(path: string, body: string): Promise<number | HullError["data"]> {
  const request = new Request(`http://localhost:3000/sessions/${id}/files/${path}`, { method: "PUT", body });
  try {
    return (await storeFile(new RequestContext(request, deploymentOf(env), () => {}), access)).status;
  } catch (error) {
    if (error instanceof HullError) return error.data;
    throw error;
  }
}

/** Stores a text and answers the change that makes it a file. */
async function stored(path: string, text: string): Promise<FileChange> {
  const begun = await access.beginFile({ path, expected: null, size: null });
  if ("refused" in begun) return expect.fail(begun.refused);
  await env.FILES.put(begun.key, text);
  const content = { key: begun.key, sha256: await sha256(text), size: text.length };
  return { kind: "write", path, ...content, executable: null, expected: null };
}

it("takes a call's files also if somebody changes them while it looks for its run", async () => {
  let asked = 0;
  const begun = async () => {
    asked += 1;
    if (asked === 1) await put("in.txt", "theirs");
    return null;
  };
  const file = { filename: "in.txt", mime: "text/plain", body: new TextEncoder().encode("given") };
  expect(await writeInputsUnless({ env }, remote(), [file], begun)).toBeNull();
  expect([asked, await (await get("in.txt")).text()]).toEqual([2, "given"]);
});

describe("the routes", () => {
  it("store, replace, show in parts, list and remove", async () => {
    expect((await list()).data).toEqual([]);
    const made = await put("notes/a.txt", "hello world");
    const row = await made.json<{ sha256: string; modified_at: string }>();
    expect(made.status).toBe(201);
    expect(row).toEqual({
      path: "notes/a.txt",
      size: 11,
      sha256: await sha256("hello world"),
      modified_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const etag = `"${row.sha256}"`;
    expect(made.headers.get("etag")).toBe(etag);
    const whole = await get("notes/a.txt");
    expect(await whole.text()).toBe("hello world");
    expect(whole.headers.get("content-type")).toMatch(/^text\/plain/);
    expect((await get("notes/a.txt", { "if-none-match": etag })).status).toBe(304);
    const part = await get("notes/a.txt", { range: "bytes=6-8" });
    expect([part.status, await part.text()]).toEqual([206, "wor"]);
    const head = await send("notes/a.txt", { method: "HEAD" });
    expect([head.headers.get("content-length"), await head.text()]).toEqual(["11", ""]);

    expect((await put("notes/a.txt", "other")).status).toBe(200);
    expect(await (await get("notes/a.txt")).text()).toBe("other");
    expect((await put("empty", "")).status).toBe(201);
    expect(await (await get("empty")).text()).toBe("");
    await put("page.html", "<script>");
    expect((await get("page.html")).headers.get("content-disposition")).toMatch(/^attachment/);

    const first = await list("?limit=2");
    expect(first.data.map(({ path }) => path)).toEqual(["empty", "notes/a.txt"]);
    const rest = await list(`?limit=2&cursor=${encodeURIComponent(first.next_cursor ?? "")}`);
    expect([rest.data.map(({ path }) => path), rest.next_cursor]).toEqual([["page.html"], null]);
    expect((await remove("notes/a.txt")).status).toBe(204);
    expect(await code(await remove("notes/a.txt"))).toBe("404 file_not_found");
    expect(await code(await get("notes/a.txt"))).toBe("404 file_not_found");
  });

  it("are those of the tenant's own sessions", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const body = method === "PUT" ? { body: "x" } : {};
      const answer = await client.fetch("/sessions/none/files/a", { method, ...body });
      expect(await code(answer)).toBe("404 not_found");
    }
    expect(await code(await client.fetch("/sessions/none/files"))).toBe("404 not_found");
  });

  it.each([
    ["a%2F..%2Fb", "the segment .."],
    ["..%2Fb", "the segment .."],
    ["%2Fetc%2Fpasswd", "begins with /"],
    ["a%2F%2Fb", "empty segment"],
    ["a%2F.%2Fb", "the segment ."],
    ["a%00b", "control characters"],
    ["a%C2%85b", "control characters"],
    ["a%5C..%5Cb", "backslash"],
    ["%FF", "UTF-8"],
    ["x".repeat(256), "255 bytes"],
    [`${"é".repeat(100)}/`.repeat(6), "1024 bytes"],
    ["a/".repeat(101), "100 segments"],
  ])("refuses the path %.40s", async (path, reason) => {
    const response = await put(path, "x");
    const problem = await response.json<{ code: string; detail: string }>();
    expect([response.status, problem.code]).toEqual([400, "bad_path"]);
    expect(problem.detail).toContain(reason);
    expect(await objects()).toEqual([]);
  });

  it("keeps letter case, takes names of any script in form NFC", async () => {
    for (const path of ["A", "a", ".hidden", "a b/100%25", "cafe%CC%81", "...", "файл"]) {
      expect((await put(path, path)).status, path).toBe(201);
    }
    expect((await list()).data.map(({ path }) => path).sort()).toEqual(
      ["...", ".hidden", "A", "a", "a b/100%", "caf\u00e9", "файл"].sort(),
    );
    expect((await put("caf%C3%A9", "again")).status).toBe(200);
  });

  it("no path is a file and a folder", async () => {
    await put("a/b/c", "x");
    await put("a/b0", "beside");
    expect(await code(await put("a/b", "x"))).toBe("400 bad_path");
    expect(await code(await put("a", "x"))).toBe("400 bad_path");
    expect(await code(await put("a/b/c/d", "x"))).toBe("400 bad_path");
    await remove("a/b/c");
    expect((await put("a/b", "x")).status).toBe(201);
  });

  it("counts the bytes that arrive, whatever was declared; large files pass in parts", async () => {
    const piece = new Uint8Array(1024 * 1024).fill(7);
    const pieces = (count: number) => {
      let left = count;
      return new ReadableStream<Uint8Array>({
        pull: (controller) => (left-- > 0 ? controller.enqueue(piece) : controller.close()),
      });
    };
    const over = MAX_FILE_BYTES / piece.length + 1;
    expect(await code(await put("over", pieces(over)))).toBe("413 body_too_large");
    expect((await list()).data).toEqual([]);
    const made = await put("large", pieces(9));
    const whole = new Uint8Array(9 * piece.length).fill(7);
    expect(await made.json()).toMatchObject({ size: whole.length, sha256: await sha256(whole) });
    expect((await (await get("large")).arrayBuffer()).byteLength).toBe(whole.length);
  });

  it("keeps no more files and bytes than permitted", async () => {
    limits = { files: 2, bytes: 10 };
    await putWithin("a", "12345");
    await putWithin("b", "1234");
    const files = { code: "workspace_full", members: { what: "files", limit: 2 } };
    expect(await putWithin("c", "")).toMatchObject(files);
    expect(await putWithin("b", "123456")).toMatchObject({ code: "workspace_full" });
    expect(await putWithin("b", "12345")).toBe(200);
    await remove("a");
    expect(await putWithin("c", "12345")).toBe(201);
  });
});

describe("two writers", async () => {
  const oldDigest = await sha256("old text");

  it("the later one wins, unless it names the version that it expects", async () => {
    await put("f", "one");
    const tag = `"${await sha256("one")}"`;
    expect((await put("f", "two", { "if-match": tag })).status).toBe(200);
    expect(await code(await put("f", "three", { "if-match": tag }))).toBe("412 precondition_failed");
    expect(await code(await put("f", "three", { "if-match": `W/"${await sha256("two")}"` }))).toMatch(/^412/);
    expect(await code(await put("f", "three", { "if-none-match": "*" }))).toMatch(/^412/);
    expect(await code(await put("f", "three", { "if-none-match": tag }))).toBe("400 bad_request");
    expect(await code(await put("new", "x", { "if-match": "*" }))).toMatch(/^412/);
    expect((await put("new", "x", { "if-none-match": "*" })).status).toBe(201);
    expect(await code(await remove("f", { "if-match": tag }))).toMatch(/^412/);
    expect((await remove("f", { "if-match": `"x", "${await sha256("two")}"` })).status).toBe(204);
  });

  it.each([
    ["creates a file", { "if-none-match": "*" }, 201],
    ["changes a file", { "if-match": `"${oldDigest}"` }, 200],
  ])("one that %s and whose answer was lost learns that it did", async (_, headers, status) => {
    const text = "new text";
    if (status === 200) await put("f", "old text");
    let lost = 0;
    const stub = (target: ReturnType<typeof object>) =>
      new Proxy(target, {
        get: (real, member) => async (question: unknown) => {
          const answer = await Reflect.apply(Reflect.get(real, member), real, [question]);
          if (!String(question).includes('"changeFiles"') || lost++ > 0) return answer;
          throw Object.assign(new Error("Network connection lost."), { retryable: true });
        },
      });
    const far = new Client();
    const { SESSIONS } = far.env;
    far.env.SESSIONS = new Proxy(SESSIONS, {
      get: (target, member) =>
        member === "get"
          ? (name: DurableObjectId) => stub(target.get(name))
          : Reflect.get(target, member).bind(target),
    });
    const init = { method: "PUT", body: text, headers };
    expect((await far.fetch(`/sessions/${id}/files/f`, init)).status).toBe(status);
    expect([lost, await (await get("f")).text()]).toEqual([2, text]);
    expect(await code(await put("f", text, { "if-none-match": "*" }))).toMatch(/^412/);
    await within((w) => w.collect(Date.now() + SPARE_MS + 1));
    expect(await (await get("f")).text()).toBe(text);
  });

  it("one of ten concurrent ones that expect the same version passes", async () => {
    await put("f", "start");
    const headers = { "if-match": `"${await sha256("start")}"` };
    const all = await Promise.all(Array.from({ length: 10 }, (_, n) => put("f", `writer ${n}`, headers)));
    expect(all.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)]);
    const winner = all.findIndex(({ status }) => status === 200);
    expect(await (await get("f")).text()).toBe(`writer ${winner}`);
  });
});

describe("contents", () => {
  const later = (ms: number) => within((w) => w.collect(Date.now() + ms));

  it("are stored once, live as long as a file has them, and a while longer", async () => {
    await put("a", "same");
    await put("b", "same");
    await later(1);
    expect(await objects()).toHaveLength(1);
    await remove("a");
    await later(SPARE_MS + 1);
    expect(await (await get("b")).text()).toBe("same");
    await remove("b");
    expect(await within((w) => w.due())).toBeGreaterThan(Date.now());
    await later(SPARE_MS / 2);
    expect(await objects()).toHaveLength(1);
    await put("c", "same");
    await later(SPARE_MS + 1);
    expect(await (await get("c")).text()).toBe("same");
    await remove("c");
    await later(SPARE_MS + 1);
    expect(await objects()).toEqual([]);
    expect(await within((w) => w.due())).toBeNull();
  });

  it("are removed if they never became a file, uploads in parts too", async () => {
    const start = Date.now();
    const begun = await access.beginFile({ path: "f", expected: null, size: null });
    if ("refused" in begun) return expect.fail();
    await env.FILES.put(begun.key, "left behind");
    const parts = await stored("g", "x");
    const key = parts.kind === "write" ? (parts.key ?? "") : "";
    const upload = await env.FILES.createMultipartUpload(key);
    await access.noteUpload(key, upload.uploadId);
    await within((w) => w.collect(start + USE_MS - 1));
    expect(await objects()).toHaveLength(2);
    await later(USE_MS + 1);
    expect(await objects()).toEqual([]);
    await expect(upload.uploadPart(1, "x")).rejects.toThrow();
    expect(await access.changeFiles([parts])).toEqual([{ refused: "content" }]);
  });

  it("one that is being removed is not given to a new file", async () => {
    const late = await stored("b", "text");
    await put("a", "text");
    await remove("a");
    const bucket = vi.spyOn(env.FILES, "delete").mockRejectedValueOnce(new TypeError("R2 is down"));
    await expect(later(SPARE_MS + 1)).rejects.toThrow("R2 is down");
    bucket.mockRestore();
    expect(await access.contents([await sha256("text")])).toEqual([null]);
    expect(await access.changeFiles([late])).toMatchObject([{ done: "created" }]);
    await later(2 * SPARE_MS);
    expect(await (await get("b")).text()).toBe("text");
    expect(await objects()).toHaveLength(1);
  });

  it("are removed with the workspace; what follows is a new one", async () => {
    await put("a", "x");
    const { id: first } = await access.workspaceVersion();
    const late = await stored("b", "y");
    await within((w) => w.destroy());
    expect([await objects(), (await list()).data]).toEqual([[], []]);
    expect(await access.changeFiles([late])).toEqual([{ refused: "content" }]);
    expect((await access.workspaceVersion()).id).not.toBe(first);
    const emptied = env.SESSIONS.get(env.SESSIONS.idFromName(id));
    await runInDurableObject(emptied, async (_, { storage }) => {
      const workspace = new Workspace({ storage, bucket: env.FILES, prefix: prefix() });
      workspace.version();
      await storage.deleteAll();
      expect([workspace.list(null, 1), workspace.due()]).toEqual([[], null]);
      expect(workspace.version().version).toBe(0);
    });
  });
});

describe("changes", () => {
  it("are reported by kind, in order, each once; a rewrite with the same bytes is no change", async () => {
    for (const text of ["1", "1", "2"]) await access.changeFiles([await stored("a", text)]);
    const both = [await stored("b", "3"), { kind: "delete", path: "a", expected: null } as const];
    await access.changeFiles([...both, { kind: "delete", path: "a", expected: null }]);
    const made = [
      { path: "a", kind: "create", version: 1 },
      { path: "a", kind: "change", version: 2 },
      { path: "b", kind: "create", version: 3 },
      { path: "a", kind: "delete", version: 4 },
    ];
    expect(told).toEqual(made);
    expect(await access.workspaceManifest()).toMatchObject({
      version: 4,
      files: [{ path: "b", size: 1, executable: false }],
    });
  });

  it("from long ago are forgotten", async () => {
    const old = await stored("b", "0");
    const write = await stored("a", "1");
    const again = { ...write, key: null };
    const turn = [again, { kind: "delete", path: "a", expected: null } as const];
    await access.changeFiles([old, write, ...Array.from({ length: 5001 }, () => turn).flat()]);
    expect(await within((w) => [w.changedAt("a"), w.changedAt("b")])).toEqual([expect.any(Number), null]);
  });
});

describe("the session", () => {
  const sql = (query: string) =>
    runInDurableObject(object(), (_, { storage }) => storage.sql.exec(query).toArray());
  const alarm = () => runInDurableObject(object(), (_, { storage }) => storage.getAlarm());

  it.each([
    ["a change of a file", () => put("a", "1")],
    ["a command", () => remote().workspaceVersion()],
  ])("of a container expires some time after its last use, %s", async (_, use) => {
    const expires_after = { anchor: "last_active_at", minutes: 20 };
    const made = await post("/v1/containers", { name: "box", expires_after });
    id = (await made.json<{ id: string }>()).id;
    const pass = async (minutes: number): Promise<number> => {
      await sql(`UPDATE session SET updated_at = updated_at - ${minutes * 60_000}`);
      await evictDurableObject(object());
      return (await client.fetch(`/v1/containers/${id}`)).status;
    };
    expect(await pass(15)).toBe(200);
    await use();
    expect([await pass(15), await pass(15)]).toEqual([200, 404]);
  });

  it("stores nothing about files if it has none, keeps them over an eviction, cleans up by its alarm", async () => {
    await list();
    expect((await get("a")).status).toBe(404);
    expect(await sql("SELECT name FROM sqlite_master WHERE name LIKE 'workspace%'")).toEqual([]);
    await put("a", "one");
    await evictDurableObject(object());
    expect(await (await get("a")).text()).toBe("one");
    await remove("a");
    expect(await alarm()).toBeLessThanOrEqual(Date.now() + SPARE_MS);
    await sql("UPDATE workspace_object SET due_at = 1");
    await sql("UPDATE due SET at = 1 WHERE kind = 'files'");
    // A session keeps its own table in memory.
    await evictDurableObject(object());
    await runDurableObjectAlarm(object());
    await vi.waitFor(async () => expect(await objects()).toEqual([]), 20_000);
    await vi.waitFor(async () => expect(await alarm()).toBeNull(), 20_000);
  });

  it("removes everything with itself, also what is still arriving; another one of its name starts empty", async () => {
    const workspace = remote();
    await put("a", "one");
    const begun = await workspace.beginFile(null);
    if ("refused" in begun) return expect.fail();
    const upload = await env.FILES.createMultipartUpload(begun.key);
    await workspace.noteUpload(begun.key, upload.uploadId);
    const first = await workspace.workspaceVersion();
    expect((await client.fetch(`/sessions/${id}`, { method: "DELETE" })).status).toBe(204);
    await expect(upload.uploadPart(1, "x")).rejects.toThrow();
    // A request that was on its way comes to its end.
    await env.FILES.put(begun.key, "late");
    const late = { kind: "write", path: "f", key: begun.key, sha256: await sha256("late"), size: 4 } as const;
    const change = { ...late, executable: null, expected: null };
    await expect(workspace.changeFiles([change])).rejects.toMatchObject({ code: "not_found" });
    expect(await objects()).toEqual([]);
    expect(await code(await put("a", "x"))).toBe("404 not_found");
    await post("/sessions", { id });
    expect((await list()).data).toEqual([]);
    await env.FILES.put(begun.key, "late");
    expect(await workspace.changeFiles([change])).toEqual([{ refused: "content" }]);
    expect((await workspace.workspaceVersion()).id).not.toBe(first.id);
    await within((w) => w.collect(Date.now() + 1));
    expect(await objects()).toEqual([]);
  });
});
