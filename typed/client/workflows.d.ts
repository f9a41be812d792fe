// `npm run docs` writes this file from src/client.
/** Workflows: graphs of agents, which Hull stores, and their runs. */
import type { StoredWorkflow, WorkflowGraph, WorkflowRequest, WorkflowResult, WorkflowRun, WorkflowRuns, Workflows, WorkflowValidation, WorkflowVersion } from "./api.ts";
import { EventStream } from "./event-stream.ts";
import type { Answer, Filter, Json } from "./route.ts";
import type { CallSettings, RunSettings, Transport } from "./transport.ts";
export declare class WorkflowsClient {
    #private;
    constructor(transport: Transport);
    /** The faults of a graph. */
    validate(body: Json<"POST /workflows/validate">, settings?: CallSettings): Promise<WorkflowValidation>;
    /** Runs a workflow and returns when the run has ended. */
    run(body: WorkflowRequest, settings?: RunSettings): Promise<WorkflowResult>;
    /** Begins a run and returns immediately. */
    start(body: WorkflowRequest, settings?: RunSettings): Promise<WorkflowRunClient>;
    /** Runs a workflow and follows its events. Leaving the stream does not stop the run: `cancel` does. */
    stream(body: WorkflowRequest, settings?: RunSettings): EventStream<WorkflowResult>;
    /** The tenant's runs, the newest first, page by page. */
    runs(filter?: Filter<"GET /workflows/runs">, settings?: CallSettings): AsyncGenerator<WorkflowRuns["data"][number]>;
    /** The stored workflows by name, and those of the served skills, page by page. */
    list(settings?: CallSettings): AsyncGenerator<Workflows["data"][number]>;
    /** @param name of a stored workflow, also `name@version`, or `skill/name` */
    get(name: string, settings?: CallSettings): Promise<StoredWorkflow>;
    /** Stores a graph as the next version under a name. */
    put(name: string, graph: WorkflowGraph, settings?: CallSettings): Promise<WorkflowVersion>;
    /** Removes all versions of a stored workflow; its runs continue. */
    delete(name: string, settings?: CallSettings): Promise<void>;
}
/** One run of a workflow. Making this object sends no request. */
export declare class WorkflowRunClient {
    #private;
    readonly id: string;
    constructor(transport: Transport, id: string);
    /** The run's record. @param settings `wait: "terminal"`: once the run has ended */
    get(settings?: CallSettings & {
        wait?: "terminal" | "none";
    }): Promise<WorkflowRun>;
    /** Removes the run with its data. */
    delete(settings?: CallSettings): Promise<void>;
    /** The run's events from the first one, or after an event's number, up to its end. */
    events(settings?: CallSettings & {
        after?: number;
    }): EventStream<WorkflowResult>;
    /** Stops the run, and undoes its finished stages. */
    cancel(reason?: string, settings?: RunSettings): Promise<WorkflowRun>;
    /** Stops the run without any further step. */
    kill(reason?: string, settings?: RunSettings): Promise<WorkflowRun>;
    /** What is under way ends, and nothing more begins. */
    pause(settings?: RunSettings): Promise<WorkflowRun>;
    /** Continues a paused run; one that ended at its `max_steps` continues as another run. */
    resume(settings?: RunSettings): Promise<WorkflowRun | WorkflowResult>;
    /** Continues with another graph, if that fits what the run has done. */
    migrate(body: Json<"POST /workflows/runs/{id}/migrate">, settings?: RunSettings): Promise<WorkflowRun>;
    /** Begins another run that starts at a node of this one, and returns immediately. */
    fork(body: Json<"POST /workflows/runs/{id}/fork">, settings?: RunSettings): Promise<WorkflowRunClient>;
    /** Sends a signal to the nodes that wait for one. */
    signal(body: Json<"POST /workflows/runs/{id}/signals">, settings?: RunSettings): Promise<Answer<"POST /workflows/runs/{id}/signals">>;
    /** Answers a node that waits for an approval. */
    decide(body: Json<"POST /workflows/runs/{id}/approvals">, settings?: RunSettings): Promise<WorkflowRun>;
}
