/** `hullrun/client`: the HTTP API for programs in browsers, on servers and at the edge (docs/client.md). */

import type {
  CallRequest,
  CallResult,
  Card,
  Execution,
  IndexedRun,
  RunRequest,
  RunResult,
  StoredFile,
  StructuredRequest,
  StructuredResult,
} from "../../typed/client/api.d.ts";
import { SkillAnswer } from "./answer.ts";
import { DaemonClient, DaemonsClient } from "./daemons.ts";
import { HullConnectionError, HullError } from "./error.ts";
import { EventStream, type HullEvent } from "./event-stream.ts";
import { inputBody, inputQuery, type SkillInput } from "./input.ts";
import { SessionClient, SessionsClient } from "./sessions.ts";
import {
  type Body,
  type Call,
  type CallSettings,
  type HullOptions,
  idempotent,
  posts,
  type RunSettings,
  reads,
  Transport,
} from "./transport.ts";

export type * from "../../typed/client/api.d.ts";
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
export type RunFilter = { [name in "state" | "kind" | "name" | "session" | "model" | "code"]?: string };

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
  readonly #transport: Transport;

  constructor(options: HullOptions = {}) {
    this.#transport = new Transport(options);
    this.sessions = new SessionsClient(this.#transport);
    this.daemons = new DaemonsClient(this.#transport);
    this.files = new FilesClient(this.#transport);
    this.llm = new ModelsClient(this.#transport);
  }

  /**
   * Runs a skill and returns its answer. Throws HullError for a run that fails.
   * @param skill its slug, or its route if the manifest sets one (`/reports/daily`)
   */
  async run(skill: string, input?: SkillInput, settings: SkillSettings = {}): Promise<SkillAnswer> {
    return this.#transport.send(this.#skill(skill, input, settings), settings, async (response) => {
      const bytes = new Uint8Array(await response.arrayBuffer());
      return new SkillAnswer(bytes, response.headers);
    });
  }

  /** Runs a skill and follows its events. Leaving the stream before its end stops the run. */
  stream(skill: string, input?: SkillInput, settings: SkillSettings = {}): EventStream<SkillDone> {
    return executionStream(this.#transport, this.#skill(skill, input, settings), settings);
  }

  /** Runs an agent without a session. */
  runAgent(body: RunRequest, settings: RunSettings = {}): Promise<RunResult> {
    return this.#transport.post("/runs", body, settings);
  }

  /** The same as events. Leaving the stream before its end stops the run. */
  streamAgent(body: RunRequest, settings: RunSettings = {}): EventStream<RunResult> {
    return executionStream(this.#transport, posts("/runs", body, settings), settings);
  }

  /** The tenant's runs of all surfaces, the newest first, page by page. */
  runs(filter: RunFilter = {}, settings: CallSettings = {}): AsyncGenerator<IndexedRun> {
    const query = new URLSearchParams(Object.entries(filter)).toString();
    return this.#transport.pages(`/runs${query === "" ? "" : `?${query}`}`, settings);
  }

  /** The session of an id. This sends no request; `sessions.open` makes a session. */
  session(id: string): SessionClient {
    return new SessionClient(this.#transport, id);
  }

  /** The daemon of an id. This sends no request; `daemons.spawn` makes a daemon. */
  daemon(id: string): DaemonClient {
    return new DaemonClient(this.#transport, id);
  }

  /** The cards of the served skills, sorted by slug. @param query words that must all occur */
  async *skills(query?: string, settings: CallSettings = {}): AsyncGenerator<Card, void, undefined> {
    const call: Call = { ...reads("/skills"), query: { q: query, limit: 1000 } };
    for (let next: Call | null = call; next !== null; ) {
      const page: { cards: Card[]; next: Call | null } = await this.#transport.send(next, settings, cardPage);
      yield* page.cards;
      next = page.next;
    }
  }

  card(slug: string, settings: CallSettings = {}): Promise<Card> {
    return this.#transport.get(`/skills/${encodeURIComponent(slug)}/card`, settings);
  }

  /** State and result of a call with an idempotency key. */
  execution(id: string, settings: CallSettings = {}): Promise<Execution> {
    return this.#transport.get(executionPath(id), settings);
  }

  /**
   * Calls any other route and returns its response. Throws HullError if that is an error. Only calls of GET, PUT and
   * DELETE are repeated.
   */
  request(
    method: Call["method"],
    path: string,
    settings: CallSettings & { json?: unknown; body?: Body } = {},
  ): Promise<Response> {
    const { json, body } = settings;
    const call = { method, path, json, body, repeatable: method !== "POST" };
    return this.#transport.send(call, settings, async (response) => response);
  }

  #skill(skill: string, input: SkillInput, settings: SkillSettings): Call {
    const { files, bot, method = "POST" } = settings;
    const isRoute = skill.startsWith("/");
    const { headers, ...body } = method === "GET" ? inputQuery(input) : inputBody(input, files);
    const key = idempotent(settings);
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

/** Calls of models, without a skill and without a loop. */
class ModelsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  call(body: CallRequest, settings: RunSettings = {}): Promise<CallResult> {
    return this.#transport.post("/llm/call", body, settings);
  }

  /** Leaving the stream before its end stops the call. */
  stream(body: CallRequest, settings: RunSettings = {}): EventStream<CallResult> {
    return executionStream(this.#transport, posts("/llm/stream", body, settings), settings);
  }

  /** Calls a model until its answer matches a schema. */
  structured(body: StructuredRequest, settings: RunSettings = {}): Promise<StructuredResult> {
    return this.#transport.post("/llm/structured", body, settings);
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
    const headers = idempotent(settings);
    const type = mime === undefined ? {} : { "content-type": mime };
    return this.#transport.json(
      {
        method: "POST",
        path: "/files",
        query: { filename },
        body: content,
        headers: { ...type, ...headers },
        repeatable: Object.keys(headers).length > 0,
      },
      settings,
    );
  }

  get(id: string, settings: CallSettings = {}): Promise<Blob> {
    const call = reads(`/files/${encodeURIComponent(id)}`);
    return this.#transport.send(call, settings, (response) => response.blob());
  }

  delete(id: string, settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove(`/files/${encodeURIComponent(id)}`, settings);
  }
}

const executionPath = (id: string): string => `/executions/${encodeURIComponent(id)}`;

/** A stream that continues at `/executions/{id}/events`; leaving it stops the execution. */
function executionStream<Done>(transport: Transport, call: Call, settings: RunSettings): EventStream<Done> {
  if (settings.idempotencyKey === false) return new EventStream({ transport, call, ends: true, settings });
  return new EventStream({
    transport,
    call,
    resumed: (id) => reads(`${executionPath(id)}/events`),
    left: (id) => transport.nothing({ method: "DELETE", path: executionPath(id), repeatable: false }),
    ends: true,
    settings,
  });
}

/** The header `Link` names the next page. */
async function cardPage(response: Response): Promise<{ cards: Card[]; next: Call | null }> {
  const path = /<([^>]+)>; *rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  return { cards: await response.json(), next: path === undefined ? null : reads(path) };
}
