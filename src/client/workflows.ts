/** Workflows: graphs of agents, which Hull stores, and their runs. */
import type {
  StoredWorkflow,
  WorkflowGraph,
  WorkflowRequest,
  WorkflowResult,
  WorkflowRun,
  WorkflowRuns,
  Workflows,
  WorkflowValidation,
  WorkflowVersion,
} from "../../typed/client/api.d.ts";
import { EventStream } from "./event-stream.ts";
import type { Answer, Filter, Json } from "./route.ts";
import type { CallSettings, RunSettings, Transport } from "./transport.ts";

export class WorkflowsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The faults of a graph. */
  validate(body: Json<"POST /workflows/validate">, settings: CallSettings = {}): Promise<WorkflowValidation> {
    const asked = this.#transport.call("POST /workflows/validate", { json: body }, { repeatable: true });
    return this.#transport.json(asked, settings);
  }

  /** Runs a workflow and returns when the run has ended. */
  run(body: WorkflowRequest, settings: RunSettings = {}): Promise<WorkflowResult> {
    return this.#transport.post("POST /workflows/execute", { json: body }, settings);
  }

  /** Begins a run and returns immediately. */
  async start(body: WorkflowRequest, settings: RunSettings = {}): Promise<WorkflowRunClient> {
    const { id } = await this.#transport.begin(
      "POST /workflows/execute",
      { query: NOW, json: body },
      settings,
    );
    return new WorkflowRunClient(this.#transport, id);
  }

  /** Runs a workflow and follows its events. Leaving the stream does not stop the run: `cancel` does. */
  stream(body: WorkflowRequest, settings: RunSettings = {}): EventStream<WorkflowResult> {
    const begun = this.#transport.posts("POST /workflows/execute", { json: body }, settings);
    return new EventStream({ transport: this.#transport, call: begun, ends: true, settings });
  }

  /** The tenant's runs, the newest first, page by page. */
  runs(
    filter: Filter<"GET /workflows/runs"> = {},
    settings: CallSettings = {},
  ): AsyncGenerator<WorkflowRuns["data"][number]> {
    return this.#transport.pages("GET /workflows/runs", { query: filter }, settings);
  }

  /** The stored workflows by name, and those of the served skills, page by page. */
  list(settings: CallSettings = {}): AsyncGenerator<Workflows["data"][number]> {
    return this.#transport.pages("GET /workflows", {}, settings);
  }

  /** @param name of a stored workflow, also `name@version`, or `skill/name` */
  get(name: string, settings: CallSettings = {}): Promise<StoredWorkflow> {
    const [first = "", second] = name.split("/", 2);
    return second === undefined
      ? this.#transport.ask("GET /workflows/{name}", { path: { name } }, settings)
      : this.#transport.ask(
          "GET /workflows/{skill}/{name}",
          { path: { skill: first, name: second } },
          settings,
        );
  }

  /** Stores a graph as the next version under a name. */
  put(name: string, graph: WorkflowGraph, settings: CallSettings = {}): Promise<WorkflowVersion> {
    return this.#transport.ask("PUT /workflows/{name}", { path: { name }, json: { graph } }, settings);
  }

  /** Removes all versions of a stored workflow; its runs continue. */
  delete(name: string, settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove("DELETE /workflows/{name}", { path: { name } }, settings);
  }
}

/** One run of a workflow. Making this object sends no request. */
export class WorkflowRunClient {
  readonly id: string;
  readonly #transport: Transport<"id">;

  constructor(transport: Transport, id: string) {
    this.id = id;
    this.#transport = transport.of(id);
  }

  /** The run's record. @param settings `wait: "terminal"`: once the run has ended */
  get(settings: CallSettings & { wait?: "terminal" | "none" } = {}): Promise<WorkflowRun> {
    const { wait } = settings;
    return this.#transport.ask("GET /workflows/runs/{id}", { query: { wait } }, settings);
  }

  /** Removes the run with its data. */
  delete(settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove("DELETE /workflows/runs/{id}", {}, settings);
  }

  /** The run's events from the first one, or after an event's number, up to its end. */
  events(settings: CallSettings & { after?: number } = {}): EventStream<WorkflowResult> {
    const { after } = settings;
    const asked = this.#transport.call("GET /workflows/runs/{id}/events", { query: { after } });
    return new EventStream({ transport: this.#transport, call: asked, ends: true, settings });
  }

  /** Stops the run, and undoes its finished stages. */
  cancel(reason?: string, settings: RunSettings = {}): Promise<WorkflowRun> {
    return this.#transport.post("POST /workflows/runs/{id}/cancel", { json: { reason } }, settings);
  }

  /** Stops the run without any further step. */
  kill(reason?: string, settings: RunSettings = {}): Promise<WorkflowRun> {
    return this.#transport.post("POST /workflows/runs/{id}/kill", { json: { reason } }, settings);
  }

  /** What is under way ends, and nothing more begins. */
  pause(settings: RunSettings = {}): Promise<WorkflowRun> {
    return this.#transport.post("POST /workflows/runs/{id}/pause", { json: {} }, settings);
  }

  /** Continues a paused run; one that ended at its `max_steps` continues as another run. */
  resume(settings: RunSettings = {}): Promise<WorkflowRun | WorkflowResult> {
    return this.#transport.post("POST /workflows/runs/{id}/resume", { json: {} }, settings);
  }

  /** Continues with another graph, if that fits what the run has done. */
  migrate(body: Json<"POST /workflows/runs/{id}/migrate">, settings: RunSettings = {}): Promise<WorkflowRun> {
    return this.#transport.post("POST /workflows/runs/{id}/migrate", { json: body }, settings);
  }

  /** Begins another run that starts at a node of this one, and returns immediately. */
  async fork(
    body: Json<"POST /workflows/runs/{id}/fork">,
    settings: RunSettings = {},
  ): Promise<WorkflowRunClient> {
    const { id } = await this.#transport.begin(
      "POST /workflows/runs/{id}/fork",
      { query: NOW, json: body },
      settings,
    );
    return new WorkflowRunClient(this.#transport, id);
  }

  /** Sends a signal to the nodes that wait for one. */
  signal(
    body: Json<"POST /workflows/runs/{id}/signals">,
    settings: RunSettings = {},
  ): Promise<Answer<"POST /workflows/runs/{id}/signals">> {
    return this.#transport.post("POST /workflows/runs/{id}/signals", { json: body }, settings);
  }

  /** Answers a node that waits for an approval. */
  decide(
    body: Json<"POST /workflows/runs/{id}/approvals">,
    settings: RunSettings = {},
  ): Promise<WorkflowRun> {
    return this.#transport.post("POST /workflows/runs/{id}/approvals", { json: body }, settings);
  }
}

const NOW = { wait: "none" } as const;
