/** An HTTP server that replaces the providers: a recording or a recorder answers calls of `/<provider>/<path>`. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { bytesWithin } from "../../src/bytes.ts";
import { endServer, LOOPBACK, listenOn, originOf } from "../dev/local-addresses.ts";

/** Limit of a request; the Worker sends less. */
const MAX_BODY_BYTES = 128 * 1024 * 1024;

/** A request to a provider. */
export interface ProviderCall {
  provider: string;
  method: string;
  /** Relative to the provider's base, with query, e.g. `/messages`. */
  path: string;
  body: Buffer;
  request: IncomingMessage;
  /** Unix ms. */
  at: number;
}

export interface ProviderServer {
  /** Origin. */
  url: string;
  stop(): Promise<void>;
}

/**
 * Starts on a port, 0 for any free one.
 * @param answer if it fails, the connection ends, and `onError` receives the error
 */
export async function startProviderServer(
  { host, port }: { host: string; port: number },
  answer: (call: ProviderCall, response: ServerResponse) => Promise<void>,
  onError: (line: string) => void,
): Promise<ProviderServer> {
  const server = createServer((request, response) => {
    handle(request, response, answer).catch((error: unknown) => {
      // A client that leaves is not a fault of this server.
      if (request.complete) onError(error instanceof Error ? error.message : String(error));
      response.destroy();
    });
  });
  server.requestTimeout = 0;
  const url = originOf(host, await listenOn(server, host, port));
  return { url, stop: () => endServer(server) };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (call: ProviderCall, response: ServerResponse) => Promise<void>,
): Promise<void> {
  const at = Date.now();
  const refuse = (status: number, type: string, message: string): void => {
    const document = JSON.stringify({ error: { type, message } });
    response.writeHead(status, { "content-type": "application/json" }).end(document);
  };
  // A page whose host name was redirected to this machine reaches nothing.
  const host = (request.headers.host ?? "").replace(/:\d+$/, "");
  if (!LOOPBACK.has(host)) return refuse(403, "permission_error", `Requests for host "${host}" are refused.`);
  const [, provider = "", rest = ""] = /^\/([A-Za-z0-9_-]+)(\/.*)?$/.exec(request.url ?? "") ?? [];
  if (provider === "") {
    return refuse(404, "not_found_error", "The path begins with a provider's name: /anthropic/v1/messages.");
  }
  const body = await bytesWithin(request, MAX_BODY_BYTES);
  if (body === null) throw new Error(`A request is longer than ${MAX_BODY_BYTES} bytes.`);
  const { method = "GET" } = request;
  const whole = Buffer.from(body.buffer);
  await answer({ provider, method, path: withoutVersion(rest), body: whole, request, at }, response);
}

/** A base may end with `/v1` or not: the clients of one provider differ. */
const withoutVersion = (path: string): string => path.replace(/^\/v1(?=\/)/, "");
