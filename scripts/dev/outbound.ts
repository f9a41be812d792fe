/** The local Worker's requests where only a proxy leads to other machines: workerd knows none, so Node makes them. */
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { ServerResponse } from "node:http";
import type { Request, Response } from "miniflare";
import { fetchWithoutTimeout } from "../fetch-without-timeout.ts";
import { useProxy } from "../proxy.ts";
import { reasonOf } from "../system-error.ts";

/** The class of answers that miniflare takes; asked for with the first request. */
type Answers = () => Promise<typeof Response> | typeof Response;

/** An option for miniflare and wrangler, if the environment names a proxy: what makes the Worker's requests. */
export function outboundOf(environment: NodeJS.ProcessEnv, answers: Answers) {
  if (!useProxy(environment)) return {};
  // miniflare passes neither on when the Worker leaves nor how fast it reads: only what it writes to knows that.
  const written = new AsyncLocalStorage<ServerResponse>();
  subscribe("http.server.request.start", (message) => {
    const { response } = Object(message);
    if (response instanceof ServerResponse) written.enterWith(response);
  });
  const outboundService = (request: Request) => throughProxy(request, written.getStore(), answers);
  return { outboundService };
}

/**
 * Makes one request of the Worker. If there is no way to its host, the answer is 502 and says so.
 * @param written where miniflare writes the answer
 */
async function throughProxy(
  request: Request,
  written: ServerResponse | undefined,
  answers: Answers,
): Promise<Response> {
  const left = new AbortController();
  written?.once("close", () => left.abort());
  const Answer = await answers();
  const url = new URL(request.url);
  const { method } = request;
  const headers = new Headers([...request.headers]);
  // miniflare would compress an answer again, and hold back its events for that.
  headers.set("accept-encoding", "identity");
  const body = request.body === null ? null : await request.arrayBuffer();
  try {
    const answer = await fetchWithoutTimeout(url, { method, headers, body, signal: left.signal });
    const paced = new TransformStream<Uint8Array, Uint8Array>({
      async transform(chunk, controller) {
        controller.enqueue(chunk);
        if (written?.writableNeedDrain === true) await once(written, "drain", left);
      },
    });
    const { status } = answer;
    return new Answer(answer.body?.pipeThrough(paced) ?? null, { status, headers: [...answer.headers] });
  } catch (error) {
    const text = `The proxy that HTTPS_PROXY names does not lead to ${url.host}: ${reasonOf(error)}.\n`;
    return new Answer(text, { status: 502 });
  }
}
