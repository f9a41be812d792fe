/** Sessions: conversations that are kept, with their runs, approvals and files. */
import type {
  ApprovalDecision,
  Approvals,
  Artifact,
  Artifacts,
  CompactedSession,
  CompactRequest,
  Delivered,
  EventData,
  HullEvent,
  NewMessage,
  NewSession,
  ResumedSession,
  RunAccepted,
  RunRequest,
  Session,
  SessionAncestry,
  SessionCassette,
  SessionFile,
  SessionFiles,
  SessionMessages,
  SessionRun,
  SessionRunResult,
  SessionRuns,
  Sessions,
  ToolAnswer,
  Transcript,
} from "../../typed/client/api.d.ts";
import { EventStream } from "./event-stream.ts";
import type { Answer, Filter, Item, Json } from "./route.ts";
import type { Body, CallSettings, RunSettings, Transport } from "./transport.ts";

/** An approval in the form of a stream or a list. */
type NamedApproval = Pick<EventData["approval_request"], "id" | "arguments_digest">;

export class SessionsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Opens a session: a new one, or the existing one with this id. */
  async open(body: NewSession = {}, settings: RunSettings = {}): Promise<SessionClient> {
    const { id } = await this.#transport.post("POST /sessions", { json: body }, settings);
    return new SessionClient(this.#transport, id);
  }

  /** All sessions of the tenant, the newest first, page by page. */
  list(settings: CallSettings & Filter<"GET /sessions"> = {}): AsyncGenerator<Sessions["data"][number]> {
    const { stages } = settings;
    return this.#transport.pages("GET /sessions", { query: { stages } }, settings);
  }
}

/** One session. Making this object sends no request; the session need not exist yet. */
export class SessionClient {
  readonly id: string;
  readonly approvals: ApprovalsClient;
  readonly files: SessionFilesClient;
  readonly #transport: Transport<"id">;

  constructor(transport: Transport, id: string) {
    this.id = id;
    this.#transport = transport.of(id);
    this.approvals = new ApprovalsClient(transport, id);
    this.files = new SessionFilesClient(transport, id);
  }

  get(settings: CallSettings = {}): Promise<Session> {
    return this.#transport.ask("GET /sessions/{id}", {}, settings);
  }

  /** Stops the session's run and removes all its data. */
  delete(settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove("DELETE /sessions/{id}", {}, settings);
  }

  /** Runs an agent and returns when the run has ended, or with `wait: "idle"` when it rests. */
  run(
    body: RunRequest,
    settings: RunSettings & { wait?: "terminal" | "idle" } = {},
  ): Promise<SessionRunResult> {
    return this.#transport.post(
      "POST /sessions/{id}/runs",
      { query: { wait: settings.wait }, json: body },
      settings,
    );
  }

  /** Begins a run and returns immediately. */
  start(body: RunRequest, settings: RunSettings = {}): Promise<RunAccepted> {
    return this.#transport.begin(
      "POST /sessions/{id}/runs",
      { query: { wait: "none" }, json: body },
      settings,
    );
  }

  /** Runs an agent and follows its events. Leaving the stream does not stop the run: `cancel` does. */
  stream(body: RunRequest, settings: RunSettings = {}): EventStream<SessionRunResult> {
    const begun = this.#transport.posts("POST /sessions/{id}/runs", { json: body }, settings);
    return new EventStream({ transport: this.#transport, call: begun, ends: true, settings });
  }

  runs(settings: CallSettings = {}): AsyncGenerator<SessionRuns["data"][number]> {
    return this.#transport.pages("GET /sessions/{id}/runs", {}, settings);
  }

  getRun(run: string, settings: CallSettings = {}): Promise<SessionRun> {
    return this.#transport.ask("GET /sessions/{id}/runs/{run}", { path: { run } }, settings);
  }

  /** Events of a run: those so far, or after an event's number, then future ones, up to its end. */
  runEvents(run: string, settings: CallSettings & { after?: number } = {}): EventStream<SessionRunResult> {
    const asked = this.#transport.call("GET /sessions/{id}/runs/{run}/events", {
      path: { run },
      query: { after: settings.after },
    });
    return new EventStream({ transport: this.#transport, call: asked, ends: true, settings });
  }

  /** What each step of a run took. */
  runTrace(
    run: string,
    settings: CallSettings = {},
  ): AsyncGenerator<Item<"GET /sessions/{id}/runs/{run}/trace">> {
    return this.#transport.pages("GET /sessions/{id}/runs/{run}/trace", { path: { run } }, settings);
  }

  /** Ends a run; an ended run stays unchanged. */
  cancel(run: string, settings: CallSettings = {}): Promise<SessionRun> {
    const asked = this.#transport.call(
      "POST /sessions/{id}/runs/{run}/cancel",
      { path: { run }, json: {} },
      { repeatable: true },
    );
    return this.#transport.json(asked, settings);
  }

  /**
   * Every event of the session from now on, or after an event's number (`0`: from the first), until the caller leaves.
   * Events during a broken connection arrive later.
   */
  events(settings: CallSettings & { after?: number } = {}): EventStream<EventData["done"]> {
    const { after } = settings;
    // The stream begins after the last event before this call, so that a cut before its first event loses none.
    const begin = async (): Promise<string> => `${this.id}:${after ?? (await this.get(settings)).last_event}`;
    const asked = this.#transport.call("GET /sessions/{id}/events", {});
    return new EventStream({ transport: this.#transport, call: asked, begin, ends: false, settings });
  }

  /** The events that the session has, the oldest first, page by page. @param settings `event`: only those of this name */
  listEvents(
    settings: CallSettings & Filter<"GET /sessions/{id}/events/list"> = {},
  ): AsyncGenerator<HullEvent> {
    const { event } = settings;
    return this.#transport.pages("GET /sessions/{id}/events/list", { query: { event } }, settings);
  }

  /** The messages that the next model call would send, the oldest first. */
  messages(settings: CallSettings = {}): AsyncGenerator<SessionMessages["data"][number]> {
    return this.#transport.pages("GET /sessions/{id}/messages", {}, settings);
  }

  /** Sends a message to the run under way, or to the next one. */
  send(
    content: NewMessage["content"],
    settings: RunSettings & Pick<NewMessage, "delivery"> = {},
  ): Promise<Delivered> {
    const { delivery } = settings;
    return this.#transport.post("POST /sessions/{id}/messages", { json: { content, delivery } }, settings);
  }

  /** Answers a call of a tool that the run's caller carries out. */
  answerTool(
    body: ToolAnswer,
    settings: RunSettings = {},
  ): Promise<Answer<"POST /sessions/{id}/tool-results">> {
    return this.#transport.post("POST /sessions/{id}/tool-results", { json: body }, settings);
  }

  /** The conversation as lines `role: text`; `full` includes what only the model sees. */
  transcript(view: "visible" | "full" = "visible", settings: CallSettings = {}): Promise<string> {
    const asked = this.#transport.call("GET /sessions/{id}/transcript", { query: { view } });
    return this.#transport.send(asked, settings, (response) => response.text());
  }

  /** The transcript itself, with which another session can be opened. */
  rawTranscript(settings: CallSettings = {}): Promise<Transcript> {
    return this.#transport.ask("GET /sessions/{id}/transcript", { query: { view: "raw" } }, settings);
  }

  /** The model's chunks and the results of tools, to be replayed offline. */
  cassette(settings: CallSettings = {}): Promise<SessionCassette> {
    return this.#transport.ask("GET /sessions/{id}/cassette", {}, settings);
  }

  async exists(settings: CallSettings = {}): Promise<boolean> {
    return (await this.#transport.ask("GET /sessions/{id}/exists", {}, settings)).exists;
  }

  /** The number of messages that the next model call would send. */
  async length(settings: CallSettings = {}): Promise<number> {
    return (await this.#transport.ask("GET /sessions/{id}/length", {}, settings)).length;
  }

  /** The session from which this one was forked, and its own forks. */
  ancestry(settings: CallSettings = {}): Promise<SessionAncestry> {
    return this.#transport.ask("GET /sessions/{id}/ancestry", {}, settings);
  }

  /** Replaces older messages by a summary. */
  compact(body: CompactRequest = {}, settings: RunSettings = {}): Promise<CompactedSession> {
    return this.#transport.post("POST /sessions/{id}/compact", { json: body }, settings);
  }

  /** Begins a new conversation; the earlier one stays in the log. */
  reset(settings: RunSettings = {}): Promise<Session> {
    return this.#transport.post("POST /sessions/{id}/reset", { json: {} }, settings);
  }

  /** Keeps only the last messages. */
  trim(keep_last: number, settings: RunSettings = {}): Promise<Session> {
    return this.#transport.post("POST /sessions/{id}/trim", { json: { keep_last } }, settings);
  }

  /** Adds a message to the conversation, of any role. */
  inject(
    message: Json<"POST /sessions/{id}/inject">["message"],
    settings: RunSettings = {},
  ): Promise<Session> {
    return this.#transport.post("POST /sessions/{id}/inject", { json: { message } }, settings);
  }

  /** Tells the run under way, or the next one, what was good or bad. */
  feedback(body: Json<"POST /sessions/{id}/feedback">, settings: RunSettings = {}): Promise<Delivered> {
    return this.#transport.post("POST /sessions/{id}/feedback", { json: body }, settings);
  }

  /** Closes the session for new runs until `resume`. */
  archive(settings: RunSettings = {}): Promise<Session> {
    return this.#transport.post("POST /sessions/{id}/archive", { json: {} }, settings);
  }

  abandon(settings: RunSettings = {}): Promise<Session> {
    return this.#transport.post("POST /sessions/{id}/abandon", { json: {} }, settings);
  }

  close(settings: RunSettings = {}): Promise<Session> {
    return this.#transport.post("POST /sessions/{id}/close", { json: {} }, settings);
  }

  /** Reactivates an archived session, and wakes an idle run. */
  resume(settings: RunSettings = {}): Promise<ResumedSession> {
    return this.#transport.post("POST /sessions/{id}/resume", { json: {} }, settings);
  }

  /** A session that begins in the present state of this one. @param id of the new session */
  async fork(id?: string, settings: RunSettings = {}): Promise<SessionClient> {
    const fork = await this.#transport.post("POST /sessions/{id}/fork", { json: { dst: id } }, settings);
    return new SessionClient(this.#transport, fork.id);
  }

  /** A session that begins with the first messages of this one. @param id of the new session */
  async forkAt(keep_first: number, id?: string, settings: RunSettings = {}): Promise<SessionClient> {
    const fork = await this.#transport.post(
      "POST /sessions/{id}/fork-at",
      { json: { keep_first, dst: id } },
      settings,
    );
    return new SessionClient(this.#transport, fork.id);
  }

  artifacts(settings: CallSettings = {}): AsyncGenerator<Artifacts["data"][number]> {
    return this.#transport.pages("GET /sessions/{id}/artifacts", {}, settings);
  }

  artifact(id: string, settings: CallSettings & { version?: number } = {}): Promise<Artifact> {
    const { version } = settings;
    return this.#transport.ask(
      "GET /sessions/{id}/artifacts/{artifact}",
      { path: { artifact: id }, query: { version } },
      settings,
    );
  }
}

/** Calls of tools that wait for a person's decision. */
class ApprovalsClient {
  readonly #transport: Transport<"id">;

  constructor(transport: Transport, session: string) {
    this.#transport = transport.of(session);
  }

  /** The approvals that wait now. */
  async list(settings: CallSettings = {}): Promise<Approvals["data"]> {
    const { data } = await this.#transport.ask("GET /sessions/{id}/approvals", {}, settings);
    return data;
  }

  /**
   * Permits the call, once or for the same arguments in the whole session. Throws HullError `approval_closed` if it is
   * already decided.
   */
  async approve(
    approval: NamedApproval,
    settings: RunSettings & { scope?: "once" | "session" } = {},
  ): Promise<void> {
    const { scope = "once" } = settings;
    await this.#decide(approval, { decision: "approve", scope }, settings);
  }

  /** Refuses the call. @param reason the model reads it */
  async deny(approval: NamedApproval, reason?: string, settings: RunSettings = {}): Promise<void> {
    await this.#decide(approval, { decision: "deny", reason }, settings);
  }

  #decide(
    { id, arguments_digest }: NamedApproval,
    decision: ApprovalDecision,
    settings: RunSettings,
  ): Promise<void> {
    return this.#transport.nothing(
      this.#transport.posts(
        "POST /sessions/{id}/approvals/{approval}",
        { path: { approval: id }, json: { ...decision, arguments_digest } },
        settings,
      ),
      settings,
    );
  }
}

/** The files of a session, which its tools work on. Paths are relative, with `/` between segments. */
class SessionFilesClient {
  readonly #transport: Transport<"id">;

  constructor(transport: Transport, session: string) {
    this.#transport = transport.of(session);
  }

  list(settings: CallSettings = {}): AsyncGenerator<SessionFiles["data"][number]> {
    return this.#transport.pages("GET /sessions/{id}/files", {}, settings);
  }

  get(path: string, settings: CallSettings = {}): Promise<Blob> {
    const asked = this.#transport.call("GET /sessions/{id}/files/{path}", { path: { path } });
    return this.#transport.send(asked, settings, (response) => response.blob());
  }

  /** Stores a file, up to 32 MiB. */
  put(path: string, content: Exclude<Body, FormData>, settings: CallSettings = {}): Promise<SessionFile> {
    const asked = this.#transport.call(
      "PUT /sessions/{id}/files/{path}",
      { path: { path } },
      { body: content },
    );
    return this.#transport.json(asked, settings);
  }

  delete(path: string, settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove("DELETE /sessions/{id}/files/{path}", { path: { path } }, settings);
  }
}
