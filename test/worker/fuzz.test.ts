/** Whatever is sent: a defined answer, never a 500, and nothing of the settings in answer or log. */

import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import * as provider from "../../src/errors/provider.ts";
import * as request from "../../src/errors/request.ts";
import * as run from "../../src/errors/run.ts";
import { contentDisposition, noteHeader } from "../../src/run/output-files.ts";
import { anyText, fc, webPath, webQuery } from "../support/property.ts";
import { Client, mockSkill } from "./served.ts";

const codes = [request, run, provider].flatMap((module) => Object.values(module).map(({ code }) => code));
const CANARY = "canary-5f2c81d09ab34e67";
const SECRETS = {
  ANTHROPIC_API_KEY: `sk-${CANARY}`,
  OPENAI_API_KEY: `sk-${CANARY}-2`,
  HF_TOKEN: `hf_${CANARY}`,
  // Without its secret, so that a script's input is read and the runner then is unavailable.
  HULL_RUNNER_URL: "http://127.0.0.1:9",
};
const ADMIN = `${CANARY}-admin`;
const local = new Client({ HULL_ENV: "local", ...SECRETS }, { documents: true });
const UNLIMITED = { HULL_CONFIG: '{"rate_limit":null}' };
const deployed = new Client({ HULL_ENV: "deployed", ...UNLIMITED, HULL_ADMIN_KEY: ADMIN, ...SECRETS });
const NESTED =
  "input_schema: {type: object, properties: {n: {allOf: [{anyOf: [{oneOf: [{$ref: '#'}]}]}]}}}\n";
const SHAPED = "input_schema: {type: object, required: [n], properties: {n: {type: integer}}}\n";

let lines: string[] = [];
beforeAll(async () => {
  for (const level of ["log", "error", "warn"] as const) {
    vi.spyOn(console, level).mockImplementation((...words: unknown[]) => {
      lines.push(words.map(String).join(" "));
    });
  }
  await local.publish({
    text: mockSkill("text"),
    get: mockSkill("get", "method: GET\nroute: /ask/it\n"),
    json: mockSkill("json", "output: json\n"),
    shaped: mockSkill("shaped", SHAPED),
    nested: mockSkill("nested", NESTED),
    none: mockSkill("none", "input: none\n"),
    file: mockSkill("file", "input: file\n"),
    image: mockSkill("image", "input: file\ninput_mime: [image/png, text/*]\nmax_input_bytes: 200\n"),
    script: "---\nname: script\ndescription: Runs\nmode: script\nrun: cat\n---\n",
    page: "---\nname: page\ndescription: A file\nmode: static-file\nserve: SKILL.md\n---\n",
    unset: "---\nname: unset\ndescription: No key\nmode: llm\nprovider: xai\n---\nAnswer.\n",
  });
});
beforeEach(() => {
  lines = [];
});
afterAll(() => vi.restoreAllMocks());

const skills = [
  "text",
  "get",
  "json",
  "shaped",
  "nested",
  "none",
  "file",
  "image",
  "script",
  "page",
  "unset",
];
/** Without /readyz: not being ready is its answer, not a failure. */
const fixed = [
  "/",
  "/skills",
  "/healthz",
  "/metrics",
  "/openapi.json",
  "/docs",
  "/docs/x",
  "/files/x",
  "/files",
];
const publishing = ["/_hull/bundles", `/_hull/bundles/${"0".repeat(64)}`, "/_hull/catalog", "/admin/keys"];
const path = fc
  .tuple(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...skills.map((slug) => `/skills/${slug}`), "/ask/it") },
      {
        weight: 2,
        arbitrary: fc.constantFrom(...fixed, ...publishing, "/admin/keys/x", "/skills/text/card"),
      },
      { weight: 1, arbitrary: webPath.map((text) => `/${text}`) },
    ),
    fc.oneof(
      fc.constantFrom(
        "",
        "",
        "/",
        "//",
        "%",
        "%00",
        "%ff",
        "?stream=1",
        "?input=x",
        "?limit=-1",
        "?cursor=%%%",
      ),
      fc.constantFrom(
        "?cursor=bm9uZQ",
        "?filename=a%00b",
        "?q=%00",
        "?mode=x",
        "?limit=1e9",
        "?input=%ff",
        "?tenant=%F0",
        "/..;/",
      ),
      webQuery.map((text) => `?${text}`),
    ),
  )
  .map((parts) => parts.join(""));

const BOUNDARY = "----b";
const typed = fc.constantFrom(
  "text/plain",
  "text/plain; charset=utf-16",
  "application/json",
  "application/problem+json",
  "image/png",
  `multipart/form-data; boundary=${BOUNDARY}`,
  "multipart/form-data",
  "multipart/form-data; boundary=",
  `multipart/form-data; boundary="${BOUNDARY}`,
  `Multipart/Form-Data;Boundary=${BOUNDARY};x=y`,
  "multipart/mixed",
  "application/x-www-form-urlencoded",
  "application/octet-stream",
  "text/",
  "/",
  ";",
  "*/*",
  "a/b/c",
  "TEXT/HTML",
);
const type = fc.oneof(
  { weight: 5, arbitrary: typed },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.stringMatching(/^[\x20-\x7e]{0,20}$/) },
);

/** A form as it should be, and with pieces missing, doubled or out of place. */
const form = fc
  .array(
    fc.oneof(
      fc.constantFrom(`--${BOUNDARY}`, `--${BOUNDARY}--`, "--", "\r\n", "\r\n\r\n", "\n"),
      fc.constantFrom(
        'Content-Disposition: form-data; name="text"\r\n\r\nhello\r\n',
        'Content-Disposition: form-data; name="f"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhi\r\n',
        'Content-Disposition: form-data; name="f"; filename="../../é\\".png"\r\nContent-Type: image/png\r\n\r\nhi\r\n',
        'Content-Disposition: form-data; name="f"; filename=""\r\nContent-Type: a\0b/;;=\r\n\r\n\0\xff\r\n',
      ),
      fc.constantFrom(
        "Content-Disposition: form-data\r\n",
        'name="x',
        "Content-Type: multipart/mixed\r\n",
        ":",
      ),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(""));
const wholeForm = fc
  .array(fc.tuple(fc.constantFrom("text", "input", "f", "", "__proto__"), anyText()), {
    maxLength: 3,
  })
  .map((parts) => {
    const head = (name: string) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`;
    return `${parts.map(([name, text]) => `${head(name)}${text}\r\n`).join("")}--${BOUNDARY}--\r\n`;
  });
const json = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.jsonValue().map((input) => JSON.stringify({ input })),
  fc.constantFrom(
    '{"input":{"n":1}}',
    '{"input":{"n":1e999}}',
    '{"__proto__":{"input":1}}',
    '{"input":"\\ud800"}',
  ),
  fc.constantFrom(...["[", '{"a":'].map((open) => `{"input":${open.repeat(50_000)}`)),
  fc.constantFrom(`{"input":${"[".repeat(50_000)}${"]".repeat(50_000)}}`),
  fc.constantFrom(`{"input":1,"files":["file_${"0".repeat(32)}"]}`, '{"files":["file_"]}', '{"files":[[]]}'),
  fc.constantFrom(`{"id":"${"0".repeat(64)}"}`, '{"tenant":"t","scopes":["admin"],"name":"\\u0000"}'),
);
const bytes = fc.uint8Array({ maxLength: 300 });
/** A type and a body, which often belong together. */
const content = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom("application/json", "text/x+json"), json) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constant(`multipart/form-data; boundary=${BOUNDARY}`), fc.oneof(form, wholeForm)),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom("text/plain", "image/png"), bytes) },
  { weight: 3, arbitrary: fc.tuple(type, fc.oneof(fc.constant(null), bytes, form, json)) },
);

const headers = fc.record(
  {
    accept: fc.constantFrom("text/event-stream", "application/json", "*/*;q=0", ",,;", "text/html"),
    "if-none-match": fc.constantFrom("*", '"x"', 'W/"', ",,,", '"'),
    range: fc.constantFrom(
      "bytes=0-0",
      "bytes=-1",
      "bytes=99999-",
      "bytes=5-2",
      "bytes=0-1,3-4",
      "lines=1-2",
      "bytes=",
    ),
    "if-range": fc.constantFrom('"x"', "Wed, 21 Oct 2015 07:28:00 GMT"),
    "x-request-id": fc.stringMatching(/^[\x20-\x7e]{0,12}$/),
    authorization: fc.constantFrom(
      "Bearer",
      "Bearer x",
      `Bearer hull_${"A".repeat(43)}`,
      "Basic eDp5",
      "bearer  ",
    ),
    "content-disposition": fc.constantFrom(
      'a; filename="x',
      "a; filename*=UTF-8''%ff",
      ";;",
      "inline; filename=x",
    ),
    "idempotency-key": fc.constantFrom("", "k", "x".repeat(300)),
    prefer: fc.constantFrom("respond-async", "wait=1e9", ";;"),
    traceparent: fc.constantFrom("00-x", `00-${"0".repeat(32)}-${"0".repeat(16)}-01`),
    "last-event-id": fc.constantFrom("ex_1:2", "x"),
    origin: fc.constantFrom("null", "https://evil.example", "x"),
  },
  { requiredKeys: [] },
);
const method = fc.oneof(
  { weight: 5, arbitrary: fc.constant("POST") },
  { weight: 2, arbitrary: fc.constant("GET") },
  { weight: 1, arbitrary: fc.constantFrom("PUT", "DELETE", "HEAD", "OPTIONS", "PATCH") },
);
interface Call {
  path: string;
  method: string;
  content: [string | null, string | Uint8Array<ArrayBuffer> | null];
  headers: Record<string, string>;
  withKey: boolean;
}
const call: fc.Arbitrary<Call> = fc.record({ path, method, content, headers, withKey: fc.boolean() });

/** JSON that ends too early or nests deep, in ways that chance does not find. */
const examples = [
  ...[200, 250, 300, 100_000].map((depth) => `{"input":${'{"n":'.repeat(depth)}{}${"}".repeat(depth + 1)}`),
  `{"input":${"[".repeat(100_000)}`,
  `{"input":"${"x".repeat(12_000_000)}`,
].map((text): [Call] => [
  { path: "/skills/nested", method: "POST", content: ["application/json", text], headers: {}, withKey: true },
]);

/** The problem that a page for browsers shows. */
function shownOn(html: string) {
  const [, status, code] = /(\d+) <code>(\w+)<\/code> · request/.exec(html) ?? [];
  return { status: Number(status), code };
}

for (const [name, client] of [
  ["local", local],
  ["deployed", deployed],
] as const) {
  it(`${name}: every request has a defined answer`, async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(call, async (sent) => {
        const all = new Headers(Object.entries(sent.headers));
        const [type, body] = sent.content;
        if (type !== null) all.set("content-type", type);
        if (client === deployed && sent.withKey) all.set("authorization", `Bearer ${ADMIN}`);
        const init = { method: sent.method, headers: all };
        const bare = body === null || /^(GET|HEAD)$/.test(sent.method);
        const response = await client.fetch(sent.path, bare ? init : { ...init, body });
        const text = await response.text();
        const { status } = response;
        expect(status).not.toBe(500);
        expect(status).toBeLessThan(505);
        expect(response.headers.get("x-content-type-options")).toBe("nosniff");
        expect(response.headers.get("x-request-id")).toMatch(/^[A-Za-z0-9._-]{8,128}$/);
        const page = /^(GET|HEAD)$/.test(sent.method) && all.get("accept") === "text/html";
        const errorType = page ? "text/html; charset=utf-8" : "application/problem+json";
        if (status >= 400) expect(response.headers.get("content-type")).toBe(errorType);
        if (status >= 400 && sent.method !== "HEAD") {
          const problem = page ? shownOn(text) : JSON.parse(text);
          expect(codes).toContain(problem.code);
          expect(problem.status).toBe(status);
          seen.add(problem.code);
        }
        const everything = [text, ...response.headers].flat().join("\n");
        expect(everything).not.toContain(CANARY);
        expect(everything).not.toMatch(/\/src\/|\bat \w+ \(/);
        if (status === 200 && sent.method === "POST") seen.add("ok");
      }),
      { numRuns: 800, examples },
    );
    expect(lines.join("\n")).not.toContain(CANARY);
    expect(lines.join("\n")).not.toContain('"code":"internal"');
    const provoked = [
      "ok",
      "malformed_json",
      "input_required",
      "unsupported_media_type",
      "method_not_allowed",
    ];
    expect([...seen]).toEqual(expect.arrayContaining([...provoked, "malformed_multipart", "not_found"]));
  });
}

it("S36: any file name and any note travel in a header, and are read back exactly", () => {
  const texts = fc.oneof(
    anyText({ maxLength: 40 }),
    fc.string({ unit: fc.constantFrom("/", "\\", ".", "%", "2", "f", " ", "\n", "é", '"'), maxLength: 12 }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const wellFormed = text.toWellFormed();
      const disposition = contentDisposition("inline", text);
      expect(disposition).toMatch(
        /^inline; filename="(?:(?!%[0-9a-f]{2})[^"/\\\0-\x1f\x7f-\uffff])+"; filename\*=UTF-8''[\w%.!#$&+^`|~-]+$/i,
      );
      const name = decodeURIComponent(disposition.split("UTF-8''")[1] ?? "");
      expect(name).not.toMatch(/^\.{0,2}$|[/\\\p{Cc}]/u);
      const isName = !/^\.{0,2}$|^\s|\s$|[/\\\p{Cc}]/u.test(wellFormed);
      if (isName) expect(name).toBe(wellFormed);
      const note = noteHeader(text);
      expect(note).toMatch(/^[\x20-\x7e]*$/);
      expect(decodeURIComponent(note)).toBe(wellFormed.trim().replace(/\s*\n\s*/g, " "));
    }),
    { numRuns: 1000 },
  );
});
