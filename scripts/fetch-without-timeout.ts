/**
 * Requests whose answer may take hours. `fetch` could make them with an Agent of undici, whose types do not fit those of
 * Node's `fetch`; and each command would take a tenth of a second longer to start.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { Readable } from "node:stream";

/** Statuses whose answers have no body. */
const BODILESS = new Set([204, 205, 304]);
/** Methods whose requests may arrive twice (RFC 9110 §9.2.2). */
const IDEMPOTENT = new Set(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]);

/**
 * Like `fetch`, but without its limit of 5 minutes for an answer's headers, since a skill, a task or a run may take
 * longer. It does not follow redirects, and holds the whole request body in memory. The signal of `init` ends it, the
 * answer's body included.
 */
export async function fetchWithoutTimeout(url: URL, init: RequestInit): Promise<Response> {
  const { method, headers, body } = new Request(url, init);
  const bytes = body === null ? undefined : Buffer.from(await new Response(body).arrayBuffer());
  const [open, Agent] = url.protocol === "https:" ? [httpsRequest, HttpsAgent] : [httpRequest, HttpAgent];
  /** @param reuse whether the request may take a connection that stayed open after an earlier one */
  const send = async (reuse: boolean): Promise<IncomingMessage> => {
    const about = {
      method,
      headers: Object.fromEntries(headers),
      ...(init.signal ? { signal: init.signal } : {}),
      // Node's `agent: false` would not know the proxy of the process (`useProxy`).
      ...(reuse ? {} : { agent: new Agent({ proxyEnv: process.env }) }),
    };
    const request = open(url, about);
    // Without a time limit, only this notices that the server is gone.
    request.setSocketKeepAlive(true, 1000);
    const answered = Promise.withResolvers<IncomingMessage>();
    request.on("response", answered.resolve).on("error", answered.reject).end(bytes);
    return answered.promise.catch((error: unknown) => {
      // The server may have closed an idle connection at the very moment when this request took it.
      if (!reuse || !request.reusedSocket) throw error;
      return send(false);
    });
  };
  const incoming = await send(IDEMPOTENT.has(method));
  const { statusCode: status = 0, headersDistinct } = incoming;
  const fields = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  if (!BODILESS.has(status)) return new Response(Readable.toWeb(incoming), { status, headers: fields });
  incoming.resume();
  return new Response(null, { status, headers: fields });
}
