/** The multipart body of `POST /v1/executions`: the field `spec`, then files, then `stdin`, streamed in this order. */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyHeaders } from "@fastify/busboy";
import { Refused } from "./refusal.ts";

/** Longest spec: a million bytes of arguments, escaped, and the environment. */
const MAX_SPEC_BYTES = 8 * 1024 * 1024;
const MAX_FILES = 1000;

export interface Part {
  name: "stdin" | "file";
  filename: string;
  /** Must be read to its end, or the body does not go on. */
  stream: Readable;
}

/** The client broke off before the whole body was here. */
export class BodyCut extends Error {
  override name = "BodyCut";
}

export class MultipartBody {
  /** The spec JSON exactly as sent. */
  readonly spec: Promise<string>;
  readonly #request: IncomingMessage;
  readonly #parts: Part[] = [];
  #wake: (() => void) | null = null;
  #finished = false;
  #failure: Error | null = null;

  /** @throws Refused 400 when the request is not multipart */
  constructor(request: IncomingMessage) {
    this.#request = request;
    const spec = Promise.withResolvers<string>();
    this.spec = spec.promise;
    this.spec.catch(() => {});
    const type = request.headers["content-type"];
    if (!type?.startsWith("multipart/form-data")) {
      throw new Refused("bad_request", "The body must be multipart/form-data.");
    }
    const headers: BusboyHeaders = { ...request.headers, "content-type": type };
    const parser = openParser(headers);
    let specSeen = false;
    const fail = (error: Error): void => {
      if (this.#failure !== null || this.#finished) return;
      this.#failure = error;
      spec.reject(error);
      for (const { stream } of this.#parts) stream.destroy(error);
      request.unpipe(parser);
      request.resume();
      this.#wake?.();
    };
    parser.on("field", (name, value, _nameTruncated, truncated) => {
      if (name !== "spec" || specSeen || truncated) {
        fail(new Refused("bad_request", "The first part, and only that, must be the spec."));
        return;
      }
      specSeen = true;
      spec.resolve(value);
    });
    parser.on("file", (name, stream, filename) => {
      // A stream nobody listens to yet must not end the runner when it fails.
      stream.on("error", () => {});
      if (!specSeen || (name !== "stdin" && name !== "file")) {
        stream.resume();
        fail(new Refused("bad_request", `A part "${name}" may not stand here.`));
        return;
      }
      this.#parts.push({ name, filename, stream });
      this.#current = stream;
      this.#wake?.();
    });
    parser.on("finish", () => {
      if (!specSeen) fail(new Refused("bad_request", "The spec is missing."));
      this.#finished = true;
      this.#wake?.();
    });
    parser.on("error", () => fail(new Refused("bad_request", "The multipart body is malformed.")));
    request.once("close", () => {
      if (request.complete) return;
      const cut = new BodyCut("the request was cut");
      fail(cut);
      this.#current?.destroy(cut);
    });
    request.pipe(parser);
  }

  #current: Readable | null = null;

  /** The next part, or null after the last one. */
  async next(): Promise<Part | null> {
    for (;;) {
      const part = this.#parts.shift();
      if (part !== undefined) return part;
      if (this.#failure !== null) throw this.#failure;
      if (this.#finished) return null;
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
      this.#wake = null;
    }
  }

  /** Reads on without looking, so that the connection stays usable. */
  discard(): void {
    this.#request.unpipe();
    this.#request.resume();
    for (const { stream } of this.#parts.splice(0)) stream.resume();
  }
}

function openParser(headers: BusboyHeaders): Busboy {
  const limits = { fieldSize: MAX_SPEC_BYTES, fields: 1, files: MAX_FILES };
  try {
    return new Busboy({ headers, limits, preservePath: true });
  } catch {
    throw new Refused("bad_request", "The multipart boundary is missing.");
  }
}
