// `npm run docs` writes this file from src/client.
/** Sends calls of the client: address, key, retries of what is safe to repeat, errors. */
import type { Routes } from "./api.ts";
import { HullError } from "./error.ts";
import { type Answer, type Item, type KeyedRoute, type LaterRoute, type ListRoute, type Route, type RouteRequest, type TakesBelow } from "./route.ts";
export interface HullOptions {
    /** Origin of the deployment, e.g. `https://hull.example.com`. Default in a browser: the page's origin. */
    url?: string;
    /** An API key, or a function that returns one before each call. */
    key?: string | (() => string | Promise<string>);
    /** Headers of every call. */
    headers?: Readonly<Record<string, string>>;
    /** How often a call that did not get through is repeated; default 4. */
    retries?: number;
    /** Replaces the runtime's own. */
    fetch?: (url: string, init: RequestInit) => Promise<Response>;
}
/** Settings of every call. */
export interface CallSettings {
    /** Ends the call; it rejects with the signal's reason. */
    signal?: AbortSignal;
    /** Headers of this call. */
    headers?: Readonly<Record<string, string>>;
}
/** Settings of calls that run or make something. */
export interface RunSettings extends CallSettings {
    /**
     * Calls with the same key and input within 24 hours count as one. Default: a new key for each call, so that a
     * repetition has no second effect. `false`: no key; the call is then not repeated, and its stream does not continue
     * after a cut.
     */
    idempotencyKey?: string | false;
}
export type Body = string | Bytes;
export type Bytes = Blob | FormData | ArrayBuffer | ArrayBufferView<ArrayBuffer>;
export declare const isBytes: (value: unknown) => value is Bytes;
export declare const NOT_ACCEPTED = "Pass text, bytes, a form or, as the input of a skill, a JSON value; a stream, a Promise, a Map or the like is not accepted.";
export interface Call extends RouteRequest {
    /** Sent unchanged. */
    body?: Body | undefined;
    headers?: Readonly<Record<string, string>>;
    /** Whether a second call has no further effect; asked only after a connection broke. */
    repeatable: boolean | (() => Promise<boolean>);
}
/** What `fetch` gets, without the signal. */
export interface Prepared {
    url: string;
    init: RequestInit;
}
/** @typeParam Known parameters of the paths that its calls need not name */
export declare class Transport<Known extends string = never> {
    #private;
    readonly origin: string;
    readonly retries: number;
    constructor(options: HullOptions, known: {
        readonly [name in Known]: string;
    });
    /** For the routes of one thing, whose id their paths begin with. */
    of(id: string): Transport<"id">;
    /**
     * A call of a route. A POST is not repeated unless `more` says so.
     * @param more what a route's declaration has no type for, such as bytes
     */
    call<R extends Route>(route: R, takes: TakesBelow<R, Known>, more?: Partial<Omit<Call, "method" | "path">>): RouteCall<R>;
    /** A call that runs or makes something. */
    posts<R extends KeyedRoute>(route: R, takes: TakesBelow<R, Known>, settings: RunSettings): RouteCall<R>;
    /**
     * Sends the call and reads its answer. Throws HullError for an error answer, HullConnectionError, and what
     * `prepare` throws.
     */
    send<T>(call: Call, settings: CallSettings, read: (response: Response) => Promise<T>): Promise<T>;
    /**
     * What `fetch` gets for one attempt. A fault here is the caller's, so nothing repeats it. Throws what `key` throws,
     * and TypeError for a value that is not JSON, for a header that HTTP cannot carry, and for a path that names another
     * resource than its parts say: `fetch` resolves `.` and `..`.
     */
    prepare(call: Call, settings: CallSettings): Promise<Prepared>;
    /** Sends a prepared call; answers once its headers are there. Throws what `fetch` throws. */
    open({ url, init }: Prepared, signal: AbortSignal | undefined): Promise<Response>;
    /** The wait in ms before a refused call is sent again; `null`: it would be refused again. */
    waitAfter({ code, retryAfterMs }: HullError, { status, headers }: Response, attempt: number): number | null;
    nothing(call: Call, settings?: CallSettings): Promise<void>;
    /** The JSON with which a route answers a call of `call`. */
    json<R extends Route>(call: RouteCall<R>, settings: CallSettings): Promise<Answer<R>>;
    /** The JSON of a route whose second call has no further effect. */
    ask<R extends Route & `${"GET" | "PUT"} ${string}`>(route: R, takes: TakesBelow<R, Known>, settings: CallSettings): Promise<Answer<R>>;
    post<R extends KeyedRoute>(route: R, takes: TakesBelow<R, Known>, settings: RunSettings): Promise<Answer<R>>;
    /** The answer of a route that begins a run, with the query `wait=none`: the run continues. */
    begin<R extends LaterRoute>(route: R, takes: TakesBelow<R, Known> & {
        query: {
            wait: "none";
        };
    }, settings: RunSettings): Promise<Routes[R]["later"]>;
    remove<R extends Route & `DELETE ${string}`>(route: R, takes: TakesBelow<R, Known>, settings: CallSettings): Promise<void>;
    /** Every item of a list; pages are requested on demand. */
    pages<R extends ListRoute>(route: R, takes: TakesBelow<R, Known>, settings: CallSettings): AsyncGenerator<Item<R>, void, undefined>;
}
/** A call of a certain route. */
interface RouteCall<R extends Route> extends Call {
    route?: R;
}
/** Whether the call may be repeated although its outcome is unknown. */
export declare const isRepeatable: ({ repeatable }: Call) => Promise<boolean>;
/** The error of an answer. */
export declare function errorOf(response: Response): Promise<HullError>;
/** Resolves after the time; rejects with the signal's reason. */
export declare function pause(ms: number, signal: AbortSignal | undefined): Promise<void>;
export {};
