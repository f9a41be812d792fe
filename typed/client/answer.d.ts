// `npm run docs` writes this file from src/client.
/** The answer of a skill. */
/** The whole answer of a call of a skill. */
export declare class SkillAnswer {
    /** Media type with its parameters. */
    readonly contentType: string;
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly headers: Headers;
    /** Names the run in logs and at `/executions/{id}`; `null` for skills that run nothing. */
    readonly executionId: string | null;
    /** Whether this is the answer of an earlier call with the same idempotency key. */
    readonly replayed: boolean;
    constructor(bytes: Uint8Array<ArrayBuffer>, headers: Headers);
    get text(): string;
    /** The answer as JSON, in the shape that the caller expects. Throws SyntaxError if it is not JSON. */
    json<T = unknown>(): T;
}
