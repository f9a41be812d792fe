/** The local Worker's requests where only a proxy leads to other machines: workerd knows none, so Node makes them. */
import type { Request, Response } from "miniflare";
import { fetchWithoutTimeout } from "../fetch-without-timeout.ts";
import { useProxy } from "../proxy.ts";
import { reasonOf } from "../system-error.ts";

/** The class of answers that miniflare takes; asked for with the first request. */
type Answers = () => Promise<typeof Response> | typeof Response;

/** An option for miniflare and wrangler, if the environment names a proxy: what makes the Worker's requests. */
export const outboundOf = (environment: NodeJS.ProcessEnv, answers: Answers) =>
  useProxy(environment) ? { outboundService: (request: Request) => throughProxy(request, answers) } : {};

/** Makes one request of the Worker. If there is no way to its host, the answer is 502 and says so. */
async function throughProxy(request: Request, answers: Answers): Promise<Response> {
  const Answer = await answers();
  const url = new URL(request.url);
  const { method } = request;
  const headers = new Headers([...request.headers]);
  // miniflare would compress an answer again, and hold back its events for that.
  headers.set("accept-encoding", "identity");
  const body = request.body === null ? null : await request.arrayBuffer();
  try {
    const answer = await fetchWithoutTimeout(url, { method, headers, body });
    return new Answer(answer.body, { status: answer.status, headers: [...answer.headers] });
  } catch (error) {
    const text = `The proxy that HTTPS_PROXY names does not lead to ${url.host}: ${reasonOf(error)}.\n`;
    return new Answer(text, { status: 502 });
  }
}
