/**
 * The dev front: the listener on the public port. Local workerd never tells the Worker that a client left before the
 * first byte of the answer. This listener sees it, tells the Worker, and stops the request's executions. It also hides
 * what wrangler serves on the Worker's port: triggers, a view of the database, headers that control wrangler.
 */

import { randomUUID } from "node:crypto";
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { BadRequest, HostNotAllowed, NotFound } from "../../src/errors/request.ts";
import { type HullError, toProblem } from "../../src/errors.ts";
import { importTicketKey, signTicket, type TicketKey } from "../../src/tool/protocol.ts";
import { reasonOf } from "../system-error.ts";
import { endServer, listenOn } from "./local-addresses.ts";

interface FrontOptions {
  host: string;
  /** 0 means any free port. */
  port: number;
  /** Origin of the Worker, on loopback. */
  worker: string;
  runner: { url: string; secret: string };
}

interface Front {
  port: number;
  stop(): Promise<void>;
}

/**
 * How long the front keeps an idle connection to the Worker, in ms: shorter than workerd, which closes it after 15 s. A
 * request that begins at that moment is lost, and nobody knows whether the Worker saw it.
 */
const IDLE_MS = 3000;

/**
 * How long the front keeps a client's idle connection, in ms: longer than nginx (60 s) and cloudflared (90 s) keep theirs, so
 * that they close it. A request that begins while the front closes it would be lost.
 */
const KEPT_MS = 100_000;

/** Starts the listener. */
export async function startFront(options: FrontOptions): Promise<Front> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, timeout: IDLE_MS });
  const key = await importTicketKey(options.runner.secret);
  const server = createServer({ requireHostHeader: false }, (incoming, outgoing) =>
    forward(incoming, outgoing, options, agent, key),
  );
  server.on("clientError", ({ code }: NodeJS.ErrnoException, socket) => {
    if (code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    const detail = UNREADABLE[code ?? ""] ?? "Hull cannot read this as an HTTP request.";
    const { status, headers, body } = refusalOf(new BadRequest({ detail }));
    const lines = Object.entries({ ...headers, connection: "close" }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`);
  });
  // The Worker itself limits how slowly a body may arrive.
  server.requestTimeout = 0;
  server.keepAliveTimeout = KEPT_MS;
  return {
    port: await listenOn(server, options.host, options.port),
    async stop() {
      agent.destroy();
      await endServer(server);
    },
  };
}

/** What is wrong with a request, by the code of Node's parser. */
const UNREADABLE: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "The headers are longer than 16 KiB.",
  HPE_INVALID_URL:
    "The address has a blank or a character that is not ASCII. Percent-encode it: ü is %C3%BC. curl does that with -G --data-urlencode.",
};

function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { worker, runner }: FrontOptions,
  agent: Agent,
  key: TicketKey,
): void {
  const { method, url: path = "/" } = incoming;
  if (!leadsToWorker(path)) {
    refuse(outgoing, new NotFound({ path: path.replace(/[?#].*$/s, "").slice(0, 200) }));
    return;
  }
  const { host } = incoming.headers;
  if (host === undefined) {
    refuse(outgoing, new BadRequest({ detail: "The request has no header Host." }));
    return;
  }
  if (!HOST.test(host)) {
    refuse(outgoing, new HostNotAllowed({ host: host.slice(0, 200) }));
    return;
  }
  const runId = `ex_${randomUUID().replaceAll("-", "")}`;
  const headers = [...without(OWN, incoming.rawHeaders), RUN_ID, runId];
  const { hostname, port } = new URL(worker);
  const sent = request({ hostname, port, path, method, headers, agent, setHost: false }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, without(OF_CONNECTION, answer.rawHeaders));
    answer.pipe(outgoing);
    // If an answer breaks off, the client must notice it.
    answer.on("error", () => outgoing.destroy());
    answer.on("aborted", () => outgoing.destroy());
  });
  sent.on("error", (error) => {
    if (outgoing.headersSent || outgoing.destroyed) return void outgoing.destroy();
    outgoing
      .writeHead(502, { "content-type": "text/plain" })
      .end(`The Worker cannot be reached: ${reasonOf(error)}.\n`);
  });
  incoming.on("error", () => sent.destroy());
  incoming.pipe(sent);
  outgoing.once("close", () => {
    if (outgoing.writableFinished) return;
    sent.destroy();
    request({ hostname, port, agent, headers: { [CLIENT_LEFT]: runId } }, (answer) => answer.resume())
      .on("error", () => {})
      .end();
    // An agent run has its own name, derived from its request's.
    for (const name of [runId, runId.replace("ex_", "run_")]) void cancel(runner.url, key, name);
  });
}

/**
 * A name or address, and a port. wrangler makes the URL of a request from it; anything more would become the beginning
 * of the path.
 */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** Whether a request's target is not one of wrangler's own, however it is written. */
function leadsToWorker(target: string): boolean {
  if (target === "*") return true;
  const url = URL.parse(target, "http://worker");
  return url !== null && !/^\/+cdn-cgi(?:\/|$)/i.test(url.pathname);
}

function refuse(outgoing: ServerResponse, error: HullError): void {
  const { status, headers, body } = refusalOf(error);
  outgoing.writeHead(status, headers).end(body);
}

/** An answer to a request that does not reach the Worker. */
function refusalOf({ data }: HullError) {
  const requestId = randomUUID();
  const body = JSON.stringify(toProblem(data, requestId));
  const headers = {
    "content-type": "application/problem+json",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    "x-request-id": requestId,
    "x-content-type-options": "nosniff",
    "server-timing": "total;dur=0",
    "x-hull-duration-ms": 0,
  };
  return { status: data.status, headers, body };
}

/** Tells the Worker that the client of a run left. */
const CLIENT_LEFT = "x-hull-client-left";
const RUN_ID = "x-hull-run-id";
/** Headers that only this listener sends, or miniflare's own parts: one of the latter replaces the URL. */
const OWN = new RegExp(`^(?:mf-.*|${CLIENT_LEFT}|${RUN_ID})$`, "i");
/** Headers about the connection to the Worker (RFC 9110 §7.6.1); a client of HTTP/1.0 does not know chunks. */
const OF_CONNECTION = /^(?:connection|keep-alive|transfer-encoding)$/i;

/** Headers as alternating names and values, without those with such a name. */
function without(names: RegExp, rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, at) => !names.test(rawHeaders[at - (at % 2)] ?? ""));
}

/** Ends all executions of a run, and prevents further ones. */
async function cancel(runner: string, key: TicketKey, runId: string): Promise<void> {
  const ticket = await signTicket(key, `request:${runId}`, "", Date.now());
  const headers = { authorization: `Bearer ${ticket}` };
  const url = new URL(`/v1/requests/${runId}`, runner);
  await fetch(url, { method: "DELETE", headers }).then(
    (response) => response.body?.cancel(),
    () => undefined,
  );
}
