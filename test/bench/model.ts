/**
 * Model calls over what the platform needs for them: `POST /llm/call` over the same fetch in a bare Worker, a stream of 200
 * tokens over a Worker that pipes its bytes. A token's delay is from its leaving the provider to its arrival at the client.
 */
import { createServer, request as httpRequest } from "node:http";
import { ask, compare, post } from "./load.ts";
import { ms, type Row, row, times } from "./row.ts";
import { bareModelCall, startBare, startHull, writeProject } from "./subjects.ts";

const TOKENS = 200;
const GAP_MS = 2;
const JSON_TYPE = { "content-type": "application/json" };

export async function modelRows(rounds: number): Promise<Row[]> {
  const provider = await tokenProvider();
  process.env.ANTHROPIC_BASE_URL = provider.url;
  process.env.ANTHROPIC_API_KEY = "bench-key-0123456789";
  const project = await writeProject({
    "skills/a/SKILL.md": "---\nname: a\ndescription: A\nprovider: mock\n---\nAnswer.\n",
  });
  const hull = await startHull(project.dir);
  const bare = await startBare(
    `${bareModelCall(provider.url)}\nexport default { fetch: (request) => callModel(request) };`,
  );
  const pipe = await startBare(pipingWorker(provider.url));
  try {
    const call = JSON.stringify({
      prompt: "hi",
      system: "Answer briefly.",
      options: { provider: "anthropic", model: "bench", max_tokens: 4096, stream: false },
    });
    const whole = await compare(
      () => post(bare.url, "hi"),
      () => ask(`${hull.url}/llm/call`, { method: "POST", body: call, headers: JSON_TYPE }),
      1,
      rounds,
    );
    const streamed = JSON.stringify({
      prompt: "stream",
      options: { provider: "anthropic", model: "bench", max_tokens: 4096 },
    });
    const turns = Math.max(5, Math.floor(rounds / 30));
    const piped = await stream(() => follow(pipe.url, "stream", {}), turns);
    const own = await stream(() => follow(`${hull.url}/llm/stream`, streamed, JSON_TYPE), turns);
    return [
      row(
        "/llm/call, not streamed: p50 over a bare fetch",
        ms(whole.floor.p50),
        ms(whole.ours.p50),
        whole.ours.p50 / whole.floor.p50,
        1.2,
        times,
      ),
      row(
        "first token of a stream: p50 over piping",
        ms(piped.first),
        ms(own.first),
        own.first - piped.first,
        1,
        ms,
      ),
      row(
        `a token of ${TOKENS}: p50 of its delay over piping`,
        ms(piped.each),
        ms(own.each),
        own.each - piped.each,
        1,
        ms,
      ),
    ];
  } finally {
    await hull.stop();
    await bare.stop();
    await pipe.stop();
    await provider.stop();
    await project.remove();
  }
}

interface Followed {
  first: number;
  delays: number[];
}

/** Streams a few times and answers medians in ms. */
async function stream(once: () => Promise<Followed>, turns: number) {
  await once();
  const all: Followed[] = [];
  for (let turn = 0; turn < turns; turn++) all.push(await once());
  return { first: middle(all.map(({ first }) => first)), each: middle(all.flatMap(({ delays }) => delays)) };
}

const middle = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Each token is the time at which the provider sent it; `|` ends it. */
const SENT = /(\d{10,}\.\d+)\|/g;

function follow(url: string, body: string, headers: Record<string, string>): Promise<Followed> {
  const { promise, resolve, reject } = Promise.withResolvers<Followed>();
  const delays: number[] = [];
  const seen = new Set<string>();
  const sent = httpRequest(url, { method: "POST", headers }, (answer) => {
    answer.setEncoding("utf8");
    answer.on("data", (chunk: string) => {
      const now = performance.timeOrigin + performance.now();
      // The last event of Hull's stream repeats the whole text.
      if (chunk.includes("event: done")) return;
      for (const [, at = ""] of chunk.matchAll(SENT)) {
        if (seen.has(at)) continue;
        seen.add(at);
        delays.push(now - Number(at));
      }
    });
    answer.on("end", () => resolve({ first: delays[0] ?? Number.NaN, delays }));
    answer.on("error", reject);
  });
  sent.on("error", reject).end(body);
  return promise;
}

/** Speaks Anthropic's protocol: a short answer whole, or 200 tokens that say when they were sent. */
async function tokenProvider(): Promise<{ url: string; stop: () => Promise<void> }> {
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { stream: streaming } = JSON.parse(Buffer.concat(chunks).toString());
    const usage = { input_tokens: 5, output_tokens: TOKENS };
    if (streaming !== true) {
      const content = [{ type: "text", text: "Hello from the provider." }];
      const message = {
        id: "m",
        type: "message",
        role: "assistant",
        model: "bench",
        content,
        stop_reason: "end_turn",
        usage,
      };
      response.writeHead(200, JSON_TYPE).end(JSON.stringify(message));
      return;
    }
    const send = (type: string, data: object): void => {
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
    };
    response.writeHead(200, { "content-type": "text/event-stream" });
    send("message_start", {
      message: { id: "m", type: "message", role: "assistant", model: "bench", content: [], usage },
    });
    send("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
    for (let token = 0; token < TOKENS; token++) {
      await new Promise((resolve) => setTimeout(resolve, GAP_MS));
      const text = `${performance.timeOrigin + performance.now() + token / 1e7}|`;
      send("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
    }
    send("content_block_stop", { index: 0 });
    send("message_delta", { delta: { stop_reason: "end_turn" }, usage });
    send("message_stop", {});
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Passes the provider's bytes on. */
const pipingWorker = (provider: string): string => `
export default {
  async fetch() {
    const body = JSON.stringify({ model: "bench", max_tokens: 4096, stream: true,
      messages: [{ role: "user", content: [{ type: "text", text: "stream" }] }] });
    const answer = await fetch("${provider}/v1/messages", { method: "POST", body,
      headers: { "content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01" } });
    return new Response(answer.body, { headers: { "content-type": "text/event-stream" } });
  },
};`;
