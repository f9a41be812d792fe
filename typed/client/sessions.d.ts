// `npm run docs` writes this file from src/client.
/** Sessions: conversations that are kept, with their runs, approvals and files. */
import type { Approvals, Artifact, Artifacts, CompactedSession, CompactRequest, Delivered, EventData, HullEvent, NewMessage, NewSession, ResumedSession, RunAccepted, RunRequest, Session, SessionAncestry, SessionCassette, SessionFile, SessionFiles, SessionMessages, SessionRun, SessionRunResult, SessionRuns, Sessions, ToolAnswer, Transcript } from "./api.ts";
import { EventStream } from "./event-stream.ts";
import type { Answer, Filter, Item, Json } from "./route.ts";
import type { Body, CallSettings, RunSettings, Transport } from "./transport.ts";
/** An approval in the form of a stream or a list. */
type NamedApproval = Pick<EventData["approval_request"], "id" | "arguments_digest">;
export declare class SessionsClient {
    #private;
    constructor(transport: Transport);
    /** Opens a session: a new one, or the existing one with this id. */
    open(body?: NewSession, settings?: RunSettings): Promise<SessionClient>;
    /** All sessions of the tenant, the newest first, page by page. */
    list(settings?: CallSettings & Filter<"GET /sessions">): AsyncGenerator<Sessions["data"][number]>;
}
/** One session. Making this object sends no request; the session need not exist yet. */
export declare class SessionClient {
    #private;
    readonly id: string;
    readonly approvals: ApprovalsClient;
    readonly files: SessionFilesClient;
    constructor(transport: Transport, id: string);
    get(settings?: CallSettings): Promise<Session>;
    /** Stops the session's run and removes all its data. */
    delete(settings?: CallSettings): Promise<void>;
    /** Runs an agent and returns when the run has ended, or with `wait: "idle"` when it rests. */
    run(body: RunRequest, settings?: RunSettings & {
        wait?: "terminal" | "idle";
    }): Promise<SessionRunResult>;
    /** Begins a run and returns immediately. */
    start(body: RunRequest, settings?: RunSettings): Promise<RunAccepted>;
    /** Runs an agent and follows its events. Leaving the stream does not stop the run: `cancel` does. */
    stream(body: RunRequest, settings?: RunSettings): EventStream<SessionRunResult>;
    runs(settings?: CallSettings): AsyncGenerator<SessionRuns["data"][number]>;
    getRun(run: string, settings?: CallSettings): Promise<SessionRun>;
    /** Events of a run: those so far, or after an event's number, then future ones, up to its end. */
    runEvents(run: string, settings?: CallSettings & {
        after?: number;
    }): EventStream<SessionRunResult>;
    /** What each step of a run took. */
    runTrace(run: string, settings?: CallSettings): AsyncGenerator<Item<"GET /sessions/{id}/runs/{run}/trace">>;
    /** Ends a run; an ended run stays unchanged. */
    cancel(run: string, settings?: CallSettings): Promise<SessionRun>;
    /**
     * Every event of the session from now on, or after an event's number (`0`: from the first), until the caller leaves.
     * Events during a broken connection arrive later.
     */
    events(settings?: CallSettings & {
        after?: number;
    }): EventStream<EventData["done"]>;
    /** The events that the session has, the oldest first, page by page. @param settings `event`: only those of this name */
    listEvents(settings?: CallSettings & Filter<"GET /sessions/{id}/events/list">): AsyncGenerator<HullEvent>;
    /** The messages that the next model call would send, the oldest first. */
    messages(settings?: CallSettings): AsyncGenerator<SessionMessages["data"][number]>;
    /** Sends a message to the run under way, or to the next one. */
    send(content: NewMessage["content"], settings?: RunSettings & Pick<NewMessage, "delivery">): Promise<Delivered>;
    /** Answers a call of a tool that the run's caller carries out. */
    answerTool(body: ToolAnswer, settings?: RunSettings): Promise<Answer<"POST /sessions/{id}/tool-results">>;
    /** The conversation as lines `role: text`; `full` includes what only the model sees. */
    transcript(view?: "visible" | "full", settings?: CallSettings): Promise<string>;
    /** The transcript itself, with which another session can be opened. */
    rawTranscript(settings?: CallSettings): Promise<Transcript>;
    /** The model's chunks and the results of tools, to be replayed offline. */
    cassette(settings?: CallSettings): Promise<SessionCassette>;
    exists(settings?: CallSettings): Promise<boolean>;
    /** The number of messages that the next model call would send. */
    length(settings?: CallSettings): Promise<number>;
    /** The session from which this one was forked, and its own forks. */
    ancestry(settings?: CallSettings): Promise<SessionAncestry>;
    /** Replaces older messages by a summary. */
    compact(body?: CompactRequest, settings?: RunSettings): Promise<CompactedSession>;
    /** Begins a new conversation; the earlier one stays in the log. */
    reset(settings?: RunSettings): Promise<Session>;
    /** Keeps only the last messages. */
    trim(keep_last: number, settings?: RunSettings): Promise<Session>;
    /** Adds a message to the conversation, of any role. */
    inject(message: Json<"POST /sessions/{id}/inject">["message"], settings?: RunSettings): Promise<Session>;
    /** Tells the run under way, or the next one, what was good or bad. */
    feedback(body: Json<"POST /sessions/{id}/feedback">, settings?: RunSettings): Promise<Delivered>;
    /** Closes the session for new runs until `resume`. */
    archive(settings?: RunSettings): Promise<Session>;
    abandon(settings?: RunSettings): Promise<Session>;
    close(settings?: RunSettings): Promise<Session>;
    /** Reactivates an archived session, and wakes an idle run. */
    resume(settings?: RunSettings): Promise<ResumedSession>;
    /** A session that begins in the present state of this one. @param id of the new session */
    fork(id?: string, settings?: RunSettings): Promise<SessionClient>;
    /** A session that begins with the first messages of this one. @param id of the new session */
    forkAt(keep_first: number, id?: string, settings?: RunSettings): Promise<SessionClient>;
    artifacts(settings?: CallSettings): AsyncGenerator<Artifacts["data"][number]>;
    artifact(id: string, settings?: CallSettings & {
        version?: number;
    }): Promise<Artifact>;
}
/** Calls of tools that wait for a person's decision. */
declare class ApprovalsClient {
    #private;
    constructor(transport: Transport, session: string);
    /** The approvals that wait now. */
    list(settings?: CallSettings): Promise<Approvals["data"]>;
    /**
     * Permits the call, once or for the same arguments in the whole session. Throws HullError `approval_closed` if it is
     * already decided.
     */
    approve(approval: NamedApproval, settings?: RunSettings & {
        scope?: "once" | "session";
    }): Promise<void>;
    /** Refuses the call. @param reason the model reads it */
    deny(approval: NamedApproval, reason?: string, settings?: RunSettings): Promise<void>;
}
/** The files of a session, which its tools work on. Paths are relative, with `/` between segments. */
declare class SessionFilesClient {
    #private;
    constructor(transport: Transport, session: string);
    list(settings?: CallSettings): AsyncGenerator<SessionFiles["data"][number]>;
    get(path: string, settings?: CallSettings): Promise<Blob>;
    /** Stores a file, up to 32 MiB. */
    put(path: string, content: Exclude<Body, FormData>, settings?: CallSettings): Promise<SessionFile>;
    delete(path: string, settings?: CallSettings): Promise<void>;
}
export {};
