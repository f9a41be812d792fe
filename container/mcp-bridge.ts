/**
 * The stdio of an MCP server behind HTTP. A message of the client becomes a line of the server's stdin. A request gets a
 * stream of events that ends with its answer, as in Streamable HTTP (2025-11-25, "Sending Messages to the Server").
 */
import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { firstWords } from "../src/cut.ts";
import { HEARTBEAT_MS, MAX_UNANSWERED_BYTES } from "../src/tool/protocol.ts";
import { Refused } from "./refusal.ts";

/** The most bytes of a message to the server, and of messages that wait until the server reads them. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** The most messages of a server that are kept while no request waits, and the longest of them in characters. */
const MOST_KEPT = 20;
const LONGEST_KEPT = 64 * 1024;
/** Characters of a line that a note shows. */
const SHOWN = 200;

export class McpBridge {
  readonly #note: (text: string) => void;
  /** Requests without an answer, by their id. */
  readonly #waiting = new Map<unknown, ServerResponse>();
  /** What the server sent while no request waited. */
  #kept: string[] = [];
  #stdin: Writable | null = null;
  /** Lines for a process that has not started yet. */
  #early: string[] = [];
  #earlyBytes = 0;
  #line: Uint8Array[] = [];
  #unanswered = 0;
  #noted = false;

  /** @param note receives, once, a remark for whoever reads the server's stderr */
  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  /** Sends the messages that came before the process started, and from then on each message at once. */
  connect(stdin: Writable | null): void {
    this.#stdin = stdin;
    for (const line of this.#early.splice(0)) stdin?.write(line);
  }

  /**
   * Passes a message to the server. The answer to a request goes to `response`; any other message is accepted with 202.
   * @throws Refused
   */
  take(text: string, response: ServerResponse): void {
    const [message] = messagesIn(text);
    if (message === undefined) throw new Refused("bad_request", "The body is not a JSON-RPC message.");
    const bytes = Buffer.byteLength(text);
    const unread = this.#stdin?.writableLength ?? this.#earlyBytes;
    if (unread + bytes > MAX_MESSAGE_BYTES)
      throw new Refused("bad_request", "The MCP server does not read its stdin.");
    const { id, method } = message;
    if (id === undefined || method === undefined) response.writeHead(202).end();
    else {
      this.#waiting.set(id, response);
      // Whatever stands in between may give up on a connection without a byte.
      const heartbeat = setInterval(() => {
        // A client that reads slowly has not yet read an answer that is whole.
        if (!response.writableEnded) response.write(":\n\n");
      }, HEARTBEAT_MS);
      response.once("close", () => {
        clearInterval(heartbeat);
        if (this.#waiting.get(id) === response) this.#waiting.delete(id);
      });
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      for (const line of this.#kept.splice(0)) send(response, line);
    }
    // Line breaks stand only between tokens: JSON has none in strings.
    const line = `${text.replace(/[\r\n]+/g, " ")}\n`;
    if (this.#stdin !== null) this.#stdin.write(line);
    else {
      this.#early.push(line);
      this.#earlyBytes += bytes;
    }
  }

  /** Takes what the server wrote to stdout. `false`: it wrote too much without an answer. */
  push(chunk: Uint8Array): boolean {
    this.#unanswered += chunk.length;
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      const line = Buffer.concat([...this.#line.splice(0), chunk.subarray(from, end)]);
      from = end + 1;
      this.#pass(line.toString("utf8").trim());
    }
    // Later chunks may reuse the memory of this one.
    if (from < chunk.length) this.#line.push(Buffer.from(chunk.subarray(from)));
    return this.#unanswered <= MAX_UNANSWERED_BYTES;
  }

  /** Ends the streams of all requests without an answer. */
  end(): void {
    for (const response of this.#waiting.values()) response.end();
    this.#waiting.clear();
  }

  #pass(line: string): void {
    if (line === "") return;
    const messages = messagesIn(line);
    if (messages.length === 0) {
      if (!this.#noted)
        this.#note(`[hull: its stdout has a line that is no message: ${firstWords(line, SHOWN)}]\n`);
      this.#noted = true;
      return;
    }
    const ids = messages.flatMap(({ id, method }) =>
      method === undefined && this.#waiting.has(id) ? [id] : [],
    );
    const response = this.#waiting.get(ids[0]);
    if (response !== undefined) {
      this.#unanswered = 0;
      send(response, line);
      for (const id of ids) {
        this.#waiting.get(id)?.end();
        // What follows goes to a request that still waits.
        this.#waiting.delete(id);
      }
      return;
    }
    // An answer for which nobody waits any longer.
    if (messages.every(({ method }) => method === undefined)) return;
    const [first] = this.#waiting.values();
    if (first !== undefined) send(first, line);
    else if (messages.some(isLasting) && this.#kept.length < MOST_KEPT && line.length <= LONGEST_KEPT)
      this.#kept.push(line);
  }
}

function send(response: ServerResponse, line: string): void {
  response.write(`data: ${line}\n\n`);
}

interface Message {
  id?: unknown;
  method?: unknown;
}

/** The messages of a JSON text: one, or (2025-03-26) a batch; none if it has another form. */
function messagesIn(text: string): Message[] {
  try {
    const value: unknown = JSON.parse(text);
    return [value].flat().filter((item) => typeof item === "object" && item !== null);
  } catch {
    return [];
  }
}

/** Whether a message still means something when the next request comes: a question, or a change of the tools. */
const isLasting = ({ id, method }: Message): boolean =>
  id !== undefined || method === "notifications/tools/list_changed";
