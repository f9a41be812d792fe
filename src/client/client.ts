/** `hullrun/client`: the HTTP API for programs in browsers, on servers and at the edge (docs/client.md). */

import type {
  Card,
  Execution,
  IndexedRun,
  RunFigures,
  RunRequest,
  RunResult,
  StoredFile,
  ToolConfig,
} from "../../typed/client/api.d.ts";
import { SkillAnswer } from "./answer.ts";
import { BudgetsClient } from "./budgets.ts";
import { DaemonClient, DaemonsClient } from "./daemons.ts";
import { HullConnectionError, HullError } from "./error.ts";
import { EventStream } from "./event-stream.ts";
import { ExecutionsClient, executionStream, skillAnswer } from "./executions.ts";
import { inputBody, inputQuery, type SkillInput } from "./input.ts";
import { ModelsClient } from "./models.ts";
import { idempotent } from "./repeat.ts";
import type { Filter, Item, Json } from "./route.ts";
import { SessionClient, SessionsClient } from "./sessions.ts";
import { TaskClient, TasksClient } from "./tasks.ts";
import {
  type Body,
  type Call,
  type CallSettings,
  type HullOptions,
  type RunSettings,
  Transport,
} from "./transport.ts";
import { WorkflowRunClient, WorkflowsClient } from "./workflows.ts";

export type * from "../../typed/client/api.d.ts";
export type { CallSettings, HullOptions, RunSettings, SkillInput };
export {
  DaemonClient,
  EventStream,
  HullConnectionError,
  HullError,
  SessionClient,
  SkillAnswer,
  TaskClient,
  WorkflowRunClient,
};

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
export class Hull {
  readonly sessions: SessionsClient;
  readonly daemons: DaemonsClient;
  readonly files: FilesClient;
  readonly llm: ModelsClient;
  readonly tasks: TasksClient;
  readonly workflows: WorkflowsClient;
  readonly executions: ExecutionsClient;
  readonly budgets: BudgetsClient;
  readonly #transport: Transport;

  constructor(options: HullOptions = {}) {
    this.#transport = new Transport(options, {});
    this.sessions = new SessionsClient(this.#transport);
    this.daemons = new DaemonsClient(this.#transport);
    this.files = new FilesClient(this.#transport);
    this.llm = new ModelsClient(this.#transport);
    this.tasks = new TasksClient(this.#transport);
    this.workflows = new WorkflowsClient(this.#transport);
    this.executions = new ExecutionsClient(this.#transport);
    this.budgets = new BudgetsClient(this.#transport);
  }

  /**
   * Runs a skill and returns its answer. Throws HullError for a run that fails.
   * @param skill its slug, or its route if the manifest sets one (`/reports/daily`)
   */
  async run(skill: string, input?: SkillInput, settings: SkillSettings = {}): Promise<SkillAnswer> {
    return this.#transport.send(this.#skill(skill, input, settings), settings, skillAnswer);
  }

  /** Runs a skill and follows its events. Leaving the stream before its end stops the run. */
  stream(skill: string, input?: SkillInput, settings: SkillSettings = {}): EventStream<SkillDone> {
    return executionStream(this.#transport, this.#skill(skill, input, settings), settings);
  }

  /** Runs an agent without a session. */
  runAgent(body: RunRequest, settings: RunSettings = {}): Promise<RunResult> {
    return this.#transport.post("POST /runs", { json: body }, settings);
  }

  /** The same as events. Leaving the stream before its end stops the run. */
  streamAgent(body: RunRequest, settings: RunSettings = {}): EventStream<RunResult> {
    return executionStream(
      this.#transport,
      this.#transport.posts("POST /runs", { json: body }, settings),
      settings,
    );
  }

  /** The tenant's runs of all surfaces, the newest first, page by page. */
  runs(filter: RunFilter = {}, settings: CallSettings = {}): AsyncGenerator<IndexedRun> {
    return this.#transport.pages("GET /runs", { query: filter }, settings);
  }

  /** One run of that list. */
  getRun(id: string, settings: CallSettings = {}): Promise<IndexedRun> {
    return this.#transport.ask("GET /runs/{id}", { path: { id } }, settings);
  }

  /** Sums over the runs of the last 24 hours by skill, and how many runs wait for an approval. */
  runFigures(settings: CallSettings = {}): Promise<RunFigures> {
    return this.#transport.ask("GET /runs/figures", {}, settings);
  }

  /** Tokens and cost of the tenant, by skill, session, model or day, page by page. */
  usage(filter: Filter<"GET /usage"> = {}, settings: CallSettings = {}): AsyncGenerator<Item<"GET /usage">> {
    return this.#transport.pages("GET /usage", { query: filter }, settings);
  }

  /** The session of an id. This sends no request; `sessions.open` makes a session. */
  session(id: string): SessionClient {
    return new SessionClient(this.#transport, id);
  }

  /** The daemon of an id. This sends no request; `daemons.spawn` makes a daemon. */
  daemon(id: string): DaemonClient {
    return new DaemonClient(this.#transport, id);
  }

  /** The task of an id. This sends no request; `tasks.spawn` begins a task. */
  task(id: string): TaskClient {
    return new TaskClient(this.#transport, id);
  }

  /** The workflow run of an id. This sends no request; `workflows.start` begins a run. */
  workflowRun(id: string): WorkflowRunClient {
    return new WorkflowRunClient(this.#transport, id);
  }

  /** The cards of the served skills, sorted by slug. @param query words that must all occur */
  async *skills(query?: string, settings: CallSettings = {}): AsyncGenerator<Card, void, undefined> {
    const first = this.#transport.call("GET /skills", { query: { q: query, limit: 1000 } });
    for (let next: Call | null = first; next !== null; ) {
      const page: { cards: Card[]; next: Call | null } = await this.#transport.send(next, settings, cardPage);
      yield* page.cards;
      next = page.next;
    }
  }

  card(slug: string, settings: CallSettings = {}): Promise<Card> {
    return this.#transport.ask("GET /skills/{slug}/card", { path: { slug } }, settings);
  }

  /** The versions of a skill, the newest first, page by page. */
  versions(slug: string, settings: CallSettings = {}): AsyncGenerator<Item<"GET /skills/{slug}/versions">> {
    return this.#transport.pages("GET /skills/{slug}/versions", { path: { slug } }, settings);
  }

  /** The values that a skill's tools get; of a secret only whether it is set. @param settings `bot`: of this profile */
  config(slug: string, settings: CallSettings & { bot?: string } = {}): Promise<ToolConfig> {
    return this.#transport.ask(
      "GET /skills/{slug}/config",
      { path: { slug }, query: { bot: settings.bot } },
      settings,
    );
  }

  /** Changes some of these values; `null` resets one. */
  configure(
    slug: string,
    change: Json<"PUT /skills/{slug}/config">,
    settings: CallSettings & { bot?: string } = {},
  ): Promise<ToolConfig> {
    return this.#transport.ask(
      "PUT /skills/{slug}/config",
      { path: { slug }, query: { bot: settings.bot }, json: change },
      settings,
    );
  }

  /** State and result of a call with an idempotency key. */
  execution(id: string, settings: CallSettings = {}): Promise<Execution> {
    return this.executions.get(id, settings);
  }

  /**
   * Calls any other route and returns its response. Throws HullError if that is an error. Only calls of GET, PUT and
   * DELETE are repeated.
   */
  request(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    settings: CallSettings & { json?: unknown; body?: Body } = {},
  ): Promise<Response> {
    const { json, body } = settings;
    const other = { method, path, json, body, repeatable: method !== "POST" };
    return this.#transport.send(other, settings, async (response) => response);
  }

  #skill(skill: string, input: SkillInput, settings: SkillSettings): Call {
    const { files, bot, method = "POST" } = settings;
    const isRoute = skill.startsWith("/");
    const { headers, ...body } = method === "GET" ? inputQuery(input, files) : inputBody(input, files);
    const key = idempotent(settings.idempotencyKey);
    // Hull keeps nothing of calls of proxy skills, so a call that reached the upstream must not be repeated.
    const keeps = async (): Promise<boolean> => (await this.card(skill)).mode !== "proxy";
    return {
      method,
      path: isRoute ? skill : `/skills/${encodeURIComponent(skill)}`,
      ...body,
      headers: { ...headers, ...key, ...(bot === undefined ? {} : { "x-hull-bot": bot }) },
      repeatable: settings.idempotencyKey === false || isRoute ? false : keeps,
    };
  }
}

/** Input and output files of runs. They expire by themselves. */
class FilesClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Stores a file for 24 hours. @param settings `filename`: default: that of a `File` */
  upload(
    content: Exclude<Body, FormData>,
    settings: RunSettings & { filename?: string; mime?: string } = {},
  ): Promise<StoredFile> {
    const { filename = content instanceof File ? content.name : undefined, mime } = settings;
    const begun = this.#transport.posts("POST /files", { query: { filename } }, settings);
    const type = mime === undefined ? {} : { "content-type": mime };
    return this.#transport.json(
      { ...begun, body: content, headers: { ...type, ...begun.headers } },
      settings,
    );
  }

  get(id: string, settings: CallSettings = {}): Promise<Blob> {
    const asked = this.#transport.call("GET /files/{id}", { path: { id } });
    return this.#transport.send(asked, settings, (response) => response.blob());
  }

  delete(id: string, settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove("DELETE /files/{id}", { path: { id } }, settings);
  }
}

/** The header `Link` names the next page. */
async function cardPage(response: Response): Promise<{ cards: Card[]; next: Call | null }> {
  const path = /<([^>]+)>; *rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  return {
    cards: await response.json(),
    next: path === undefined ? null : { method: "GET", path, repeatable: true },
  };
}
