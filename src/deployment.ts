/**
 * What an isolate keeps while it serves. Everything that outlives a request is kept here, so its lifetime is that of the
 * environment from which it was read.
 */
import { EndedSignIns } from "./auth/ended-sign-ins.ts";
import { KnownKeys } from "./auth/known-keys.ts";
import { ListSeal } from "./auth/list-seal.ts";
import { SignIns } from "./auth/sign-in.ts";
import { type Bindings, readSettings, type Settings } from "./env.ts";
import { CatalogMissing } from "./errors/request.ts";
import { type Background, logFault } from "./log.ts";
import type { KnownModels } from "./model/choices.ts";
import { ConfiguredMocks } from "./model/mock/deployment.ts";
import type { ModelRegistry } from "./model/registry/definition.ts";
import { DeploymentModels } from "./model/registry/load.ts";
import { TenantRules } from "./model/registry/tenant-rules.ts";
import { type CacheEntry, RecentMap } from "./recent.ts";
import { BlobCache } from "./registry/blob-cache.ts";
import { type LoadedCatalog, SkillRegistry } from "./registry/published.ts";
import { TenantCatalogs } from "./registry/tenant-catalog.ts";
import { Sealer } from "./registry/tool-config/seal.ts";
import { RowCollector } from "./row-collector.ts";
import { IsolateNames } from "./run/handler/isolate-names.ts";
import { Metrics } from "./run/metrics.ts";
import type { IndexRow } from "./session/index-row.ts";
import type { Charge, Policy } from "./session/ledger/rpc.ts";
import { Isolates } from "./tool/isolate/isolate.ts";
import type { Dialect, ListedTool } from "./tool/mcp/client.ts";
import type { RunnerCircuit } from "./tool/runner-circuit.ts";

/** A tenant's budgets and rates. */
interface KnownPolicy extends CacheEntry {
  policy: Policy;
}

/** Usage of one tenant that the ledger has not received yet. */
interface UsageBatch {
  id: string;
  charges: Map<string, Charge>;
  /** Unix ms. */
  collectedSince: number;
}

/** The last list of an MCP server's tools. */
interface KnownServer {
  tools: readonly ListedTool[];
  /** Characters of the tools as JSON. */
  size: number;
  dialect: Dialect;
  /** Unix ms. */
  at: number;
}

/** The access token for an MCP server, as this isolate last knew it. */
interface KnownToken {
  /** `null`: nobody has logged in. */
  token: string | null;
  /** When a new one is needed, when this one was issued, and when the isolate asked for it; Unix ms. */
  renew_at: number;
  obtained_at: number;
  at: number;
}

/** Most characters of all lists of MCP servers' tools together; an isolate has 128 MB. */
const MAX_LISTS = 8 * 1024 * 1024;

export class Deployment {
  readonly env: Bindings;
  /** Settings, and the redactors, which know every secret variable. */
  readonly settings: Settings;
  readonly models: DeploymentModels;
  readonly tenantRules: TenantRules;
  readonly mocks: ConfiguredMocks;
  readonly registry: SkillRegistry;
  readonly catalogs: TenantCatalogs;
  readonly keys: KnownKeys;
  /** From which the deployment derives keys of its own; `null`: it has none. */
  readonly secret: string | null;
  readonly signIns: SignIns;
  readonly endedSignIns: EndedSignIns;
  /** Signs cursors of lists, so that each is valid for its own list only. */
  readonly listSeal: ListSeal;
  readonly sealer: Sealer;
  /** `null` if the deployment has no Worker Loader. */
  readonly isolates: Isolates | null;
  readonly isolateNames = new IsolateNames();
  readonly metrics = new Metrics();
  /** Local dev: by the name of a run, what ends the work of its request after the client has left. */
  readonly clients = new RecentMap<string, () => void>(1000);
  /** What ends a call of `POST /mcp`, by the client's session and request. */
  readonly mcpCalls = new RecentMap<string, () => void>(1000);
  readonly knownModels = new WeakMap<ModelRegistry, KnownModels>();
  /** By tenant. */
  readonly policies = new RecentMap<string, KnownPolicy>(5000);
  /** Usage by tenant; one request may send what another one collected. */
  readonly usage = new Map<string, UsageBatch>();
  /** Rows on their way to the lists of sessions and runs. */
  readonly indexRows = new RowCollector<IndexRow>((rows, error) => {
    const tenants = [...new Set(rows.map(({ tenant }) => tenant))];
    logFault(this.settings.eventRedactor, { event: "rows_not_stored", rows: rows.length, tenants }, error);
  });
  /** MCP servers by address and headers. */
  readonly mcpServers = new RecentMap<string, KnownServer>(200, { most: MAX_LISTS, of: ({ size }) => size });
  /** By server of hull.toml and its address. */
  readonly mcpTokens = new RecentMap<string, KnownToken>(200);
  /** Keys that sign tickets, by runner. */
  readonly ticketKeys = new Map<string, CryptoKey>();
  /** By the same names. */
  readonly runnerCircuits = new Map<string, RunnerCircuit>();
  /** Callers that the ledger refused, with the time in Unix ms until which it will refuse them. */
  readonly refusals = new RecentMap<string, number>(1000);
  /** Prompts, by tenant and digest, that the provider `mock` received for caching. */
  readonly mockPrompts = new RecentMap<string, true>(1000);
  /** Digests of assembled skills, by tenant and stored version; a version never changes. */
  readonly assembled = new RecentMap<string, string>(1000);
  /** Contents of workspaces that file tools have read, by their keys in R2, each of which is written only once. */
  readonly contents = new BlobCache();
  /** SHA-256 of skills' zips, by the skill's version. */
  readonly zipDigests = new RecentMap<string, string>(2000);
  /** When this isolate last removed what `/v1` no longer needs, in Unix ms. */
  sweptAt = 0;
  /** The OpenAPI document of the last tenant that requested it. */
  openapi: { catalog: LoadedCatalog; bytes: Uint8Array } | null = null;
  #open = false;

  /** @throws Internal for unreadable variables */
  constructor(env: Bindings) {
    this.env = env;
    this.settings = readSettings(env);
    this.models = new DeploymentModels(env, this.settings);
    this.tenantRules = new TenantRules(env, this.models);
    this.mocks = new ConfiguredMocks(env, this.settings);
    this.registry = new SkillRegistry(env, this.settings);
    this.catalogs = new TenantCatalogs(env, this.registry);
    this.keys = new KnownKeys(env, this.settings.adminKey);
    this.secret = this.settings.secretKeys[0] ?? this.settings.adminKey;
    this.signIns = new SignIns(this.secret);
    this.endedSignIns = new EndedSignIns(env);
    this.listSeal = new ListSeal(this.secret);
    this.sealer = new Sealer(this.settings.secretKeys);
    this.isolates = env.LOADER === undefined ? null : new Isolates(env.LOADER);
  }

  /** Whether every secret variable is known. Code that answers requests waits for `open` first. */
  get isOpen(): boolean {
    return this.#open;
  }

  /**
   * Reads what names secret variables, since an answer sent before that would pass a redactor that does not know them.
   * If a read fails, the next request tries again, and code that needs the content fails by itself. Simultaneous
   * requests each read for themselves, since one request may not wait for another's read.
   */
  async open(background: Background): Promise<void> {
    this.#open = await this.learnSecrets(background).then(
      () => true,
      () => false,
    );
  }

  /**
   * Reads the provider file and the published catalog, if there is one. Both name secret variables, so no process and no
   * handler may get variables before.
   * @throws SettingUnreadable CatalogUnreadable
   */
  async learnSecrets(background: Background): Promise<ModelRegistry> {
    const published = this.registry.catalog(background).catch(CatalogMissing.orNull);
    const [models] = await Promise.all([this.models.registry(), published]);
    return models;
  }
}

/** The only state of a module: the runtime passes the same environment to the Worker and to its objects. */
const deployments = new WeakMap<Bindings, Deployment>();

/**
 * The deployment of an environment. A request, an object and a schedule all call this when the runtime starts them.
 * @throws Internal
 */
export function deploymentOf(env: Bindings): Deployment {
  const known = deployments.get(env) ?? new Deployment(env);
  deployments.set(env, known);
  return known;
}
