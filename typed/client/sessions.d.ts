// `npm run docs` writes this file from src/client.
/** Sessions: conversations that are kept, with their runs, approvals and files. */
import type { Approvals, Artifact, Artifacts, CompactedSession, CompactRequest, Delivered, EventData, NewMessage, NewSession, RunAccepted, RunRequest, Session, SessionFile, SessionFiles, SessionMessages, SessionRun, SessionRunResult, SessionRuns, Sessions, ToolAnswer } from "./api.ts";
import { EventStream } from "./event-stream.ts";
import { type Body, type CallSettings, type RunSettings, type Transport } from "./transport.ts";
/** An approval in the form of a stream or a list. */
type NamedApproval = Pick<EventData["approval_request"], "id" | "arguments_digest">;
export declare class SessionsClient {
    #private;
    constructor(transport: Transport);
    /** Opens a session: a new one, or the existing one with this id. */
    open(body?: NewSession, settings?: RunSettings): Promise<SessionClient>;
    /** All sessions of the tenant, the newest first, page by page. */
    list(settings?: CallSettings): AsyncGenerator<Sessions["data"][number]>;
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
    /** Ends a run; an ended run stays unchanged. */
    cancel(run: string, settings?: CallSettings): Promise<SessionRun>;
    /**
     * Every event of the session from now on, or after an event's number (`0`: from the first), until the caller leaves.
     * Events during a broken connection arrive later.
     */
    events(settings?: CallSettings & {
        after?: number;
    }): EventStream<EventData["done"]>;
    /** The messages that the next model call would send, the oldest first. */
    messages(settings?: CallSettings): AsyncGenerator<SessionMessages["data"][number]>;
    /** Sends a message to the run under way, or to the next one. */
    send(content: NewMessage["content"], settings?: RunSettings & Pick<NewMessage, "delivery">): Promise<Delivered>;
    /** Answers a call of a tool that the run's caller carries out. */
    answerTool(body: ToolAnswer, settings?: RunSettings): Promise<{
        tool_call_id: string;
        run_id: string;
    }>;
    /** The conversation as lines `role: text`; `full` includes what only the model sees. */
    transcript(view?: "visible" | "full", settings?: CallSettings): Promise<string>;
    /** Replaces older messages by a summary. */
    compact(body?: CompactRequest, settings?: CallSettings): Promise<CompactedSession>;
    /** A session that begins in the present state of this one. @param id of the new session */
    fork(id?: string, settings?: RunSettings): Promise<SessionClient>;
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
