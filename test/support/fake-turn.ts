/** One exchange with the fake provider: the request that it got, and the answer that a test wants. */
import type { IncomingHttpHeaders } from "node:http";

/** The answer to one request. Without any field, it is an echo of the last user text. */
export interface FakeTurn {
  /** A list is streamed as one delta each. */
  text?: string | string[];
  /** Thinking (Anthropic, signed; Ollama), `reasoning_content` (OpenAI) or a summary (Responses). */
  reasoning?: string;
  /** Searches of the provider's own tool search, and the names of the tools that they found. */
  searches?: { id?: string; query: string; found: string[] }[];
  /** `arguments` as a string are sent unchanged (Anthropic: in a stream only). */
  tool_calls?: { id?: string; name: string; arguments: object | string }[];
  /** Refusal field of OpenAI; Anthropic's explanation of a refusal. */
  refusal?: string;
  /** The protocol's own word; by default it follows from the turn. */
  stop?: string;
  usage?: { input?: number; output?: number; cache_read?: number; cache_write?: number };
  /** Before the first byte. */
  delay_ms?: number;
  /** Before each text delta of a stream. */
  delta_ms?: number;
  /** Called with the number of each text delta before a stream sends it; the delta waits for the result. */
  paced?: (delta: number) => Promise<unknown>;
  /** Anything but 200 answers with an error document, or with `body`. */
  status?: number;
  headers?: Record<string, string>;
  /** Replaces the whole answer; objects are sent as JSON. */
  body?: string | object;
  /** Replaces the bytes of the stream; each item is one write. */
  raw_chunks?: (string | Uint8Array)[];
  /** Breaks the connection in mid-answer: after the text deltas of a stream, after half of a document. */
  cut?: boolean;
  /** The answer never ends: if it has text it stops after the deltas, else before the first byte. */
  hang?: boolean;
}

export interface FakeRequest {
  path: string;
  headers: IncomingHttpHeaders;
  /** Parsed JSON. */
  body: FakeRequestBody;
  /** The last user text. */
  text: string;
  /** Unix ms of its arrival. */
  at: number;
  /** Resolves when the connection or the answer has ended; `true`: the client left before the answer was complete. */
  left: Promise<boolean>;
}

export interface FakeRequestBody {
  model: string;
  stream?: boolean;
  messages: { role: string; content?: unknown; [key: string]: unknown }[];
  tools?: unknown[];
  [key: string]: unknown;
}
