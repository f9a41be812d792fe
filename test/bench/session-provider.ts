/**
 * The loopback provider of the benches of sessions, a process of its own; prints its address. It speaks Anthropic's protocol
 * and does as little as it can, so that its own work does not hide differences between those who call it: it reads bytes
 * from the socket, parses no JSON, and answers from texts made beforehand. What a call gets follows from its model: `loop`
 * asks for the tool `step` ten times, then answers; `tokens` streams 200 tokens as fast as they go; any other answers with a
 * short text, `slow` after 50 ms. `GET /last` says when the last call came, in ms since 1970.
 */
import { createServer, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";

const ROUNDS = 10;
const TOKENS = 200;
const SLOW_MS = 50;
const USAGE = { input_tokens: 5, output_tokens: 7 };
type Block = { type: "text"; text: string } | { type: "tool_use"; id: string; name: string; input: object };

interface Answer {
  whole: string;
  streamed: string;
}

const event = (type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const HEAD = "HTTP/1.1 200 OK\r\n";
const STREAM_HEAD = `${HEAD}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n`;
const message = (block: Block) => ({
  id: "m",
  type: "message",
  role: "assistant",
  model: "bench",
  content: [block],
  stop_reason: block.type === "text" ? "end_turn" : "tool_use",
  usage: USAGE,
});
const whole = (type: string, text: string): string =>
  `${HEAD}content-type: ${type}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
const opening = (block: Block): string =>
  event("message_start", { message: { ...message(block), content: [], stop_reason: null } }) +
  event("content_block_start", {
    index: 0,
    content_block: block.type === "text" ? { type: "text", text: "" } : { ...block, input: {} },
  });
const closing = (block: Block): string =>
  event("content_block_stop", { index: 0 }) +
  event("message_delta", { delta: { stop_reason: message(block).stop_reason }, usage: USAGE }) +
  event("message_stop", {});
const delta = (block: Block): string =>
  event("content_block_delta", {
    index: 0,
    delta:
      block.type === "text"
        ? { type: "text_delta", text: block.text }
        : { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
  });

function answerOf(block: Block): Answer {
  const stream = opening(block) + delta(block) + closing(block);
  return {
    whole: whole("application/json", JSON.stringify(message(block))),
    streamed: `${STREAM_HEAD}${chunk(stream)}0\r\n\r\n`,
  };
}

const SHORT = answerOf({ type: "text", text: "Hello from the provider." });
const LOOP = Array.from({ length: ROUNDS + 1 }, (_, n) =>
  answerOf(
    n === ROUNDS
      ? { type: "text", text: "All done." }
      : { type: "tool_use", id: `call_${n}`, name: "step", input: { n } },
  ),
);

/** How many results of tools a request holds. */
const results = (body: string): number => body.split('"type":"tool_result"').length - 1;

async function tokens(socket: Socket): Promise<void> {
  const block: Block = { type: "text", text: "" };
  socket.write(STREAM_HEAD + chunk(opening(block)));
  for (let token = 0; token < TOKENS; token += 1) {
    socket.write(chunk(delta({ type: "text", text: `token${token} ` })));
    // Each in a packet of its own.
    await turn();
  }
  socket.write(`${chunk(closing(block))}0\r\n\r\n`);
}

let last = 0;
function answer(socket: Socket, head: string, body: string): void {
  if (head.startsWith("GET /last")) {
    socket.write(whole("text/plain", String(last)));
    return;
  }
  last = performance.timeOrigin + performance.now();
  if (body.includes('"model":"tokens"')) {
    void tokens(socket);
    return;
  }
  const made = body.includes('"model":"loop"') ? LOOP[Math.min(results(body), ROUNDS)] : SHORT;
  const text = body.includes('"stream":true') ? (made?.streamed ?? "") : (made?.whole ?? "");
  if (body.includes('"model":"slow"')) setTimeout(() => socket.write(text), SLOW_MS);
  else socket.write(text);
}

const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  let held = "";
  // One character a byte.
  socket.setEncoding("latin1").on("data", (data: string) => {
    held += data;
    for (let end = held.indexOf("\r\n\r\n"); end !== -1; end = held.indexOf("\r\n\r\n")) {
      const head = held.slice(0, end);
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (held.length < end + 4 + length) return;
      const body = held.slice(end + 4, end + 4 + length);
      held = held.slice(end + 4 + length);
      answer(socket, head, body);
    }
  });
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  process.stdout.write(`${JSON.stringify({ provider: `http://127.0.0.1:${port}`, upstream: "" })}\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();
