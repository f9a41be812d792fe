/** `/files` for two tenants: in, out, and gone. */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { sha256 } from "../../src/bytes.ts";
import type { FileDocument } from "../../src/run/answers.ts";
import { chunked, MAX_BODY_BYTES, MB, noise, problem, Tenants, utf8 } from "./tenants.ts";

const tenants = new Tenants();
beforeAll(() => tenants.begin("acme", "other"));
afterEach(() => vi.restoreAllMocks());

const call = tenants.call.bind(tenants);
const upload = (body: BodyInit | null, headers: Record<string, string> = {}, query = ""): Promise<Response> =>
  call(`/files${query}`, { method: "POST", body, headers });

describe("POST /files", () => {
  it.each([
    ["declared", 5],
    ["chunked", 5],
    ["declared", 9 * MB],
    ["chunked", 9 * MB],
    ["chunked", 17 * MB],
  ])("keeps a raw body of any length: %s, %i bytes", async (how, size) => {
    const bytes = noise(size);
    const headers = {
      "content-type": "image/png",
      ...(how === "declared" ? { "content-length": `${size}` } : {}),
    };
    const response = await upload(
      how === "declared" ? bytes : chunked(bytes),
      headers,
      "?filename=%C3%A9.png",
    );
    const file = await response.json<FileDocument>();
    expect([response.status, response.headers.get("location")]).toEqual([201, `/files/${file.id}`]);
    expect(file).toEqual({
      id: expect.stringMatching(/^file_01[0-9a-f]{30}$/),
      filename: "é.png",
      mime: "image/png",
      size,
      sha256: await sha256(bytes),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      expires_at: new Date(Date.parse(file.created_at) + 86_400_000).toISOString(),
    });
    const back = await call(`/files/${file.id}`);
    expect(await sha256(new Uint8Array(await back.arrayBuffer()))).toBe(file.sha256);
  });

  it.each([
    [{ "content-type": "text/csv; charset=utf-8" }, "", ["text/csv; charset=utf-8", null]],
    [{ "content-disposition": 'attachment; filename="a b.csv"' }, "", ["text/csv; charset=utf-8", "a b.csv"]],
    [
      { "content-disposition": "inline; filename*=UTF-8''%D1%84.bin" },
      "",
      ["application/octet-stream", "ф.bin"],
    ],
    [
      { "content-disposition": "attachment; filename=x" },
      "?filename=y.md",
      ["text/markdown; charset=utf-8", "y.md"],
    ],
    [
      { "content-type": "application/x-www-form-urlencoded" },
      "?filename=a.pdf",
      ["application/pdf", "a.pdf"],
    ],
    [{ "content-type": "nonsense" }, "?filename=a.pdf", ["application/octet-stream", "a.pdf"]],
  ])("takes type and name from the request: %j %s", async (headers, query, [mime, filename]) => {
    const file = await (await upload(utf8("x"), headers as Record<string, string>, query)).json();
    expect(file).toMatchObject({ mime, filename });
  });

  it("takes the one file of a form, whatever fields are next to it", async () => {
    const form = new FormData();
    form.append("purpose", "x".repeat(100_000));
    form.append("file", new File(["one,two"], 'a "b".csv', { type: "text/csv" }));
    form.append("empty", new File([], "", { type: "application/octet-stream" }));
    const file = await (await upload(form)).json<FileDocument>();
    expect(file).toMatchObject({ filename: 'a "b".csv', mime: "text/csv", size: 7 });
    expect(await (await call(`/files/${file.id}`)).text()).toBe("one,two");
  });

  const twoFiles = new FormData();
  twoFiles.append("a", new File(["1"], "1"));
  twoFiles.append("b", new File(["2"], "2"));
  const noFile = new FormData();
  noFile.append("file", "not a file");
  const form = { "content-type": "multipart/form-data; boundary=b" };
  const part = '--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n';
  it.each<[string, BodyInit | null, Record<string, string>, string, unknown]>([
    ["two files", twoFiles, {}, "", { status: 422, code: "input_invalid", errors: [{ path: "b" }] }],
    ["a form without a file", noFile, {}, "", { status: 422, code: "file_required" }],
    ["an empty body", null, {}, "", { status: 422, code: "file_required" }],
    ["an invalid form", "x", form, "", { status: 400, code: "malformed_multipart" }],
    [
      "a form that is cut off",
      `${part}${"x".repeat(100)}`,
      form,
      "",
      { status: 400, code: "malformed_multipart" },
    ],
    ["a name with a line break", "x", {}, "?filename=a%0Ab", { status: 422, errors: [{ path: "filename" }] }],
    ["a name with U+0085", "x", {}, "?filename=a%C2%85b", { status: 422, errors: [{ path: "filename" }] }],
    ["a long name", "x", {}, `?filename=${"é".repeat(128)}`, { status: 422, errors: [{ path: "filename" }] }],
    [
      "half a name",
      "x",
      { "content-disposition": 'a; filename="x' },
      "",
      { status: 400, code: "bad_request" },
    ],
    ["half a key", "x", { "idempotency-key": "" }, "", { status: 400, code: "bad_request" }],
    [
      "a declared length over the limit",
      "x",
      { "content-length": `${MAX_BODY_BYTES + 1}` },
      "",
      { status: 413, limit: MAX_BODY_BYTES },
    ],
  ])("refuses %s, and keeps nothing", async (_, body, headers, query, expected) => {
    const before = await tenants.stored("files/acme/");
    const response = await call(`/files${query}`, { method: "POST", body, headers });
    expect(await problem(response)).toMatchObject(expected as object);
    expect(await tenants.stored("files/acme/")).toEqual(before);
    expect(await tenants.noted("acme")).toEqual(before);
  });

  it.each([
    ["raw", (bytes: Uint8Array) => [bytes]],
    ["form", (bytes: Uint8Array) => [utf8(part), bytes, utf8("\r\n--b--")]],
  ])("counts the bytes that arrive: %s", async (how, pieces) => {
    const before = await tenants.stored("files/acme/");
    const body = new Blob(pieces(new Uint8Array(MAX_BODY_BYTES + 1))).stream();
    const headers = how === "form" ? form : { "content-type": "image/png" };
    const response = await upload(chunked(new Uint8Array(await new Response(body).arrayBuffer())), headers);
    expect(await problem(response)).toMatchObject({
      status: 413,
      code: "body_too_large",
      limit: MAX_BODY_BYTES,
    });
    expect(await tenants.stored("files/acme/")).toEqual(before);
  });

  it.each([
    ["at once", 5],
    ["in parts", 17 * MB],
  ])("keeps a body that R2 refuses once, stored %s", async (_, size) => {
    const { FILES } = tenants.client.env;
    let refused = 0;
    const once = <Given extends unknown[], Made>(work: (...given: Given) => Promise<Made>) => {
      let asked = 0;
      return (...given: Given): Promise<Made> => {
        if (asked++ > 0) return work(...given);
        refused += 1;
        return Promise.reject(new Error("We encountered an internal error. Please try again. (10001)"));
      };
    };
    const begin = async (...given: Parameters<R2Bucket["createMultipartUpload"]>) => {
      const parts = await FILES.createMultipartUpload(...given);
      const { key, uploadId } = parts;
      return {
        key,
        uploadId,
        uploadPart: once(parts.uploadPart.bind(parts)),
        complete: parts.complete.bind(parts),
      };
    };
    tenants.client.env.FILES = Object.create(FILES, {
      put: { value: once(FILES.put.bind(FILES)) },
      get: { value: FILES.get.bind(FILES) },
      createMultipartUpload: { value: begin },
    });
    const bytes = noise(size);
    const response = await upload(chunked(bytes)).finally(() => {
      tenants.client.env.FILES = FILES;
    });
    const { id, sha256: digest } = await response.json<FileDocument>();
    expect([response.status, digest, refused]).toEqual([201, await sha256(bytes), 1]);
    const got = new Uint8Array(await (await call(`/files/${id}`)).arrayBuffer());
    expect([got.length, await sha256(got)]).toEqual([size, digest]);
  });

  it("makes one file of uploads with the same Idempotency-Key, and refuses another upload with it", async () => {
    const send = (text: string, key: string, query = "?filename=a.txt") =>
      upload(utf8(text), { "content-type": "text/plain", "idempotency-key": key }, query);
    const both = await Promise.all([send("same", "k1"), send("same", "k1")]);
    const [a, b] = await Promise.all(both.map((response) => response.json<FileDocument>()));
    expect(b).toEqual(a);
    expect(both.map(({ headers }) => headers.get("x-hull-replayed")).sort()).toEqual(["1", null]);
    expect(await tenants.stored("files/acme/")).toContain(`files/acme/${a?.id}`);
    const count = (await tenants.noted("acme")).length;
    const again = await send("same", "k1");
    expect([again.status, await again.json()]).toEqual([201, a]);
    for (const other of [await send("other", "k1"), await send("same", "k1", "?filename=b.txt")]) {
      expect(await problem(other)).toMatchObject({ status: 422, code: "idempotency_key_reused" });
    }
    expect((await tenants.stored("files/acme/")).length).toBe(count);
    // Another tenant's key of the same name is another key.
    const theirs = await call("/files", {
      tenant: "other",
      method: "POST",
      body: "x",
      headers: { "idempotency-key": "k1" },
    });
    expect(theirs.headers.get("x-hull-replayed")).toBe(null);
    expect((await call(`/files/${a?.id}`, { method: "DELETE" })).status).toBe(204);
    const anew = await send("same", "k1");
    expect([anew.status, (await anew.json<FileDocument>()).id]).not.toEqual([201, a?.id]);
  });
});

describe("GET /files/:id", () => {
  it.each([
    ["text/plain", "inline"],
    ["image/svg+xml", "attachment"],
    ["text/html; charset=utf-8", "attachment"],
    ["application/xml", "attachment"],
    ["text/rdf", "attachment"],
    ["multipart/x-mixed-replace; boundary=x", "attachment"],
  ])("%s is %s", async (mime, disposition) => {
    const { id } = await tenants.uploaded("hi", mime, "a.x");
    const { headers } = await call(`/files/${id}`);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": mime,
      "content-disposition": `${disposition}; filename="a.x"; filename*=UTF-8''a.x`,
      "content-length": "2",
      "accept-ranges": "bytes",
      "x-content-type-options": "nosniff",
      "cache-control": "private, no-cache",
    });
  });

  it.each([
    ["../../x", "x", "x"],
    ["..\\..\\é.txt", "_.txt", "%C3%A9.txt"],
    ["/etc/passwd", "passwd", "passwd"],
    ["..%2f..%2fx", ".._2f.._2fx", "..%252f..%252fx"],
    ["a/..", "download", "download"],
    ["a/", "download", "download"],
  ])("a download of %j is saved by its last part", async (filename, ascii, exact) => {
    const { id } = await tenants.uploaded("hi", "text/plain", filename);
    expect((await call(`/files/${id}`)).headers.get("content-disposition")).toBe(
      `inline; filename="${ascii}"; filename*=UTF-8''${exact}`,
    );
  });

  it("answers HEAD, If-None-Match, ranges and If-Range", async () => {
    const { id } = await tenants.uploaded("0123456789", "text/plain");
    const get = async (headers: Record<string, string>, method = "GET") => {
      const response = await call(`/files/${id}`, { headers, method });
      return [response.status, await response.text(), response.headers.get("content-range")];
    };
    const etag = (await call(`/files/${id}`)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(await get({}, "HEAD")).toEqual([200, "", null]);
    expect(await get({ "if-none-match": `"x", ${etag}` })).toEqual([304, "", null]);
    expect(await get({ range: "bytes=2-4" })).toEqual([206, "234", "bytes 2-4/10"]);
    expect(await get({ range: "bytes=-3" })).toEqual([206, "789", "bytes 7-9/10"]);
    expect(await get({ range: "bytes=8-" })).toEqual([206, "89", "bytes 8-9/10"]);
    expect(await get({ range: "bytes=0-1,3-4" })).toEqual([200, "0123456789", null]);
    expect(await get({ range: "bytes=2-4", "if-range": etag })).toEqual([206, "234", "bytes 2-4/10"]);
    expect(await get({ range: "bytes=2-4", "if-range": '"x"' })).toEqual([200, "0123456789", null]);
    expect(await get({ range: "bytes=2-4" }, "HEAD")).toEqual([200, "", null]);
    const bad = await call(`/files/${id}`, { headers: { range: "bytes=10-" } });
    expect([bad.headers.get("content-range"), await problem(bad)]).toEqual([
      "bytes */10",
      expect.objectContaining({ status: 416, code: "range_not_satisfiable" }),
    ]);
  });

  it("is 404 after DELETE, for another tenant, and for an invalid id, with the same answer", async () => {
    const { id } = await tenants.uploaded("hi", "text/plain");
    const unknown = `file_${"0".repeat(32)}`;
    const answer = async (file: string, method: string, tenant = "other") => {
      const { request_id, instance, ...rest } = await problem(
        await call(`/files/${file}`, { method, tenant }),
      );
      return JSON.parse(JSON.stringify(rest).replaceAll(file, "ID"));
    };
    for (const method of ["GET", "DELETE"]) {
      expect(await answer(id, method)).toEqual(await answer(unknown, method));
      expect(await answer("..%2fx", method)).toMatchObject({ status: 404, code: "file_not_found" });
    }
    expect((await call(`/files/${id}`, { method: "HEAD", tenant: "other" })).status).toBe(404);
    expect(await (await call(`/files/${id}`)).text()).toBe("hi");
    expect((await call(`/files/${id}`, { method: "DELETE" })).status).toBe(204);
    expect(await problem(await call(`/files/${id}`))).toMatchObject({ status: 404, file_id: id });
    expect(await answer(id, "DELETE", "acme")).toMatchObject({ status: 404 });
    expect(await tenants.stored("files/acme/")).not.toContain(`files/acme/${id}`);
  });

  it("a file that has expired does not exist, and the alarm removes it", async () => {
    const { id } = await tenants.uploaded("hi", "text/plain");
    const kept = await tenants.uploaded("later", "text/plain");
    const key = `files/acme/${id}`;
    // A whole day cannot be waited for, nor can an object's clock be set: this file's day is over.
    await runInDurableObject(tenants.index("acme"), (_, state) => {
      state.storage.sql.exec("UPDATE kept SET expires_at = 1 WHERE key = ?", key);
    });
    await runDurableObjectAlarm(tenants.index("acme"));
    expect(await tenants.stored("files/acme/")).not.toContain(key);
    expect(await tenants.noted("acme")).not.toContain(key);
    expect(await (await call(`/files/${kept.id}`)).text()).toBe("later");
    const due = await runInDurableObject(tenants.index("acme"), (_, state) => state.storage.getAlarm());
    expect(due).toBeGreaterThan(Date.now());
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 86_400_001);
    expect(await problem(await call(`/files/${kept.id}`))).toMatchObject({ status: 404 });
  });

  it("an alarm logs that R2 does not answer, and comes again", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { env } = tenants.client;
    const file = await (await upload("x")).json<FileDocument>();
    const index = tenants.index("acme");
    await runInDurableObject(index, (_, { storage }) => {
      storage.sql.exec("UPDATE kept SET expires_at = 1");
    });
    const away = new Error("We encountered an internal error. Please try again. (10001)");
    vi.spyOn(Object.getPrototypeOf(env.FILES), "delete").mockRejectedValueOnce(away);
    await runDurableObjectAlarm(index);
    expect(log.mock.calls.map(([line]) => JSON.parse(String(line)))).toEqual([
      { event: "files_not_removed", tenant: expect.stringContaining("acme"), error: String(away) },
    ]);
    expect(await env.FILES.head(`files/acme/${file.id}`)).not.toBeNull();
    const again = await runInDurableObject(index, (_, { storage }) => storage.getAlarm());
    expect(again).toBeGreaterThan(Date.now());
    await runDurableObjectAlarm(index);
    expect(await env.FILES.head(`files/acme/${file.id}`)).toBeNull();
  });

  it("an upload in parts leaves nothing if its Worker dies", async () => {
    const key = "files/acme/half";
    const upload = await tenants.client.env.FILES.createMultipartUpload(key);
    await tenants.index("acme").keep(key, 1, upload.uploadId);
    await runDurableObjectAlarm(tenants.index("acme"));
    expect(await tenants.noted("acme")).not.toContain(key);
    await expect(upload.uploadPart(1, "x")).rejects.toThrow();
  });
});
