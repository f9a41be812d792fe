/** Every possible error for a caller, as OpenAPI components made from the error vocabulary. */
import * as budget from "../errors/budget.ts";
import * as daemon from "../errors/daemon.ts";
import { NAMED_REASONS, STATUS_BY_CATEGORY } from "../errors/failure-class.ts";
import * as hook from "../errors/hook.ts";
import * as llm from "../errors/llm.ts";
import * as provider from "../errors/provider.ts";
import * as request from "../errors/request.ts";
import * as run from "../errors/run.ts";
import * as session from "../errors/session.ts";
import * as task from "../errors/task.ts";
import * as workflow from "../errors/workflow.ts";
import { Internal } from "../errors.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answerHeaders, ref } from "./openapi-parts.ts";

/** The code of an execution whose client left: it appears only in logs and stored state. */
const NEVER_SENT = "client_closed_request";

/** Failures of providers, whose status on `/llm`, in runs and under `/v1` follows from their class. */
const CLASSED = [provider.ProviderRejectedRequest, provider.ProviderError, provider.ProviderBadResponse];
/** The statuses that the classes of providers' failures have; a mock may have any. */
const STATUSES = [400, 429, 503, 504];

const CLASSES = [
  Internal,
  ...[budget, daemon, hook, llm, request, run, provider, session, task, workflow].flatMap((module) =>
    Object.values(module),
  ),
].map(({ code, status }) => ({ code, status }));

const BY_CLASS = [
  ...Array.from(NAMED_REASONS, ([code, { status }]) => ({ code, status })),
  ...CLASSED.flatMap(({ code }) => STATUSES.map((status) => ({ code, status }))),
  ...Array.from(STATUS_BY_CATEGORY.values(), (status) => ({ code: provider.MockedFailure.code, status })),
];

const SENT = [...CLASSES, ...BY_CLASS].filter(({ code }) => code !== NEVER_SENT);

const codesOf = (errors: readonly { code: string }[]): string[] =>
  [...new Set(errors.map(({ code }) => code))].sort();

/** Codes by status, both sorted, without those that are never sent. */
const CODES_BY_STATUS: ReadonlyMap<number, readonly string[]> = new Map(
  [...new Set(SENT.map(({ status }) => status))]
    .sort((a, b) => a - b)
    .map((status) => [status, codesOf(SENT.filter((error) => error.status === status))]),
);

/** Headers of a status in addition to those of every answer. */
const STATUS_HEADERS: { [status: number]: JsonObject } = {
  401: { "WWW-Authenticate": { required: true, schema: { const: "Bearer" } } },
  405: { Allow: { required: true, schema: { type: "string" } } },
  416: { "Content-Range": { required: true, schema: { type: "string" } } },
  429: { "Retry-After": ref("headers", "retry-after") },
  502: { "Retry-After": ref("headers", "retry-after") },
  503: { "Retry-After": ref("headers", "retry-after") },
};

/** The problem document (RFC 9457); each code has more members of its own. */
export function problemSchema(): JsonObject {
  const text = { type: "string" };
  return {
    type: "object",
    description: "An RFC 9457 problem document. `code` is stable, `detail` is not.",
    required: ["type", "title", "status", "detail", "instance", "code", "request_id"],
    properties: {
      type: { type: "string", description: "`urn:hull:problem:<code>`" },
      title: text,
      status: { type: "integer", minimum: 400, maximum: 599 },
      detail: text,
      instance: { type: "string", description: "`urn:hull:request:<request id>`" },
      code: { type: "string", enum: codesOf([...CLASSES, ...BY_CLASS]) },
      request_id: text,
    },
    additionalProperties: true,
  };
}

/** One response per status of the vocabulary, named after it. */
export function problemResponses(): JsonObject {
  return Object.fromEntries(
    Array.from(CODES_BY_STATUS, ([status, codes]) => [
      String(status),
      {
        description: codes.map((code) => `\`${code}\``).join(", "),
        headers: { ...answerHeaders(), ...STATUS_HEADERS[status] },
        content: {
          "application/problem+json": {
            schema: {
              ...ref("schemas", "Problem"),
              properties: { status: { const: status }, code: { enum: [...codes] } },
            },
          },
        },
      },
    ]),
  );
}
