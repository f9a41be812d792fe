// `npm run docs` writes this file from src/client.
/** Hull refused the call, or it failed: the problem document of the answer, or of a stream's event `error`. */
export declare class HullError extends Error {
    /** Stable; the table of docs/http.md lists all. `unknown` where the answer was no problem document of Hull's. */
    readonly code: string;
    /** Of the answer; of a stream's error the one that the document names. */
    readonly status: number;
    readonly title: string;
    readonly detail: string;
    /** Names the request in the log of the deployment. */
    readonly requestId: string | null;
    /** How long to wait before the same call may succeed, in ms, where Hull said so. */
    readonly retryAfterMs: number | null;
    /** The document with all of its members. */
    readonly problem: Readonly<Record<string, unknown>>;
    constructor(problem: Readonly<Record<string, unknown>>, status: number, retryAfterMs: number | null);
}
/** Hull could not be reached, or the connection broke and did not come back. `cause` is what `fetch` threw. */
export declare class HullConnectionError extends Error {
    constructor(url: string, cause: unknown);
}
