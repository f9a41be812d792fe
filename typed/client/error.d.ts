// `npm run docs` writes this file from src/client.
/** Hull refused the call, or it failed: the problem document of the answer, or of a stream's event `error`. */
export declare class HullError extends Error {
    /** Stable; the table of docs/http.md lists all. `unknown` if the answer was not a problem document of Hull. */
    readonly code: string;
    /** Status of the answer; for a stream's error the one in the document. */
    readonly status: number;
    readonly title: string;
    readonly detail: string;
    /** Names the request in the log of the deployment. */
    readonly requestId: string | null;
    /** How long to wait before the same call may succeed, in ms, if Hull said so. */
    readonly retryAfterMs: number | null;
    /** The document with all of its members. */
    readonly problem: Readonly<Record<string, unknown>>;
    constructor(problem: Readonly<Record<string, unknown>>, status: number, retryAfterMs: number | null);
}
/** Hull could not be reached, or the connection broke and did not come back. `cause` is the error of `fetch`. */
export declare class HullConnectionError extends Error {
    constructor(url: string, cause: unknown);
}
