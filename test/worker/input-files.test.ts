/** Files as input of runs: by id, of two tenants, and in forms. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { storeFile } from "../../src/run/files.ts";
import { FakeRunner } from "./fake-runner.ts";
import { Client, mockSkill } from "./served.ts";
import { chunked, MB, noise, problem, Tenants, utf8 } from "./tenants.ts";

const tenants = new Tenants();
const call = tenants.call.bind(tenants);
const script = (name: string, more = ""): string =>
  `---\nname: ${name}\ndescription: A script\nrun: [work]\n${more}---\nWorks.\n`;

let runner: FakeRunner;
beforeAll(async () => {
  await new Client().publish({
    text: script("text"),
    file: script("file", "input: file\n"),
    ten: script("ten", "input: file\nmax_input_bytes: 10\n"),
    csv: script("csv", "input: file\ninput_mime: [text/csv]\n"),
    json: script("json", "input: file\ninput_mime: application/json\n"),
    look: mockSkill("look", "input: file\n"),
    talk: mockSkill("talk"),
  });
  await tenants.begin("acme", "other");
});
beforeEach(() => {
  runner = new FakeRunner();
  vi.stubGlobal("fetch", runner.fetch);
});
afterEach(() => vi.unstubAllGlobals());

describe("files by id as input", () => {
  const json = { "content-type": "application/json" };
  const run = (slug: string, body: unknown, headers: Record<string, string> = {}, tenant = "acme") =>
    call(`/skills/${slug}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { ...json, ...headers },
      tenant,
    });
  const inputOf = () => [...runner.executions.values()].at(-1);

  it("reach a text skill in addition to its text, and a file skill as its files", async () => {
    const a = await tenants.uploaded("one", "text/csv; charset=utf-8", "a.csv");
    const b = await tenants.uploaded("two", "application/pdf");
    expect((await run("text", { input: { n: 1 }, files: [a.id, b.id, a.id] })).status).toBe(200);
    expect(inputOf()?.input).toEqual([
      ["a.csv", "one"],
      ["", "two"],
      ["a.csv", "one"],
      ["stdin", '{"n":1}'],
    ]);
    expect(inputOf()?.spec.input).toEqual({ mode: "stdin", mime: "text/csv", filename: "a.csv" });
    for (const slug of ["file", "csv", "json"]) {
      const response = await run(slug, { files: [a.id] });
      expect([slug, response.status]).toEqual([slug, slug === "json" ? 415 : 200]);
    }
    expect(inputOf()?.input).toEqual([["a.csv", "one"]]);
    expect(inputOf()?.spec.input).toEqual({ mode: "file", mime: "text/csv", filename: "a.csv" });
    const told = await (await run("look", { files: [a.id] })).text();
    expect(told).toContain('<file name="a.csv" type="text/csv">');
  });

  const unknown = `file_${"0".repeat(32)}`;
  it.each<[string, unknown, unknown]>([
    ["text", { input: "x", files: [unknown] }, { status: 404, code: "file_not_found", file_id: unknown }],
    ["file", { files: [unknown] }, { status: 404, file_id: unknown }],
    ["csv", { files: ["nonsense"] }, { status: 404, file_id: "nonsense" }],
    [
      "text",
      { input: "x", files: "file_x" },
      { status: 422, code: "input_invalid", errors: [{ path: "files" }] },
    ],
    ["text", { input: "x", files: ["file_x", 7] }, { status: 422, errors: [{ path: "files.1" }] }],
    ["text", { input: "x", files: Array(101).fill(unknown) }, { status: 422, errors: [{ path: "files" }] }],
    ["text", { input: "x", file: [] }, { status: 422, errors: [{ path: "file" }] }],
    ["text", { files: [unknown] }, { status: 422, code: "input_required" }],
    ["csv", { files: 7 }, { status: 422, errors: [{ path: "files" }] }],
    ["csv", { files: [unknown], input: "x" }, { status: 422, errors: [{ path: "input" }] }],
    ["csv", { files: [] }, { status: 422, code: "file_required" }],
    ["csv", { input: "x" }, { status: 422, code: "file_required" }],
  ])("%s %j → %j", async (slug, body, expected) => {
    expect(await problem(await run(slug, body))).toMatchObject(expected as object);
    expect(runner.begun).toEqual([]);
  });

  it("are the file itself where the skill takes JSON and nothing says otherwise", async () => {
    for (const body of [
      { files: [] },
      { files: ["a.js"] },
      { files: [unknown], more: 1 },
      [unknown],
      "x".repeat(70_000),
    ]) {
      expect((await run("json", body)).status).toBe(200);
      expect(inputOf()?.input).toEqual([["", JSON.stringify(body)]]);
    }
    expect(await problem(await run("json", { files: [unknown] }))).toMatchObject({ status: 404 });
  });

  it("S65: count together against max_input_bytes", async () => {
    const five = await tenants.uploaded("12345", "text/plain");
    const six = await tenants.uploaded("123456", "text/plain");
    expect((await run("ten", { files: [five.id, five.id] })).status).toBe(200);
    expect(await problem(await run("ten", { files: [five.id, six.id] }))).toMatchObject({
      status: 413,
      limit: 10,
    });
  });

  it("of another tenant are unknown; those of a run belong to its tenant", async () => {
    const mine = await tenants.uploaded("mine", "text/csv");
    expect(await problem(await run("csv", { files: [mine.id] }, {}, "other"))).toMatchObject({ status: 404 });
    const made = { filename: "made.csv", mime: "text/csv", size: 4, ttl_ms: 1000 };
    const { id } = await storeFile({ env: tenants.client.env, tenant: "other" }, made, utf8("made"));
    expect((await run("csv", { files: [id] }, {}, "other")).status).toBe(200);
    expect(inputOf()?.input).toEqual([["made.csv", "made"]]);
    expect(await problem(await run("csv", { files: [id] }))).toMatchObject({ status: 404 });
  });

  it("belong to a durable run: it answers the same call again when they are gone", async () => {
    const file = await tenants.uploaded("one", "text/plain", "a.txt");
    const headers = { "idempotency-key": "durable" };
    const first = await run("look", { files: [file.id] }, headers);
    const answer = await first.text();
    expect([first.status, answer]).toEqual([200, expect.stringContaining("one")]);
    await call(`/files/${file.id}`, { method: "DELETE" });
    const again = await run("look", { files: [file.id] }, headers);
    expect([again.status, again.headers.get("x-hull-replayed"), await again.text()]).toEqual([
      200,
      "1",
      answer,
    ]);
    expect(await problem(await run("look", { files: [unknown] }, headers))).toMatchObject({
      code: "idempotency_key_reused",
    });
    const late = await run("look", { files: [file.id] }, { prefer: "respond-async" });
    expect(await problem(late)).toMatchObject({ status: 404 });
  });
});

describe("a form as input", () => {
  it("S60: its files arrive complete, in memory or not, and none of them is left", async () => {
    const large = noise(9 * MB);
    const form = new FormData();
    form.append("a", new File([utf8("small")], "a.txt", { type: "text/plain" }));
    form.append("text", "the text");
    form.append("b", new File([large], "b.bin"));
    form.append("c", new File([noise(5 * MB)], "c.bin"));
    const response = await call("/skills/text", { method: "POST", body: form });
    expect(response.status).toBe(200);
    const [a, b, c, stdin] = [...runner.executions.values()].at(-1)?.input ?? [];
    expect([a, stdin]).toEqual([
      ["a.txt", "small"],
      ["stdin", "the text"],
    ]);
    expect(b).toEqual(["b.bin", new TextDecoder().decode(large)]);
    expect(c?.[1]).toBe(new TextDecoder().decode(noise(5 * MB)));
    await vi.waitFor(async () => expect(await tenants.stored("inputs/")).toEqual([]), 20_000);
    expect((await tenants.noted("acme")).filter((key) => key.startsWith("inputs/"))).toEqual([]);
  });

  it("names the same session as the URL, if both name one", async () => {
    const send = async (named: string) => {
      const form = new FormData();
      form.append("text", "a");
      form.append("session_id", named);
      return problem(await call("/skills/talk?session_id=one", { method: "POST", body: form }));
    };
    const detail = "The form and the URL name two sessions. Send session_id in one of the two places.";
    expect(await send("two")).toMatchObject({ status: 400, detail, option: "session_id" });
    expect((await send("one")).code).toBe("not_found");
  });

  it("a file skill ignores the text next to its file", async () => {
    const form = new FormData();
    form.append("text", "unused");
    form.append("a", new File(["x"], "a.txt", { type: "text/plain" }));
    expect((await call("/skills/file", { method: "POST", body: form })).status).toBe(200);
    expect([...runner.executions.values()].at(-1)?.input).toEqual([["a.txt", "x"]]);
  });

  it("is refused if its end shows that it is malformed or too long, and leaves nothing", async () => {
    const head = '--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n';
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    for (const [size, code] of [
      [9 * MB, "malformed_multipart"],
      [21 * MB, "body_too_large"],
    ] as const) {
      const body = chunked(utf8(head + "x".repeat(size)));
      expect(await problem(await call("/skills/text", { method: "POST", body, headers }))).toMatchObject({
        code,
      });
      await vi.waitFor(async () => expect(await tenants.stored("inputs/")).toEqual([]), 20_000);
    }
    const text = `--b\r\nContent-Disposition: form-data; name="text"\r\n\r\n`;
    for (const [value, status] of [
      ["\xff", 400],
      ["x".repeat(9 * MB), 413],
    ] as const) {
      const body = new Uint8Array([...value].length + text.length + 9);
      body.set(utf8(text));
      for (let at = 0; at < value.length; at += 1) body[text.length + at] = value.charCodeAt(at);
      body.set(utf8("\r\n--b--\r\n"), text.length + value.length);
      expect((await call("/skills/text", { method: "POST", body, headers })).status).toBe(status);
    }
    expect(runner.begun).toEqual([]);
  });
});
