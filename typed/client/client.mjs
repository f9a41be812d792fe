// `npm run docs` writes this file from src/client.


// src/client/answer.ts
var SkillAnswer = class {
  /** Media type with its parameters. */
  contentType;
  bytes;
  headers;
  /** Names the run in logs and at `/executions/{id}`; `null` for skills that run nothing. */
  executionId;
  /** Whether this is the answer of an earlier call with the same idempotency key. */
  replayed;
  constructor(bytes, headers) {
    this.bytes = bytes;
    this.headers = headers;
    this.contentType = headers.get("content-type") ?? "";
    this.executionId = headers.get("x-hull-execution-id");
    this.replayed = headers.get("x-hull-replayed") === "1";
  }
  get text() {
    return new TextDecoder().decode(this.bytes);
  }
  /** The answer as JSON, in the shape that the caller expects. Throws SyntaxError if it is not JSON. */
  json() {
    const value = JSON.parse(this.text);
    return value;
  }
};

// src/client/error.ts
var HullError = class extends Error {
  /** Stable; the table of docs/http.md lists all. `unknown` if the answer was not a problem document of Hull. */
  code;
  /** Status of the answer; for a stream's error the one in the document. */
  status;
  title;
  detail;
  /** Names the request in the log of the deployment. */
  requestId;
  /** How long to wait before the same call may succeed, in ms, if Hull said so. */
  retryAfterMs;
  /** The document with all of its members. */
  problem;
  constructor(problem, status, retryAfterMs) {
    const text2 = (name) => {
      const value = problem[name];
      return typeof value === "string" ? value : null;
    };
    super(text2("detail") ?? text2("title") ?? `The server answered ${status}.`);
    this.name = "HullError";
    this.code = text2("code") ?? "unknown";
    this.status = status;
    this.title = text2("title") ?? "";
    this.detail = text2("detail") ?? "";
    this.requestId = text2("request_id");
    this.retryAfterMs = retryAfterMs;
    this.problem = problem;
  }
};
var HullConnectionError = class extends Error {
  constructor(url, cause) {
    super(
      `${url === "" ? "The page's origin (no `url` is set)" : url} cannot be reached, or the connection broke.`,
      { cause }
    );
    this.name = "HullConnectionError";
  }
};

// src/client/transport.ts
var RETRIES = 4;
var FIRST_WAIT_MS = 250;
var LONGEST_WAIT_MS = 8e3;
var LONGEST_RETRY_AFTER_MS = 3e4;
var Transport = class {
  origin;
  retries;
  #options;
  constructor(options) {
    const { url = "", retries = RETRIES } = options;
    this.origin = url.replace(/(?<!\/)\/+$/, "");
    this.retries = retries;
    this.#options = options;
  }
  /**
   * Sends the call and reads its answer. Throws HullError for an error answer, HullConnectionError, and what
   * `prepare` throws.
   */
  async send(call, settings, read) {
    for (let attempt = 0; ; attempt += 1) {
      const request = await this.prepare(call, settings);
      let response = null;
      try {
        response = await this.open(request, settings.signal);
        if (response.ok) return await read(response);
      } catch (error2) {
        if (error2 instanceof HullError) throw error2;
        settings.signal?.throwIfAborted();
        if (attempt >= this.retries || !await isRepeatable(call)) {
          throw error2 instanceof HullConnectionError ? error2 : new HullConnectionError(this.origin, error2);
        }
        await pause(waitBefore(attempt), settings.signal);
        continue;
      }
      const error = await errorOf(response);
      if (call.method === "DELETE" && attempt > 0 && error.status === 404) return read(response);
      const wait = this.waitAfter(error, response, attempt);
      if (wait === null || !await isRepeatable(call)) throw error;
      await pause(wait, settings.signal);
    }
  }
  /**
   * What `fetch` gets for one attempt. A fault here is the caller's, so nothing repeats it. Throws what `key` throws,
   * and TypeError for a value that is not JSON, for a header that HTTP cannot carry, and for a path that names another
   * resource than its parts say: `fetch` resolves `.` and `..`.
   */
  async prepare(call, settings) {
    const { method, path, query, json, body } = call;
    if (/^[^?#]*\/(?:(?:\.|%2e){1,2}(?=[/?#]|$)|\/)/i.test(path) || /^[^?#]+\/(?=[?#]|$)/.test(path)) {
      throw new TypeError(`An id or a name in ${path} is empty, "." or "..". Pass one that names something.`);
    }
    const { key, headers: own } = this.#options;
    const secret = typeof key === "function" ? await key() : key;
    const headers = new Headers(own);
    if (secret !== void 0) headers.set("authorization", `Bearer ${secret}`);
    if (json !== void 0) headers.set("content-type", "application/json");
    for (const given of [call.headers, settings.headers]) {
      for (const [name, value] of Object.entries(given ?? {})) headers.set(name, value);
    }
    const sent = json === void 0 ? body : JSON.stringify(json);
    const init = { method, headers, ...sent === void 0 ? {} : { body: sent } };
    return { url: this.origin + path + queryText(query), init };
  }
  /** Sends a prepared call; answers once its headers are there. Throws what `fetch` throws. */
  open({ url, init }, signal) {
    const { fetch = globalThis.fetch.bind(globalThis) } = this.#options;
    return fetch(url, { ...init, ...signal === void 0 ? {} : { signal } });
  }
  /** The wait in ms before a refused call is sent again; `null`: it would be refused again. */
  waitAfter({ code, retryAfterMs }, { status, headers }, attempt) {
    if (attempt >= this.retries || headers.has("x-hull-replayed")) return null;
    if (code === "unknown") return status >= 502 && status <= 504 ? waitBefore(attempt) : null;
    if (code.startsWith("provider_") || status !== 429 && status !== 503) return null;
    return retryAfterMs === null || retryAfterMs > LONGEST_RETRY_AFTER_MS ? null : retryAfterMs;
  }
  json(call, settings) {
    return this.send(call, settings, async (response) => response.json());
  }
  async nothing(call, settings = {}) {
    await this.send(call, settings, (response) => response.body?.cancel() ?? Promise.resolve());
  }
  get(path, settings, query) {
    return this.json({ ...reads(path), query }, settings);
  }
  post(path, body, settings, query) {
    return this.json({ ...posts(path, body, settings), query }, settings);
  }
  remove(path, settings) {
    return this.nothing({ method: "DELETE", path, repeatable: true }, settings);
  }
  /** Every item of a list; pages are requested on demand. */
  async *pages(path, settings) {
    for (let cursor; ; ) {
      const { data, next_cursor } = await this.get(path, settings, { limit: 100, cursor });
      yield* data;
      if (next_cursor === null) return;
      cursor = next_cursor;
    }
  }
};
var reads = (path) => ({ method: "GET", path, repeatable: true });
function posts(path, json, settings) {
  const headers = idempotent(settings);
  return { method: "POST", path, json, headers, repeatable: Object.keys(headers).length > 0 };
}
var isRepeatable = async ({ repeatable }) => typeof repeatable === "boolean" ? repeatable : repeatable().catch(() => false);
async function errorOf(response) {
  const { status, headers } = response;
  const isProblem = /^application\/(?:problem\+)?json/.test(headers.get("content-type") ?? "");
  const problem = isProblem ? await response.json().catch(() => null) : null;
  const seconds = Number(headers.get("retry-after") ?? "x");
  return new HullError(
    isRecord(problem) ? problem : {},
    status,
    Number.isFinite(seconds) ? seconds * 1e3 : null
  );
}
var isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
function waitBefore(attempt) {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
}
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => {
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
function queryText(query = {}) {
  const pairs = Object.entries(query).flatMap(
    ([name, value]) => value === void 0 ? [] : [[name, String(value)]]
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}
function idempotent({ idempotencyKey }) {
  if (idempotencyKey === false) return {};
  const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    ""
  );
  return { "idempotency-key": idempotencyKey ?? random() };
}

// src/client/event-stream.ts
var SILENCE_MS = 45e3;
var EventStream = class {
  #events;
  /** Ends the stream while it waits for an event. */
  #leaving = new AbortController();
  constructor(source) {
    const { signal: own } = source.settings;
    const left = this.#leaving.signal;
    const signal = own === void 0 ? left : AbortSignal.any([own, left]);
    this.#events = follow({ ...source, settings: { ...source.settings, signal } });
  }
  /** Each event as it arrives. A failed run sends the event `error`. Throws HullError if the call is refused. */
  [Symbol.asyncIterator]() {
    return this.#events;
  }
  /** The whole answer so far, each time that it changes. Throws HullError if the run fails. */
  async *text() {
    const rounds = [];
    for await (const event of this.#events) {
      throwIfError(event);
      if (event.event === "round" && event.data.restarted === true) {
        const { round } = event.data;
        for (const known of rounds) if (known.round === round) known.text = "";
      } else if (event.event === "delta") {
        const { round, text: text2 = "" } = event.data;
        const last = rounds.at(-1);
        if (last !== void 0 && last.round === round) last.text += text2;
        else rounds.push({ round, text: text2 });
      } else continue;
      yield rounds.map(({ text: text2 }) => text2).join("");
    }
  }
  /**
   * The pieces of the answer as bytes, text in UTF-8, e.g. for `new Response(stream.readable())`. The stream fails with
   * HullError if the run fails. The text of a round that restarts comes twice; `text` handles that.
   */
  readable() {
    const events = this.#events;
    const leaving = this.#leaving;
    const encoder = new TextEncoder();
    return new ReadableStream({
      async pull(controller) {
        for (; ; ) {
          const { done, value: event } = await events.next();
          if (done === true) return controller.close();
          throwIfError(event);
          if (event.event !== "delta") continue;
          const { text: text2, b64 = "" } = event.data;
          const piece = text2 === void 0 ? fromBase64(b64) : encoder.encode(text2);
          if (piece.length > 0) return controller.enqueue(piece);
        }
      },
      async cancel() {
        leaving.abort();
        await events.return();
      }
    });
  }
  /** The content of the last event. Throws HullError if the run fails. */
  async result() {
    for await (const event of this.#events) {
      throwIfError(event);
      if (event.event === "done" && isResult(event.data)) return event.data;
    }
    throw new TypeError("The stream has been read before, or ended without a result.");
  }
};
var fromBase64 = (text2) => Uint8Array.from(atob(text2), (character) => character.charCodeAt(0));
var isResult = (data) => "ok" in data;
function throwIfError({ event, data }) {
  if (event !== "error") return;
  const { retry_after_ms: retry } = data;
  throw new HullError(data, data.status, typeof retry === "number" ? retry : null);
}
async function* follow(source) {
  const { transport, call, begin, resumed, ends, left, settings } = source;
  const { signal } = settings;
  const seen = { seq: -1, id: null, execution: null };
  let leaves = true;
  let failures = 0;
  try {
    if (begin !== void 0) seen.id = await begin();
    for (; ; ) {
      const again = seen.id !== null && seen.execution !== null ? resumed?.(seen.execution) : void 0;
      const request = await transport.prepare(streaming(again ?? call, seen), settings);
      let cut;
      try {
        for await (const event of connection(source, request, seen, failures)) {
          failures = 0;
          leaves = !(ends && event.event === "done");
          yield event;
          if (!leaves) return;
        }
        leaves = !(ends && seen.id === null);
        if (!leaves) return;
        throw new HullConnectionError(transport.origin, "the stream ended before its last event");
      } catch (error) {
        leaves = signal?.aborted === true;
        if (leaves) throw signal?.reason;
        if (error instanceof HullError && !(error instanceof RefusedForNow)) throw error;
        if (failures >= transport.retries || !await isRepeatable(call)) {
          const named = error instanceof HullError || error instanceof HullConnectionError;
          throw named ? error : new HullConnectionError(transport.origin, error);
        }
        cut = error;
      }
      leaves = true;
      const wait = cut instanceof RefusedForNow ? cut.wait : waitBefore(failures);
      failures += 1;
      await pause(wait, signal);
    }
  } finally {
    if (leaves && seen.execution !== null) await left?.(seen.execution).catch(() => {
    });
  }
}
var RefusedForNow = class extends HullError {
  wait;
  constructor({ problem, status, retryAfterMs }, wait) {
    super(problem, status, retryAfterMs);
    this.wait = wait;
  }
};
var streaming = (call, { id }) => ({
  ...call,
  headers: { accept: "text/event-stream", ...call.headers, ...id === null ? {} : { "last-event-id": id } }
});
async function* connection({ transport, settings }, request, seen, failures) {
  const { signal } = settings;
  const own = new AbortController();
  const leave = () => own.abort(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener("abort", leave, { once: true });
  try {
    const response = await transport.open(request, own.signal);
    if (!response.ok) {
      const error = await errorOf(response);
      const wait = transport.waitAfter(error, response, failures);
      throw wait === null ? error : new RefusedForNow(error, wait);
    }
    seen.execution ??= response.headers.get("x-hull-execution-id");
    for await (const { id, event, data } of wireEvents(response, own)) {
      const seq = /:(\d+)$/.exec(id)?.[1];
      if (seq !== void 0) {
        if (Number(seq) <= seen.seq) continue;
        seen.seq = Number(seq);
        seen.id = id;
      }
      const known = JSON.parse(
        `{"id":${JSON.stringify(id)},"event":${JSON.stringify(event)},"data":${data}}`
      );
      yield known;
    }
  } finally {
    signal?.removeEventListener("abort", leave);
    own.abort();
  }
}
async function* wireEvents(response, connection2) {
  const reader = response.body?.getReader();
  if (reader === void 0) return;
  const decoder = new TextDecoder();
  let rest = "";
  let fields = { id: "", event: "message", data: [] };
  try {
    for (; ; ) {
      const silent = setTimeout(() => connection2.abort("nothing came, not even a heartbeat"), SILENCE_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(silent));
      const piece = done ? "" : decoder.decode(value, { stream: true });
      rest += piece;
      if (!done && !/[\r\n]/.test(piece)) continue;
      const lines = rest.split(done ? /\r\n|\n|\r/ : /\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          const { id, event, data } = fields;
          if (data.length > 0) yield { id, event, data: data.join("\n") };
          fields = { id, event: "message", data: [] };
          continue;
        }
        const colon = line.indexOf(":");
        const name = colon === -1 ? line : line.slice(0, colon);
        const given = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (name === "data") fields.data.push(given);
        else if (name === "id" || name === "event") fields[name] = given;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {
    });
  }
}

// src/client/sessions.ts
var SessionsClient = class {
  #transport;
  constructor(transport) {
    this.#transport = transport;
  }
  /** Opens a session: a new one, or the existing one with this id. */
  async open(body = {}, settings = {}) {
    const { id } = await this.#transport.post("/sessions", body, settings);
    return new SessionClient(this.#transport, id);
  }
  /** All sessions of the tenant, the newest first, page by page. */
  list(settings = {}) {
    return this.#transport.pages("/sessions", settings);
  }
};
var SessionClient = class _SessionClient {
  id;
  approvals;
  files;
  #transport;
  #path;
  constructor(transport, id) {
    this.id = id;
    this.#transport = transport;
    this.#path = `/sessions/${encodeURIComponent(id)}`;
    this.approvals = new ApprovalsClient(transport, this.#path);
    this.files = new SessionFilesClient(transport, this.#path);
  }
  get(settings = {}) {
    return this.#transport.get(this.#path, settings);
  }
  /** Stops the session's run and removes all its data. */
  delete(settings = {}) {
    return this.#transport.remove(this.#path, settings);
  }
  /** Runs an agent and returns when the run has ended, or with `wait: "idle"` when it rests. */
  run(body, settings = {}) {
    return this.#transport.post(`${this.#path}/runs`, body, settings, { wait: settings.wait });
  }
  /** Begins a run and returns immediately. */
  start(body, settings = {}) {
    return this.#transport.post(`${this.#path}/runs`, body, settings, { wait: "none" });
  }
  /** Runs an agent and follows its events. Leaving the stream does not stop the run: `cancel` does. */
  stream(body, settings = {}) {
    const call = posts(`${this.#path}/runs`, body, settings);
    return new EventStream({ transport: this.#transport, call, ends: true, settings });
  }
  runs(settings = {}) {
    return this.#transport.pages(`${this.#path}/runs`, settings);
  }
  getRun(run, settings = {}) {
    return this.#transport.get(`${this.#path}/runs/${encodeURIComponent(run)}`, settings);
  }
  /** Ends a run; an ended run stays unchanged. */
  cancel(run, settings = {}) {
    const path = `${this.#path}/runs/${encodeURIComponent(run)}/cancel`;
    return this.#transport.json({ method: "POST", path, json: {}, repeatable: true }, settings);
  }
  /**
   * Every event of the session from now on, or after an event's number (`0`: from the first), until the caller leaves.
   * Events during a broken connection arrive later.
   */
  events(settings = {}) {
    const { after } = settings;
    const begin = async () => `${this.id}:${after ?? (await this.get(settings)).last_event}`;
    const call = reads(`${this.#path}/events`);
    return new EventStream({ transport: this.#transport, call, begin, ends: false, settings });
  }
  /** The messages that the next model call would send, the oldest first. */
  messages(settings = {}) {
    return this.#transport.pages(`${this.#path}/messages`, settings);
  }
  /** Sends a message to the run under way, or to the next one. */
  send(content, settings = {}) {
    const { delivery } = settings;
    const body = { content, ...delivery === void 0 ? {} : { delivery } };
    return this.#transport.post(`${this.#path}/messages`, body, settings);
  }
  /** Answers a call of a tool that the run's caller carries out. */
  answerTool(body, settings = {}) {
    return this.#transport.post(`${this.#path}/tool-results`, body, settings);
  }
  /** The conversation as lines `role: text`; `full` includes what only the model sees. */
  transcript(view = "visible", settings = {}) {
    const call = { ...reads(`${this.#path}/transcript`), query: { view } };
    return this.#transport.send(call, settings, (response) => response.text());
  }
  /** Replaces older messages by a summary. */
  compact(body = {}, settings = {}) {
    const path = `${this.#path}/compact`;
    return this.#transport.json({ method: "POST", path, json: body, repeatable: false }, settings);
  }
  /** A session that begins in the present state of this one. @param id of the new session */
  async fork(id, settings = {}) {
    const body = id === void 0 ? {} : { dst: id };
    const fork = await this.#transport.post(`${this.#path}/fork`, body, settings);
    return new _SessionClient(this.#transport, fork.id);
  }
  artifacts(settings = {}) {
    return this.#transport.pages(`${this.#path}/artifacts`, settings);
  }
  artifact(id, settings = {}) {
    const path = `${this.#path}/artifacts/${encodeURIComponent(id)}`;
    return this.#transport.get(path, settings, { version: settings.version });
  }
};
var ApprovalsClient = class {
  #transport;
  #path;
  constructor(transport, session) {
    this.#transport = transport;
    this.#path = `${session}/approvals`;
  }
  /** The approvals that wait now. */
  async list(settings = {}) {
    const { data } = await this.#transport.get(this.#path, settings);
    return data;
  }
  /**
   * Permits the call, once or for the same arguments in the whole session. Throws HullError `approval_closed` if it is
   * already decided.
   */
  async approve(approval, settings = {}) {
    const { scope = "once" } = settings;
    await this.#decide(approval, { decision: "approve", scope }, settings);
  }
  /** Refuses the call. @param reason the model reads it */
  async deny(approval, reason, settings = {}) {
    await this.#decide(approval, { decision: "deny", ...reason === void 0 ? {} : { reason } }, settings);
  }
  #decide({ id, arguments_digest }, decision, settings) {
    const body = { ...decision, arguments_digest };
    return this.#transport.nothing(
      posts(`${this.#path}/${encodeURIComponent(id)}`, body, settings),
      settings
    );
  }
};
var SessionFilesClient = class {
  #transport;
  #path;
  constructor(transport, session) {
    this.#transport = transport;
    this.#path = `${session}/files`;
  }
  list(settings = {}) {
    return this.#transport.pages(this.#path, settings);
  }
  get(path, settings = {}) {
    return this.#transport.send(reads(this.#at(path)), settings, (response) => response.blob());
  }
  /** Stores a file, up to 32 MiB. */
  put(path, content, settings = {}) {
    return this.#transport.json(
      { method: "PUT", path: this.#at(path), body: content, repeatable: true },
      settings
    );
  }
  delete(path, settings = {}) {
    return this.#transport.remove(this.#at(path), settings);
  }
  #at(path) {
    return `${this.#path}/${path.split("/").map(encodeURIComponent).join("/")}`;
  }
};

// src/client/daemons.ts
var DaemonsClient = class {
  #transport;
  constructor(transport) {
    this.#transport = transport;
  }
  /** All daemons of the tenant, the newest first, page by page. */
  list(settings = {}) {
    return this.#transport.pages("/daemons", settings);
  }
  async spawn(body, settings = {}) {
    const { id } = await this.#transport.post("/daemons", body, settings);
    return new DaemonClient(this.#transport, id);
  }
};
var DaemonClient = class {
  id;
  /** The daemon's conversation: events, messages, files, approvals. */
  session;
  #transport;
  #path;
  constructor(transport, id) {
    this.id = id;
    this.session = new SessionClient(transport, id);
    this.#transport = transport;
    this.#path = `/daemons/${encodeURIComponent(id)}`;
  }
  /** The daemon with its snapshot and the beginning of its queue. */
  get(settings = {}) {
    return this.#transport.get(this.#path, settings);
  }
  /** Puts an event, which may be any JSON, into its queue. */
  send(payload, settings = {}) {
    return this.#transport.post(`${this.#path}/events`, payload, settings);
  }
  /** Wakes it once it is idle. */
  wake(settings = {}) {
    return this.#post("wake", settings);
  }
  stop(settings = {}) {
    return this.#post("stop", settings);
  }
  /** Starts it again after it was stopped or has failed. */
  resume(settings = {}) {
    return this.#post("resume", settings);
  }
  /** Stops it and removes all its data, including its session. */
  delete(settings = {}) {
    return this.#transport.remove(this.#path, settings);
  }
  #post(operation, settings) {
    return this.#transport.post(`${this.#path}/${operation}`, {}, settings);
  }
};

// src/client/input.ts
function inputBody(input, files = []) {
  const given = input === void 0 ? {} : { input };
  if (files.length > 0) {
    if (isBytes(input))
      throw new TypeError("Stored files go with text or a JSON value, not with bytes or a form.");
    return { json: { ...given, files } };
  }
  if (typeof input === "string")
    return { body: input, headers: { "content-type": "text/plain; charset=utf-8" } };
  if (isBytes(input)) return { body: input };
  if (isObject(input) && !Array.isArray(input) && (Symbol.iterator in input || Symbol.asyncIterator in input)) {
    throw new TypeError(
      "Pass text, bytes, a form or a JSON value; a stream, a Map or the like is not accepted."
    );
  }
  return input === void 0 ? {} : { json: given };
}
function inputQuery(input) {
  if (!isObject(input) || Array.isArray(input)) return { query: { input: text(input) } };
  return { query: Object.fromEntries(Object.entries(input).map(([name, value]) => [name, text(value)])) };
}
var text = (value) => value === void 0 || typeof value === "string" ? value : JSON.stringify(value);
var isObject = (input) => typeof input === "object" && input !== null;
var isBytes = (input) => input instanceof Blob || input instanceof FormData || input instanceof ArrayBuffer || ArrayBuffer.isView(input);

// src/client/client.ts
var Hull = class {
  sessions;
  daemons;
  files;
  llm;
  #transport;
  constructor(options = {}) {
    this.#transport = new Transport(options);
    this.sessions = new SessionsClient(this.#transport);
    this.daemons = new DaemonsClient(this.#transport);
    this.files = new FilesClient(this.#transport);
    this.llm = new ModelsClient(this.#transport);
  }
  /**
   * Runs a skill and returns its answer. Throws HullError for a run that fails.
   * @param skill its slug, or its route if the manifest sets one (`/reports/daily`)
   */
  async run(skill, input, settings = {}) {
    return this.#transport.send(this.#skill(skill, input, settings), settings, async (response) => {
      const bytes = new Uint8Array(await response.arrayBuffer());
      return new SkillAnswer(bytes, response.headers);
    });
  }
  /** Runs a skill and follows its events. Leaving the stream before its end stops the run. */
  stream(skill, input, settings = {}) {
    return executionStream(this.#transport, this.#skill(skill, input, settings), settings);
  }
  /** Runs an agent without a session. */
  runAgent(body, settings = {}) {
    return this.#transport.post("/runs", body, settings);
  }
  /** The same as events. Leaving the stream before its end stops the run. */
  streamAgent(body, settings = {}) {
    return executionStream(this.#transport, posts("/runs", body, settings), settings);
  }
  /** The tenant's runs of all surfaces, the newest first, page by page. */
  runs(filter = {}, settings = {}) {
    const query = new URLSearchParams(Object.entries(filter)).toString();
    return this.#transport.pages(`/runs${query === "" ? "" : `?${query}`}`, settings);
  }
  /** The session of an id. This sends no request; `sessions.open` makes a session. */
  session(id) {
    return new SessionClient(this.#transport, id);
  }
  /** The daemon of an id. This sends no request; `daemons.spawn` makes a daemon. */
  daemon(id) {
    return new DaemonClient(this.#transport, id);
  }
  /** The cards of the served skills, sorted by slug. @param query words that must all occur */
  async *skills(query, settings = {}) {
    const call = { ...reads("/skills"), query: { q: query, limit: 1e3 } };
    for (let next = call; next !== null; ) {
      const page = await this.#transport.send(next, settings, cardPage);
      yield* page.cards;
      next = page.next;
    }
  }
  card(slug, settings = {}) {
    return this.#transport.get(`/skills/${encodeURIComponent(slug)}/card`, settings);
  }
  /** State and result of a call with an idempotency key. */
  execution(id, settings = {}) {
    return this.#transport.get(executionPath(id), settings);
  }
  /**
   * Calls any other route and returns its response. Throws HullError if that is an error. Only calls of GET, PUT and
   * DELETE are repeated.
   */
  request(method, path, settings = {}) {
    const { json, body } = settings;
    const call = { method, path, json, body, repeatable: method !== "POST" };
    return this.#transport.send(call, settings, async (response) => response);
  }
  #skill(skill, input, settings) {
    const { files, bot, method = "POST" } = settings;
    const isRoute = skill.startsWith("/");
    const { headers, ...body } = method === "GET" ? inputQuery(input) : inputBody(input, files);
    const key = idempotent(settings);
    const keeps = async () => (await this.card(skill)).mode !== "proxy";
    return {
      method,
      path: isRoute ? skill : `/skills/${encodeURIComponent(skill)}`,
      ...body,
      headers: { ...headers, ...key, ...bot === void 0 ? {} : { "x-hull-bot": bot } },
      repeatable: settings.idempotencyKey === false || isRoute ? false : keeps
    };
  }
};
var ModelsClient = class {
  #transport;
  constructor(transport) {
    this.#transport = transport;
  }
  call(body, settings = {}) {
    return this.#transport.post("/llm/call", body, settings);
  }
  /** Leaving the stream before its end stops the call. */
  stream(body, settings = {}) {
    return executionStream(this.#transport, posts("/llm/stream", body, settings), settings);
  }
  /** Calls a model until its answer matches a schema. */
  structured(body, settings = {}) {
    return this.#transport.post("/llm/structured", body, settings);
  }
};
var FilesClient = class {
  #transport;
  constructor(transport) {
    this.#transport = transport;
  }
  /** Stores a file for 24 hours. @param settings `filename`: default: that of a `File` */
  upload(content, settings = {}) {
    const { filename = content instanceof File ? content.name : void 0, mime } = settings;
    const headers = idempotent(settings);
    const type = mime === void 0 ? {} : { "content-type": mime };
    return this.#transport.json(
      {
        method: "POST",
        path: "/files",
        query: { filename },
        body: content,
        headers: { ...type, ...headers },
        repeatable: Object.keys(headers).length > 0
      },
      settings
    );
  }
  get(id, settings = {}) {
    const call = reads(`/files/${encodeURIComponent(id)}`);
    return this.#transport.send(call, settings, (response) => response.blob());
  }
  delete(id, settings = {}) {
    return this.#transport.remove(`/files/${encodeURIComponent(id)}`, settings);
  }
};
var executionPath = (id) => `/executions/${encodeURIComponent(id)}`;
function executionStream(transport, call, settings) {
  if (settings.idempotencyKey === false) return new EventStream({ transport, call, ends: true, settings });
  return new EventStream({
    transport,
    call,
    resumed: (id) => reads(`${executionPath(id)}/events`),
    left: (id) => transport.nothing({ method: "DELETE", path: executionPath(id), repeatable: false }),
    ends: true,
    settings
  });
}
async function cardPage(response) {
  const path = /<([^>]+)>; *rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  return { cards: await response.json(), next: path === void 0 ? null : reads(path) };
}
export {
  DaemonClient,
  EventStream,
  Hull,
  HullConnectionError,
  HullError,
  SessionClient,
  SkillAnswer
};
