/** The context of one HTTP request: ids, settings, timings and the fields of its log line. */

import { grants } from "../auth/api-key.ts";
import type { Caller } from "../auth/caller.ts";
import type { SignIn } from "../auth/sign-in.ts";
import { firstOf } from "../cut.ts";
import type { Deployment } from "../deployment.ts";
import type { PinnedSkills } from "../engine/workflow/answers.ts";
import type { Bindings, Settings } from "../env.ts";
import { BadRequest } from "../errors/request.ts";
import { type HullError, Internal } from "../errors.ts";
import { type Background, loggingBackground } from "../log.ts";
import { type Clock, SharedClock } from "../model/clock.ts";
import type { ModelRegistry } from "../model/registry/definition.ts";
import type { Redactor } from "../redact.ts";
import type { StoredValue } from "../registry/tool-config/store.ts";
import type { LogFields, RunContext, SpanNote, TimingName } from "../run/context.ts";
import { isTraced } from "../run/spans.ts";
import { BOT_ID } from "../skill/config/given.ts";
import { IsolatePlaces } from "../tool/isolate/places.ts";

/** The id that the client sent, if it is a plain word, else a new one. */
export function requestIdOf(request: Request): string {
  const sent = request.headers.get("x-request-id") ?? "";
  return /^[A-Za-z0-9._-]{8,128}$/.test(sent) ? sent : crypto.randomUUID();
}

/** The bot that a header or a parameter names. @throws BadRequest */
export function botOf(name: string, bot: string | null): string | null {
  if (bot === null || BOT_ID.test(bot)) return bot;
  const what = "an id of 1 to 128 characters A-Za-z0-9._:-, the first a letter or digit";
  throw new BadRequest({ detail: `${name} must be ${what}, not "${firstOf(bot, 128)}".` });
}

export class RequestContext implements RunContext {
  readonly deployment: Deployment;
  readonly env: Bindings;
  readonly settings: Settings;
  readonly request: Request;
  /** The client's own id if it sent a valid one, else a generated one; every response has it. */
  readonly requestId: string;
  /** Unix ms. */
  readonly startedAt: number;
  /** Keeps work alive after the response. */
  readonly background: Background;
  readonly clock: Clock;
  readonly isolatePlaces: IsolatePlaces;
  /** The mounted route that matched the request; `skill` for the routes of skills. */
  route = "none";
  readonly log: LogFields;
  readonly spans?: SpanNote[];
  readonly storedConfig = new Map<string, Promise<StoredValue[]>>();
  /** Whether the body contains `custom_llm_provider`, which LiteLLM's clients send there or in the query. */
  namesProvider = false;
  /** The versions of skills that the run keeps; set when a run with pinned skills begins. */
  pinned?: PinnedSkills;
  /**
   * What the ids of new things derive from: the same for all attempts at one request with an `Idempotency-Key`. `null`:
   * nothing new has an id so far.
   */
  attempt: string | null = null;
  beforeEffects: () => Promise<void> = async () => {};
  /** Set if a cookie, not a key, identifies the caller. */
  signIn: SignIn | null = null;
  /** Whether the caller's key, or cookie, is still valid; `null`: nothing can end it. */
  stillAdmitted: (() => Promise<boolean>) | null = null;
  /** Settles when the answer is complete, for a stream; `null`: with the response. */
  finished: Promise<unknown> | null = null;
  /** The failure that ended a stream which had begun; `null`: none. */
  streamFault: HullError | null = null;
  /** Work to do when the answer is complete. */
  readonly afterwards: (() => Promise<unknown>)[];
  /** Headers of every answer about the run that this request began or returned to; a failure has them too. */
  runHeaders: Record<string, string> = {};
  /** Members of the body that Hull does not read; `x-hull-ignored` names them. */
  readonly ignored: string[];
  readonly #timings: Map<TimingName, number>;
  readonly #secrets: Redactor[];
  #caller: Caller | null;
  #traced: boolean | null = null;

  /** @param outer the context that this one is derived from */
  constructor(
    request: Request,
    deployment: Deployment,
    background: Background,
    outer: RequestContext | null = null,
  ) {
    this.request = request;
    this.deployment = deployment;
    this.env = deployment.env;
    this.settings = deployment.settings;
    this.background = outer === null ? loggingBackground(this, background) : background;
    this.clock = outer?.clock ?? new SharedClock();
    this.isolatePlaces = outer?.isolatePlaces ?? new IsolatePlaces();
    this.startedAt = outer?.startedAt ?? Date.now();
    this.log = outer?.log ?? {};
    this.afterwards = outer?.afterwards ?? [];
    this.ignored = outer?.ignored ?? [];
    this.#timings = outer === null ? new Map() : outer.#timings;
    this.#secrets = outer === null ? [] : outer.#secrets;
    this.#caller = outer === null ? null : outer.#caller;
    if (outer?.spans !== undefined) this.spans = outer.spans;
    else if (this.settings.logsSpans) this.spans = [];
    this.requestId = outer?.requestId ?? requestIdOf(request);
  }

  /** The context of a request that Hull derives from this one, with the same caller, log line, timings and secrets. */
  within(request: Request): RequestContext {
    return new RequestContext(request, this.deployment, this.background, this);
  }

  /** The caller. The guard sets it, on every route that is not open. */
  get caller(): Caller {
    if (this.#caller === null) throw new Internal({ cause: "the caller was asked for before the guard" });
    return this.#caller;
  }

  /** The caller; `null` if the guard has not admitted this request, or the one that it derives from. */
  get admitted(): Caller | null {
    return this.#caller;
  }

  get tenant(): string {
    return this.caller.tenant;
  }

  /** Whether the caller may store skills. */
  get publishes(): boolean {
    return grants(this.caller.scopes, "publish");
  }

  /** The parameters of the URL. */
  get query(): URLSearchParams {
    return new URL(this.request.url).searchParams;
  }

  /** The models and providers that the tenant's calls may name. */
  modelRegistry(): Promise<ModelRegistry> {
    return this.deployment.tenantRules.registryOf(this.tenant, this.background);
  }

  get mockScope(): string {
    return this.request.headers.get("x-hull-mock-scope") ?? "";
  }

  /** @throws BadRequest */
  get bot(): string | null {
    return botOf("x-hull-bot", this.request.headers.get("x-hull-bot"));
  }

  /** Sets the caller; only the guard calls this. */
  admit(caller: Caller): void {
    this.#caller = caller;
    this.log.tenant = caller.tenant;
    if (caller.key_id !== null) this.log.key_id = caller.key_id;
  }

  /** Adds secrets of this request alone, e.g. its own key, or those that a proxy skill put into its call upstream. */
  redactAlso(secrets: Redactor): void {
    this.#secrets.push(secrets);
  }

  /** Redacts a JSON-like value for display or the log. */
  redacted<T>(value: T): T {
    const once = this.settings.eventRedactor.json(value);
    return this.#secrets.reduce((shown, secrets) => secrets.json(shown), once);
  }

  /** Adds ms to one of the measured parts. */
  time(name: TimingName, ms: number): void {
    this.#timings.set(name, (this.#timings.get(name) ?? 0) + ms);
  }

  get traced(): boolean {
    this.#traced ??= isTraced();
    return this.#traced;
  }

  get durationMs(): number {
    return Date.now() - this.startedAt;
  }

  /** Value of `server-timing`: the total and the parts known so far. */
  serverTiming(): string {
    const parts = [...this.#timings].map(([name, ms]) => `${name};dur=${Math.round(ms)}`);
    return [`total;dur=${this.durationMs}`, ...parts].join(", ");
  }

  get timings(): Record<string, number> {
    return Object.fromEntries([...this.#timings].map(([name, ms]) => [`${name}_ms`, Math.round(ms)]));
  }
}
