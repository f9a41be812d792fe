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

// src/client/budgets.ts
var BudgetsClient = class {
  #transport;
  constructor(transport) {
    this.#transport = transport;
  }
  list(settings = {}) {
    return this.#transport.pages("GET /budgets", {}, settings);
  }
  /** The budget, with what is spent of it. */
  get(scope, settings = {}) {
    return this.#transport.ask("GET /budgets/{scope}", { path: { scope } }, settings);
  }
  /** Sets the budget; needs a key with the scope `admin`. */
  set(scope, budget, settings = {}) {
    return this.#transport.ask("PUT /budgets/{scope}", { path: { scope }, json: budget }, settings);
  }
  delete(scope, settings = {}) {
    return this.#transport.remove("DELETE /budgets/{scope}", { path: { scope } }, settings);
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

// src/client/repeat.ts
var RETRIES = 4;
var FIRST_WAIT_MS = 250;
var LONGEST_WAIT_MS = 8e3;
function waitBefore(attempt) {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
}
function idempotent(key) {
  if (key === false) return {};
  const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    ""
  );
  return { "idempotency-key": key ?? random() };
}

// src/client/route.ts
function requestOf(route, { path = {}, query, json }) {
  const [method = "", template = ""] = route.split(" ");
  const named = template.replace(/\{(\w+)\}/g, (_, name) => segments(name, path[name] ?? ""));
  return { method, path: named, query, json };
}
var segments = (name, value) => name === "path" ? value.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(value);
var namesAnother = (path) => /^(?!\/)|^[^?#]*[/\\](?:(?:\.|%2e){1,2}(?=[/\\?#]|$)|[/\\])/i.test(path) || /^[^?#]+[/\\](?=[?#]|$)/.test(path);
function queryText(query = {}) {
  const pairs = Object.entries(query).flatMap(
    ([name, value]) => value === void 0 ? [] : [[name, String(value)]]
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}

// src/client/transport.ts
var isBytes = (value) => value instanceof Blob || value instanceof FormData || value instanceof ArrayBuffer || ArrayBuffer.isView(value);
var NOT_ACCEPTED = "Pass text, bytes, a form or, as the input of a skill, a JSON value; a stream, a Promise, a Map or the like is not accepted.";
var LONGEST_RETRY_AFTER_MS = 3e4;
var Transport = class _Transport {
  origin;
  retries;
  #options;
  #known;
  constructor(options, known) {
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
  of(id) {
    return new _Transport(this.#options, { id });
  }
  /**
   * A call of a route. A POST is not repeated unless `more` says so.
   * @param more what a route's declaration has no type for, such as bytes
   */
  call(route, takes, more = {}) {
    const path = { ...this.#known, ...takes.path };
    return { ...requestOf(route, { ...takes, path }), repeatable: !route.startsWith("POST "), ...more };
  }
  /** A call that runs or makes something. */
  posts(route, takes, settings) {
    const headers = idempotent(settings.idempotencyKey);
    return this.call(route, takes, { headers, repeatable: Object.keys(headers).length > 0 });
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
    if (namesAnother(path)) {
      throw new TypeError(
        `The path ${path} must begin with "/", and no id or name in it may be empty, "." or "..". Pass one that names something.`
      );
    }
    const { key, headers: own } = this.#options;
    const secret = typeof key === "function" ? await key() : key;
    const headers = new Headers(own);
    if (secret !== void 0) headers.set("authorization", `Bearer ${secret}`);
    if (json !== void 0) headers.set("content-type", "application/json");
    for (const given of [call.headers, settings.headers]) {
      for (const [name, value] of Object.entries(given ?? {})) headers.set(name, value);
    }
    if (body !== void 0 && typeof body !== "string" && !isBytes(body)) throw new TypeError(NOT_ACCEPTED);
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
  async nothing(call, settings = {}) {
    await this.send(call, settings, (response) => response.body?.cancel() ?? Promise.resolve());
  }
  /** The JSON with which a route answers a call of `call`. */
  json(call, settings) {
    return this.send(call, settings, async (response) => response.json());
  }
  /** The JSON of a route whose second call has no further effect. */
  ask(route, takes, settings) {
    return this.json(this.call(route, takes), settings);
  }
  post(route, takes, settings) {
    return this.json(this.posts(route, takes, settings), settings);
  }
  /** The answer of a route that begins a run, with the query `wait=none`: the run continues. */
  begin(route, takes, settings) {
    const begun = this.posts(route, takes, settings);
    return this.send(begun, settings, async (response) => response.json());
  }
  remove(route, takes, settings) {
    return this.nothing(this.call(route, takes), settings);
  }
  /** Every item of a list; pages are requested on demand. */
  async *pages(route, takes, settings) {
    const first = this.call(route, takes);
    for (let cursor; ; ) {
      const query = { ...first.query, limit: 100, cursor };
      const { data, next_cursor } = await this.send(
        { ...first, query },
        settings,
        async (response) => response.json()
      );
      yield* data;
      if (next_cursor === null) return;
      cursor = next_cursor;
    }
  }
};
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
      yield rounds.reduce((whole, { text: text2 }) => whole + text2, "");
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
    const { id } = await this.#transport.post("POST /sessions", { json: body }, settings);
    return new SessionClient(this.#transport, id);
  }
  /** All sessions of the tenant, the newest first, page by page. */
  list(settings = {}) {
    const { stages } = settings;
    return this.#transport.pages("GET /sessions", { query: { stages } }, settings);
  }
};
var SessionClient = class _SessionClient {
  id;
  approvals;
  files;
  #transport;
  constructor(transport, id) {
    this.id = id;
    this.#transport = transport.of(id);
    this.approvals = new ApprovalsClient(transport, id);
    this.files = new SessionFilesClient(transport, id);
  }
  get(settings = {}) {
    return this.#transport.ask("GET /sessions/{id}", {}, settings);
  }
  /** Stops the session's run and removes all its data. */
  delete(settings = {}) {
    return this.#transport.remove("DELETE /sessions/{id}", {}, settings);
  }
  /** Runs an agent and returns when the run has ended, or with `wait: "idle"` when it rests. */
  run(body, settings = {}) {
    return this.#transport.post(
      "POST /sessions/{id}/runs",
      { query: { wait: settings.wait }, json: body },
      settings
    );
  }
  /** Begins a run and returns immediately. */
  start(body, settings = {}) {
    return this.#transport.begin(
      "POST /sessions/{id}/runs",
      { query: { wait: "none" }, json: body },
      settings
    );
  }
  /** Runs an agent and follows its events. Leaving the stream does not stop the run: `cancel` does. */
  stream(body, settings = {}) {
    const begun = this.#transport.posts("POST /sessions/{id}/runs", { json: body }, settings);
    return new EventStream({ transport: this.#transport, call: begun, ends: true, settings });
  }
  runs(settings = {}) {
    return this.#transport.pages("GET /sessions/{id}/runs", {}, settings);
  }
  getRun(run, settings = {}) {
    return this.#transport.ask("GET /sessions/{id}/runs/{run}", { path: { run } }, settings);
  }
  /** Events of a run: those so far, or after an event's number, then future ones, up to its end. */
  runEvents(run, settings = {}) {
    const asked = this.#transport.call("GET /sessions/{id}/runs/{run}/events", {
      path: { run },
      query: { after: settings.after }
    });
    return new EventStream({ transport: this.#transport, call: asked, ends: true, settings });
  }
  /** What each step of a run took. */
  runTrace(run, settings = {}) {
    return this.#transport.pages("GET /sessions/{id}/runs/{run}/trace", { path: { run } }, settings);
  }
  /** Ends a run; an ended run stays unchanged. */
  cancel(run, settings = {}) {
    const asked = this.#transport.call(
      "POST /sessions/{id}/runs/{run}/cancel",
      { path: { run }, json: {} },
      { repeatable: true }
    );
    return this.#transport.json(asked, settings);
  }
  /**
   * Every event of the session from now on, or after an event's number (`0`: from the first), until the caller leaves.
   * Events during a broken connection arrive later.
   */
  events(settings = {}) {
    const { after } = settings;
    const begin = async () => `${this.id}:${after ?? (await this.get(settings)).last_event}`;
    const asked = this.#transport.call("GET /sessions/{id}/events", {});
    return new EventStream({ transport: this.#transport, call: asked, begin, ends: false, settings });
  }
  /** The events that the session has, the oldest first, page by page. @param settings `event`: only those of this name */
  listEvents(settings = {}) {
    const { event } = settings;
    return this.#transport.pages("GET /sessions/{id}/events/list", { query: { event } }, settings);
  }
  /** The messages that the next model call would send, the oldest first. */
  messages(settings = {}) {
    return this.#transport.pages("GET /sessions/{id}/messages", {}, settings);
  }
  /** Sends a message to the run under way, or to the next one. */
  send(content, settings = {}) {
    const { delivery } = settings;
    return this.#transport.post("POST /sessions/{id}/messages", { json: { content, delivery } }, settings);
  }
  /** Answers a call of a tool that the run's caller carries out. */
  answerTool(body, settings = {}) {
    return this.#transport.post("POST /sessions/{id}/tool-results", { json: body }, settings);
  }
  /** The conversation as lines `role: text`; `full` includes what only the model sees. */
  transcript(view = "visible", settings = {}) {
    const asked = this.#transport.call("GET /sessions/{id}/transcript", { query: { view } });
    return this.#transport.send(asked, settings, (response) => response.text());
  }
  /** The transcript itself, with which another session can be opened. */
  rawTranscript(settings = {}) {
    return this.#transport.ask("GET /sessions/{id}/transcript", { query: { view: "raw" } }, settings);
  }
  /** The model's chunks and the results of tools, to be replayed offline. */
  cassette(settings = {}) {
    return this.#transport.ask("GET /sessions/{id}/cassette", {}, settings);
  }
  async exists(settings = {}) {
    return (await this.#transport.ask("GET /sessions/{id}/exists", {}, settings)).exists;
  }
  /** The number of messages that the next model call would send. */
  async length(settings = {}) {
    return (await this.#transport.ask("GET /sessions/{id}/length", {}, settings)).length;
  }
  /** The session from which this one was forked, and its own forks. */
  ancestry(settings = {}) {
    return this.#transport.ask("GET /sessions/{id}/ancestry", {}, settings);
  }
  /** Replaces older messages by a summary. */
  compact(body = {}, settings = {}) {
    return this.#transport.post("POST /sessions/{id}/compact", { json: body }, settings);
  }
  /** Begins a new conversation; the earlier one stays in the log. */
  reset(settings = {}) {
    return this.#transport.post("POST /sessions/{id}/reset", { json: {} }, settings);
  }
  /** Keeps only the last messages. */
  trim(keep_last, settings = {}) {
    return this.#transport.post("POST /sessions/{id}/trim", { json: { keep_last } }, settings);
  }
  /** Adds a message to the conversation, of any role. */
  inject(message, settings = {}) {
    return this.#transport.post("POST /sessions/{id}/inject", { json: { message } }, settings);
  }
  /** Tells the run under way, or the next one, what was good or bad. */
  feedback(body, settings = {}) {
    return this.#transport.post("POST /sessions/{id}/feedback", { json: body }, settings);
  }
  /** Closes the session for new runs until `resume`. */
  archive(settings = {}) {
    return this.#transport.post("POST /sessions/{id}/archive", { json: {} }, settings);
  }
  abandon(settings = {}) {
    return this.#transport.post("POST /sessions/{id}/abandon", { json: {} }, settings);
  }
  close(settings = {}) {
    return this.#transport.post("POST /sessions/{id}/close", { json: {} }, settings);
  }
  /** Reactivates an archived session, and wakes an idle run. */
  resume(settings = {}) {
    return this.#transport.post("POST /sessions/{id}/resume", { json: {} }, settings);
  }
  /** A session that begins in the present state of this one. @param id of the new session */
  async fork(id, settings = {}) {
    const fork = await this.#transport.post("POST /sessions/{id}/fork", { json: { dst: id } }, settings);
    return new _SessionClient(this.#transport, fork.id);
  }
  /** A session that begins with the first messages of this one. @param id of the new session */
  async forkAt(keep_first, id, settings = {}) {
    const fork = await this.#transport.post(
      "POST /sessions/{id}/fork-at",
      { json: { keep_first, dst: id } },
      settings
    );
    return new _SessionClient(this.#transport, fork.id);
  }
  artifacts(settings = {}) {
    return this.#transport.pages("GET /sessions/{id}/artifacts", {}, settings);
  }
  artifact(id, settings = {}) {
    const { version } = settings;
    return this.#transport.ask(
      "GET /sessions/{id}/artifacts/{artifact}",
      { path: { artifact: id }, query: { version } },
      settings
    );
  }
};
var ApprovalsClient = class {
  #transport;
  constructor(transport, session) {
    this.#transport = transport.of(session);
  }
  /** The approvals that wait now. */
  async list(settings = {}) {
    const { data } = await this.#transport.ask("GET /sessions/{id}/approvals", {}, settings);
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
    await this.#decide(approval, { decision: "deny", reason }, settings);
  }
  #decide({ id, arguments_digest }, decision, settings) {
    return this.#transport.nothing(
      this.#transport.posts(
        "POST /sessions/{id}/approvals/{approval}",
        { path: { approval: id }, json: { ...decision, arguments_digest } },
        settings
      ),
      settings
    );
  }
};
var SessionFilesClient = class {
  #transport;
  constructor(transport, session) {
    this.#transport = transport.of(session);
  }
  list(settings = {}) {
    return this.#transport.pages("GET /sessions/{id}/files", {}, settings);
  }
  get(path, settings = {}) {
    const asked = this.#transport.call("GET /sessions/{id}/files/{path}", { path: { path } });
    return this.#transport.send(asked, settings, (response) => response.blob());
  }
  /** Stores a file, up to 32 MiB. */
  put(path, content, settings = {}) {
    const asked = this.#transport.call(
      "PUT /sessions/{id}/files/{path}",
      { path: { path } },
      { body: content }
    );
    return this.#transport.json(asked, settings);
  }
  delete(path, settings = {}) {
    return this.#transport.remove("DELETE /sessions/{id}/files/{path}", { path: { path } }, settings);
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
    return this.#transport.pages("GET /daemons", {}, settings);
  }
  async spawn(body, settings = {}) {
    const { id } = await this.#transport.post("POST /daemons", { json: body }, settings);
    return new DaemonClient(this.#transport, id);
  }
  /** Starts the daemon again that last had a path. */
  async resumeAt(persist_path, settings = {}) {
    const { id } = await this.#transport.post("POST /daemons/resume", { json: { persist_path } }, settings);
    return new DaemonClient(this.#transport, id);
  }
};
var DaemonClient = class {
  id;
  /** The daemon's conversation: events, messages, files, approvals. */
  session;
  #transport;
  constructor(transport, id) {
    this.id = id;
    this.session = new SessionClient(transport, id);
    this.#transport = transport.of(id);
  }
  /** The daemon with its snapshot and the beginning of its queue. */
  get(settings = {}) {
    return this.#transport.ask("GET /daemons/{id}", {}, settings);
  }
  /** Its wakes, the newest first, page by page. */
  wakes(settings = {}) {
    return this.#transport.pages("GET /daemons/{id}/wakes", {}, settings);
  }
  /** Puts an event, which may be any JSON, into its queue. */
  send(payload, settings = {}) {
    return this.#transport.post("POST /daemons/{id}/events", { json: payload }, settings);
  }
  /** Wakes it once it is idle. */
  wake(settings = {}) {
    return this.#transport.post("POST /daemons/{id}/wake", { json: {} }, settings);
  }
  stop(settings = {}) {
    return this.#transport.post("POST /daemons/{id}/stop", { json: {} }, settings);
  }
  /** Starts it again after it was stopped or has failed. */
  resume(settings = {}) {
    return this.#transport.post("POST /daemons/{id}/resume", { json: {} }, settings);
  }
  /** Stops it and removes all its data, including its session. */
  delete(settings = {}) {
    return this.#transport.remove("DELETE /daemons/{id}", {}, settings);
  }
};

// src/client/executions.ts
var ExecutionsClient = class {
  #transport;
  constructor(transport) {
    this.#transport = transport;
  }
  /** State and result. */
  get(id, settings = {}) {
    return this.#transport.ask("GET /executions/{id}", { path: { id } }, settings);
  }
  /** The answer itself, once the call has ended. Throws HullError if it failed. */
  result(id, settings = {}) {
    const asked = this.#transport.call("GET /executions/{id}/result", { path: { id } });
    return this.#transport.send(asked, settings, skillAnswer);
  }
  /** The events so far, then future ones. Leaving the stream does not stop the call. */
  events(id, settings = {}) {
    const { after } = settings;
    const asked = this.#transport.call("GET /executions/{id}/events", { path: { id }, query: { after } });
    return new EventStream({ transport: this.#transport, call: asked, ends: true, settings });
  }
  /** What each step took. */
  trace(id, settings = {}) {
    return this.#transport.pages("GET /executions/{id}/trace", { path: { id } }, settings);
  }
  /** Stops a call under way, removes one that has ended. */
  delete(id, settings = {}) {
    return this.#transport.remove("DELETE /executions/{id}", { path: { id } }, settings);
  }
};
async function skillAnswer(response) {
  const bytes = new Uint8Array(await response.arrayBuffer());
  return new SkillAnswer(bytes, response.headers);
}
function executionStream(transport, begun, settings) {
  if (settings.idempotencyKey === false) {
    return new EventStream({ transport, call: begun, ends: true, settings });
  }
  return new EventStream({
    transport,
    call: begun,
    resumed: (id) => transport.call("GET /executions/{id}/events", { path: { id } }),
    left: (id) => transport.nothing(transport.call("DELETE /executions/{id}", { path: { id } }, { repeatable: false })),
    ends: true,
    settings
  });
}

// src/client/input.ts
function inputBody(input, files = []) {
  if (files.length === 0 && isBytes(input)) return { body: input };
  checkJson(input);
  const given = input === void 0 ? {} : { input };
  if (files.length > 0) return { json: { ...given, files } };
  if (typeof input === "string")
    return { body: input, headers: { "content-type": "text/plain; charset=utf-8" } };
  return input === void 0 ? {} : { json: given };
}
function inputQuery(input, files = []) {
  if (files.length > 0) throw new TypeError("A call with the method GET takes no stored files.");
  checkJson(input);
  if (!isObject(input) || Array.isArray(input)) return { query: { input: text(input) } };
  return { query: Object.fromEntries(Object.entries(input).map(([name, value]) => [name, text(value)])) };
}
function checkJson(input) {
  if (isBytes(input)) {
    throw new TypeError(
      "Stored files and the method GET go with text or a JSON value, not with bytes or a form."
    );
  }
  const isJson = typeof input !== "function" && (!isObject(input) || Array.isArray(input) || !(input instanceof Promise || Symbol.iterator in input || Symbol.asyncIterator in input));
  if (!isJson) throw new TypeError(NOT_ACCEPTED);
}
var text = (value) => value === void 0 || typeof value === "string" ? value : JSON.stringify(value);
var isObject = (input) => typeof input === "object" && input !== null;

// src/client/models.ts
var ModelsClient = class {
  #transport;
  constructor(transport) {
    this.#transport = transport;
  }
  call(body, settings = {}) {
    return this.#transport.post("POST /llm/call", { json: body }, settings);
  }
  /** Leaving the stream before its end stops the call. */
  stream(body, settings = {}) {
    return executionStream(
      this.#transport,
      this.#transport.posts("POST /llm/stream", { json: body }, settings),
      settings
    );
  }
  /** Calls a model until its answer matches a schema. */
  structured(body, settings = {}) {
    return this.#transport.post("POST /llm/structured", { json: body }, settings);
  }
  /** Asks for the text between a prefix and a suffix. */
  complete(body, settings = {}) {
    return this.#transport.post("POST /llm/completion", { json: body }, settings);
  }
  /** The provider and the model that a call without either gets. */
  info(settings = {}) {
    return this.#transport.ask("GET /llm/info", {}, settings);
  }
  /** All aliases; with the id of a model, or an alias, what Hull knows of the model. */
  models(id, settings = {}) {
    return this.#transport.ask("GET /llm/models", { query: { id } }, settings);
  }
  /** Which model and provider a name means. */
  resolve(model, settings = {}) {
    return this.#transport.ask("GET /llm/resolve", { query: { model } }, settings);
  }
  /** The provider that follows from a model's name. */
  infer(model, settings = {}) {
    return this.#transport.ask("GET /llm/infer", { query: { model } }, settings);
  }
  tier(model, settings = {}) {
    return this.#transport.ask("GET /llm/tier", { query: { model } }, settings);
  }
  /** A model for a target: an alias, a tier or `provider:model`. */
  pick(target, settings = {}) {
    return this.#transport.ask("GET /llm/pick", { query: { target } }, settings);
  }
  /** What tokens cost. */
  cost(query, settings = {}) {
    return this.#transport.ask("GET /llm/cost", { query }, settings);
  }
  capabilities(query, settings = {}) {
    return this.#transport.ask("GET /llm/capabilities", { query }, settings);
  }
  /** @param only `available`: those that the deployment can call */
  providers(only, settings = {}) {
    return only === void 0 ? this.#transport.pages("GET /llm/providers", {}, settings) : this.#transport.pages("GET /llm/providers/available", {}, settings);
  }
  provider(name, settings = {}) {
    return this.#transport.ask("GET /llm/providers/{name}", { path: { name } }, settings);
  }
  /** Asks the provider whether it answers. */
  checkProvider(name, settings = {}) {
    return this.#transport.ask("GET /llm/providers/{name}/health", { path: { name } }, settings);
  }
  /** What the caller has used of models. */
  usage(settings = {}) {
    return this.#transport.ask("GET /llm/usage", {}, settings);
  }
  /** What a session has cost. */
  sessionCost(query = {}, settings = {}) {
    return this.#transport.ask("GET /llm/session-cost", { query }, settings);
  }
  softBudget(query = {}, settings = {}) {
    return this.#transport.ask("GET /llm/budget", { query }, settings);
  }
  setSoftBudget(budget, query = {}, settings = {}) {
    return this.#transport.ask("PUT /llm/budget", { query, json: budget }, settings);
  }
  removeSoftBudget(query = {}, settings = {}) {
    return this.#transport.remove("DELETE /llm/budget", { query }, settings);
  }
};

// src/client/tasks.ts
var TasksClient = class {
  #transport;
  constructor(transport) {
    this.#transport = transport;
  }
  /** All tasks of the tenant, the newest first, page by page. */
  list(settings = {}) {
    return this.#transport.pages("GET /tasks", {}, settings);
  }
  /** Begins a task; with `wait: true` it has ended then, or awaits its next cycle. */
  async spawn(body, settings = {}) {
    const { id } = await this.#transport.post("POST /tasks", { json: body }, settings);
    return new TaskClient(this.#transport, id);
  }
  /** The same as events. Leaving the stream does not end the task: `close` does. */
  stream(body, settings = {}) {
    const call = this.#transport.posts("POST /tasks", { json: body }, settings);
    return new EventStream({ transport: this.#transport, call, ends: true, settings });
  }
  /** Waits until tasks have ended, or for a time; the tasks in the order of their ids. */
  async wait(ids, settings = {}) {
    const { timeout_ms } = settings;
    const ended = await this.#transport.post(
      "POST /tasks/wait",
      { json: { ids: [...ids], timeout_ms } },
      settings
    );
    return Array.isArray(ended) ? ended : [ended];
  }
  /** Lets a closed task take input again, or runs it at once: by its id, or the `snapshot_path` of its handle. */
  resume(body, settings = {}) {
    return this.#transport.post("POST /tasks/resume", { json: body }, settings);
  }
  /** Runs an agent in a session of its own, and returns its envelope. */
  runSubAgent(body, settings = {}) {
    return this.#transport.post("POST /sub-agents", { json: body }, settings);
  }
};
var TaskClient = class {
  id;
  /** The task's conversation: events, messages, files, approvals. */
  session;
  #transport;
  constructor(transport, id) {
    this.id = id;
    this.session = new SessionClient(transport, id);
    this.#transport = transport.of(id);
  }
  get(settings = {}) {
    return this.#transport.ask("GET /tasks/{id}", {}, settings);
  }
  /** Gives its agent another task. */
  input(task, settings = {}) {
    return this.#transport.post("POST /tasks/{id}/input", { json: { task } }, settings);
  }
  /** Begins the next cycle of a task that awaits one. @param payload any JSON, which its agent reads */
  trigger(payload, settings = {}) {
    return this.#transport.post("POST /tasks/{id}/trigger", { json: { payload } }, settings);
  }
  /** Ends the task, and all that it delegated. */
  close(settings = {}) {
    return this.#transport.post("POST /tasks/{id}/close", { json: {} }, settings);
  }
};

// src/client/workflows.ts
var WorkflowsClient = class {
  #transport;
  constructor(transport) {
    this.#transport = transport;
  }
  /** The faults of a graph. */
  validate(body, settings = {}) {
    const asked = this.#transport.call("POST /workflows/validate", { json: body }, { repeatable: true });
    return this.#transport.json(asked, settings);
  }
  /** Runs a workflow and returns when the run has ended. */
  run(body, settings = {}) {
    return this.#transport.post("POST /workflows/execute", { json: body }, settings);
  }
  /** Begins a run and returns immediately. */
  async start(body, settings = {}) {
    const { id } = await this.#transport.begin(
      "POST /workflows/execute",
      { query: NOW, json: body },
      settings
    );
    return new WorkflowRunClient(this.#transport, id);
  }
  /** Runs a workflow and follows its events. Leaving the stream does not stop the run: `cancel` does. */
  stream(body, settings = {}) {
    const begun = this.#transport.posts("POST /workflows/execute", { json: body }, settings);
    return new EventStream({ transport: this.#transport, call: begun, ends: true, settings });
  }
  /** The tenant's runs, the newest first, page by page. */
  runs(filter = {}, settings = {}) {
    return this.#transport.pages("GET /workflows/runs", { query: filter }, settings);
  }
  /** The stored workflows by name, and those of the served skills, page by page. */
  list(settings = {}) {
    return this.#transport.pages("GET /workflows", {}, settings);
  }
  /** @param name of a stored workflow, also `name@version`, or `skill/name` */
  get(name, settings = {}) {
    const [first = "", second] = name.split("/", 2);
    return second === void 0 ? this.#transport.ask("GET /workflows/{name}", { path: { name } }, settings) : this.#transport.ask(
      "GET /workflows/{skill}/{name}",
      { path: { skill: first, name: second } },
      settings
    );
  }
  /** Stores a graph as the next version under a name. */
  put(name, graph, settings = {}) {
    return this.#transport.ask("PUT /workflows/{name}", { path: { name }, json: { graph } }, settings);
  }
  /** Removes all versions of a stored workflow; its runs continue. */
  delete(name, settings = {}) {
    return this.#transport.remove("DELETE /workflows/{name}", { path: { name } }, settings);
  }
};
var WorkflowRunClient = class _WorkflowRunClient {
  id;
  #transport;
  constructor(transport, id) {
    this.id = id;
    this.#transport = transport.of(id);
  }
  /** The run's record. @param settings `wait: "terminal"`: once the run has ended */
  get(settings = {}) {
    const { wait } = settings;
    return this.#transport.ask("GET /workflows/runs/{id}", { query: { wait } }, settings);
  }
  /** Removes the run with its data. */
  delete(settings = {}) {
    return this.#transport.remove("DELETE /workflows/runs/{id}", {}, settings);
  }
  /** The run's events from the first one, or after an event's number, up to its end. */
  events(settings = {}) {
    const { after } = settings;
    const asked = this.#transport.call("GET /workflows/runs/{id}/events", { query: { after } });
    return new EventStream({ transport: this.#transport, call: asked, ends: true, settings });
  }
  /** Stops the run, and undoes its finished stages. */
  cancel(reason, settings = {}) {
    return this.#transport.post("POST /workflows/runs/{id}/cancel", { json: { reason } }, settings);
  }
  /** Stops the run without any further step. */
  kill(reason, settings = {}) {
    return this.#transport.post("POST /workflows/runs/{id}/kill", { json: { reason } }, settings);
  }
  /** What is under way ends, and nothing more begins. */
  pause(settings = {}) {
    return this.#transport.post("POST /workflows/runs/{id}/pause", { json: {} }, settings);
  }
  /** Continues a paused run; one that ended at its `max_steps` continues as another run. */
  resume(settings = {}) {
    return this.#transport.post("POST /workflows/runs/{id}/resume", { json: {} }, settings);
  }
  /** Continues with another graph, if that fits what the run has done. */
  migrate(body, settings = {}) {
    return this.#transport.post("POST /workflows/runs/{id}/migrate", { json: body }, settings);
  }
  /** Begins another run that starts at a node of this one, and returns immediately. */
  async fork(body, settings = {}) {
    const { id } = await this.#transport.begin(
      "POST /workflows/runs/{id}/fork",
      { query: NOW, json: body },
      settings
    );
    return new _WorkflowRunClient(this.#transport, id);
  }
  /** Sends a signal to the nodes that wait for one. */
  signal(body, settings = {}) {
    return this.#transport.post("POST /workflows/runs/{id}/signals", { json: body }, settings);
  }
  /** Answers a node that waits for an approval. */
  decide(body, settings = {}) {
    return this.#transport.post("POST /workflows/runs/{id}/approvals", { json: body }, settings);
  }
};
var NOW = { wait: "none" };

// src/client/client.ts
var Hull = class {
  sessions;
  daemons;
  files;
  llm;
  tasks;
  workflows;
  executions;
  budgets;
  #transport;
  constructor(options = {}) {
    this.#transport = new Transport(options, {});
    this.sessions = new SessionsClient(this.#transport);
    this.daemons = new DaemonsClient(this.#transport);
    this.files = new FilesClient(this.#transport);
    this.llm = new ModelsClient(this.#transport);
    this.tasks = new TasksClient(this.#transport);
    this.workflows = new WorkflowsClient(this.#transport);
    this.executions = new ExecutionsClient(this.#transport);
    this.budgets = new BudgetsClient(this.#transport);
  }
  /**
   * Runs a skill and returns its answer. Throws HullError for a run that fails.
   * @param skill its slug, or its route if the manifest sets one (`/reports/daily`)
   */
  async run(skill, input, settings = {}) {
    return this.#transport.send(this.#skill(skill, input, settings), settings, skillAnswer);
  }
  /** Runs a skill and follows its events. Leaving the stream before its end stops the run. */
  stream(skill, input, settings = {}) {
    return executionStream(this.#transport, this.#skill(skill, input, settings), settings);
  }
  /** Runs an agent without a session. */
  runAgent(body, settings = {}) {
    return this.#transport.post("POST /runs", { json: body }, settings);
  }
  /** The same as events. Leaving the stream before its end stops the run. */
  streamAgent(body, settings = {}) {
    return executionStream(
      this.#transport,
      this.#transport.posts("POST /runs", { json: body }, settings),
      settings
    );
  }
  /** The tenant's runs of all surfaces, the newest first, page by page. */
  runs(filter = {}, settings = {}) {
    return this.#transport.pages("GET /runs", { query: filter }, settings);
  }
  /** One run of that list. */
  getRun(id, settings = {}) {
    return this.#transport.ask("GET /runs/{id}", { path: { id } }, settings);
  }
  /** Sums over the runs of the last 24 hours by skill, and how many runs wait for an approval. */
  runFigures(settings = {}) {
    return this.#transport.ask("GET /runs/figures", {}, settings);
  }
  /** Tokens and cost of the tenant, by skill, session, model or day, page by page. */
  usage(filter = {}, settings = {}) {
    return this.#transport.pages("GET /usage", { query: filter }, settings);
  }
  /** The session of an id. This sends no request; `sessions.open` makes a session. */
  session(id) {
    return new SessionClient(this.#transport, id);
  }
  /** The daemon of an id. This sends no request; `daemons.spawn` makes a daemon. */
  daemon(id) {
    return new DaemonClient(this.#transport, id);
  }
  /** The task of an id. This sends no request; `tasks.spawn` begins a task. */
  task(id) {
    return new TaskClient(this.#transport, id);
  }
  /** The workflow run of an id. This sends no request; `workflows.start` begins a run. */
  workflowRun(id) {
    return new WorkflowRunClient(this.#transport, id);
  }
  /** The cards of the served skills, sorted by slug. @param query words that must all occur */
  async *skills(query, settings = {}) {
    const first = this.#transport.call("GET /skills", { query: { q: query, limit: 1e3 } });
    for (let next = first; next !== null; ) {
      const page = await this.#transport.send(next, settings, cardPage);
      yield* page.cards;
      next = page.next;
    }
  }
  card(slug, settings = {}) {
    return this.#transport.ask("GET /skills/{slug}/card", { path: { slug } }, settings);
  }
  /** The versions of a skill, the newest first, page by page. */
  versions(slug, settings = {}) {
    return this.#transport.pages("GET /skills/{slug}/versions", { path: { slug } }, settings);
  }
  /** The values that a skill's tools get; of a secret only whether it is set. @param settings `bot`: of this profile */
  config(slug, settings = {}) {
    return this.#transport.ask(
      "GET /skills/{slug}/config",
      { path: { slug }, query: { bot: settings.bot } },
      settings
    );
  }
  /** Changes some of these values; `null` resets one. */
  configure(slug, change, settings = {}) {
    return this.#transport.ask(
      "PUT /skills/{slug}/config",
      { path: { slug }, query: { bot: settings.bot }, json: change },
      settings
    );
  }
  /** State and result of a call with an idempotency key. */
  execution(id, settings = {}) {
    return this.executions.get(id, settings);
  }
  /**
   * Calls any other route and returns its response. Throws HullError if that is an error. Only calls of GET, PUT and
   * DELETE are repeated.
   */
  request(method, path, settings = {}) {
    const { json, body } = settings;
    const other = { method, path, json, body, repeatable: method !== "POST" };
    return this.#transport.send(other, settings, async (response) => response);
  }
  #skill(skill, input, settings) {
    const { files, bot, method = "POST" } = settings;
    const isRoute = skill.startsWith("/");
    const { headers, ...body } = method === "GET" ? inputQuery(input, files) : inputBody(input, files);
    const key = idempotent(settings.idempotencyKey);
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
var FilesClient = class {
  #transport;
  constructor(transport) {
    this.#transport = transport;
  }
  /** Stores a file for 24 hours. @param settings `filename`: default: that of a `File` */
  upload(content, settings = {}) {
    const { filename = content instanceof File ? content.name : void 0, mime } = settings;
    const begun = this.#transport.posts("POST /files", { query: { filename } }, settings);
    const type = mime === void 0 ? {} : { "content-type": mime };
    return this.#transport.json(
      { ...begun, body: content, headers: { ...type, ...begun.headers } },
      settings
    );
  }
  get(id, settings = {}) {
    const asked = this.#transport.call("GET /files/{id}", { path: { id } });
    return this.#transport.send(asked, settings, (response) => response.blob());
  }
  delete(id, settings = {}) {
    return this.#transport.remove("DELETE /files/{id}", { path: { id } }, settings);
  }
};
async function cardPage(response) {
  const path = /<([^>]+)>; *rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  return {
    cards: await response.json(),
    next: path === void 0 ? null : { method: "GET", path, repeatable: true }
  };
}
export {
  DaemonClient,
  EventStream,
  Hull,
  HullConnectionError,
  HullError,
  SessionClient,
  SkillAnswer,
  TaskClient,
  WorkflowRunClient
};
