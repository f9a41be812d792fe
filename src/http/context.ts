/** What one HTTP request carries with it: ids, settings, timings and the fields of its log line. */
import type { Context, Hono } from "hono";
import { type Bindings, type Settings, settings } from "../env.ts";
import type { Redactor } from "../redact.ts";
import type { RunContext, TimingName } from "../run/context.ts";

export class RequestContext implements RunContext {
  readonly env: Bindings;
  readonly settings: Settings;
  readonly request: Request;
  /** The client's own id where it sent a sane one, else made up; on every response. */
  readonly requestId: string;
  /** Unix ms. */
  readonly startedAt = Date.now();
  /** Keeps work alive after the response. */
  readonly background: (work: Promise<unknown>) => void;
  /** Fields of the request's log line. */
  readonly log: Record<string, unknown> = {};
  /** Settles when the answer is complete; later than the response itself where that is a stream. */
  finished: Promise<unknown> = Promise.resolve();
  readonly #timings = new Map<TimingName, number>();
  #secrets: Redactor | null = null;

  constructor(request: Request, env: Bindings, background: (work: Promise<unknown>) => void) {
    this.request = request;
    this.env = env;
    this.settings = settings(env);
    this.background = background;
    const sent = request.headers.get("x-request-id") ?? "";
    this.requestId = /^[A-Za-z0-9._-]{8,128}$/.test(sent) ? sent : crypto.randomUUID();
  }

  /** Secrets of this request alone, e.g. those that a proxy skill put into its call upstream. */
  redactAlso(secrets: Redactor): void {
    this.#secrets = secrets;
  }

  /** A JSON-like value as it may be shown or logged. */
  redacted(value: unknown): unknown {
    const once = this.settings.redactor.json(value);
    return this.#secrets === null ? once : this.#secrets.json(once);
  }

  /** Adds to one of the measured parts, in ms. */
  time(name: TimingName, ms: number): void {
    this.#timings.set(name, (this.#timings.get(name) ?? 0) + ms);
  }

  get durationMs(): number {
    return Date.now() - this.startedAt;
  }

  /** Value of `server-timing`: the total and what is known of the parts by now. */
  serverTiming(): string {
    const parts = [...this.#timings].map(([name, ms]) => `${name};dur=${Math.round(ms)}`);
    return [`total;dur=${this.durationMs}`, ...parts].join(", ");
  }

  get timings(): Record<string, number> {
    return Object.fromEntries([...this.#timings].map(([name, ms]) => [`${name}_ms`, Math.round(ms)]));
  }
}

export interface AppTypes {
  Bindings: Bindings;
  Variables: { context: RequestContext };
}
export type App = Hono<AppTypes>;
export type AppContext = Context<AppTypes>;
