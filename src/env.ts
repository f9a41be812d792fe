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
import { keysIn, NAMES_OF_HARN, readVariables } from "./variables.ts";

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
  const variables = readVariables(env);
  if ("fault" in variables) throw new SettingUnreadable(variables);
  const v = variables.values;
  const grants = jsonIn("HULL_GRANTS", v.HULL_GRANTS, grantsShape);
  const read = variable(env);
  const config = jsonIn("HULL_CONFIG", joined("HULL_CONFIG", v.HULL_CONFIG, read), servingConfig);
  const models = jsonIn("HULL_LLM", joined("HULL_LLM", v.HULL_LLM, read), modelLayers);
  const secretKeys = keysIn(v.HULL_SECRET_KEY);
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
    adminKey: v.HULL_ADMIN_KEY ?? null,
    devKey: v.HULL_DEV_KEY ?? null,
    pinnedCatalog: v.HULL_CATALOG ?? null,
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
