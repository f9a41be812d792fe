// `npm run docs` writes this file from src/client.
/** `hullrun/client`: the HTTP API for programs in browsers, on servers and at the edge (docs/client.md). */
import type { Card, Execution, IndexedRun, RunFigures, RunRequest, RunResult, StoredFile, ToolConfig } from "./api.ts";
import { SkillAnswer } from "./answer.ts";
import { BudgetsClient } from "./budgets.ts";
import { DaemonClient, DaemonsClient } from "./daemons.ts";
import { HullConnectionError, HullError } from "./error.ts";
import { EventStream } from "./event-stream.ts";
import { ExecutionsClient } from "./executions.ts";
import { type SkillInput } from "./input.ts";
import { ModelsClient } from "./models.ts";
import type { Filter, Item, Json } from "./route.ts";
import { SessionClient, SessionsClient } from "./sessions.ts";
import { TaskClient, TasksClient } from "./tasks.ts";
import { type Body, type CallSettings, type HullOptions, type RunSettings, Transport } from "./transport.ts";
import { WorkflowRunClient, WorkflowsClient } from "./workflows.ts";
export type * from "./api.ts";
export type { CallSettings, HullOptions, RunSettings, SkillInput };
export { DaemonClient, EventStream, HullConnectionError, HullError, SessionClient, SkillAnswer, TaskClient, WorkflowRunClient, };
/** Settings of skill calls. */
export interface SkillSettings extends RunSettings {
    /** Ids of stored files for the run. */
    files?: readonly string[];
    /** Profile whose configured values the skill's tools get. */
    bot?: string;
    /** Method of the skill's route; default POST. GET sends text as `?input=`, each member of an object as a parameter. */
    method?: "GET" | "POST";
}
/** Which runs to list. */
export type RunFilter = Filter<"GET /runs">;
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
    readonly tasks: TasksClient;
    readonly workflows: WorkflowsClient;
    readonly executions: ExecutionsClient;
    readonly budgets: BudgetsClient;
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
    /** One run of that list. */
    getRun(id: string, settings?: CallSettings): Promise<IndexedRun>;
    /** Sums over the runs of the last 24 hours by skill, and how many runs wait for an approval. */
    runFigures(settings?: CallSettings): Promise<RunFigures>;
    /** Tokens and cost of the tenant, by skill, session, model or day, page by page. */
    usage(filter?: Filter<"GET /usage">, settings?: CallSettings): AsyncGenerator<Item<"GET /usage">>;
    /** The session of an id. This sends no request; `sessions.open` makes a session. */
    session(id: string): SessionClient;
    /** The daemon of an id. This sends no request; `daemons.spawn` makes a daemon. */
    daemon(id: string): DaemonClient;
    /** The task of an id. This sends no request; `tasks.spawn` begins a task. */
    task(id: string): TaskClient;
    /** The workflow run of an id. This sends no request; `workflows.start` begins a run. */
    workflowRun(id: string): WorkflowRunClient;
    /** The cards of the served skills, sorted by slug. @param query words that must all occur */
    skills(query?: string, settings?: CallSettings): AsyncGenerator<Card, void, undefined>;
    card(slug: string, settings?: CallSettings): Promise<Card>;
    /** The versions of a skill, the newest first, page by page. */
    versions(slug: string, settings?: CallSettings): AsyncGenerator<Item<"GET /skills/{slug}/versions">>;
    /** The values that a skill's tools get; of a secret only whether it is set. @param settings `bot`: of this profile */
    config(slug: string, settings?: CallSettings & {
        bot?: string;
    }): Promise<ToolConfig>;
    /** Changes some of these values; `null` resets one. */
    configure(slug: string, change: Json<"PUT /skills/{slug}/config">, settings?: CallSettings & {
        bot?: string;
    }): Promise<ToolConfig>;
    /** State and result of a call with an idempotency key. */
    execution(id: string, settings?: CallSettings): Promise<Execution>;
    /**
     * Calls any other route and returns its response. Throws HullError if that is an error. Only calls of GET, PUT and
     * DELETE are repeated.
     */
    request(method: "GET" | "POST" | "PUT" | "DELETE", path: string, settings?: CallSettings & {
        json?: unknown;
        body?: Body;
    }): Promise<Response>;
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
