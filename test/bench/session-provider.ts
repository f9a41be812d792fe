/**
 * The loopback provider of the benches of sessions, a process of its own; prints its address. It speaks Anthropic's protocol
 * and does as little as it can. What a call gets follows from its model: `loop` asks for the tool `step` ten times, then
 * answers; `tokens` streams 200 tokens as fast as they go; any other answers with a short text. `GET /last` says when the
 * last call came, in ms since 1970.
 */
import { createServer, type IncomingMessage } from "node:http";
import * as z from "zod";

const ROUNDS = 10;
const TOKENS = 200;
const asked = z.object({
  model: z.string(),
  stream: z.boolean().optional(),
  messages: z.array(z.object({ role: z.string(), content: z.unknown() })),
});
type Block = { type: "text"; text: string } | { type: "tool_use"; id: string; name: string; input: object };

let last = 0;
const server = createServer(async (request, response) => {
  if (request.url === "/last") {
    response.end(String(last));
    return;
  }
  last = performance.timeOrigin + performance.now();
  const { model, stream = false, messages } = asked.parse(JSON.parse(await text(request)));
  const block = answer(model, messages);
  const message = {
    id: "m",
    type: "message",
    role: "assistant",
    model,
    content: [block],
    stop_reason: block.type === "text" ? "end_turn" : "tool_use",
    usage: { input_tokens: 5, output_tokens: 7 },
  };
  if (!stream) {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message));
    return;
  }
  const send = (type: string, data: object): void => {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  };
  response.writeHead(200, { "content-type": "text/event-stream" });
  send("message_start", { message: { ...message, content: [], stop_reason: null } });
  send("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
  const tokens = model === "tokens" ? TOKENS : 1;
  for (let token = 0; token < tokens; token += 1) {
    send("content_block_delta", { index: 0, delta: { type: "text_delta", text: `token${token} ` } });
    // Each in a packet of its own.
    await new Promise((resolve) => setImmediate(resolve));
  }
  send("content_block_stop", { index: 0 });
  send("message_delta", { delta: { stop_reason: "end_turn" }, usage: message.usage });
  send("message_stop", {});
  response.end();
});

function answer(model: string, messages: readonly { role: string; content: unknown }[]): Block {
  if (model !== "loop") return { type: "text", text: "Hello from the provider." };
  const turn = messages.findLastIndex(({ role, content }) => role === "user" && !isResult(content));
  const n = messages.length - turn;
  if (n > 2 * ROUNDS) return { type: "text", text: "All done." };
  return { type: "tool_use", id: `call_${turn}_${n}`, name: "step", input: { n } };
}

function isResult(content: unknown): boolean {
  return Array.isArray(content) && content.some((block: { type?: string }) => block.type === "tool_result");
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  process.stdout.write(`${JSON.stringify({ provider: `http://127.0.0.1:${port}`, upstream: "" })}\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();
