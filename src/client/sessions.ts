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
  NewMessage,
  NewSession,
  RunAccepted,
  RunRequest,
  Session,
  SessionFile,
  SessionFiles,
  SessionMessages,
  SessionRun,
  SessionRunResult,
  SessionRuns,
  Sessions,
  ToolAnswer,
} from "../../typed/client/api.d.ts";
import { EventStream } from "./event-stream.ts";
import { type Body, type CallSettings, posts, type RunSettings, reads, type Transport } from "./transport.ts";

/** An approval in the form of a stream or a list. */
type NamedApproval = Pick<EventData["approval_request"], "id" | "arguments_digest">;

export class SessionsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Opens a session: a new one, or the existing one with this id. */
  async open(body: NewSession = {}, settings: RunSettings = {}): Promise<SessionClient> {
    const { id } = await this.#transport.post<Session>("/sessions", body, settings);
    return new SessionClient(this.#transport, id);
  }

  /** All sessions of the tenant, the newest first, page by page. */
  list(settings: CallSettings = {}): AsyncGenerator<Sessions["data"][number]> {
    return this.#transport.pages("/sessions", settings);
  }
}

/** One session. Making this object sends no request; the session need not exist yet. */
export class SessionClient {
  readonly id: string;
  readonly approvals: ApprovalsClient;
  readonly files: SessionFilesClient;
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, id: string) {
    this.id = id;
    this.#transport = transport;
    this.#path = `/sessions/${encodeURIComponent(id)}`;
    this.approvals = new ApprovalsClient(transport, this.#path);
    this.files = new SessionFilesClient(transport, this.#path);
  }

  get(settings: CallSettings = {}): Promise<Session> {
    return this.#transport.get(this.#path, settings);
  }

  /** Stops the session's run and removes all its data. */
  delete(settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove(this.#path, settings);
  }

  /** Runs an agent and returns when the run has ended, or with `wait: "idle"` when it rests. */
  run(
    body: RunRequest,
    settings: RunSettings & { wait?: "terminal" | "idle" } = {},
  ): Promise<SessionRunResult> {
    return this.#transport.post(`${this.#path}/runs`, body, settings, { wait: settings.wait });
  }

  /** Begins a run and returns immediately. */
  start(body: RunRequest, settings: RunSettings = {}): Promise<RunAccepted> {
    return this.#transport.post(`${this.#path}/runs`, body, settings, { wait: "none" });
  }

  /** Runs an agent and follows its events. Leaving the stream does not stop the run: `cancel` does. */
  stream(body: RunRequest, settings: RunSettings = {}): EventStream<SessionRunResult> {
    const call = posts(`${this.#path}/runs`, body, settings);
    return new EventStream({ transport: this.#transport, call, ends: true, settings });
  }

  runs(settings: CallSettings = {}): AsyncGenerator<SessionRuns["data"][number]> {
    return this.#transport.pages(`${this.#path}/runs`, settings);
  }

  getRun(run: string, settings: CallSettings = {}): Promise<SessionRun> {
    return this.#transport.get(`${this.#path}/runs/${encodeURIComponent(run)}`, settings);
  }

  /** Ends a run; an ended run stays unchanged. */
  cancel(run: string, settings: CallSettings = {}): Promise<SessionRun> {
    const path = `${this.#path}/runs/${encodeURIComponent(run)}/cancel`;
    return this.#transport.json({ method: "POST", path, json: {}, repeatable: true }, settings);
  }

  /**
   * Every event of the session from now on, or after an event's number (`0`: from the first), until the caller leaves.
   * Events during a broken connection arrive later.
   */
  events(settings: CallSettings & { after?: number } = {}): EventStream<EventData["done"]> {
    const { after } = settings;
    // The stream begins after the last event before this call, so that a cut before its first event loses none.
    const begin = async (): Promise<string> => `${this.id}:${after ?? (await this.get(settings)).last_event}`;
    const call = reads(`${this.#path}/events`);
    return new EventStream({ transport: this.#transport, call, begin, ends: false, settings });
  }

  /** The messages that the next model call would send, the oldest first. */
  messages(settings: CallSettings = {}): AsyncGenerator<SessionMessages["data"][number]> {
    return this.#transport.pages(`${this.#path}/messages`, settings);
  }

  /** Sends a message to the run under way, or to the next one. */
  send(
    content: NewMessage["content"],
    settings: RunSettings & Pick<NewMessage, "delivery"> = {},
  ): Promise<Delivered> {
    const { delivery } = settings;
    const body = { content, ...(delivery === undefined ? {} : { delivery }) };
    return this.#transport.post(`${this.#path}/messages`, body, settings);
  }

  /** Answers a call of a tool that the run's caller carries out. */
  answerTool(
    body: ToolAnswer,
    settings: RunSettings = {},
  ): Promise<{ tool_call_id: string; run_id: string }> {
    return this.#transport.post(`${this.#path}/tool-results`, body, settings);
  }

  /** The conversation as lines `role: text`; `full` includes what only the model sees. */
  transcript(view: "visible" | "full" = "visible", settings: CallSettings = {}): Promise<string> {
    const call = { ...reads(`${this.#path}/transcript`), query: { view } };
    return this.#transport.send(call, settings, (response) => response.text());
  }

  /** Replaces older messages by a summary. */
  compact(body: CompactRequest = {}, settings: CallSettings = {}): Promise<CompactedSession> {
    const path = `${this.#path}/compact`;
    return this.#transport.json({ method: "POST", path, json: body, repeatable: false }, settings);
  }

  /** A session that begins in the present state of this one. @param id of the new session */
  async fork(id?: string, settings: RunSettings = {}): Promise<SessionClient> {
    const body = id === undefined ? {} : { dst: id };
    const fork = await this.#transport.post<Session>(`${this.#path}/fork`, body, settings);
    return new SessionClient(this.#transport, fork.id);
  }

  artifacts(settings: CallSettings = {}): AsyncGenerator<Artifacts["data"][number]> {
    return this.#transport.pages(`${this.#path}/artifacts`, settings);
  }

  artifact(id: string, settings: CallSettings & { version?: number } = {}): Promise<Artifact> {
    const path = `${this.#path}/artifacts/${encodeURIComponent(id)}`;
    return this.#transport.get(path, settings, { version: settings.version });
  }
}

/** Calls of tools that wait for a person's decision. */
class ApprovalsClient {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, session: string) {
    this.#transport = transport;
    this.#path = `${session}/approvals`;
  }

  /** The approvals that wait now. */
  async list(settings: CallSettings = {}): Promise<Approvals["data"]> {
    const { data } = await this.#transport.get<Approvals>(this.#path, settings);
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
    await this.#decide(approval, { decision: "deny", ...(reason === undefined ? {} : { reason }) }, settings);
  }

  #decide(
    { id, arguments_digest }: NamedApproval,
    decision: ApprovalDecision,
    settings: RunSettings,
  ): Promise<void> {
    const body = { ...decision, arguments_digest };
    return this.#transport.nothing(
      posts(`${this.#path}/${encodeURIComponent(id)}`, body, settings),
      settings,
    );
  }
}

/** The files of a session, which its tools work on. Paths are relative, with `/` between segments. */
class SessionFilesClient {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, session: string) {
    this.#transport = transport;
    this.#path = `${session}/files`;
  }

  list(settings: CallSettings = {}): AsyncGenerator<SessionFiles["data"][number]> {
    return this.#transport.pages(this.#path, settings);
  }

  get(path: string, settings: CallSettings = {}): Promise<Blob> {
    return this.#transport.send(reads(this.#at(path)), settings, (response) => response.blob());
  }

  /** Stores a file, up to 32 MiB. */
  put(path: string, content: Exclude<Body, FormData>, settings: CallSettings = {}): Promise<SessionFile> {
    return this.#transport.json(
      { method: "PUT", path: this.#at(path), body: content, repeatable: true },
      settings,
    );
  }

  delete(path: string, settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove(this.#at(path), settings);
  }

  #at(path: string): string {
    return `${this.#path}/${path.split("/").map(encodeURIComponent).join("/")}`;
  }
}
