/** Tasks: runs that are delegated to sessions of their own. */
import type { SubAgentRequest, SubAgentResult, Task, TaskRequest, Tasks } from "../../typed/client/api.d.ts";
import { EventStream } from "./event-stream.ts";
import type { Json } from "./route.ts";
import { SessionClient } from "./sessions.ts";
import type { CallSettings, RunSettings, Transport } from "./transport.ts";

export class TasksClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All tasks of the tenant, the newest first, page by page. */
  list(settings: CallSettings = {}): AsyncGenerator<Tasks["data"][number]> {
    return this.#transport.pages("GET /tasks", {}, settings);
  }

  /** Begins a task; with `wait: true` it has ended then, or awaits its next cycle. */
  async spawn(body: TaskRequest, settings: RunSettings = {}): Promise<TaskClient> {
    const { id } = await this.#transport.post("POST /tasks", { json: body }, settings);
    return new TaskClient(this.#transport, id);
  }

  /** The same as events. Leaving the stream does not end the task: `close` does. */
  stream(body: TaskRequest, settings: RunSettings = {}): EventStream<Task> {
    const call = this.#transport.posts("POST /tasks", { json: body }, settings);
    return new EventStream({ transport: this.#transport, call, ends: true, settings });
  }

  /** Waits until tasks have ended, or for a time; the tasks in the order of their ids. */
  async wait(
    ids: readonly string[],
    settings: RunSettings & Pick<Json<"POST /tasks/wait">, "timeout_ms"> = {},
  ): Promise<Task[]> {
    const { timeout_ms } = settings;
    const ended = await this.#transport.post(
      "POST /tasks/wait",
      { json: { ids: [...ids], timeout_ms } },
      settings,
    );
    return Array.isArray(ended) ? ended : [ended];
  }

  /** Lets a closed task take input again, or runs it at once: by its id, or the `snapshot_path` of its handle. */
  resume(body: Json<"POST /tasks/resume">, settings: RunSettings = {}): Promise<Task> {
    return this.#transport.post("POST /tasks/resume", { json: body }, settings);
  }

  /** Runs an agent in a session of its own, and returns its envelope. */
  runSubAgent(body: SubAgentRequest, settings: RunSettings = {}): Promise<SubAgentResult> {
    return this.#transport.post("POST /sub-agents", { json: body }, settings);
  }
}

/** One task. Making this object sends no request. */
export class TaskClient {
  readonly id: string;
  /** The task's conversation: events, messages, files, approvals. */
  readonly session: SessionClient;
  readonly #transport: Transport<"id">;

  constructor(transport: Transport, id: string) {
    this.id = id;
    this.session = new SessionClient(transport, id);
    this.#transport = transport.of(id);
  }

  get(settings: CallSettings = {}): Promise<Task> {
    return this.#transport.ask("GET /tasks/{id}", {}, settings);
  }

  /** Gives its agent another task. */
  input(task: string, settings: RunSettings = {}): Promise<Task> {
    return this.#transport.post("POST /tasks/{id}/input", { json: { task } }, settings);
  }

  /** Begins the next cycle of a task that awaits one. @param payload any JSON, which its agent reads */
  trigger(payload?: unknown, settings: RunSettings = {}): Promise<Task> {
    return this.#transport.post("POST /tasks/{id}/trigger", { json: { payload } }, settings);
  }

  /** Ends the task, and all that it delegated. */
  close(settings: RunSettings = {}): Promise<Task> {
    return this.#transport.post("POST /tasks/{id}/close", { json: {} }, settings);
  }
}
