/**
 * A model provider for tests and benchmarks: a real HTTP server that speaks Anthropic Messages, OpenAI chat completions,
 * Responses and completions, and Ollama's native protocol, streamed and whole. Run by itself it echoes:
 * `node test/support/fake-provider.ts --port 9000`.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { parseArgs } from "node:util";
import { anthropicAnswer, type FakeAnswer, openAiAnswer } from "./fake-answers.ts";
import { completionAnswer, ollamaAnswer, ollamaGenerateAnswer } from "./fake-completions.ts";
import { responsesAnswer } from "./fake-responses.ts";
import type { FakeRequest, FakeRequestBody, FakeTurn } from "./fake-turn.ts";

/** An address where nothing listens; no system gives this port away. */
export const NOBODY = "http://127.0.0.1:2";

type FakeStep = FakeTurn | ((request: FakeRequest) => FakeTurn | Promise<FakeTurn>);

export interface FakeProvider {
  /** Origin without a path, e.g. `http://127.0.0.1:41234`. */
  url: string;
  /** In order of arrival. */
  requests: FakeRequest[];
  /** Replaces the script: one step per request, then echo; a function answers every request. */
  script(steps: FakeStep[] | Exclude<FakeStep, FakeTurn>): void;
  /** Answers requests for paths that belong to no model; `null`: they get a 404. */
  others(listener: RequestListener | null): void;
  close(): Promise<void>;
}

/** Starts a fake provider on loopback; port 0 takes a free one. */
export async function startFakeProvider(port = 0): Promise<FakeProvider> {
  const requests: FakeRequest[] = [];
  let queue: FakeStep[] = [];
  let always: FakeStep = {};
  let others: RequestListener | null = null;

  const server = createServer(async (incoming, response) => {
    const path = incoming.url ?? "";
    const answerer = PATHS.get(path);
    if (answerer === undefined && others !== null) {
      others(incoming, response);
      return;
    }
    // The client may die in the middle of its request.
    const sent = await readAll(incoming).catch(() => null);
    if (sent === null) return;
    const body = parseBody(sent);
    if (incoming.method !== "POST" || answerer === undefined || body === null) {
      response
        .writeHead(404, JSON_TYPE)
        .end('{"error":{"type":"not_found_error","message":"no such route"}}');
      return;
    }
    const request: FakeRequest = {
      path,
      headers: incoming.headers,
      body,
      text: lastUserText(body),
      at: Date.now(),
      left: once(response, "close").then(() => !response.writableFinished),
    };
    requests.push(request);
    const step = queue.shift() ?? always;
    const turn = typeof step === "function" ? await step(request) : step;
    // Ollama streams unless the request forbids it.
    const streams = path.startsWith("/api/chat") || path.startsWith("/api/generate");
    await respond(response, turn, answerer(turn, request), body.stream ?? streams);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const actual = typeof address === "object" && address !== null ? address.port : port;

  return {
    url: `http://127.0.0.1:${actual}`,
    requests,
    script(steps) {
      queue = typeof steps === "function" ? [] : [...steps];
      always = typeof steps === "function" ? steps : {};
    },
    others(listener) {
      others = listener;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const PATHS = new Map<string, (turn: FakeTurn, request: FakeRequest) => FakeAnswer>([
  ["/v1/messages", anthropicAnswer],
  ["/v1/chat/completions", openAiAnswer],
  ["/chat/completions", openAiAnswer],
  ["/v1beta/openai/chat/completions", openAiAnswer],
  ["/api/v1/chat/completions", openAiAnswer],
  ["/v1/responses", responsesAnswer],
  ["/v1/completions", completionAnswer],
  ["/api/chat", ollamaAnswer],
  ["/api/generate", ollamaGenerateAnswer],
]);

const JSON_TYPE = { "content-type": "application/json" };

async function respond(
  response: ServerResponse,
  turn: FakeTurn,
  answer: FakeAnswer,
  stream: boolean,
): Promise<void> {
  if (turn.delay_ms) await sleep(turn.delay_ms);
  if (turn.hang && turn.text === undefined && turn.raw_chunks === undefined) return;
  const status = turn.status ?? 200;
  const failed = status !== 200;
  if (turn.body !== undefined || (failed && turn.raw_chunks === undefined) || !(stream || turn.raw_chunks)) {
    const document = turn.body ?? (failed ? answer.error(status) : answer.whole);
    const text = typeof document === "string" ? document : JSON.stringify(document);
    const length = String(Buffer.byteLength(text));
    response.writeHead(status, { ...JSON_TYPE, "content-length": length, ...turn.headers });
    if (!turn.cut) response.end(text);
    else response.write(text.slice(0, text.length / 2), () => response.destroy());
    return;
  }
  response.writeHead(status, {
    "content-type": answer.lines ? "application/x-ndjson" : "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    ...turn.headers,
  });
  const events = turn.raw_chunks ?? answer.events.map((event) => event.text);
  const half = answer.lastDelta === -1 ? Math.floor(events.length / 2) : answer.lastDelta + 1;
  const sent = turn.cut && turn.raw_chunks === undefined ? events.slice(0, half) : events;
  let delta = 0;
  for (const [n, chunk] of sent.entries()) {
    if (answer.events[n]?.delta) {
      if (turn.delta_ms) await sleep(turn.delta_ms);
      await turn.paced?.(delta++);
    }
    if (response.destroyed) return;
    // In a stream that hangs, nothing may follow the last text delta.
    if (turn.hang && turn.raw_chunks === undefined && n > answer.lastDelta) return;
    response.write(chunk);
    if (turn.raw_chunks) await sleep(1);
  }
  if (turn.cut) setTimeout(() => response.destroy(), 5);
  else if (!turn.hang) response.end();
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function parseBody(text: string): FakeRequestBody | null {
  try {
    const body = JSON.parse(text);
    const known = body?.messages ?? body?.input ?? body?.prompt;
    return known === undefined ? null : { messages: [], ...body };
  } catch {
    return null;
  }
}

/** The text of a conversation, or the prompt of a completion. */
function lastUserText(body: FakeRequestBody): string {
  if (typeof body.prompt === "string") return body.prompt;
  const items: FakeRequestBody["messages"] = Array.isArray(body.input) ? body.input : body.messages;
  const texts = items
    .filter((message) => message.role === "user")
    .map(({ content }) => {
      if (typeof content === "string") return content;
      const parts = Array.isArray(content) ? content : [];
      return parts.flatMap((part) => (/^(input_)?text$/.test(part?.type) ? [part.text] : [])).join("");
    });
  return texts.findLast((text) => text !== "") ?? "";
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

if (import.meta.main) {
  const { values } = parseArgs({ options: { port: { type: "string", default: "9000" } } });
  const fake = await startFakeProvider(Number(values.port));
  console.log(`fake provider at ${fake.url} (${Array.from(PATHS.keys()).join(", ")})`);
}
