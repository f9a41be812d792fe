/** `/v1/files`, and the errors below `/v1`, as the vendors' own clients see them, against a real `hull dev`. */
import Anthropic, * as current from "@anthropic-ai/sdk";
import LegacyAnthropic, { AuthenticationError as LegacyAuthenticationError } from "anthropic-sdk-legacy";
import OpenAI, { AuthenticationError, NotFoundError } from "openai";
import OpenAI7 from "openai-7";
import { describe, expect, test } from "vitest";
import { commonHull, keyOf } from "../support/common-hull.ts";

const { hull, fake } = await commonHull({}, "keyed");
const KEY = await keyOf(hull, "v1-files");

/** What a client sent: method, path with query, and headers. */
interface Sent {
  line: string;
  headers: Headers;
}
const sent: Sent[] = [];
const recording = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
  const request = new Request(input, init);
  const { pathname, search } = new URL(request.url);
  sent.push({ line: `${request.method} ${pathname}${search}`, headers: request.headers });
  return fetch(input, init);
};
const take = (): Sent[] => sent.splice(0);

const at = { apiKey: KEY, fetch: recording };
const ga = new Anthropic({ ...at, baseURL: hull.url });
const legacy = new LegacyAnthropic({ ...at, baseURL: hull.url });
const openai = new OpenAI({ ...at, baseURL: `${hull.url}/v1` });
const openai7 = new OpenAI7({ ...at, baseURL: `${hull.url}/v1` });

const file = (name: string, content: string | Uint8Array = "a,b\n") =>
  current.toFile(Buffer.from(content), name, { type: "text/csv" });
const caught = (call: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(call).then(
    () => expect.fail("it was to fail"),
    (error: unknown) => error,
  );

describe("files", () => {
  test("@anthropic-ai/sdk 1.12.0: upload, metadata, list, refused download, deletion", async () => {
    const made = await ga.files.upload({ file: await file("b.csv"), expires_in_seconds: 3600 });
    expect(made).toMatchObject({ type: "file", filename: "b.csv", size_bytes: 4, downloadable: false });
    expect(Date.parse(made.expires_at ?? "")).toBeGreaterThan(Date.now() + 3_500_000);
    expect((await ga.files.retrieveMetadata(made.id)).id).toBe(made.id);
    const refused = await caught(ga.files.download(made.id));
    expect(refused).toBeInstanceOf(Anthropic.FileNotDownloadableError);
    expect(refused).toMatchObject({ status: 400, errorCode: "file_not_downloadable" });
    expect((await ga.files.list({ ids: [made.id, "file_none"] })).data.map(({ id }) => id)).toEqual([
      made.id,
    ]);
    const ids = [made.id];
    for (const name of ["1", "2", "3"]) ids.unshift((await ga.files.upload({ file: await file(name) })).id);
    const seen: string[] = [];
    for await (const { id } of ga.files.list({ limit: 2 })) seen.push(id);
    expect(seen).toEqual(ids);
    for (const id of ids) expect(await ga.files.delete(id)).toEqual({ id, type: "file_deleted" });
  });

  test("@anthropic-ai/sdk 0.117.1: upload, metadata, list, deletion", async () => {
    const ids: string[] = [];
    for (const name of ["1", "2", "3"]) {
      ids.unshift((await legacy.beta.files.upload({ file: await file(name) })).id);
    }
    expect(await legacy.beta.files.retrieveMetadata(ids[0] ?? "")).not.toHaveProperty("expires_at");
    const seen: string[] = [];
    for await (const { id } of legacy.beta.files.list({ limit: 2 })) seen.push(id);
    expect(seen).toEqual(ids);
    for (const id of ids) expect((await legacy.beta.files.delete(id)).type).toBe("file_deleted");
  });

  test("openai: upload, metadata, list, download, deletion", async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(65_536));
    const large = Buffer.concat(Array.from({ length: 160 }, () => bytes));
    for (const client of [openai, openai7]) {
      const made = await client.files.create({
        file: await file("b.csv", large),
        purpose: "assistants",
        expires_after: { anchor: "created_at", seconds: 3600 },
      });
      expect(made).toMatchObject({
        object: "file",
        bytes: large.length,
        purpose: "assistants",
        filename: "b.csv",
      });
      expect((await client.files.retrieve(made.id)).expires_at).toBeGreaterThan(Date.now() / 1000);
      expect((await client.files.list({ purpose: "assistants" })).data.map(({ id }) => id)).toEqual([
        made.id,
      ]);
      const content = Buffer.from(await (await client.files.content(made.id)).arrayBuffer());
      expect(content.equals(large)).toBe(true);
      expect(await client.files.delete(made.id)).toMatchObject({ id: made.id, deleted: true });
    }
  });
});

describe("errors", () => {
  test("have the class that each SDK has for them, with the id of the request and Hull's text", async () => {
    const unknown = await caught(ga.files.retrieveMetadata("file_none"));
    expect(unknown).toBeInstanceOf(current.NotFoundError);
    expect(unknown).toMatchObject({ type: "not_found_error", requestID: expect.stringMatching(/^\w/) });
    expect(unknown).toMatchObject({ apiMessage: expect.stringContaining('There is no file "file_none"') });
    const other = await caught(openai.files.retrieve("file_none"));
    expect(other).toBeInstanceOf(NotFoundError);
    expect(other).toMatchObject({
      code: "file_not_found",
      type: "not_found_error",
      requestID: expect.any(String),
    });
    const large = await caught(ga.files.upload({ file: await file("x", new Uint8Array(20_000_001)) }));
    expect(large).toBeInstanceOf(current.ContentTooLargeError);
    expect(large).toMatchObject({ status: 413, type: "request_too_large", requestID: expect.any(String) });
    expect(String(large)).toContain("limits.max_file_bytes");
    expect(
      (await caught(openai.embeddings.create({ input: "x", model: "x" }))) instanceof NotFoundError,
    ).toBe(true);
  });

  test("of a wrong key point to the key", async () => {
    const key = { apiKey: "wrong", maxRetries: 0 };
    const anthropic = await caught(new Anthropic({ ...key, baseURL: hull.url }).skills.list());
    expect(anthropic).toBeInstanceOf(current.AuthenticationError);
    const older = await caught(new LegacyAnthropic({ ...key, baseURL: hull.url }).beta.skills.list());
    expect(older).toBeInstanceOf(LegacyAuthenticationError);
    const other = await caught(new OpenAI({ ...key, baseURL: `${hull.url}/v1` }).skills.list());
    expect(other).toBeInstanceOf(AuthenticationError);
    for (const error of [anthropic, older, other]) expect(String(error)).toContain("API key is not known");
  });
});

describe("messages name stored files by their ids", () => {
  const encoded = (text: string): string => Buffer.from(text).toString("base64");
  const stored = async (name: string, type: string, content: string): Promise<string> =>
    (await ga.files.upload({ file: await current.toFile(Buffer.from(content), name, { type }) })).id;
  const named = (type: "document" | "image", file_id: string) => ({
    type,
    source: { type: "file", file_id },
  });
  const message = (model: string, content: object[], key = KEY) =>
    new Anthropic({ apiKey: key, baseURL: hull.url, maxRetries: 0 }).messages.create({
      model,
      max_tokens: 20,
      messages: [{ role: "user", content: JSON.parse(JSON.stringify(content)) }],
    });

  test.each(["claude-opus-4-6", "gpt-4o"])("from Anthropic's clients, for %s", async (model) => {
    const pdf = await stored("d.pdf", "application/pdf", "%PDF-1.4");
    const csv = await stored("d.csv", "text/csv", "a,b\n");
    const png = await stored("d.png", "image/png", "PNG");
    const result = { type: "tool_result", tool_use_id: "t", content: [named("image", png)] };
    await new Anthropic({ apiKey: KEY, baseURL: hull.url }).messages.create({
      model,
      max_tokens: 20,
      messages: JSON.parse(
        JSON.stringify([
          { role: "assistant", content: [{ type: "tool_use", id: "t", name: "draw", input: {} }] },
          { role: "user", content: [result, named("document", pdf), named("document", csv)] },
        ]),
      ),
    });
    const body = JSON.stringify(fake.requests[0]?.body);
    for (const part of [encoded("%PDF-1.4"), JSON.stringify("a,b\n").slice(1, -1), encoded("PNG")])
      expect(body).toContain(part);
    for (const id of [pdf, csv, png]) expect(body).not.toContain(id);
  });

  test.each(["claude-opus-4-6", "gpt-4o"])("from OpenAI's clients, for %s", async (model) => {
    const file_id = await stored("d.pdf", "application/pdf", "%PDF-1.4");
    const messages = [{ role: "user" as const, content: [{ type: "file" as const, file: { file_id } }] }];
    await openai.chat.completions.create({ model, messages });
    expect(JSON.stringify(fake.requests[0]?.body)).toContain(encoded("%PDF-1.4"));
  });

  test("and refuse other types, too much content and unknown ids, except ids that Anthropic may know", async () => {
    const zip = await stored("d.zip", "application/zip", "PK\0");
    await expect(message("gpt-4o", [named("document", zip)])).rejects.toThrow(
      "messages.0.content.0.source.file_id: the file is application/zip, and not a PDF file or text",
    );
    await expect(message("gpt-4o", [named("image", zip)])).rejects.toThrow("and not an image");
    const half = await stored("half.pdf", "application/pdf", "x".repeat(11 * 1024 * 1024));
    await expect(message("gpt-4o", [named("document", half), named("document", half)])).rejects.toThrow(
      "messages.0.content.1: the files of a request have at most 20971520 bytes together",
    );
    const other = await keyOf(hull, "v1-files-other");
    const foreign = await caught(message("claude-opus-4-6", [named("document", zip)], other));
    expect(foreign).toBeInstanceOf(current.NotFoundError);
    await expect(message("gpt-4o", [named("document", "file_011CN")])).rejects.toThrow(
      "only models of Anthropic take the type document of a file that is not stored here, file_011CN;",
    );
    expect(fake.requests).toEqual([]);
    await message("claude-opus-4-6", [named("document", "file_011CN")]);
    expect(JSON.stringify(fake.requests[0]?.body)).toContain("file_011CN");
  });
});

test("the headers that each client sends distinguish the dialects", async () => {
  await ga.skills.list();
  await legacy.beta.skills.list();
  await legacy.beta.files.list();
  await openai.skills.list();
  await openai7.files.list();
  await ga.files.list({ ids: ["file_1", "file_2"] });
  const names = ["authorization", "x-api-key", "anthropic-version", "anthropic-beta"];
  const shown = take()
    .slice(-6)
    .map(({ line, headers }) => [decodeURIComponent(line), ...names.map((name) => headers.get(name))]);
  const bearer = `Bearer ${KEY}`;
  expect(shown).toEqual([
    ["GET /v1/skills", bearer, null, "2026-10-21", null],
    ["GET /v1/skills?beta=true", null, KEY, "2023-06-01", "skills-2025-10-02"],
    ["GET /v1/files?beta=true", null, KEY, "2023-06-01", "files-api-2025-04-14"],
    ["GET /v1/skills", bearer, null, null, null],
    ["GET /v1/files", bearer, null, null, null],
    ["GET /v1/files?ids[]=file_1&ids[]=file_2", bearer, null, "2026-10-21", null],
  ]);
});
