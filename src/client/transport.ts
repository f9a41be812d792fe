/** Sends calls of the client: address, key, retries of what is safe to repeat, errors. */
import type { Routes } from "../../typed/client/api.d.ts";
import { HullConnectionError, HullError } from "./error.ts";
import { idempotent, RETRIES, waitBefore } from "./repeat.ts";
import {
  type Answer,
  type Item,
  type KeyedRoute,
  type LaterRoute,
  type ListRoute,
  namesAnother,
  type Page,
  queryText,
  type Route,
  type RouteRequest,
  requestOf,
  type TakesBelow,
} from "./route.ts";

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

export const isBytes = (value: unknown): value is Bytes =>
  value instanceof Blob ||
  value instanceof FormData ||
  value instanceof ArrayBuffer ||
  ArrayBuffer.isView(value);

export const NOT_ACCEPTED =
  "Pass text, bytes, a form or, as the input of a skill, a JSON value; a stream, a Promise, a Map or the like is not accepted.";

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

/** If Hull demands a longer wait, in ms, the caller gets the error instead of waiting. */
const LONGEST_RETRY_AFTER_MS = 30_000;

/** @typeParam Known parameters of the paths that its calls need not name */
export class Transport<Known extends string = never> {
  readonly origin: string;
  readonly retries: number;
  readonly #options: HullOptions;
  readonly #known: { readonly [name: string]: string };

  constructor(options: HullOptions, known: { readonly [name in Known]: string }) {
    const { url = "", retries = RETRIES } = options;
    if (!/^(?:https?:\/\/|\/|$)/i.test(url)) {
      throw new TypeError(`url must begin with http:// or https://, not be ${JSON.stringify(url)}.`);
    }
    this.origin = url.replace(/(?<!\/)\/+$/, "");
    this.retries = retries;
    this.#options = options;
    this.#known = known;
  }

  /** For the routes of one thing, whose id their paths begin with. */
  of(id: string): Transport<"id"> {
    return new Transport(this.#options, { id });
  }

  /**
   * A call of a route. A POST is not repeated unless `more` says so.
   * @param more what a route's declaration has no type for, such as bytes
   */
  call<R extends Route>(
    route: R,
    takes: TakesBelow<R, Known>,
    more: Partial<Omit<Call, "method" | "path">> = {},
  ): RouteCall<R> {
    const path = { ...this.#known, ...takes.path };
    return { ...requestOf(route, { ...takes, path }), repeatable: !route.startsWith("POST "), ...more };
  }

  /** A call that runs or makes something. */
  posts<R extends KeyedRoute>(route: R, takes: TakesBelow<R, Known>, settings: RunSettings): RouteCall<R> {
    const headers = idempotent(settings.idempotencyKey);
    return this.call(route, takes, { headers, repeatable: Object.keys(headers).length > 0 });
  }

  /**
   * Sends the call and reads its answer. Throws HullError for an error answer, HullConnectionError, and what
   * `prepare` throws.
   */
  async send<T>(call: Call, settings: CallSettings, read: (response: Response) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      const request = await this.prepare(call, settings);
      let response: Response | null = null;
      try {
        response = await this.open(request, settings.signal);
        if (response.ok) return await read(response);
      } catch (error) {
        if (error instanceof HullError) throw error;
        settings.signal?.throwIfAborted();
        if (attempt >= this.retries || !(await isRepeatable(call))) {
          throw error instanceof HullConnectionError ? error : new HullConnectionError(this.origin, error);
        }
        await pause(waitBefore(attempt), settings.signal);
        continue;
      }
      const error = await errorOf(response);
      // The first attempt removed it, and its answer was lost.
      if (call.method === "DELETE" && attempt > 0 && error.status === 404) return read(response);
      const wait = this.waitAfter(error, response, attempt);
      if (wait === null || !(await isRepeatable(call))) throw error;
      await pause(wait, settings.signal);
    }
  }

  /**
   * What `fetch` gets for one attempt. A fault here is the caller's, so nothing repeats it. Throws what `key` throws,
   * and TypeError for a value that is not JSON, for a header that HTTP cannot carry, and for a path that names another
   * resource than its parts say: `fetch` resolves `.` and `..`.
   */
  async prepare(call: Call, settings: CallSettings): Promise<Prepared> {
    const { method, path, query, json, body } = call;
    if (namesAnother(path)) {
      throw new TypeError(
        `The path ${path} must begin with "/", and no id or name in it may be empty, "." or "..". Pass one that names something.`,
      );
    }
    const { key, headers: own } = this.#options;
    const secret = typeof key === "function" ? await key() : key;
    const headers = new Headers(own);
    if (secret !== undefined) headers.set("authorization", `Bearer ${secret}`);
    if (json !== undefined) headers.set("content-type", "application/json");
    for (const given of [call.headers, settings.headers]) {
      for (const [name, value] of Object.entries(given ?? {})) headers.set(name, value);
    }
    if (body !== undefined && typeof body !== "string" && !isBytes(body)) throw new TypeError(NOT_ACCEPTED);
    const sent = json === undefined ? body : JSON.stringify(json);
    const init = { method, headers, ...(sent === undefined ? {} : { body: sent }) };
    return { url: this.origin + path + queryText(query), init };
  }

  /** Sends a prepared call; answers once its headers are there. Throws what `fetch` throws. */
  open({ url, init }: Prepared, signal: AbortSignal | undefined): Promise<Response> {
    const { fetch = globalThis.fetch.bind(globalThis) } = this.#options;
    return fetch(url, { ...init, ...(signal === undefined ? {} : { signal }) });
  }

  /** The wait in ms before a refused call is sent again; `null`: it would be refused again. */
  waitAfter(
    { code, retryAfterMs }: HullError,
    { status, headers }: Response,
    attempt: number,
  ): number | null {
    if (attempt >= this.retries || headers.has("x-hull-replayed")) return null;
    // Something in front of Hull could not reach it.
    if (code === "unknown") return status >= 502 && status <= 504 ? waitBefore(attempt) : null;
    // Hull has already asked the model's provider several times.
    if (code.startsWith("provider_") || (status !== 429 && status !== 503)) return null;
    return retryAfterMs === null || retryAfterMs > LONGEST_RETRY_AFTER_MS ? null : retryAfterMs;
  }

  async nothing(call: Call, settings: CallSettings = {}): Promise<void> {
    await this.send(call, settings, (response) => response.body?.cancel() ?? Promise.resolve());
  }

  /** The JSON with which a route answers a call of `call`. */
  json<R extends Route>(call: RouteCall<R>, settings: CallSettings): Promise<Answer<R>> {
    return this.send(call, settings, async (response): Promise<Answer<R>> => response.json());
  }

  /** The JSON of a route whose second call has no further effect. */
  ask<R extends Route & `${"GET" | "PUT"} ${string}`>(
    route: R,
    takes: TakesBelow<R, Known>,
    settings: CallSettings,
  ): Promise<Answer<R>> {
    return this.json(this.call(route, takes), settings);
  }

  post<R extends KeyedRoute>(
    route: R,
    takes: TakesBelow<R, Known>,
    settings: RunSettings,
  ): Promise<Answer<R>> {
    return this.json(this.posts(route, takes, settings), settings);
  }

  /** The answer of a route that begins a run, with the query `wait=none`: the run continues. */
  begin<R extends LaterRoute>(
    route: R,
    takes: TakesBelow<R, Known> & { query: { wait: "none" } },
    settings: RunSettings,
  ): Promise<Routes[R]["later"]> {
    const begun = this.posts(route, takes, settings);
    return this.send(begun, settings, async (response): Promise<Routes[R]["later"]> => response.json());
  }

  remove<R extends Route & `DELETE ${string}`>(
    route: R,
    takes: TakesBelow<R, Known>,
    settings: CallSettings,
  ): Promise<void> {
    return this.nothing(this.call(route, takes), settings);
  }

  /** Every item of a list; pages are requested on demand. */
  async *pages<R extends ListRoute>(
    route: R,
    takes: TakesBelow<R, Known>,
    settings: CallSettings,
  ): AsyncGenerator<Item<R>, void, undefined> {
    const first = this.call(route, takes);
    for (let cursor: string | undefined; ; ) {
      const query = { ...first.query, limit: 100, cursor };
      const { data, next_cursor } = await this.send(
        { ...first, query },
        settings,
        async (response): Promise<Page<Item<R>>> => response.json(),
      );
      yield* data;
      if (next_cursor === null) return;
      cursor = next_cursor;
    }
  }
}

/** A call of a certain route. */
interface RouteCall<R extends Route> extends Call {
  route?: R;
}

/** Whether the call may be repeated although its outcome is unknown. */
export const isRepeatable = async ({ repeatable }: Call): Promise<boolean> =>
  typeof repeatable === "boolean" ? repeatable : repeatable().catch(() => false);

/** The error of an answer. */
export async function errorOf(response: Response): Promise<HullError> {
  const { status, headers } = response;
  const isProblem = /^application\/(?:problem\+)?json/.test(headers.get("content-type") ?? "");
  const problem: unknown = isProblem ? await response.json().catch(() => null) : null;
  const seconds = Number(headers.get("retry-after") ?? "x");
  return new HullError(
    isRecord(problem) ? problem : {},
    status,
    Number.isFinite(seconds) ? seconds * 1000 : null,
  );
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Resolves after the time; rejects with the signal's reason. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted === true) abort();
    signal?.addEventListener("abort", abort, { once: true });
  });
}
