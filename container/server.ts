/** The runner's routes. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { bytesWithin } from "../src/bytes.ts";
import type { TicketSubject } from "../src/tool/protocol.ts";
import { MIN_SECRET_CHARS } from "./auth.ts";
import type { Bundles } from "./bundles.ts";
import type { Enforced } from "./isolation.ts";
import type { Journal } from "./journal.ts";
import { log, reasonOf } from "./log.ts";
import { MAX_MESSAGE_BYTES } from "./mcp-bridge.ts";
import { BodyCut } from "./multipart-body.ts";
import { answer, Refused, refuse } from "./refusal.ts";
import { type SubmitServices, submit } from "./submit.ts";
import type { Workspaces } from "./workspaces.ts";

const MAX_SECRET_BYTES = 4096;
const ID = /^[A-Za-z0-9._-]{1,128}$/;
const WORKSPACE = /^[0-9a-f]{32}$/;
const DIGEST = /^[0-9a-f]{64}$/;

interface ServerParts extends SubmitServices {
  bundles: Bundles;
  workspaces: Workspaces;
  journal: Journal;
  enforced: Enforced;
  /** Whether the runner is shutting down. */
  draining(): boolean;
}

/** Makes the HTTP server; it does not listen yet. */
export function makeServer(parts: ServerParts): Server {
  const server = createServer({ noDelay: true, requestTimeout: 0 }, (request, response) => {
    // The code that reads the body or writes the answer notices a client that breaks off.
    request.on("error", () => {});
    response.on("error", () => {});
    route(parts, request, response).catch((error: unknown) => fail(request, response, error));
  });
  // Longer than a caller's pool keeps connections, so that the caller closes them, not the runner.
  server.keepAliveTimeout = 75_000;
  return server;
}

function fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (error instanceof Refused) {
    refuse(request, response, error);
    return;
  }
  if (!(error instanceof BodyCut)) {
    log("error", "request_failed", {
      method: request.method ?? "",
      path: request.url ?? "",
      reason: reasonOf(error),
    });
  }
  refuse(request, response, new Refused("internal", "The runner could not do this; its log says why."));
}

async function route(parts: ServerParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { auth, executions, bundles } = parts;
  const url = new URL(request.url ?? "/", "http://runner");
  const [, version, collection, id, more] = url.pathname.split("/");
  const at = `${request.method} ${version}/${collection ?? ""}`;
  const named = (pattern: RegExp, subject: (id: string) => TicketSubject, below?: string): string => {
    if (id === undefined || !pattern.test(id) || more !== below) throw unknownRoute();
    auth.permit(request, subject(id));
    return id;
  };
  if (at === "POST v1/executions" && id === undefined) return submit(parts, request, response);
  if (at === "GET v1/executions") {
    const from = Number(url.searchParams.get("from"));
    const execution = named(ID, (name) => `execution:${name}`);
    if (!Number.isSafeInteger(from) || from < 0) throw new Refused("bad_request", "`from` is not a number.");
    return executions.attach(execution, response, from);
  }
  if (at === "POST v1/executions") {
    const execution = named(ID, (name) => `execution:${name}`, "messages");
    const text = await textOf(request, MAX_MESSAGE_BYTES, "The message is too long.");
    return executions.message(execution, text, response);
  }
  if (at === "DELETE v1/executions") {
    executions.cancel(named(ID, (name) => `execution:${name}`));
    return answer(request, response, 204, "");
  }
  if (at === "DELETE v1/requests") {
    executions.cancelRequest(named(ID, (name) => `request:${name}`));
    return answer(request, response, 204, "");
  }
  if (at === "PUT v1/bundles") {
    await bundles.receive(
      named(DIGEST, (name) => `bundle:${name}`),
      request,
    );
    return answer(request, response, 204, "");
  }
  if (at === "PUT v1/workspaces") {
    const workspace = named(WORKSPACE, (name) => `workspace:${name}`, more === "contents" ? more : undefined);
    if (more === undefined) {
      const missing = await parts.workspaces.receiveManifest(workspace, request);
      return answer(request, response, 200, JSON.stringify({ missing }));
    }
    await parts.workspaces.receiveContents(workspace, request);
    return answer(request, response, 204, "");
  }
  if (at === "PUT v1/secret" && auth.deliverable && id === undefined)
    return takeSecret(parts, request, response);
  if (collection === undefined && (request.method === "GET" || request.method === "HEAD")) {
    return health(parts, version ?? "", request, response);
  }
  throw unknownRoute();
}

function unknownRoute(): Refused {
  return new Refused("not_found", "The runner has no such route.");
}

async function takeSecret(
  parts: ServerParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const secret = await textOf(request, MAX_SECRET_BYTES, "The secret is too long.");
  if (secret.length < MIN_SECRET_CHARS) throw new Refused("bad_request", "The secret is too short.");
  if (!parts.auth.setSecret(secret)) {
    throw new Refused("execution_conflict", "The runner has another secret already.");
  }
  answer(request, response, 204, "");
}

/** The whole body. @throws Refused with the reason `tooLong` */
async function textOf(request: IncomingMessage, limit: number, tooLong: string): Promise<string> {
  const bytes = await bytesWithin(request, limit);
  if (bytes === null) throw new Refused("bad_request", tooLong);
  return Buffer.from(bytes.buffer).toString();
}

function health(parts: ServerParts, path: string, request: IncomingMessage, response: ServerResponse): void {
  if (path === "healthz") {
    answer(request, response, 200, '{"status":"ok"}');
  } else if (path === "readyz") {
    if (parts.draining()) throw new Refused("runner_draining", "The runner is shutting down.");
    if (!parts.auth.ready) throw new Refused("unauthenticated", "The runner has no secret yet.");
    answer(request, response, 200, JSON.stringify({ status: "ready", enforced: parts.enforced }));
  } else if (path === "metrics") {
    answer(request, response, 200, metrics(parts), { "content-type": "text/plain; version=0.0.4" });
  } else {
    throw unknownRoute();
  }
}

/** Prometheus text. */
function metrics({
  queue,
  servers,
  executions,
  bundles,
  workspaces,
  journal,
  enforced,
}: ServerParts): string {
  const metric = (name: string, type: string, help: string, values: [labels: string, value: number][]) => [
    `# HELP hull_runner_${name} ${help}`,
    `# TYPE hull_runner_${name} ${type}`,
    ...values.map(([labels, value]) => `hull_runner_${name}${labels} ${value}`),
  ];
  const gauge = (name: string, help: string, value: number) => metric(name, "gauge", help, [["", value]]);
  const by = (label: string, values: Iterable<[string, number]>) =>
    Array.from(values, ([of, value]): [string, number] => [`{${label}="${of}"}`, value]);
  const kept = Object.entries(enforced).map(([what, is]): [string, number] => [what, is ? 1 : 0]);
  const lines = [
    gauge("running", "Executions that hold a slot", queue.running),
    gauge("waiting", "Executions that wait for a place", queue.waiting + servers.waiting),
    gauge("mcp_servers", "MCP servers that run", servers.running),
    gauge("bundles", "Unpacked bundles", bundles.count),
    gauge("bundle_bytes", "Bytes of unpacked bundles", bundles.bytes),
    gauge("workspaces", "Sessions' folders", workspaces.count),
    gauge("workspace_bytes", "Bytes of sessions' folders", workspaces.bytes),
    gauge("journal_bytes", "Bytes the journal counts", journal.bytes),
    gauge("resident_bytes", "Memory of the runner", process.memoryUsage.rss()),
    metric("enforced", "gauge", "Whether this runner isolates processes in this respect", by("what", kept)),
    metric("executions_total", "counter", "Ended executions", by("cause", executions.endings)),
    metric(
      "refusals_total",
      "counter",
      "Executions that were never admitted",
      by("code", executions.refusals),
    ),
  ];
  return `${lines.flat().join("\n")}\n`;
}
