// `npm run docs` writes this file from src/client.
/** How the client sends one call: address, key, retries of what is safe to repeat, errors. */
import { HullError } from "./error.ts";
export interface HullOptions {
    /** Origin of the deployment, e.g. `https://hull.example.com`. Default in a browser: the page's own. */
    url?: string;
    /** An API key, or what answers one before each call. */
    key?: string | (() => string | Promise<string>);
    /** Headers of every call. */
    headers?: Readonly<Record<string, string>>;
    /** How often a call is repeated that did not get through; default 4. */
    retries?: number;
    /** In place of the runtime's own. */
    fetch?: (url: string, init: RequestInit) => Promise<Response>;
}
/** What every call takes. */
export interface CallSettings {
    /** Ends the call; it rejects with the signal's reason. */
    signal?: AbortSignal;
    /** Headers of this call. */
    headers?: Readonly<Record<string, string>>;
}
/** What calls take that run or make something. */
export interface RunSettings extends CallSettings {
    /**
     * Calls with the same key and input within 24 hours are one. Default: a new key for each call, so that a repetition does
     * nothing twice. `false`: no key; the call is then not repeated, and its stream does not continue after a cut.
     */
    idempotencyKey?: string | false;
}
export type Body = string | Blob | FormData | ArrayBuffer | Uint8Array<ArrayBuffer>;
export interface Call {
    method: "GET" | "POST" | "PUT" | "DELETE";
    path: string;
    /** Members that are `undefined` are left out. */
    query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
    /** What is sent as JSON. */
    json?: unknown;
    /** What is sent as it is. */
    body?: Body | undefined;
    headers?: Readonly<Record<string, string>>;
    /** Whether doing it twice does no more than doing it once; asked only after a connection broke. */
    repeatable: boolean | (() => Promise<boolean>);
}
export declare class Transport {
    #private;
    readonly origin: string;
    readonly retries: number;
    constructor(options: HullOptions);
    /** Sends the call and reads its answer. Throws HullError for an answer that is an error, and HullConnectionError. */
    send<T>(call: Call, settings: CallSettings, read: (response: Response) => Promise<T>): Promise<T>;
    /** One attempt, to its headers. Throws what `fetch` throws. */
    open(call: Call, settings: CallSettings): Promise<Response>;
    /** How long to wait before a refused call is sent again, in ms; `null`: it would be refused again. */
    waitAfter({ code, retryAfterMs }: HullError, { status, headers }: Response, attempt: number): number | null;
    json<T>(call: Call, settings?: CallSettings): Promise<T>;
    nothing(call: Call, settings?: CallSettings): Promise<void>;
}
/** Whether the call may be sent again although nobody knows what became of it. */
export declare const isRepeatable: ({ repeatable }: Call) => Promise<boolean>;
/** The error that an answer is. */
export declare function errorOf(response: Response): Promise<HullError>;
/** Before attempt `attempt + 1`, in ms: doubled each time, and not the same for all clients. */
export declare function waitBefore(attempt: number): number;
/** Resolves after the time; rejects with the signal's reason. */
export declare function pause(ms: number, signal: AbortSignal | undefined): Promise<void>;
/** The header of a call that may come twice and is one. A page that is not served over HTTPS has no `crypto.randomUUID`. */
export declare function idempotent({ idempotencyKey }: RunSettings): Record<string, string>;
