/** Bindings and settings: the only reader of variables and secrets. */
import * as z from "zod/mini";
import { SettingUnreadable } from "./errors/request.ts";
import { logLine } from "./log.ts";
import type { Mock, MockCall } from "./model/mock/mock.ts";
import { keyVariablesOf, type Layer, layerSchema } from "./model/registry/layer.ts";
import { Redactor, tooShortToRedact } from "./redact.ts";
import { PROVIDER_KEY_VARIABLES, SECRET_VARIABLES } from "./secrets.ts";
import type { SessionRpc } from "./session/conversation/rpc.ts";
import type { LedgerRpc } from "./session/ledger/rpc.ts";
import { parsedJson } from "./skill/json-depth.ts";
import { templateVariables } from "./skill/placeholder.ts";
import { movedSettings, servingSettings } from "./skill/serving-settings.ts";

/** The tenant of callers without a key on a public deployment; everybody can see its data. */
export const PUBLIC_TENANT = "public";

/** The operations of a container's Durable Object that the Worker calls, in addition to forwarding requests. */
export interface RunnerRpc extends Rpc.DurableObjectBranded {
  /** The secret that signs tickets for this container. It is made once and kept in the object's storage. */
  runnerSecret(): Promise<string>;
}

/**
 * The operations of a scope of mocks that the Worker calls. Answers with mocks and calls travel as JSON text: they are
 * stored as text, and the compiler cannot handle the type of an answer with JSON of any depth.
 */
export interface MockRpc extends Rpc.DurableObjectBranded {
  /** Queues a list of mocks; returns the new length of the queue. */
  add(mocks: Mock[]): Promise<number>;
  /** Whether mocks were queued after the scope was last cleared. */
  begun(): boolean;
  /**
   * Records a call, and returns its answer: `Taken` of `src/model/mock/queue.ts`.
   * @param prompt digest of a prompt to cache
   */
  take(call: MockCall, prompt: string | null): Promise<string>;
  /** Recorded calls after number `after`, the number of the last one returned, and whether there are more. */
  calls(limit: number, after: number): { calls: string[]; last: number; more: boolean };
  clear(): void;
}

/** The operations of a tenant's file index that the Worker calls. */
export interface FileIndexRpc extends Rpc.DurableObjectBranded {
  /**
   * Records that R2 may have an object under this key, until this time (Unix ms). Call it before storing anything there.
   * @param uploadId of a multipart upload that has begun
   */
  keep(key: string, expiresAt: number, uploadId: string | null): Promise<void>;
  /** Gives a recorded upload the name that makes it idempotent; returns the earlier upload of that name. */
  claim(key: string, upload: IdempotentUpload): Promise<IdempotentUpload | null>;
  /** Removes the objects of these keys, and all records of them. */
  drop(keys: string[]): Promise<void>;
  /** Forgets these keys: from now on, something else knows their objects. */
  release(keys: string[]): Promise<void>;
}

export interface IdempotentUpload {
  name: string;
  /** SHA-256 (hex) of everything in which two uploads could differ. */
  request_hash: string;
  /** The answer to the first upload. */
  answer: string;
}

/** The bindings of wrangler.toml. Only `readSettings` reads variables and secrets. */
export interface Bindings {
  SKILLS: KVNamespace;
  DB: D1Database;
  FILES: R2Bucket;
  SESSIONS: DurableObjectNamespace<SessionRpc>;
  LEDGER: DurableObjectNamespace<LedgerRpc>;
  FILE_INDEX: DurableObjectNamespace<FileIndexRpc>;
  MOCKS: DurableObjectNamespace<MockRpc>;
  RUNNER: DurableObjectNamespace<RunnerRpc>;
  /** Absent if the plan or wrangler.toml has no Worker Loader; then there are no hooks. */
  LOADER?: WorkerLoader;
  SHIELD: RateLimit;
  /** The files of `assets/`. */
  ASSETS: Fetcher;
  AI?: Ai;
  /** `off`: the container has no internet. Any other value, or none: it has. */
  HULL_RUNNER_EGRESS?: string;
  /** Flags of the container's runner, separated by blanks (`container/options.ts`). */
  HULL_RUNNER_FLAGS?: string;
}

/**
 * A tenant of a deployment. Code that reads or changes what a tenant owns takes one, never a tenant's name beside
 * bindings; each run's context is one.
 */
export interface Owner {
  readonly env: Bindings;
  readonly tenant: string;
}

/** The serving part of hull.toml, as `hull dev` and `hull deploy` pass it in `HULL_CONFIG`. */
const servingConfig = z.lazy(() => {
  const positive = z.int().check(z.positive());
  return z.strictObject({
    ...servingSettings(),
    ...movedSettings(),
    name: z._default(z.string(), "hull"),
    /** Whether only this machine can reach local dev; if so, a caller without a key counts as the developer. */
    loopback: z._default(z.boolean(), true),
    /** The rate per key. Absent: `DEPLOYED_RATE`, or no limit locally; `null`: no limit. */
    rate_limit: z.optional(z.nullable(z.strictObject({ requests: positive, window_s: positive }))),
  });
});

/** The runner's state folder in its image. */
const RUNNER_ROOT = "/var/lib/hull";
/** The rate of a deployment that sets none. */
const DEPLOYED_RATE = { requests: 120, window_s: 60 };

/** One layer alone needs no list. */
const modelLayers = z.lazy(() =>
  z.pipe(
    z.transform((value) => [value].flat()),
    z.array(layerSchema),
  ),
);
const grantsShape = z.lazy(() => z.record(z.string(), z.array(z.string())));

/** One of these words. Its fault quotes the value, which is not a secret. */
const choice = <const T extends string>(words: readonly T[], must: string) =>
  z.enum(words, { error: ({ input }) => `${must}, not ${JSON.stringify(input)}` });

const ADDRESS = "must be an address without a user name, path or query, such as http://127.0.0.1:8080";
const LONG = "must have 32 characters or more";
const SWITCH = "must be 1, true, 0 or false";

const variables = z.lazy(() => {
  const flag = z.pipe(
    z._default(choice(["0", "1", "false", "true", ""], SWITCH), "0"),
    z.transform((v) => v === "1" || v === "true"),
  );
  return z.object({
    /** `local`: `hull dev` started it on loopback. */
    HULL_ENV: z._default(choice(["local", "deployed"], "must be local or deployed"), "deployed"),
    /** The settings of hull.toml; in parts if long. */
    HULL_CONFIG: z._default(z.string(), "{}"),
    /** `[llm]` and `[capabilities]` of skill folders and then of hull.toml, a list; in parts if long. */
    HULL_LLM: z._default(z.string(), "[]"),
    HULL_ADMIN_KEY: z.optional(
      z.string().check(z.refine((key) => key === "" || key.length >= 16, "must have 16 characters or more")),
    ),
    /**
     * The key for publishing to a local Hull that other machines can reach, if it has no `HULL_ADMIN_KEY`; made at each
     * start.
     */
    HULL_DEV_KEY: z.optional(z.string().check(z.minLength(32, LONG))),
    /** Lets callers without a key run things. */
    HULL_PUBLIC: flag,
    /** Which requests get a log line. */
    HULL_LOG: z._default(choice(["requests", "failures"], "must be requests or failures"), "requests"),
    /** Whether log lines contain the spans of their run. */
    HULL_TRACE: flag,
    /** Whether spans contain the inputs and outputs of models and tools. */
    HULL_TRACE_CONTENT: flag,
    /**
     * Id of the catalog that is part of this deployment. It is served until another one is published to the deployment.
     */
    HULL_CATALOG: z.optional(
      z.string().check(z.regex(/^([0-9a-f]{64})?$/, "must be the id of a catalog, 64 hexadecimal digits")),
    ),
    /** Loopback runner; absent: the container binding. */
    HULL_RUNNER_URL: z.optional(z.url(ADDRESS).check(z.regex(/^https?:\/\/[^/?#@\\]+\/?$/i, ADDRESS))),
    /** The runner's state folder, as processes see it. */
    HULL_RUNNER_ROOT: z.optional(
      z.string().check(z.regex(/^\/.*[^/]$/, "must be an absolute path without a slash at its end")),
    ),
    /** Whether processes reach the network. */
    HULL_RUNNER_EGRESS: z.optional(choice(["on", "off", ""], "must be on or off")),
    HULL_RUNNER_SECRET: z.optional(z.string().check(z.minLength(32, LONG))),
    /**
     * Keys that seal secrets of tool configuration, separated by blanks. The first one seals, and each of them can open.
     */
    HULL_SECRET_KEY: z._default(z.string(), ""),
    /** Variables that uploaded skills may read, as JSON: `{"<slug>" or "<tenant>/<slug>": ["NAME", …]}`. */
    HULL_GRANTS: z._default(z.string(), "{}"),
  });
});

type ServingConfig = z.infer<typeof servingConfig>;

export interface Settings extends Omit<ServingConfig, "rate_limit"> {
  /** At most this many requests in any span of this length; `null`: no limit. */
  rate_limit: { requests: number; window_ms: number } | null;
  local: boolean;
  public: boolean;
  /** Whether successful requests get a log line too. */
  logsAll: boolean;
  logsSpans: boolean;
  traceContent: boolean;
  adminKey: string | null;
  devKey: string | null;
  pinnedCatalog: string | null;
  /** The keys in `HULL_SECRET_KEY`. */
  secretKeys: readonly string[];
  /** `root`: its state folder, as processes see it. */
  runner: { origin: string | null; secret: string | null; root: string };
  /** Names of variables by slug, and by `<tenant>/<slug>`. */
  grants: ReadonlyMap<string, readonly string[]>;
  /** The models that skill folders and then hull.toml define in addition to the shipped ones. */
  models: readonly Layer[];
  /** `HULL_PROVIDERS_CONFIG`: definitions below those of `models`, as TOML, or `kv:<key>` if they are stored in KV. */
  providersConfig: string | null;
  /** Variables with provider keys; no process receives one. */
  providerKeys: ReadonlySet<string>;
  /** Adds to `providerKeys`, and their values to the redactors. */
  learnKeys: (names: readonly string[]) => void;
  /** Removes provider keys and Hull's own secrets, also from answers. */
  redactor: Redactor;
  /** For errors, logs and events: also removes what proxy skills send upstream. */
  eventRedactor: Redactor;
  /**
   * Reads one variable or secret by name; an empty value counts as unset. If a variable that Harn has too is not set, it
   * is the one with Harn's name.
   */
  read: (name: string) => string | undefined;
}

/** The settings of a deployment, parsed once. @throws SettingUnreadable */
export function readSettings(env: Bindings): Settings {
  const vars = variables.safeParse(env);
  if (!vars.success) {
    const [issue] = vars.error.issues;
    throw new SettingUnreadable({ variable: String(issue?.path[0]), fault: issue?.message ?? "" });
  }
  const v = vars.data;
  const grants = jsonIn("HULL_GRANTS", v.HULL_GRANTS || "{}", grantsShape);
  const read = variable(env);
  checkModelVariables(read);
  const config = jsonIn("HULL_CONFIG", joined("HULL_CONFIG", v.HULL_CONFIG, read), servingConfig);
  const models = jsonIn("HULL_LLM", joined("HULL_LLM", v.HULL_LLM || "[]", read), modelLayers);
  const secretKeys = v.HULL_SECRET_KEY.split(/\s+/).filter(Boolean);
  // Headers carry a key without the blanks around it.
  const valuesOf = (name: string): string[] => [read(name) ?? "", read(name)?.trim() ?? ""];
  const signing = config.host?.secret_env;
  const named = signing === undefined ? SECRET_VARIABLES : [...SECRET_VARIABLES, signing];
  const servers = Object.values(config.mcp.servers);
  const clientSecrets = templateVariables(servers.flatMap(({ oauth }) => oauth?.client_secret ?? []));
  const secrets = [...[...named, ...clientSecrets].flatMap(valuesOf), ...secretKeys];
  const redactor = new Redactor(secrets);
  const sent = servers.flatMap(({ headers }) => templateVariables(Object.values(headers)));
  const exposed = [...Object.values(grants).flat(), ...sent];
  const eventRedactor = new Redactor([...secrets, ...exposed.flatMap((name) => read(name) ?? [])]);
  const providerKeys = new Set(PROVIDER_KEY_VARIABLES);
  const learnKeys = (names: readonly string[]): void => {
    for (const name of names) providerKeys.add(name);
    const values = names.flatMap(valuesOf);
    redactor.learn(values);
    eventRedactor.learn(values);
  };
  learnKeys(models.flatMap(keyVariablesOf));
  const local = v.HULL_ENV === "local";
  const { rate_limit: rate = local ? null : DEPLOYED_RATE, ...serving } = config;
  return {
    ...serving,
    rate_limit: rate && { requests: rate.requests, window_ms: rate.window_s * 1000 },
    local,
    public: v.HULL_PUBLIC || config.auth === "none",
    logsAll: v.HULL_LOG === "requests",
    logsSpans: v.HULL_TRACE,
    traceContent: v.HULL_TRACE_CONTENT,
    adminKey: v.HULL_ADMIN_KEY || null,
    devKey: v.HULL_DEV_KEY ?? null,
    pinnedCatalog: v.HULL_CATALOG || null,
    secretKeys,
    runner: {
      origin: v.HULL_RUNNER_URL === undefined ? null : new URL(v.HULL_RUNNER_URL).origin,
      secret: v.HULL_RUNNER_SECRET ?? null,
      root: v.HULL_RUNNER_ROOT ?? RUNNER_ROOT,
    },
    grants: new Map(Object.entries(grants)),
    models,
    providersConfig: read("HULL_PROVIDERS_CONFIG") ?? null,
    providerKeys,
    learnKeys,
    redactor,
    eventRedactor,
    read,
  };
}

/** Makes the values of a catalog's variables known to the redactor of errors, logs and events. */
export function learnVariables(known: Settings, variables: readonly string[]): void {
  const names = [...variables, ...SECRET_VARIABLES, ...known.providerKeys];
  const short = known.local ? [] : tooShortToRedact(names, known.read);
  // Names only, for the person who runs the deployment and can fix it.
  if (short.length > 0)
    logLine(known.eventRedactor, { event: "secrets_too_short", variables: short }, "warn");
  known.eventRedactor.learn(variables.flatMap((name) => known.read(name) ?? []));
}

/** Variables that Harn has too, there with `HARN_` for `HULL_`. Another `HARN_X` of somebody's shell has no effect. */
const NAMES_OF_HARN =
  /^HULL_(DEFAULT_PROVIDER|LLM_MODEL|LLM_PROVIDER|LLM_STREAM|LLM_TIMEOUT|PROVIDERS_CONFIG|RATE_LIMIT_.+)$/;

function variable(env: Bindings): (name: string) => string | undefined {
  const own = (name: string): string | undefined => {
    const value: unknown = Reflect.get(env, name);
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const either = (name: string): string | undefined => {
    const value = own(name);
    if (value !== undefined || !NAMES_OF_HARN.test(name)) return value;
    return own(name.replace("HULL", "HARN"));
  };
  // The platform answers slowly, and every model call reads several variables.
  const known = new Map<string, string | undefined>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined || known.has(name)) return found;
    const value = either(name);
    if (known.size < MAX_READ) known.set(name, value);
    return value;
  };
}

/** The most variables to cache; skills and providers may name any number. */
const MAX_READ = 1000;

/** The text itself, or the parts `<name>_1` … of `parts:<n>`: a variable holds at most 5 KB. */
function joined(name: string, text: string, read: Settings["read"]): string {
  const count = /^parts:(\d{1,3})$/.exec(text)?.[1];
  if (count === undefined) return text;
  return Array.from({ length: Number(count) }, (_, i) => read(`${name}_${i + 1}`) ?? "").join("");
}

/** Checks what model calls read later. @throws SettingUnreadable */
function checkModelVariables(read: Settings["read"]): void {
  const check = (variable: string, fits: RegExp, must: string): void => {
    const value = read(variable) ?? "";
    if (value !== "" && !fits.test(value.trim()))
      throw new SettingUnreadable({ variable, fault: `${must}, not ${JSON.stringify(value)}` });
  };
  check("HULL_LLM_STREAM", /^(?:[01]|true|false)$/, SWITCH);
  check("HULL_LLM_TIMEOUT", /^(?=.*[1-9])\d{1,9}(?:\.\d+)?$/, "must be a number of seconds above 0");
}

/** The value of a variable that holds JSON of this shape. @throws SettingUnreadable */
function jsonIn<T>(name: string, text: string, schema: z.ZodMiniType<T>): T {
  const value = parsedJson(text);
  if (value === undefined) throw new SettingUnreadable({ variable: name, fault: "is not JSON" });
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const cause = `does not fit: ${z.prettifyError(parsed.error)}`;
    throw new SettingUnreadable({ variable: name, fault: "has a wrong value; the log says where", cause });
  }
  return parsed.data;
}
