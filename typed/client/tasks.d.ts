// `npm run docs` writes this file from src/client.
/** Tasks: runs that are delegated to sessions of their own. */
import type { SubAgentRequest, SubAgentResult, Task, TaskRequest, Tasks } from "./api.ts";
import { EventStream } from "./event-stream.ts";
import type { Json } from "./route.ts";
import { SessionClient } from "./sessions.ts";
import type { CallSettings, RunSettings, Transport } from "./transport.ts";
export declare class TasksClient {
    #private;
    constructor(transport: Transport);
    /** All tasks of the tenant, the newest first, page by page. */
    list(settings?: CallSettings): AsyncGenerator<Tasks["data"][number]>;
    /** Begins a task; with `wait: true` it has ended then, or awaits its next cycle. */
    spawn(body: TaskRequest, settings?: RunSettings): Promise<TaskClient>;
    /** The same as events. Leaving the stream does not end the task: `close` does. */
    stream(body: TaskRequest, settings?: RunSettings): EventStream<Task>;
    /** Waits until tasks have ended, or for a time; the tasks in the order of their ids. */
    wait(ids: readonly string[], settings?: RunSettings & Pick<Json<"POST /tasks/wait">, "timeout_ms">): Promise<Task[]>;
    /** Lets a closed task take input again, or runs it at once: by its id, or the `snapshot_path` of its handle. */
    resume(body: Json<"POST /tasks/resume">, settings?: RunSettings): Promise<Task>;
    /** Runs an agent in a session of its own, and returns its envelope. */
    runSubAgent(body: SubAgentRequest, settings?: RunSettings): Promise<SubAgentResult>;
}
/** One task. Making this object sends no request. */
export declare class TaskClient {
    #private;
    readonly id: string;
    /** The task's conversation: events, messages, files, approvals. */
    readonly session: SessionClient;
    constructor(transport: Transport, id: string);
    get(settings?: CallSettings): Promise<Task>;
    /** Gives its agent another task. */
    input(task: string, settings?: RunSettings): Promise<Task>;
    /** Begins the next cycle of a task that awaits one. @param payload any JSON, which its agent reads */
    trigger(payload?: unknown, settings?: RunSettings): Promise<Task>;
    /** Ends the task, and all that it delegated. */
    close(settings?: RunSettings): Promise<Task>;
}
