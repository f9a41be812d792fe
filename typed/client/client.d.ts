// `npm run docs` writes this file from src/client.
/** `hullrun/client`: the HTTP API for programs in browsers, on servers and at the edge (docs/client.md). */
import type { CallRequest, CallResult, Card, Execution, IndexedRun, RunRequest, RunResult, StoredFile, StructuredRequest, StructuredResult } from "./api.ts";
import { SkillAnswer } from "./answer.ts";
import { DaemonClient, DaemonsClient } from "./daemons.ts";
import { HullConnectionError, HullError } from "./error.ts";
import { EventStream, type HullEvent } from "./event-stream.ts";
import { type SkillInput } from "./input.ts";
import { SessionClient, SessionsClient } from "./sessions.ts";
import { type Body, type Call, type CallSettings, type HullOptions, type RunSettings, Transport } from "./transport.ts";
export type * from "./api.ts";
export type { CallSettings, HullEvent, HullOptions, RunSettings, SkillInput };
export { DaemonClient, EventStream, HullConnectionError, HullError, SessionClient, SkillAnswer };
/** Settings of skill calls. */
export interface SkillSettings extends RunSettings {
    /** Ids of stored files for the run. */
    files?: readonly string[];
    /** Profile whose configured values the skill's tools get. */
    bot?: string;
    /** Method of the skill's route; default POST. GET sends text as `?input=`, each member of an object as a parameter. */
    method?: "GET" | "POST";
}
/** Which runs to list. @see docs/http.md */
export type RunFilter = {
    [name in "state" | "kind" | "name" | "session" | "model" | "code"]?: string;
};
/** The content of the last event of a skill's stream. */
export interface SkillDone {
    duration_ms?: number;
    exit_code?: number | null;
    finish_reason?: string;
}
/** A deployment of Hull. */
export declare class Hull {
    #private;
    readonly sessions: SessionsClient;
    readonly daemons: DaemonsClient;
    readonly files: FilesClient;
    readonly llm: ModelsClient;
    constructor(options?: HullOptions);
    /**
     * Runs a skill and returns its answer. Throws HullError for a run that fails.
     * @param skill its slug, or its route if the manifest sets one (`/reports/daily`)
     */
    run(skill: string, input?: SkillInput, settings?: SkillSettings): Promise<SkillAnswer>;
    /** Runs a skill and follows its events. Leaving the stream before its end stops the run. */
    stream(skill: string, input?: SkillInput, settings?: SkillSettings): EventStream<SkillDone>;
    /** Runs an agent without a session. */
    runAgent(body: RunRequest, settings?: RunSettings): Promise<RunResult>;
    /** The same as events. Leaving the stream before its end stops the run. */
    streamAgent(body: RunRequest, settings?: RunSettings): EventStream<RunResult>;
    /** The tenant's runs of all surfaces, the newest first, page by page. */
    runs(filter?: RunFilter, settings?: CallSettings): AsyncGenerator<IndexedRun>;
    /** The session of an id. This sends no request; `sessions.open` makes a session. */
    session(id: string): SessionClient;
    /** The daemon of an id. This sends no request; `daemons.spawn` makes a daemon. */
    daemon(id: string): DaemonClient;
    /** The cards of the served skills, sorted by slug. @param query words that must all occur */
    skills(query?: string, settings?: CallSettings): AsyncGenerator<Card, void, undefined>;
    card(slug: string, settings?: CallSettings): Promise<Card>;
    /** State and result of a call with an idempotency key. */
    execution(id: string, settings?: CallSettings): Promise<Execution>;
    /**
     * Calls any other route and returns its response. Throws HullError if that is an error. Only calls of GET, PUT and
     * DELETE are repeated.
     */
    request(method: Call["method"], path: string, settings?: CallSettings & {
        json?: unknown;
        body?: Body;
    }): Promise<Response>;
}
/** Calls of models, without a skill and without a loop. */
declare class ModelsClient {
    #private;
    constructor(transport: Transport);
    call(body: CallRequest, settings?: RunSettings): Promise<CallResult>;
    /** Leaving the stream before its end stops the call. */
    stream(body: CallRequest, settings?: RunSettings): EventStream<CallResult>;
    /** Calls a model until its answer matches a schema. */
    structured(body: StructuredRequest, settings?: RunSettings): Promise<StructuredResult>;
}
/** Input and output files of runs. They expire by themselves. */
declare class FilesClient {
    #private;
    constructor(transport: Transport);
    /** Stores a file for 24 hours. @param settings `filename`: default: that of a `File` */
    upload(content: Exclude<Body, FormData>, settings?: RunSettings & {
        filename?: string;
        mime?: string;
    }): Promise<StoredFile>;
    get(id: string, settings?: CallSettings): Promise<Blob>;
    delete(id: string, settings?: CallSettings): Promise<void>;
}
