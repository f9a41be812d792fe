/**
 * Bindings and settings, parsed once per isolate: the only reader of variables and secrets (design.md §3).
 */
import * as z from "zod/mini";
import { Internal } from "./errors.ts";
import { Redactor } from "./redact.ts";
import { SECRET_VARIABLES } from "./secrets.ts";
import type { ExecutionRpc } from "./session/execution/rpc.ts";

/** What the Worker asks of a container's Durable Object beside passing requests on. */
export interface RunnerRpc extends Rpc.DurableObjectBranded {
  /** The secret that tickets for this container are signed with; made once, kept in the object's storage. */
  runnerSecret(): Promise<string>;
}

/** What the Worker asks of a ledger. */
export interface LedgerRpc extends Rpc.DurableObjectBranded {
  /** Counts a request of a caller and answers 0; where the rate is used up, the ms until one is let through. */
  countRequest(subject: string, rate: { requests: number; window_ms: number }): number;
  /**
   * Takes one of `limit` slots for `ttlMs` and answers 0; where all are taken, the seconds to wait before another try.
   * The same id again is the same slot.
   */
  takeSlot(id: string, limit: number, ttlMs: number): number;
  /** Prolongs a slot that is still held. */
  renewSlot(id: string, ttlMs: number): void;
  releaseSlot(id: string): void;
}

/** What wrangler.toml binds. Variables and secrets are read through `settings` and `variable` only. */
export interface Bindings {
  SKILLS: KVNamespace;
  DB: D1Database;
  FILES: R2Bucket;
  SESSIONS: DurableObjectNamespace;
  EXECUTIONS: DurableObjectNamespace<ExecutionRpc>;
  LEDGER: DurableObjectNamespace<LedgerRpc>;
  RUNNER: DurableObjectNamespace<RunnerRpc>;
  LOADER: WorkerLoader;
  SHIELD: RateLimit;
  /** The files of `assets/`. */
  ASSETS: Fetcher;
  AI?: Ai;
  /** `off`: the container has no internet. Any other value, or none: it has. */
  HULL_RUNNER_EGRESS?: string;
  /** Flags of the container's runner, with blanks between them (`container/options.ts`). */
  HULL_RUNNER_FLAGS?: string;
}

/** The serving part of hull.toml, as `hull dev` and `hull deploy` hand it over in `HULL_CONFIG`. Sizes in bytes. */
const servingConfig = z.lazy(() => {
  const texts = z._default(z.array(z.string()), []);
  const positive = z.int().check(z.positive());
  return z.strictObject({
    name: z._default(z.string(), "hull"),
    cors_origins: texts,
    allowed_hosts: texts,
    allowed_origins: texts,
    auth: z._default(z.enum(["keys", "none"]), "keys"),
    max_body_bytes: z._default(positive, 52_428_800),
    max_output_bytes: z._default(positive, 104_857_600),
    grace_ms: z._default(z.int().check(z.nonnegative()), 2000),
    /** Local dev on loopback serves its own names only. */
    pin_hosts: z._default(z.boolean(), true),
    /** Per key. Absent: `DEPLOYED_RATE`, none locally; `null`: none. */
    rate_limit: z.optional(z.nullable(z.strictObject({ requests: positive, window_s: positive }))),
  });
});

/** The rate of a deployment that sets none (serving.md §7). */
const DEPLOYED_RATE = { requests: 120, window_s: 60 };

const variables = z.lazy(() => {
  const flag = z.pipe(
    z._default(z.enum(["0", "1", "false", "true", ""]), "0"),
    z.transform((v) => v === "1" || v === "true"),
  );
  return z.object({
    /** `local`: started by `hull dev` on loopback. */
    HULL_ENV: z._default(z.enum(["local", "deployed"]), "deployed"),
    HULL_CONFIG: z._default(z.string(), "{}"),
    HULL_ADMIN_KEY: z.optional(z.string().check(z.minLength(16))),
    /** Serve without keys although deployed. */
    HULL_PUBLIC: flag,
    /** Which requests get a log line. */
    HULL_LOG: z._default(z.enum(["requests", "failures"]), "requests"),
    /** Whether log lines hold the spans of their run. */
    HULL_TRACE: flag,
    /** Whether spans hold what models and tools were given and said. */
    HULL_TRACE_CONTENT: flag,
    /** Id of the catalog that this deployment came with: served until another is published to it. */
    HULL_CATALOG: z.optional(z.string().check(z.regex(/^([0-9a-f]{64})?$/))),
    /** Loopback runner; absent: the container binding. */
    HULL_RUNNER_URL: z.optional(z.url()),
    HULL_RUNNER_SECRET: z.optional(z.string().check(z.minLength(32))),
  });
});

export type ServingConfig = z.infer<typeof servingConfig>;

export interface Settings extends Omit<ServingConfig, "rate_limit"> {
  /** So many requests in any span of this length; `null`: no limit. */
  rate_limit: { requests: number; window_ms: number } | null;
  local: boolean;
  public: boolean;
  /** Whether requests that succeed get a log line too. */
  logsAll: boolean;
  logsSpans: boolean;
  traceContent: boolean;
  adminKey: string | null;
  pinnedCatalog: string | null;
  runner: { url: string | null; secret: string | null };
  redactor: Redactor;
  /** Reads one variable or secret by name; an empty value counts as unset. */
  read: (name: string) => string | undefined;
}

const cache = new WeakMap<object, Settings>();

/** The parsed settings of this isolate. */
export function settings(env: Bindings): Settings {
  const known = cache.get(env);
  if (known !== undefined) return known;
  const vars = variables.safeParse(env);
  if (!vars.success) throw new Internal({ cause: `settings: ${z.prettifyError(vars.error)}` });
  const config = servingConfig.safeParse(parseJson(vars.data.HULL_CONFIG));
  if (!config.success) throw new Internal({ cause: `HULL_CONFIG: ${z.prettifyError(config.error)}` });
  const v = vars.data;
  const read = variable(env);
  const secrets = SECRET_VARIABLES.flatMap((name) => read(name) ?? []);
  const local = v.HULL_ENV === "local";
  const { rate_limit: rate = local ? null : DEPLOYED_RATE, ...serving } = config.data;
  const parsed: Settings = {
    ...serving,
    rate_limit: rate && { requests: rate.requests, window_ms: rate.window_s * 1000 },
    local,
    public: v.HULL_PUBLIC || config.data.auth === "none",
    logsAll: v.HULL_LOG === "requests",
    logsSpans: v.HULL_TRACE,
    traceContent: v.HULL_TRACE_CONTENT,
    adminKey: v.HULL_ADMIN_KEY ?? null,
    pinnedCatalog: v.HULL_CATALOG || null,
    runner: { url: v.HULL_RUNNER_URL ?? null, secret: v.HULL_RUNNER_SECRET ?? null },
    redactor: new Redactor(secrets),
    read,
  };
  cache.set(env, parsed);
  return parsed;
}

function variable(env: Bindings): (name: string) => string | undefined {
  return (name) => {
    const value: unknown = Reflect.get(env, name);
    return typeof value === "string" && value !== "" ? value : undefined;
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Internal({ cause: "HULL_CONFIG is not JSON" });
  }
}
