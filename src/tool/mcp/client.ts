/**
 * A client of one MCP server: finds out its revision, keeps a session if the server wants one, lists its tools and
 * calls them. It lives as long as its run.
 */

import * as z from "zod/mini";
import type { Background } from "../../log.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { failed, type McpFailure, type Reply } from "./failure.ts";
import { headersOf, headerValue } from "./param-headers.ts";
import { SharedWork } from "./shared-work.ts";
import { brokenOff, errorShape, post, type Received, type Wire } from "./transport.ts";
import { HULL_VERSION, LEGACY_VERSIONS, META, MODERN_VERSIONS } from "./versions.ts";

/** How to talk to a server, as far as it is the same for all clients. */
export interface Dialect {
  version: string;
  modern: boolean;
  /** It gives a session to each client. */
  sessions: boolean;
}

/** The most pages of a list, and the most tools of a server, malformed ones included. */
const MAX_PAGES = 20;
const MAX_TOOLS = 500;
/** The most characters of a server's tools, as JSON: isolates cache them. */
const MAX_LIST = 2 * 1024 * 1024;
/** The most requests of a server that Hull answers while it waits for one answer: each costs a request of its own. */
const MAX_ANSWERED = 20;

const CLIENT_INFO = { name: "hull", version: HULL_VERSION };
const [MODERN] = MODERN_VERSIONS;
/** The code of a modern server's refusal; a server that sends it is modern. */
const UNSUPPORTED_VERSION = -32022;

const toolShape = z.lazy(() =>
  z.object({
    name: z.string().check(z.minLength(1), z.maxLength(128)),
    // Servers in some languages write `null` for what they leave out.
    description: z.nullish(z.string()),
    inputSchema: z.record(z.string(), z.custom<Json>()),
    execution: z.catch(z.nullish(z.object({ taskSupport: z.nullish(z.string()) })), null),
    annotations: z.nullish(
      z.object({
        readOnlyHint: z.nullish(z.boolean()),
        destructiveHint: z.nullish(z.boolean()),
        idempotentHint: z.nullish(z.boolean()),
      }),
    ),
  }),
);
export type ListedTool = z.infer<typeof toolShape>;

const pageShape = z.lazy(() =>
  z.object({ tools: z.array(z.unknown()), nextCursor: z.optional(z.nullable(z.string())) }),
);
const openedShape = z.lazy(() => z.object({ protocolVersion: z.string() }));
const discoveredShape = z.lazy(() => z.object({ supportedVersions: z.array(z.string()) }));

interface Question {
  method: string;
  params: JsonObject;
  /** Headers of the protocol, for a modern server. Absent: none of its own. */
  headers?: Record<string, string>;
  /** See `Sent`. */
  raw?: string;
}

export class McpClient {
  readonly #wire: Wire;
  readonly #background: Background;
  readonly #onListChanged: () => void;
  #dialect: Dialect | null;
  #session: string | null = null;
  #opening: SharedWork<Reply<Dialect>> | null = null;
  #asked = 0;

  /**
   * @param dialect what is already known about the server
   * @param onListChanged called when the server reports that its tools have changed
   */
  constructor(wire: Wire, dialect: Dialect | null, background: Background, onListChanged: () => void) {
    this.#wire = wire;
    this.#dialect = dialect;
    this.#background = background;
    this.#onListChanged = onListChanged;
  }

  /** All tools, without malformed ones, and the names of these. `size`: characters of their JSON. */
  async listTools(
    signal: AbortSignal,
  ): Promise<Reply<{ tools: ListedTool[]; malformed: string[]; size: number; dialect: Dialect }>> {
    const tools: ListedTool[] = [];
    const malformed: string[] = [];
    let size = 0;
    let left = MAX_TOOLS;
    for await (const page of this.#pages(signal)) {
      if (!page.ok) return page;
      const items = page.value.slice(0, left);
      left -= items.length;
      for (const item of items) {
        const tool = toolShape.safeParse(item);
        if (!tool.success) {
          malformed.push(isObject(item) && typeof item.name === "string" ? item.name : "?");
          continue;
        }
        size += JSON.stringify(tool.data).length;
        if (size <= MAX_LIST) tools.push(tool.data);
      }
      if (left === 0 || size > MAX_LIST) break;
    }
    const dialect = this.#dialect;
    if (dialect === null) return failed("protocol", "It speaks no version of MCP that Hull knows.");
    return { ok: true, value: { tools, malformed, size, dialect } };
  }

  /** The pages of the list of tools; a failure is the last one. */
  async *#pages(signal: AbortSignal): AsyncGenerator<Reply<unknown[]>, void> {
    let cursor: string | null = null;
    for (let page = 0; page < MAX_PAGES; page++) {
      const params: JsonObject = cursor === null ? {} : { cursor };
      const reply = await this.#request({ method: "tools/list", params }, signal);
      if (!reply.ok) return yield reply;
      const read = pageShape.safeParse(reply.value).data;
      if (read === undefined) return yield failed("protocol", "Its answer is not a list of tools.");
      yield { ok: true, value: read.tools };
      const next = read.nextCursor ?? "";
      // A server that knows no pages may repeat the only one for ever.
      if (next === "" || next === cursor) return;
      cursor = next;
    }
  }

  /**
   * The result of a call as the server gave it.
   * @param raw the arguments as they were sent
   * @param schema of the tool, which may require headers
   */
  callTool(
    name: string,
    { args, raw }: { args: JsonObject; raw: string },
    schema: JsonObject,
    signal: AbortSignal,
  ): Promise<Reply<JsonObject>> {
    const params = { name, arguments: args };
    const question = { method: "tools/call", params, headers: headersOf(schema, args), raw };
    return this.#request(question, signal, perhapsBegun);
  }

  /** Ends the session, if there is one. */
  close(): void {
    const session = this.#session;
    if (session === null) return;
    this.#session = null;
    const headers = new Headers(this.#wire.headers);
    headers.set("mcp-session-id", session);
    const init = {
      method: "DELETE",
      headers,
      redirect: "manual" as const,
      signal: AbortSignal.timeout(5000),
    };
    const ended = this.#wire.fetch(this.#wire.url, init).then((response) => response.body?.cancel());
    this.#background(ended.catch(() => {}));
  }

  /** @param sent changes the reply to a question that was sent */
  async #request(
    question: Question,
    signal: AbortSignal,
    sent = (reply: Reply<JsonObject>): Reply<JsonObject> => reply,
  ): Promise<Reply<JsonObject>> {
    const opened = await this.#opened(signal);
    if (!opened.ok) return opened;
    const session = this.#session;
    const reply = await this.#exchange(opened.value, question, signal);
    if (reply.ok || session === null || reply.failure.forgotten !== true) return sent(reply);
    // Another call may already have opened a new session.
    if (this.#session === session) this.#session = null;
    const again = await this.#opened(signal);
    return again.ok ? sent(await this.#exchange(again.value, question, signal)) : again;
  }

  /** Opens the server once for all simultaneous calls, and gives up when no call waits any longer. */
  async #opened(signal: AbortSignal): Promise<Reply<Dialect>> {
    const dialect = this.#dialect;
    if (dialect !== null && (!dialect.sessions || this.#session !== null))
      return { ok: true, value: dialect };
    try {
      signal.throwIfAborted();
      this.#opening ??= new SharedWork((nobodyWaits) => this.#open(nobodyWaits));
      const opened = await this.#leaving(this.#opening, signal);
      if (opened.ok) this.#dialect = opened.value;
      return opened;
    } catch (error) {
      const failure = brokenOff(error, signal);
      if (failure === null) throw error;
      return failure;
    }
  }

  /** Waits for the opening. When the last caller has left, it forgets the opening, so the next call starts a new one. */
  async #leaving(opening: SharedWork<Reply<Dialect>>, signal: AbortSignal): Promise<Reply<Dialect>> {
    try {
      return await opening.wait(signal);
    } finally {
      if (this.#opening === opening && opening.abandoned) this.#opening = null;
    }
  }

  /**
   * Sends a modern request first: a modern server shows itself by its answer. Any other server is opened the older way. A
   * process is opened the older way first: some end when their first message is another.
   */
  async #open(signal: AbortSignal): Promise<Reply<Dialect>> {
    if (this.#dialect !== null) return this.#initialize(signal);
    if (this.#wire.allowed !== null) return (await this.#discover(signal)) ?? this.#initialize(signal);
    const opened = await this.#initialize(signal);
    if (opened.ok || opened.failure.kind !== "error") return opened;
    return (await this.#discover(signal)) ?? opened;
  }

  /** Asks a server whether it is modern; `null`: it may be an older one. */
  async #discover(signal: AbortSignal): Promise<Reply<Dialect> | null> {
    const modern: Dialect = { version: MODERN, modern: true, sessions: false };
    const limit = AbortSignal.any([signal, AbortSignal.timeout(this.#wire.discover_ms)]);
    const asked = await this.#exchange(modern, { method: "server/discover", params: {} }, limit);
    if (!asked.ok) return signal.aborted || !mayBeLegacy(asked.failure) ? asked : null;
    const found = discoveredShape.safeParse(asked.value);
    const isModern = found.success && found.data.supportedVersions.includes(MODERN);
    return isModern ? { ok: true, value: modern } : null;
  }

  async #initialize(signal: AbortSignal): Promise<Reply<Dialect>> {
    const [latest] = LEGACY_VERSIONS;
    const params = { protocolVersion: latest, capabilities: {}, clientInfo: CLIENT_INFO };
    const received = await this.#send(null, { method: "initialize", params }, signal);
    if (!received.ok) return received;
    const result = resultOf(received.value);
    if (!result.ok) return result;
    const { protocolVersion = "" } = openedShape.safeParse(result.value).data ?? {};
    if (!LEGACY_VERSIONS.some((version) => version === protocolVersion)) {
      return failed("protocol", "It speaks no version of MCP that Hull knows.");
    }
    this.#session = received.value.headers.get("mcp-session-id");
    const dialect: Dialect = { version: protocolVersion, modern: false, sessions: this.#session !== null };
    const message = { jsonrpc: "2.0", method: "notifications/initialized" };
    await post(this.#wire, { message, headers: this.#headers(dialect, message.method, {}), signal });
    return { ok: true, value: dialect };
  }

  async #exchange(dialect: Dialect, question: Question, signal: AbortSignal): Promise<Reply<JsonObject>> {
    const received = await this.#send(dialect, question, signal);
    return received.ok ? resultOf(received.value) : received;
  }

  async #send(
    dialect: Dialect | null,
    { method, params, headers = {}, raw }: Question,
    signal: AbortSignal,
  ): Promise<Reply<Received>> {
    this.#asked += 1;
    const id = this.#asked;
    let answered = 0;
    const whole = dialect?.modern === true ? { ...params, _meta: META_FIELDS } : params;
    const received = await post(this.#wire, {
      message: { jsonrpc: "2.0", id, method, params: whole },
      ...(raw === undefined ? {} : { raw }),
      headers: { ...this.#headers(dialect, method, params), ...(dialect?.modern === true ? headers : {}) },
      signal,
      onMessage: (message) => {
        if (message.method === "notifications/tools/list_changed") this.#onListChanged();
        else if (dialect?.modern === false && answered < MAX_ANSWERED && this.#answer(dialect, message))
          answered += 1;
      },
    });
    if (!received.ok && signal.aborted && dialect?.modern === false) this.#cancel(dialect, id);
    return received;
  }

  #headers(dialect: Dialect | null, method: string, { name }: JsonObject): Record<string, string> {
    if (dialect === null) return {};
    const session = this.#session === null ? {} : { "mcp-session-id": this.#session };
    const version = { "mcp-protocol-version": dialect.version };
    if (!dialect.modern) return { ...version, ...session };
    return {
      ...version,
      "mcp-method": method,
      ...(typeof name === "string" ? { "mcp-name": headerValue(name) } : {}),
    };
  }

  /**
   * Answers what an older server asks before its own answer: Hull offers it nothing.
   * @returns whether the server asked something
   */
  #answer(dialect: Dialect, { id, method }: JsonObject): boolean {
    if (id === undefined || typeof method !== "string") return false;
    const answer =
      method === "ping"
        ? { result: {} }
        : { error: { code: -32601, message: `Method not found: ${method}` } };
    this.#notify(dialect, { jsonrpc: "2.0", id, ...answer });
    return true;
  }

  #cancel(dialect: Dialect, requestId: number): void {
    const params = { requestId, reason: "Hull gave up on the call." };
    this.#notify(dialect, { jsonrpc: "2.0", method: "notifications/cancelled", params });
  }

  #notify(dialect: Dialect, message: JsonObject): void {
    const signal = AbortSignal.timeout(5000);
    this.#background(post(this.#wire, { message, headers: this.#headers(dialect, "", {}), signal }));
  }
}

const META_FIELDS: JsonObject = {
  [`${META}/protocolVersion`]: MODERN,
  [`${META}/clientInfo`]: CLIENT_INFO,
  [`${META}/clientCapabilities`]: {},
};

/** Errors of the protocol that refuse a request. Any other may also come from a tool that failed half way. */
const REFUSALS = new Set([-32700, -32600, -32601, -32602, -32002, -32020, -32021, UNSUPPORTED_VERSION]);

/**
 * The same failure with a note if the server may have acted on the call: it did not refuse it. A status such as 502 or 504
 * says only that no answer came back.
 */
function perhapsBegun(reply: Reply<JsonObject>): Reply<JsonObject> {
  if (reply.ok) return reply;
  const { kind, status = 0, code = 0 } = reply.failure;
  const isRefused =
    kind === "refused" || REFUSALS.has(code) || (status >= 400 && status < 500) || status === 503;
  return isRefused ? reply : { ok: false, failure: { ...reply.failure, begun: "perhaps" } };
}

/** Whether an older server may send this failure as its answer to a request that it does not know. */
function mayBeLegacy({ kind, status, code, data }: McpFailure): boolean {
  if (kind === "error" && code === UNSUPPORTED_VERSION) {
    const supported = z.object({ supported: z.array(z.string()) }).safeParse(data).data?.supported ?? [];
    return LEGACY_VERSIONS.some((version) => supported.includes(version));
  }
  // Bridges pass the request on to servers that never answer it.
  if (kind === "error" || kind === "protocol" || kind === "timeout") return true;
  return status !== undefined && ![401, 403, 429].includes(status);
}

function resultOf({ message, status, forgotten }: Received): Reply<JsonObject> {
  const { result, error } = message ?? {};
  if (isObject(result)) return { ok: true, value: result };
  const fault = errorShape.safeParse(error).data;
  if (fault === undefined) return failed("protocol", "Its answer has neither result nor error.");
  const { code, message: said, data } = fault;
  return failed("error", `It answered with the error ${code}: ${said}`, {
    status,
    code,
    data,
    ...(forgotten === true ? { forgotten } : {}),
  });
}
