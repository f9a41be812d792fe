/** The OpenAPI document: valid whatever the skills are, and complete. */
import { validate } from "@hyperjump/json-schema/openapi-3-1";
import { describe, expect, it } from "vitest";
import { buildRoots } from "../../../scripts/build/build.ts";
import { REPO_DIR } from "../../../scripts/dev/paths.ts";
import { addSkills } from "../../../src/api/add-skills.ts";
import { openapiDocument } from "../../../src/api/document.ts";
import { OPERATIONS } from "../../../src/api/fixed-routes.ts";
import { pathParameters } from "../../../src/api/path-parameters.ts";
import * as budget from "../../../src/errors/budget.ts";
import * as daemon from "../../../src/errors/daemon.ts";
import * as provider from "../../../src/errors/provider.ts";
import * as request from "../../../src/errors/request.ts";
import * as run from "../../../src/errors/run.ts";
import * as session from "../../../src/errors/session.ts";
import * as task from "../../../src/errors/task.ts";
import * as workflow from "../../../src/errors/workflow.ts";
import { FIXED_ROUTES, type OperationId } from "../../../src/skill/fixed-routes.ts";
import { objectOf } from "../../../src/skill/json.ts";
import type { Json, JsonObject, Manifest } from "../../../src/skill/manifest.ts";
import { parseManifest } from "../../../src/skill/parse.ts";
import { documentWith } from "../../support/openapi.ts";

const MODES = {
  script: "run: [node, a.js]",
  llm: "mode: llm\nprovider: mock",
  proxy: "proxy: https://upstream.example/x",
  "static-file": "serve: page.html",
};
const SHAPES = [
  "input: text",
  "input: none",
  "input: file\ninput_mime: [image/*, application/pdf]",
  "input: file",
  "output: json",
  "output: text\noutput_mime: text/csv; charset=utf-8",
  "output: file\noutput_mime: image/png",
  "method: GET",
  "method: PUT\nroute: /own/%s",
  "method: GET\nroute: /got/%s\ninput: none",
  "input_schema: {type: object, properties: {a: {$ref: '#/$defs/a'}}, $defs: {a: {type: integer}}}",
  "input_schema: {$schema: 'http://json-schema.org/draft-07/schema#', type: string, nullable: true}",
];

/** Every mode with every shape that it accepts. */
function zoo(): Manifest[] {
  const files = new Map(["a.js", "page.html"].map((path) => [path, new Uint8Array([10])]));
  const all = Object.entries(MODES).flatMap(([mode, own]) =>
    SHAPES.map((shape, n) => {
      const name = `${mode}-${n}`;
      const text = `---\nname: ${name}\ndescription: "<b>a</b> | \\u00e9"\n${own}\n${shape.replace("%s", name)}\n---\nDo it.\n`;
      return parseManifest(text, { folder: name, file: `${name}/SKILL.md`, files }).manifest;
    }),
  );
  const valid = all.filter((manifest) => manifest !== null);
  /** Published before the build checked schemas. */
  const old = valid.slice(0, 1).map((manifest) => ({
    ...manifest,
    slug: "old",
    route: "/old",
    input_schema: { type: "strong" },
  }));
  return [...valid, ...old];
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value at a path of member names; `undefined` where there is none. */
function at(value: Json | undefined, ...path: string[]): Json | undefined {
  return path.reduce<Json | undefined>((here, name) => (isObject(here) ? here[name] : undefined), value);
}
const members = (value: Json | undefined): string[] => (isObject(value) ? Object.keys(value) : []);

function* operations(document: JsonObject): Generator<[path: string, method: string, operation: JsonObject]> {
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(isObject(item) ? item : {})) {
      if (isObject(operation)) yield [path, method, operation];
    }
  }
}

/** The operation's parameters with references resolved. */
function parametersOf(document: JsonObject, operation: JsonObject): Json[] {
  const list = Array.isArray(operation.parameters) ? operation.parameters : [];
  return list.map((parameter) => {
    const name = String(at(parameter, "$ref") ?? "").split("/")[3];
    return name === undefined ? parameter : (at(document, "components", "parameters", name) ?? null);
  });
}

/** What the schemas of the format cannot say: references lead somewhere, ids are unique, paths and parameters agree. */
function faultsOf(document: JsonObject): string[] {
  const faults: string[] = [];
  const seen = new Set<Json | undefined>();
  for (const [, pointer = ""] of JSON.stringify(document).matchAll(/"\$ref":"#\/(components\/[^"]+)"/g)) {
    if (at(document, ...pointer.split("/")) === undefined) faults.push(`dangling ${pointer}`);
  }
  for (const [path, method, operation] of operations(document)) {
    if (seen.has(operation.operationId)) faults.push(`twice ${operation.operationId}`);
    seen.add(operation.operationId);
    const inPath = parametersOf(document, operation).filter((parameter) => at(parameter, "in") === "path");
    const templated = Array.from(path.matchAll(/\{([^}]+)\}/g), ([, name]) => name);
    if (inPath.map((p) => at(p, "name")).join() !== templated.join()) faults.push(`${method} ${path}`);
  }
  return faults;
}

/** Compiled once: that takes ten times as long as checking a schema of the document. */
const asDocument = await validate("https://spec.openapis.org/oas/3.1/schema-base");
const asSchema = await validate("https://json-schema.org/draft/2020-12/schema");

function check(document: JsonObject): void {
  expect(asDocument(JSON.parse(JSON.stringify(document)), "BASIC")).toEqual({ valid: true });
  for (const schema of Object.values(at(document, "components", "schemas") ?? {})) {
    expect(asSchema(schema)).toEqual({ valid: true });
  }
  expect(faultsOf(document)).toEqual([]);
  expect(JSON.stringify(document)).not.toContain('"nullable"');
}

const SPECIFIED = {
  400: "bad_request malformed_json malformed_multipart bad_encoding",
  401: "unauthenticated",
  403: "forbidden host_not_allowed origin_not_allowed",
  404: "not_found skill_not_found file_not_found execution_not_found",
  405: "method_not_allowed",
  406: "not_acceptable",
  408: "request_timeout",
  409: "slug_taken execution_conflict",
  413: "body_too_large",
  415: "unsupported_media_type",
  416: "range_not_satisfiable",
  422: "input_required input_invalid file_required input_schema_mismatch idempotency_key_reused bundle_invalid",
  429: "rate_limited concurrency_limited provider_rate_limited",
  500: "script_failed script_killed out_of_memory command_not_found spawn_failed output_invalid_json output_missing output_too_large internal",
  502: "provider_auth_failed provider_rejected_request provider_error provider_unreachable provider_redirect_refused provider_bad_response provider_empty_answer model_refused tool_rounds_exhausted upstream_unreachable upstream_redirect_refused upstream_body_truncated runner_protocol_error execution_lost",
  503: "provider_not_configured proxy_not_configured runner_unavailable runner_busy runner_draining auth_not_configured catalog_missing",
  504: "script_timeout provider_timeout upstream_timeout deadline_exceeded",
};

/** Parameters of every llm skill. */
const IN_SESSION = ["session_id", "file", "x-hull-bot"];
/** Parameters of every skill that can run idempotently and asynchronously. */
const DURABLE = ["idempotency-key", "prefer"];

describe("S54: the OpenAPI document", () => {
  const manifests = zoo();
  const document = documentWith(manifests, "1.2.3");

  it("is valid OpenAPI 3.1 and JSON Schema 2020-12 for skills of every kind", () => {
    expect(manifests.length).toBeGreaterThan(25);
    check(document);
  });

  it("is valid for the examples, and for no skills at all", async () => {
    const built = await buildRoots([`${REPO_DIR}/skills`], { projectDir: REPO_DIR });
    check(JSON.parse(built.catalog?.openapi.text ?? ""));
    check(openapiDocument("1"));
  });

  it("is the same where skills are added to it later", () => {
    const first = manifests.filter((_, n) => n % 2 === 0);
    const later: JsonObject = JSON.parse(JSON.stringify(documentWith(first, "1.2.3")));
    const fixed = members(later.paths).length - first.length;
    addSkills(
      later,
      manifests.filter((_, n) => n % 2 === 1),
    );
    check(later);
    expect(members(later.paths)).toHaveLength(fixed + manifests.length);
    for (const kind of ["schemas", "responses", "requestBodies"]) {
      const names = (of: JsonObject) => members(at(of, "components", kind)).sort();
      expect(names(later)).toEqual(names(document));
    }
  });

  it("the validator refuses invalid values", () => {
    const wrong = structuredClone(document);
    const shown = (type: string): JsonObject => ({
      responses: { 200: { description: "x", content: { "text/plain": { schema: { type } } } } },
    });
    wrong.paths = { "/x": { get: shown("string") } };
    check(wrong);
    wrong.paths = { "/x": { get: shown("text") } };
    expect(() => check(wrong)).toThrow();
  });

  it("has every skill at its own route with its own method, and the card where GET is free", () => {
    for (const { slug, route, method, mode } of manifests) {
      const served = mode === "static-file" ? ["get", "post"] : [...new Set(["get", method.toLowerCase()])];
      expect([slug, members(at(document, "paths", route))]).toEqual([slug, served]);
    }
  });

  it("has every code of an error at its status", () => {
    for (const [status, codes] of Object.entries(SPECIFIED)) {
      const content = at(document, "components", "responses", status, "content", "application/problem+json");
      expect(at(content, "schema", "properties", "code", "enum")).toEqual(
        expect.arrayContaining(codes.split(" ")),
      );
    }
  });

  it("has the failures of providers at the statuses of their categories, and the reasons that are codes", () => {
    const codes = (status: number): Json | undefined => {
      const content = at(document, "components", "responses", `${status}`, "content");
      return at(content, "application/problem+json", "schema", "properties", "code", "enum");
    };
    expect(codes(400)).toEqual(expect.arrayContaining(["content_policy", "context_overflow"]));
    expect(codes(429)).toContain("provider_bad_response");
    expect(codes(502)).toContain("model_unavailable");
    expect(codes(503)).toContain("provider_error");
    expect(codes(504)).toEqual(expect.arrayContaining(["provider_error", "provider_rejected_request"]));
    expect(codes(499)).toContain("mocked_failure");
    const known = at(document, "components", "schemas", "Problem", "properties", "code", "enum");
    expect(known).toEqual(
      expect.arrayContaining(["content_policy", "context_overflow", "model_unavailable"]),
    );
  });

  it("names the parameter of a stream wherever a request that runs something is answered with one", () => {
    const missing = Array.from(operations(document)).flatMap(([path, method, operation]) => {
      const streams = at(operation, "responses", "200", "content", "text/event-stream") !== undefined;
      const vendor = path.startsWith("/v1/") || path === "/mcp";
      if (method !== "post" || !streams || vendor) return [];
      const names = parametersOf(document, operation).map((parameter) => at(parameter, "name"));
      return names.includes("stream") ? [] : [path];
    });
    expect(missing).toEqual([]);
  });

  it("types the events of every stream in Hull's own form", () => {
    const untyped = Array.from(operations(document)).flatMap(([path, , operation]) => {
      const schema = at(operation, "responses", "200", "content", "text/event-stream", "schema");
      const other = schema === undefined || path.startsWith("/v1/") || path === "/mcp";
      return other || at(schema, "$ref") === "#/components/schemas/Events" ? [] : [path];
    });
    expect(untyped).toEqual([]);
  });

  it("has every error code at its status, and one that is never sent at none", () => {
    const modules = [budget, daemon, request, run, provider, session, task, workflow];
    const classes = modules.flatMap((module) => Object.values(module));
    for (const { code, status } of classes) {
      const schema = at(
        document,
        "components",
        "responses",
        String(status),
        "content",
        "application/problem+json",
        "schema",
      );
      const codes = at(schema, "properties", "code", "enum");
      if (code === "client_closed_request") expect(codes).not.toContain(code);
      else expect(codes).toContain(code);
      expect(at(document, "components", "schemas", "Problem", "properties", "code", "enum")).toContain(code);
    }
    const used = new Set([...operations(document)].flatMap(([, , o]) => members(o.responses)));
    const sent = new Set(classes.map(({ status }) => status));
    expect([...sent].filter((status) => !used.has(String(status)))).toEqual([]);
  });

  it.each<[string, string, string[], string[], string[]]>([
    [
      "script-0",
      "post",
      ["stream", ...DURABLE],
      ["application/json", "multipart/form-data", "text/*", "text/plain"],
      ["text/plain", "text/event-stream", "application/octet-stream"],
    ],
    ["script-1", "post", ["stream", ...DURABLE], [], ["text/plain", "text/event-stream"]],
    [
      "script-2",
      "post",
      ["stream", ...DURABLE],
      ["image/*", "application/pdf", "multipart/form-data"],
      ["text/plain"],
    ],
    ["script-4", "post", ["stream", ...DURABLE], ["text/plain"], ["application/json", "text/event-stream"]],
    [
      "llm-5",
      "post",
      ["prompt-of-file", "stream", ...DURABLE, ...IN_SESSION],
      ["text/plain", "*/*"],
      ["text/csv; charset=utf-8", "application/json", "multipart/mixed", "*/*", "text/event-stream"],
    ],
    ["script-6", "post", DURABLE, ["text/plain"], ["image/png", "application/json"]],
    ["script-7", "get", ["input", "q", "text", "prompt", "stream", ...DURABLE], [], ["text/plain"]],
    ["llm-1", "post", ["stream", ...DURABLE, ...IN_SESSION], [], ["text/plain"]],
    [
      "llm-7",
      "get",
      ["input", "q", "text", "prompt", "stream", ...DURABLE, ...IN_SESSION],
      [],
      ["text/plain"],
    ],
    ["llm-10", "post", ["stream", ...DURABLE, ...IN_SESSION], ["application/json"], ["text/plain"]],
    [
      "llm-6",
      "post",
      ["prompt-of-file", "stream", ...DURABLE, ...IN_SESSION],
      ["*/*"],
      ["image/png", "application/json", "multipart/mixed"],
    ],
    ["proxy-0", "post", ["query"], ["*/*"], []],
    [
      "static-file-0",
      "get",
      ["if-none-match", "range", "if-range", "stream"],
      [],
      ["text/html; charset=utf-8"],
    ],
  ])("%s: %s takes %j, reads %j, answers %j", (slug, method, parameters, reads, answers) => {
    const operation = at(document, "paths", `/skills/${slug}`, method);
    if (!isObject(operation)) return expect.fail("no such operation");
    const list = Array.isArray(operation.parameters) ? operation.parameters : [];
    expect(list.map((p) => String(at(p, "$ref")).split("/").at(-1))).toEqual(parameters);
    const resolve = (value: Json | undefined): Json | undefined => {
      const pointer = at(value, "$ref");
      return typeof pointer === "string" ? at(document, ...pointer.slice(2).split("/")) : value;
    };
    expect(members(at(resolve(operation.requestBody), "content"))).toEqual(
      reads.length === 0 ? [] : expect.arrayContaining(reads),
    );
    expect(members(at(resolve(at(operation, "responses", "200")), "content"))).toEqual(
      answers.length === 0 ? [] : expect.arrayContaining(answers),
    );
    // The upstream of a proxy judges its query; a wrong value of Hull's own parameters is a 400.
    expect(members(operation.responses).includes("400")).toBe(slug !== "proxy-0");
  });

  it.each([
    ["script-0", false],
    ["script-3", false],
    ["llm-0", true],
    ["llm-3", true],
  ])("the form of %s may name a session: %s", (slug, may) => {
    const pointer = at(document, "paths", `/skills/${slug}`, "post", "requestBody", "$ref");
    const body = at(document, ...String(pointer).slice(2).split("/"));
    const { properties = {} } = objectOf(at(body, "content", "multipart/form-data", "schema"));
    const fields = ["text", "input", "prompt", ...(may ? ["session_id"] : []), "file"];
    expect(members(properties)).toEqual(fields);
  });

  it("stays small: 500 skills add less than 0.87 MB", () => {
    const [base] = manifests;
    if (base === undefined) return expect.fail("no skill");
    const many = Array.from({ length: 500 }, (_, n) => ({
      ...base,
      slug: `s-${n}`,
      name: `s ${n}`,
      route: `/skills/s-${n}`,
      description: "x".repeat(200),
    }));
    const length = (skills: typeof many) => JSON.stringify(documentWith(skills, "1")).length;
    // The document has Hull's own routes, whatever is served.
    expect(length(many) - length([])).toBeLessThan(870_000);
  });
});

/** POST operations without an `Idempotency-Key`, by the reason. */
const WITHOUT_KEY: { readonly [reason: string]: readonly OperationId[] } = {
  "a form of a page, which redirects": ["signIn", "signOut", "consoleForm"],
  "it only computes": [
    "countMessageTokens",
    "countResponseTokens",
    "operateOnTranscript",
    "validateWorkflow",
  ],
  "twice is once: it sets or stops what the path names": [
    "cancelResponse",
    "cancelRun",
    "updateConversation",
    "updateStoredSkill",
  ],
  "twice is once: the body names what it sets": ["publishCatalog"],
  "a person continues it in a browser": ["beginMcpLogin"],
  "a test sets its mocks itself": ["queueMocks"],
};

it("every POST that creates or runs something takes an Idempotency-Key", () => {
  const { paths } = openapiDocument("");
  const without = FIXED_ROUTES.flatMap(([id, method, path]) => {
    if (method !== "POST") return [];
    const operation = at(paths, path.replace(/:(\w+)(?:\{[^}]*\})?/g, "{$1}"), "post");
    return JSON.stringify(operation).includes("#/components/parameters/idempotency-key") ? [] : [id];
  });
  expect(without.toSorted()).toEqual(Object.values(WITHOUT_KEY).flat().sort());
});

it("the routes below /v1, and no others, answer errors in the client's dialect", () => {
  const vendor = FIXED_ROUTES.filter(([id]) => OPERATIONS[id].vendor === true).map(([id]) => id);
  expect(vendor).toEqual(FIXED_ROUTES.filter(([, , , , part]) => part === "v1").map(([id]) => id));
  const below = FIXED_ROUTES.filter(([, , path]) => path.startsWith("/v1/")).map(([id]) => id);
  expect(vendor).toEqual(below);
});

it.each<[string, (string | undefined)[]]>([
  ["/sessions/{id}/files/{path}", ["^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$", undefined]],
  ["/sessions/{id}/runs/{run}", ["^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$", undefined]],
  ["/executions/{id}", [undefined]],
  ["/workflows/{skill}/{name}", [undefined, "^[A-Za-z0-9][A-Za-z0-9._@-]{0,140}$"]],
])("the parameters of the path %s have their forms", (path, patterns) => {
  const schemas = pathParameters(path).map(({ schema }) => schema);
  expect(schemas).toMatchObject(patterns.map((pattern) => (pattern === undefined ? {} : { pattern })));
  expect(pathParameters(path).map(({ name }) => `{${String(name)}}`)).toEqual(path.match(/\{\w+\}/g));
});
