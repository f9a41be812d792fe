/** What a request may send to a skill, and the errors for what it may not send. */
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { type Body, json, runHull } from "../support/hull-dev.ts";

const skill = (name: string, run: string, more = ""): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Test.\nrun: ${run}\n${more}---\nTest.\n`,
});
const LIST_FILES = `[bash, -c, 'cd "$HULL_INPUT_DIR"; for f in $(ls -A | tr " " "?"); do echo "$f:$(cat "$f")"; done; echo "first=$(cat "$HULL_INPUT_FILE") $HULL_INPUT_FILENAME $HUSK_INPUT_MIME"; cat']`;
const SCHEMA = [
  "input_schema:",
  "  type: object",
  "  required: [city]",
  "  properties: {city: {type: string}, days: {type: integer, minimum: 1}}",
  "",
].join("\n");

const { hull } = await commonHull({
  ...skill("text", "[cat]"),
  ...skill("files", LIST_FILES, "input: file\n"),
  ...skill(
    "csv-only",
    '[bash, -c, \'echo ran >> "$HOME/ran"; cat "$HULL_INPUT_FILE"\']',
    "input: file\ninput_mime: [text/csv, image/*]\n",
  ),
  ...skill("toml", "[cat]", "input_mime: [application/toml]\n"),
  ...skill("none", "[bash, -c, 'echo \"<$(cat)>\"']", "input: none\n"),
  ...skill("ten", "[cat]", "max_input_bytes: 10\n"),
  ...skill("ten-file", "[wc, -c]", "input: file\nmax_input_bytes: 10\n"),
  ...skill("schema", "[cat]", SCHEMA),
  ...skill("query", "[cat]", "method: GET\n"),
  ...skill("put", "[cat]", "method: put\n"),
});

const send = (path: string, type: string | null, body: Body): Promise<Response> =>
  hull.call(`/skills/${path}`, new Blob([typeof body === "string" ? body : ""]), {
    body: typeof body === "string" ? new TextEncoder().encode(body) : body,
    headers: type === null ? {} : { "content-type": type },
  });

describe("text", () => {
  test.each([
    [null, "plain", "plain"],
    ["text/plain", "", ""],
    ["text/markdown; charset=utf-8", "# Grüße", "# Grüße"],
    ["application/x-www-form-urlencoded", "a=1&b=%20", "a=1&b=%20"],
    ["application/xml", "<a/>", "<a/>"],
    ["application/yaml", "a: 1", "a: 1"],
    ["application/json", '"line\\nbreak"', "line\nbreak"],
    ["application/json", '{"input":{"a":1}}', '{"a":1}'],
    ["application/json", '{"input":[1, 2]}', "[1,2]"],
    ["application/json", '{"input":false}', "false"],
    ["application/ld+json", '{"input":"x"}', "x"],
  ])("S62: %s %j reaches stdin as %j", async (type, body, stdin) => {
    const response = await send("text", type, body);
    expect([response.status, await response.text()]).toEqual([200, stdin]);
  });

  test.each([
    ["application/json", '{"input": ', 400, { code: "malformed_json", offset: expect.any(Number) }],
    ["application/json", '{"a":1}', 422, { code: expect.stringMatching(/^input_/) }],
    ["application/json", "{}", 422, { code: "input_required" }],
    ["application/json", '{"input":null}', 422, { code: "input_required" }],
    ["application/json", "[1]", 422, { code: "input_invalid" }],
    ["application/json", "7", 422, { code: "input_invalid" }],
    ["application/json", "null", 422, { code: "input_invalid" }],
    ["image/png", "PNG", 415, { code: "unsupported_media_type", accepted: expect.any(Array) }],
    ["multipart/form-data", "x", 400, { code: "malformed_multipart" }],
    ["multipart/form-data; boundary=b", "--b\r\nnonsense", 400, { code: "malformed_multipart" }],
  ])("S61, S62, S64: %s %j is %i", async (type, body, status, members) => {
    const response = await send("text", type, body);
    expect([response.status, await json(response)]).toMatchObject([status, members]);
  });

  test("a text skill takes the types that its input_mime names, and names them where it refuses others", async () => {
    const taken = await send("toml", "application/toml", "a = 1");
    expect([taken.status, await taken.text()]).toEqual([200, "a = 1"]);
    const refused = await send("toml", "image/png", "PNG");
    const accepted = ["text/*", "application/json", "multipart/form-data", "application/toml"];
    expect([refused.status, await json(refused)]).toMatchObject([415, { accepted }]);
    expect((await send("text", "application/toml", "a = 1")).status).toBe(415);
  });

  test("invalid UTF-8 is 400 bad_encoding", async () => {
    const response = await hull.call("/skills/text", new Uint8Array([0xff, 0xfe]));
    expect([response.status, (await json(response)).code]).toEqual([400, "bad_encoding"]);
  });

  test.each(["text", "input", "prompt"])("multipart field %s", async (field) => {
    const form = new FormData();
    form.append("other", "not this");
    form.append(field, "from the form");
    expect(await (await hull.call("/skills/text", form)).text()).toBe("from the form");
  });

  test("GET takes the query; input: none drops the body; method: put is PUT", async () => {
    expect(await (await hull.call("/skills/query?input=a%20b")).text()).toBe("a b");
    expect(await (await hull.call("/skills/query?q=q")).text()).toBe("q");
    for (const body of ["dropped", new Uint8Array(20_000_000)])
      expect(await (await hull.call("/skills/none", body)).text()).toBe("<>\n");
    expect(await (await hull.call("/skills/put", "x", { method: "PUT" })).text()).toBe("x");
    expect((await hull.call("/skills/put", "x")).status).toBe(405);
  });
});

describe("files", () => {
  /** Runs of the skill csv-only so far. */
  let runs = 0;
  test("S60: all three files of a form are there, the first one as the input file", async () => {
    const form = new FormData();
    form.append("a", new Blob(["one"], { type: "text/csv" }), "a.csv");
    form.append("b", new Blob(["two"]), "../b b.txt");
    form.append("c", new Blob(["three"]), "c.bin");
    const response = await hull.call("/skills/files", form);
    const lines = (await response.text()).trim().split("\n");
    expect(response.status).toBe(200);
    expect(lines).toHaveLength(4);
    expect(lines).toContain("a.csv:one");
    expect(lines).toContain("c.bin:three");
    expect(lines.filter((line) => /^[^/]*b b\.txt:two$/.test(line))).toHaveLength(1);
    expect(lines).toContain("first=one a.csv text/csv");
  });

  test("a file of a form that has no type has the type of its name", async () => {
    const part = 'Content-Disposition: form-data; name="f"; filename="a.PNG"';
    const response = await send(
      "files",
      "multipart/form-data; boundary=b",
      `--b\r\n${part}\r\n\r\nPNG\r\n--b--\r\n`,
    );
    expect(await response.text()).toContain("first=PNG a.PNG image/png");
  });

  test("a raw body is the file and has no name", async () => {
    const response = await send("files", "application/pdf", "%PDF");
    expect(await response.text()).toContain("first=%PDF  application/pdf");
  });

  test.each([
    ["csv-only", "text/csv", "a,b", 200, "a,b"],
    ["csv-only", "image/png", "PNG", 200, "PNG"],
    ["csv-only", "application/pdf", "%PDF", 415, { accepted: ["text/csv", "image/*"] }],
    ["csv-only", "application/json", '{"input":1}', 422, { code: "file_required" }],
    ["files", "text/plain", "", 422, { code: "file_required" }],
  ])("S63, S25: %s with %s %j is %i", async (slug, type, body, status, expected) => {
    const response = await send(slug, type, body);
    const answer = status === 200 ? await response.text() : await json(response);
    expect([response.status, answer]).toEqual([
      status,
      typeof expected === "string" ? expected : expect.objectContaining(expected),
    ]);
    runs += slug === "csv-only" && status === 200 ? 1 : 0;
    // A refused call starts no process.
    expect(await readFile(`${hull.root}/home/ran`, "utf8")).toBe("ran\n".repeat(runs));
  });

  test("a form without a file part", async () => {
    const form = new FormData();
    form.append("text", "x");
    expect(await json(await hull.call("/skills/files", form))).toMatchObject({ code: "file_required" });
  });
});

describe("S65: limits and schema", () => {
  test.each(["ten", "ten-file"])("%s: 10 bytes pass, 11 are 413, declared or chunked", async (slug) => {
    expect((await send(slug, "text/plain", "0123456789")).status).toBe(200);
    const declared = await send(slug, "text/plain", "0123456789a");
    expect([declared.status, await json(declared)]).toMatchObject([
      413,
      { code: "body_too_large", limit: 10 },
    ]);
    const [status, text] = await chunked(`/skills/${slug}`, ["01234", "56789", "a"]);
    expect([status, text]).toEqual([413, expect.stringMatching(/"limit":10\b/)]);
  });

  test.each([
    ["application/json", '{"input":{"city":"Riga","days":2}}', 200, '{"city":"Riga","days":2}'],
    ["text/plain", "Riga", 415, { code: "unsupported_media_type", accepted: ["application/json"] }],
    ["application/json", '{"input":{"days":0}}', 422, { code: "input_schema_mismatch" }],
  ])("schema: %s %j is %i", async (type, body, status, expected) => {
    const response = await send("schema", type, body);
    const text = await response.text();
    expect(response.status).toBe(status);
    if (typeof expected === "string") expect(text).toBe(expected);
    else expect(JSON.parse(text)).toMatchObject(expected);
    if (status === 422) {
      const pointers = JSON.parse(text).errors.map((error: { pointer: string }) => error.pointer);
      expect(pointers).toContain("/days");
    }
  });

  test("hull call sends JSON to a skill with a schema, and shows where it does not match", async () => {
    const call = (input: string) =>
      runHull(["call", "schema", "-i", input, "--url", hull.url], { cwd: hull.root });
    const right = '{"city":"Riga","days":2}';
    expect(await call(right)).toEqual({ code: 0, output: right });
    expect(await call('{"city":"Riga","days":0}')).toEqual({
      code: 1,
      output: expect.stringMatching(/\/days: .*\[input_schema_mismatch\]/),
    });
  });
});

/** Sends a body in chunks without declaring its length. */
function chunked(path: string, chunks: string[]): Promise<[number | undefined, string]> {
  const { promise, resolve, reject } = Promise.withResolvers<[number | undefined, string]>();
  const request = httpRequest(`${hull.url}${path}`, {
    method: "POST",
    headers: { "content-type": "text/plain" },
  });
  request.on("error", reject);
  request.on("response", (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    response.on("end", () => resolve([response.statusCode, text]));
  });
  for (const chunk of chunks) request.write(chunk);
  request.end();
  return promise;
}
