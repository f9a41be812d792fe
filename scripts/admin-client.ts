/** Calls of commands to the routes of a running Hull. */
import { setTimeout as sleep } from "node:timers/promises";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { idempotent, RETRIES, waitBefore } from "../src/client/repeat.ts";
import {
  type Answer,
  type Item,
  type ListRoute,
  namesAnother,
  type Page,
  type Query,
  queryText,
  type Route,
  type RouteRequest,
  requestOf,
  type Takes,
} from "../src/client/route.ts";
import { firstOf } from "../src/cut.ts";
import { isObject } from "../src/skill/json.ts";
import { CommandError, EXIT, usageError, VALUE } from "./command.ts";
import { stateOf } from "./dev/paths.ts";
import { addressOf } from "./dev/state-lock.ts";
import { loadEnvironment } from "./dotenv.ts";
import { fetchWithoutTimeout } from "./fetch-without-timeout.ts";
import { refusal } from "./problem.ts";
import { findUpwards } from "./project.ts";
import { hintOf, reasonOf } from "./system-error.ts";

/**
 * The key that a command sends; `""` counts as none. Throws `CommandError` (exit 2) for a key that no header can carry.
 */
export function keyOf(given: string | undefined): string | undefined {
  return sendable(given ?? (process.env.HULL_API_KEY || process.env.HULL_ADMIN_KEY || undefined));
}

/** The key, unchanged, if a header can carry it. No message repeats it. */
function sendable(key: string | undefined): string | undefined {
  if (key === undefined || /^[\x21-\x7e]*$/.test(key.trim())) return key;
  const message =
    "The API key contains a character that a key cannot contain, such as a blank or a line end.";
  throw usageError("bad_key", message, "Copy it again: it is one word of ASCII characters.");
}

/** The fault of a Hull's address, for a sentence that begins with the place of the address; `null`: it has none. */
function faultOf(url: string): string | null {
  if (!/^https?:/.test(url) || !URL.canParse(url)) return `is not an http(s) address: "${url}".`;
  const { pathname, search, hash, origin } = new URL(url);
  if (`${pathname}${search}${hash}` === "/") return null;
  return `names more than a server, whose address is ${origin}.`;
}

/** Throws `CommandError` (exit 2) unless the value of `--url` is the http(s) address of a server. @param usage a right one */
export function checkAddress(url: string, usage: string): void {
  const fault = faultOf(url);
  if (fault !== null) throw usageError("url_invalid", `--url ${fault}`, usage);
}

/**
 * The Hull that a command addresses, and its key: from flags, else from the environment, else the `hull dev` that runs
 * for the project of the current folder. The project's `.env` may hold the key. Throws `CommandError` (exit 2) if there
 * is none.
 */
export async function target(
  values: { url?: string | undefined; key?: string | undefined },
  usage: string,
): Promise<{ url: string; key: string | undefined }> {
  const url = values.url ?? process.env.HULL_URL ?? "";
  const fault = faultOf(url);
  if (fault === null) return { url, key: keyOf(values.key) };
  if (url === "") {
    const project = findUpwards(process.cwd());
    const running = await runningServer(project);
    if (running !== null) {
      const variables = await loadEnvironment(project);
      const key = variables.get("HULL_API_KEY") || variables.get("HULL_ADMIN_KEY") || undefined;
      return { url: running, key: sendable(values.key ?? key) };
    }
  }
  const from = values.url === undefined ? "HULL_URL" : "--url";
  const wrong =
    url === ""
      ? "The command needs the address of a Hull, and no hull dev runs for this project."
      : `${from} ${fault}`;
  const other = `${usage}, or: export HULL_URL=http://localhost:3000`;
  throw usageError(
    "url_missing",
    wrong,
    url === "" ? `Start it with: npx hull dev. For another Hull: ${other}` : other,
  );
}

/** Flags of the commands that address a Hull. */
export const SERVER_FLAGS = { url: VALUE, key: VALUE };

/** A client of the Hull that a command addresses. Throws as `target` does. */
export async function serverOf(values: Parameters<typeof target>[0], usage: string): Promise<AdminClient> {
  const { url, key } = await target(values, usage);
  return new AdminClient(url, key);
}

/** Origin of the `hull dev` that runs with a project's own state; `null` if none is running. */
export function runningServer(projectDir: string): Promise<string | null> {
  return addressOf(stateOf(projectDir));
}

/**
 * The request of a route. Throws `CommandError` (exit 3) for an id that no URL can contain, since it would lead to
 * another path.
 */
export function requestTo<R extends Route>(route: R, takes: Takes<R>): RouteRequest {
  const request = requestOf(route, takes);
  if (!namesAnother(request.path)) return request;
  const list = request.path.replace(/\/(?:\.{0,2}$|\.{0,2}\/.*)/, "");
  const id = request.path.slice(list.length + 1).replace(/\/.*/, "");
  throw new CommandError(EXIT.missing, "not_found", `${list} has no "${id}".`);
}

/**
 * Returns a Hull's answer, including a refusal. Throws `CommandError` (exit 4) if there is no server, or another server.
 */
export async function answerOf(url: URL, init: RequestInit): Promise<Response> {
  const response = await fetchWithoutTimeout(url, init).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ECONNRESET") throw brokenOff();
    const detail = `${url.origin} cannot be reached: ${reasonOf(error)}.`;
    const hint = hintOf(error) ?? (LOCAL.test(url.hostname) ? START : ELSEWHERE);
    throw new CommandError(EXIT.unreachable, "server_unreachable", detail, hint);
  });
  // Every answer of a Hull has this header.
  if (response.headers.has("x-request-id")) return response;
  const { status } = response;
  const detail = `${url.origin} answered ${status}, but it is not a Hull: ${await firstLineOf(response)}`;
  const elsewhere = response.headers.get("location");
  const hint =
    elsewhere === null
      ? "Check whether a Hull runs at this address."
      : `It leads to ${elsewhere}; use that address.`;
  const code = status >= 502 && status <= 504 ? PASSING.gateway : "no_hull";
  throw new CommandError(EXIT.unreachable, code, detail, hint);
}

const LOCAL = /^(?:localhost|127\.[\d.]+|\[::1\])$/;
const START = "Start it with: npx hull dev";
const ELSEWHERE =
  "Check the address. Where only a proxy leads to it, HTTPS_PROXY names that; NO_PROXY lists what needs none.";

/** Codes of failures after which the same request may succeed. */
const PASSING = { cut: "stream_cut", gateway: "bad_gateway" } as const;
const passes = (error: unknown): boolean =>
  error instanceof CommandError && Object.values<string>(PASSING).includes(error.code);

/** The error for an answer that the server broke off. */
export const brokenOff = (): CommandError =>
  new CommandError(EXIT.unreachable, PASSING.cut, "The server broke off its answer.");

/** The error for an answer that no command can read. @param from who gave it @param fault completes "It answered" */
const strange = (from: string, fault: string): CommandError => {
  const hint =
    "Another version of Hull runs there, or something answers in its place. Check the address; deploy again.";
  return new CommandError(EXIT.unreachable, "strange_answer", `${from} answered ${fault}.`, hint);
};

/**
 * The JSON of an answer. Throws `CommandError` (exit 4) for another text, and for JSON without the members that the
 * command reads. @param from who gave it
 */
export function jsonOf<T>(text: string, from: string, needs: readonly PropertyKey[] = []): T {
  const value: { json: T } | null = parsed(text);
  if (value === null) throw strange(from, `with other text than JSON: ${firstLine(text) || "nothing"}`);
  const lacks = lacking(value.json, needs);
  if (lacks !== undefined) throw strange(from, `without "${String(lacks)}"`);
  return value.json;
}

/** The first of these members that a value lacks; `undefined`: it has all. */
const lacking = (value: unknown, needs: readonly PropertyKey[]): PropertyKey | undefined =>
  needs.find((name) => !isObject(value) || !Object.hasOwn(value, name));

/** The value of a JSON text; `null`: it is none. */
export function parsed<T>(text: string): { json: T } | null {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return null;
  }
}

/** The server-sent events of an answer, until it ends or breaks off. */
export async function* eventsOf(response: Response): AsyncGenerator<EventSourceMessage> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void events.push(event) });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* events.splice(0);
  }
}

/** The whole body of an answer. Throws `CommandError` (exit 4) if the server breaks it off. */
export async function wholeOf(response: Response): Promise<Buffer<ArrayBuffer>> {
  const bytes = await response.arrayBuffer().catch(() => null);
  if (bytes === null) throw brokenOff();
  return Buffer.from(bytes);
}

const MAX_LINE = 200;

/** The beginning of an answer that may have no end. Throws as `wholeOf` does. */
async function firstLineOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > MAX_LINE || text.includes("\n")) break;
    }
  } catch {
    throw brokenOff();
  }
  return firstLine(text);
}

const firstLine = (text: string): string => firstOf(text, MAX_LINE).replace(/\n.*/s, "");

export class AdminClient {
  readonly #url: string;
  readonly #key: string | undefined;
  readonly #answerMs: number | undefined;

  /** @param answerMs how long to wait for a whole answer, in ms; absent: as long as it takes */
  constructor(url: string, key: string | undefined, answerMs?: number) {
    this.#url = url;
    this.#key = key;
    this.#answerMs = answerMs;
  }

  /**
   * The JSON with which a route answers. Throws `CommandError` if the server cannot be reached, refuses, does not answer
   * in time, or answers without what the command `needs`.
   */
  async ask<R extends Route>(route: R, takes: Takes<R>, sent: Sent & Needs<R> = {}): Promise<Answer<R>> {
    const text = await this.text(route, takes, sent);
    // Where a route answers with nothing, its answer is declared as `null`.
    return jsonOf(text === "" ? "null" : text, this.#from(requestTo(route, takes)), sent.needs);
  }

  /** The answer as text. Throws as `ask` does. */
  text<R extends Route>(route: R, takes: Takes<R>, sent: Sent = {}): Promise<string> {
    return this.#whole(requestTo(route, takes), sent);
  }

  /**
   * All items of a list, page by page. Throws as `ask` does.
   * @param needs members of each item that the command reads
   * @param words further parameters of the query, which only the server can judge
   */
  async list<R extends SizedList>(
    route: R,
    takes: Takes<R>,
    needs: readonly (keyof Item<R>)[],
    words: { [name in keyof Query<R>]?: string | undefined } = {},
  ): Promise<Item<R>[]> {
    const first = requestTo(route, takes);
    const rows: Item<R>[] = [];
    for (let cursor: string | undefined; ; ) {
      const query = { limit: 1000, ...first.query, ...words, cursor };
      const text = await this.#whole({ ...first, query });
      const page: Page<Item<R>> = jsonOf(text, this.#from(first), ["data", "next_cursor"]);
      if (!Array.isArray(page.data)) throw strange(this.#from(first), "with something else than a list");
      for (const row of page.data) {
        const lacks = lacking(row, needs);
        if (lacks !== undefined) throw strange(this.#from(first), `with an item without "${String(lacks)}"`);
        rows.push(row);
      }
      if (page.next_cursor === null) return rows;
      cursor = page.next_cursor;
    }
  }

  /** The server-sent events with which a route answers. Throws as `ask` does. */
  open<R extends Route>(route: R, takes: Takes<R>, sent: Sent = {}): Promise<Response> {
    const request = requestTo(route, takes);
    const headers = { accept: "text/event-stream" };
    return this.#send(request, { ...sent, headers }, null, async (response) => {
      const type = response.headers.get("content-type") ?? "nothing";
      if (type.startsWith("text/event-stream")) return response;
      throw strange(this.#from(request), `with ${type} in place of events`);
    });
  }

  readonly #from = ({ method, path }: RouteRequest): string => `${method} ${this.#url}${path}`;

  async #whole(request: RouteRequest, sent: Sent = {}): Promise<string> {
    const limitMs = this.#answerMs;
    const signal = limitMs === undefined ? null : AbortSignal.timeout(limitMs);
    try {
      const whole = await this.#send(request, sent, signal, wholeOf);
      return whole.toString("utf8");
    } catch (error) {
      if (limitMs === undefined || signal?.aborted !== true) throw error;
      const detail = `${this.#url} did not answer a request within ${limitMs / 1000} s.`;
      const hint = "Check that the disk of its state is not full, and start it again.";
      throw new CommandError(EXIT.timed_out, "no_answer", detail, hint);
    }
  }

  /**
   * Sends a request and reads its answer, again if the connection broke or something in front of the Hull did not reach
   * it: a POST has a key, so that it counts once.
   */
  async #send<T>(
    request: RouteRequest,
    { headers: own, tar, once = false }: Sent,
    signal: AbortSignal | null,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { method, path, query, json } = request;
    const headers = new Headers(method === "POST" && !once ? { ...idempotent(), ...own } : own);
    if (this.#key !== undefined) headers.set("authorization", `Bearer ${this.#key}`);
    const init: RequestInit = { method, headers, signal };
    if (tar !== undefined) {
      headers.set("content-type", "application/x-tar");
      init.body = new Uint8Array(tar);
    } else if (json !== undefined) {
      headers.set("content-type", "application/json");
      init.body = JSON.stringify(json);
    }
    for (let attempt = 0; ; attempt += 1) {
      try {
        const response = await answerOf(new URL(path + queryText(query), this.#url), init);
        // The first attempt removed it, and its answer was lost.
        const removed = method === "DELETE" && attempt > 0 && response.status === 404;
        if (response.ok || removed) return await read(removed ? new Response() : response);
        throw refusal(response.status, (await wholeOf(response)).toString("utf8"), path);
      } catch (error) {
        if (once || attempt >= RETRIES || !passes(error)) throw error;
        await sleep(waitBefore(attempt));
      }
    }
  }
}

/** Routes of lists whose caller says how much a page holds. */
type SizedList = { [R in ListRoute]: "limit" extends keyof Query<R> ? R : never }[ListRoute];

/** What a request has besides that which its route declares. */
interface Sent {
  headers?: Readonly<Record<string, string>>;
  /** A body in place of JSON. */
  tar?: Uint8Array;
  /** It takes effect each time it arrives. It then has no key, and a command never repeats it. */
  once?: boolean;
}

interface Needs<R extends Route> {
  /** Members of the answer that the command reads. */
  needs?: readonly MemberOf<Answer<R>>[];
}
type MemberOf<T> = T extends unknown ? keyof T : never;
