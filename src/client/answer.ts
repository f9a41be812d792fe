/** The answer of a skill. */

/** The whole answer of a call of a skill. */
export class SkillAnswer {
  /** Media type with its parameters. */
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Headers;
  /** Names the run in logs and at `/executions/{id}`; `null` for skills that run nothing. */
  readonly executionId: string | null;
  /** Whether this is the answer of an earlier call with the same idempotency key. */
  readonly replayed: boolean;

  constructor(bytes: Uint8Array<ArrayBuffer>, headers: Headers) {
    this.bytes = bytes;
    this.headers = headers;
    this.contentType = headers.get("content-type") ?? "";
    this.executionId = headers.get("x-hull-execution-id");
    this.replayed = headers.get("x-hull-replayed") === "1";
  }

  get text(): string {
    return new TextDecoder().decode(this.bytes);
  }

  /** The answer as JSON, in the shape that the caller expects. Throws SyntaxError if it is not JSON. */
  json<T = unknown>(): T {
    const value: T = JSON.parse(this.text);
    return value;
  }
}
