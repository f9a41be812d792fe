/** Records calls on their way to the providers, which receive them unchanged. */
import { appendFile, writeFile } from "node:fs/promises";
import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { join } from "../../src/model/base-url.ts";
import {
  bodyOf,
  type CassetteCall,
  type CassetteHeader,
  callKey,
  cassetteLine,
  chunksOf,
  type Piece,
  requestOf,
  safeHeaders,
} from "../../src/model/cassette.ts";
import { UPSTREAM_HEADER } from "../../src/model/proxy.ts";
import type { Redactor } from "../../src/redact.ts";
import { type ProviderCall, type ProviderServer, startProviderServer } from "./server.ts";

export interface Recorder extends ProviderServer {
  /** Calls written so far. */
  calls(): number;
}

interface RecorderOptions {
  /** Overwritten. */
  file: string;
  header: CassetteHeader;
  redactor: Redactor;
  onLine: (line: string) => void;
}

/** Headers of one connection, not of the message. */
const HOP = /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host)$/;
/** Headers with secret values, whatever the provider calls them. */
const SECRET_HEADER = /auth|key|token|secret|cookie/;

/** Starts to record into the file; each call is written when its answer is complete. */
export async function startRecorder({ file, header, redactor, onLine }: RecorderOptions): Promise<Recorder> {
  await writeFile(file, cassetteLine(header));
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  let arrived = 0;
  let written = 0;
  let writing = Promise.resolve();
  const pending = new Set<Promise<unknown>>();
  const record = async (n: number, call: ProviderCall, heard: Heard): Promise<void> => {
    redactor.learn(secretsOf(call.request));
    const { provider, method, path } = call;
    const request = requestOf(method, path, bodyOf(call.body.toString("utf8")), redactor);
    const key = await callKey(request.body);
    const entry: CassetteCall = { kind: "model", n, provider, request, key, response: null };
    if (heard.answer !== null) {
      const { status, headers, pieces, cut } = heard.answer;
      const chunks = chunksOf(pieces, redactor);
      const shown = Object.entries(headers).map(([name, value]) => [name, redactor.text(value)] as const);
      entry.response = { status, headers: safeHeaders(shown), chunks, ...(cut ? { cut } : {}) };
    }
    await appendFile(file, cassetteLine(entry));
    written++;
  };
  const passOn = async (n: number, call: ProviderCall, response: ServerResponse): Promise<void> => {
    const heard = await forward(call, response, agents);
    if (heard === null) return;
    writing = writing
      .then(() => record(n, call, heard))
      .catch((error: unknown) => onLine(`A call could not be recorded: ${String(error)}`));
  };
  const answer = (call: ProviderCall, response: ServerResponse): Promise<void> => {
    const passing = passOn(++arrived, call, response);
    pending.add(passing);
    return passing.finally(() => pending.delete(passing));
  };
  const server = await startProviderServer({ host: "127.0.0.1", port: 0 }, answer, onLine);
  return {
    url: server.url,
    calls: () => written,
    async stop() {
      await server.stop();
      await Promise.allSettled(pending);
      agents.http.destroy();
      agents.https.destroy();
      await writing;
    },
  };
}

/** The received answer; `answer` is `null` if there was none. */
interface Heard {
  answer: { status: number; headers: Record<string, string>; pieces: Piece[]; cut: boolean } | null;
}

/**
 * How long a provider may continue after its client has left, in ms. A client that has received the last event of a
 * stream does not wait for the end of the connection.
 */
const LEFT_MS = 1000;

/**
 * Passes on a call, and its answer piece by piece.
 * @returns `null` if the client left before the answer was complete
 */
async function forward(
  call: ProviderCall,
  response: ServerResponse,
  agents: { http: HttpAgent; https: HttpsAgent },
): Promise<Heard | null> {
  const upstream = call.request.headers[UPSTREAM_HEADER];
  if (typeof upstream !== "string")
    throw new Error(`A call without ${UPSTREAM_HEADER} came to the recorder.`);
  const url = new URL(join(upstream, call.path));
  const secure = url.protocol === "https:";
  const send = secure ? httpsRequest : httpRequest;
  const sent = send(url, {
    method: call.method,
    headers: { ...passedOn(call.request), "accept-encoding": "identity" },
    agent: secure ? agents.https : agents.http,
  });
  let left = false;
  let leaving: NodeJS.Timeout | undefined;
  response.once("close", () => {
    left = !response.writableFinished;
    if (left) leaving = setTimeout(() => sent.destroy(), LEFT_MS);
  });
  const { promise, resolve } = Promise.withResolvers<IncomingMessage | null>();
  sent.once("response", resolve);
  sent.on("error", () => resolve(null));
  sent.end(call.body);
  const answer = await promise;
  if (answer === null) {
    if (left) return null;
    response.destroy();
    return { answer: null };
  }
  const headers = passedOn(answer);
  const status = answer.statusCode ?? 502;
  response.writeHead(status, headers);
  const pieces: Piece[] = [];
  let cut = false;
  try {
    for await (const bytes of answer) {
      pieces.push({ at_ms: Date.now() - call.at, bytes });
      if (!response.destroyed && !response.write(bytes)) await drained(response);
    }
    response.end();
  } catch {
    cut = true;
    response.destroy();
  } finally {
    clearTimeout(leaving);
  }
  return left && cut ? null : { answer: { status, headers, pieces, cut } };
}

/** Resolves when there is room again, or the reader has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

function passedOn({ headers }: IncomingMessage): Record<string, string> {
  const named = new Set(
    String(headers.connection ?? "")
      .split(",")
      .map((name) => name.trim().toLowerCase()),
  );
  const kept = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !HOP.test(name) && !named.has(name) && name !== UPSTREAM_HEADER,
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

/** Keys in the call: a provider of the project may have one that nothing else names. */
function secretsOf({ headers }: IncomingMessage): string[] {
  return Object.entries(headers)
    .filter(([name]) => SECRET_HEADER.test(name))
    .map(([, value]) => String(value).replace(/^\w+ /, ""));
}
