/** Calls of commands to the routes of a running Hull. */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { firstOf } from "../src/cut.ts";
import { CommandError, EXIT, type ExitCode, usageError, VALUE } from "./command.ts";
import { stateOf } from "./dev/paths.ts";
import { addressOf } from "./dev/state-lock.ts";
import { loadEnvironment } from "./dotenv.ts";
import { fetchWithoutTimeout } from "./fetch-without-timeout.ts";
import { findUpwards } from "./project.ts";
import { reasonOf } from "./system-error.ts";

/**
 * The key that a command sends; `""` counts as none. Throws `CommandError` (exit 2) for a key that no header can carry.
 */
export function keyOf(given: string | undefined): string | undefined {
  return sendable(given ?? (process.env.HULL_API_KEY || process.env.HULL_ADMIN_KEY || undefined));
}

/** The key, unchanged, if a header can carry it. No message repeats it. */
function sendable(key: string | undefined): string | undefined {
  if (key === undefined || /^[\x20-\x7e]*$/.test(key.trim())) return key;
  const message = "The API key contains a character that a key cannot contain, such as a line end.";
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
 * The path for this id. Throws `CommandError` (exit 3) for an id that no URL can contain, since it would lead to another
 * path.
 */
export function pathOf(list: string, id: string): string {
  if (id !== "." && id !== "..") return `${list}/${encodeURIComponent(id)}`;
  throw new CommandError(EXIT.missing, "not_found", `${list} has no "${id}".`);
}

/**
 * Returns a Hull's answer, including a refusal. Throws `CommandError` (exit 4) if there is no server, or another server.
 */
export async function answerOf(url: URL, init: RequestInit): Promise<Response> {
  const response = await fetchWithoutTimeout(url, init).catch((error: unknown) => {
    const detail = `${url.origin} cannot be reached: ${reasonOf(error)}.`;
    throw new CommandError(EXIT.unreachable, "server_unreachable", detail, "Start it with: npx hull dev");
  });
  // Every answer of a Hull has this header.
  if (response.headers.has("x-request-id")) return response;
  const detail = `${url.origin} answered ${response.status}, but it is not a Hull: ${await firstLineOf(response)}`;
  const elsewhere = response.headers.get("location");
  const hint =
    elsewhere === null
      ? "Check whether a Hull runs at this address."
      : `It leads to ${elsewhere}; use that address.`;
  throw new CommandError(EXIT.unreachable, "no_hull", detail, hint);
}

/** The error for an answer that the server broke off. */
export const brokenOff = (): CommandError =>
  new CommandError(EXIT.unreachable, "stream_cut", "The server broke off its answer.");

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
  return firstOf(text, MAX_LINE).replace(/\n.*/s, "");
}

export class AdminClient {
  readonly #url: string;
  readonly #key: string | undefined;
  readonly #answerMs: number | undefined;

  /** @param answerMs how long `send` waits for a whole answer, in ms; absent: as long as it takes */
  constructor(url: string, key: string | undefined, answerMs?: number) {
    this.#url = url;
    this.#key = key;
    this.#answerMs = answerMs;
  }

  /**
   * The body of the answer. Throws `CommandError` if the server cannot be reached, refuses or does not answer in time.
   * @param body a tar as bytes, anything else as JSON
   */
  async send(method: string, path: string, body?: unknown): Promise<string> {
    const limitMs = this.#answerMs;
    const signal = limitMs === undefined ? null : AbortSignal.timeout(limitMs);
    try {
      return (await wholeOf(await this.#fetch(method, path, {}, body, signal))).toString("utf8");
    } catch (error) {
      if (limitMs === undefined || signal?.aborted !== true) throw error;
      const detail = `${this.#url} did not answer a request within ${limitMs / 1000} s.`;
      const hint = "Check that the disk of its state is not full, and start it again.";
      throw new CommandError(EXIT.timed_out, "no_answer", detail, hint);
    }
  }

  /** All items of a list, page by page. Throws as `send` does. @param query in addition to the page's own */
  async list<T>(path: string, query: Record<string, string> = {}): Promise<T[]> {
    const rows: T[] = [];
    for (let cursor: string | null = null; ; ) {
      const at: Record<string, string> = cursor === null ? {} : { cursor };
      const page: { data: T[]; next_cursor: string | null } = JSON.parse(
        await this.send("GET", `${path}?${new URLSearchParams({ limit: "1000", ...query, ...at })}`),
      );
      rows.push(...page.data);
      cursor = page.next_cursor;
      if (cursor === null) return rows;
    }
  }

  /**
   * A stream of server-sent events: those of the run that a POST of `body` starts, or those that a GET follows. Throws
   * as `send` does.
   */
  open(path: string, body?: object): Promise<Response> {
    return this.#fetch(body === undefined ? "GET" : "POST", path, { accept: "text/event-stream" }, body);
  }

  async #fetch(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: unknown,
    signal: AbortSignal | null = null,
  ): Promise<Response> {
    if (this.#key !== undefined) headers.authorization = `Bearer ${this.#key}`;
    const init: RequestInit = { method, headers, signal };
    if (body instanceof Uint8Array) {
      headers["content-type"] = "application/x-tar";
      init.body = new Uint8Array(body);
    } else if (body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(body);
    }
    const response = await answerOf(new URL(path, this.#url), init);
    if (response.ok) return response;
    const { code, detail, errors } = problemOf((await wholeOf(response)).toString("utf8"));
    throw new CommandError(exitOf(response.status), code, `${withFindings(detail, errors)} [${code}]`);
  }
}

/** One of the `errors` of a problem document. */
interface ProblemFinding {
  path?: string;
  pointer?: string;
  message: string;
}

/** The text of a problem document, with those of its findings that its detail does not name. */
export function withFindings(detail: string, errors: readonly ProblemFinding[] = []): string {
  const more = errors.flatMap(({ path = "", pointer = path, message }) => {
    const text = pointer === "" ? message : `${pointer}: ${message}`;
    const alone = errors.filter((other) => other.message === message).length === 1;
    return detail.includes(alone ? message : text) ? [] : [text];
  });
  const first = more.length === 0 || /[.!?]$/.test(detail) ? detail : `${detail}.`;
  return [first, ...more.map((text) => `${text}.`)].join(" ");
}

interface Problem {
  code: string;
  detail: string;
  /** Of a failed script. */
  stderr?: string;
  errors?: ProblemFinding[];
}

/** A refusal of a Hull; any other text is its own detail. */
export function problemOf(text: string): Problem {
  const unknown = { code: "unknown", detail: text };
  try {
    return { ...unknown, ...JSON.parse(text) };
  } catch {
    return unknown;
  }
}

function exitOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.unauthorised;
  if (status === 404) return EXIT.missing;
  return status === 422 || status === 400 ? EXIT.usage : EXIT.failed;
}
