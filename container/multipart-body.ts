/** The multipart body of `POST /v1/executions`: the field `spec`, then files, then `stdin`, streamed in this order. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { bytesWithin } from "../src/bytes.ts";
import { boundaryOf, MultipartReader } from "../src/tool/multipart-reader.ts";
import { Refused } from "./refusal.ts";

/** Longest spec: it has room for a million bytes of arguments, escaped, and for the environment. */
const MAX_SPEC_BYTES = 8 * 1024 * 1024;

export interface Part {
  name: "stdin" | "file";
  filename: string;
  /** The part's bytes, readable once; requesting the next part skips the rest. */
  body: AsyncIterable<Uint8Array>;
}

/** The client broke off before the whole body had arrived. */
export class BodyCut extends Error {
  override name = "BodyCut";
}

export class MultipartBody {
  readonly #request: IncomingMessage;
  readonly #reader: MultipartReader;

  /** @throws Refused 400 if the request is not multipart */
  constructor(request: IncomingMessage, response: ServerResponse) {
    const boundary = boundaryOf(request.headers["content-type"] ?? "");
    if (boundary === null) {
      throw new Refused("bad_request", "The body must be multipart/form-data with a boundary.");
    }
    this.#request = request;
    this.#reader = new MultipartReader(
      chunksOf(request, response),
      boundary,
      (reason) => new Refused("bad_request", `The multipart body cannot be read: ${reason}.`),
    );
  }

  /** The spec JSON exactly as sent; call it first. @throws Refused, BodyCut */
  async spec(): Promise<string> {
    const part = await this.#reader.next();
    if (part?.name !== "spec") throw new Refused("bad_request", "The first part must be the spec.");
    const bytes = await bytesWithin(part.body, MAX_SPEC_BYTES);
    if (bytes === null) throw new Refused("bad_request", "The spec is too long.");
    return Buffer.from(bytes.buffer).toString();
  }

  /** The next part, or null after the last one. @throws Refused, BodyCut */
  async next(): Promise<Part | null> {
    const part = await this.#reader.next();
    if (part === null) return null;
    const { name, filename, body } = part;
    if (name !== "stdin" && name !== "file") {
      throw new Refused("bad_request", `The part "${name}" is out of place.`);
    }
    return { name, filename: filename ?? "", body };
  }

  /** Reports when a client breaks off, even while nothing reads the body. */
  onCut(report: (cut: BodyCut) => void): void {
    this.#request.once("close", () => {
      if (!this.#request.complete) report(cutOff());
    });
  }

  /** Reads and drops the rest of the body, so that the connection stays usable. */
  discard(): void {
    this.#request.resume();
  }
}

/**
 * The body as it arrives. Between two chunks nothing listens to the request, so it can be discarded at any time. An answer
 * that ends before the body has arrived cuts it: after that, Node no longer reports that the connection broke.
 */
async function* chunksOf(
  request: IncomingMessage,
  response: ServerResponse,
): AsyncGenerator<Uint8Array, void> {
  for (;;) {
    const chunk: Buffer | null = request.read();
    if (chunk !== null) yield chunk;
    else if (request.readableEnded) return;
    else if (request.destroyed || (response.closed && !request.complete)) throw cutOff();
    else await change(request, response);
  }
}

const cutOff = (): BodyCut => new BodyCut("the request was cut");

function change(request: IncomingMessage, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const events = ["readable", "end", "error", "close"];
    const done = (): void => {
      for (const event of events) request.off(event, done);
      response.off("close", done);
      resolve();
    };
    for (const event of events) request.on(event, done);
    response.on("close", done);
  });
}
