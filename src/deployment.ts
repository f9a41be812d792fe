/**
 * What an isolate knows while it serves. Everything that is kept from one request to the next is kept here, so that it comes and
 * goes with the environment that it was read from.
 */
import { KnownKeys } from "./auth/known-keys.ts";
import { ListSeal } from "./auth/list-seal.ts";
import { SignIns } from "./auth/sign-in.ts";
import { type Bindings, readSettings, type Settings } from "./env.ts";
import { CatalogMissing } from "./errors/request.ts";
import { ConfiguredMocks } from "./model/mock/deployment.ts";
import { DeploymentModels } from "./model/registry/load.ts";
import { TenantRules } from "./model/registry/tenant-rules.ts";
import { RecentMap } from "./recent.ts";
import { BlobCache } from "./registry/blob-cache.ts";
import { type LoadedCatalog, SkillRegistry } from "./registry/published.ts";
import { TenantCatalogs } from "./registry/tenant-catalog.ts";
import { Sealer } from "./registry/tool-config/seal.ts";
import { IsolateNames } from "./run/handler/isolate-names.ts";
import { Metrics } from "./run/metrics.ts";
import type { Charge, Policy } from "./session/ledger/rpc.ts";
import type { RunEntry } from "./session/run-entry.ts";
import { Isolates } from "./tool/isolate/isolate.ts";
import type { Dialect, ListedTool } from "./tool/mcp/client.ts";

/** A tenant's budgets and rates. */
interface KnownPolicy {
  policy: Policy;
  /** When it was asked for, by this isolate's clock. */
  askedAt: number;
  refreshing: boolean;
}

/** Usage of one tenant that the ledger has not been told yet. */
interface UsageBatch {
  id: string;
  charges: Map<string, Charge>;
  /** Unix ms. */
  collectedSince: number;
}

/** What an MCP server listed last. */
interface KnownServer {
  tools: readonly ListedTool[];
  dialect: Dialect;
  /** Unix ms. */
  at: number;
}

export class Deployment {
  readonly env: Bindings;
  /** Settings, and the redactors, which know every variable that is secret. */
  readonly settings: Settings;
  readonly models: DeploymentModels;
  readonly tenantRules: TenantRules;
  readonly mocks: ConfiguredMocks;
  readonly registry: SkillRegistry;
  readonly catalogs: TenantCatalogs;
  readonly keys: KnownKeys;
  readonly signIns: SignIns;
  /** Binds cursors of lists. */
  readonly listSeal: ListSeal;
  readonly sealer: Sealer;
  /** `null`: there is no Worker Loader. */
  readonly isolates: Isolates | null;
  readonly isolateNames = new IsolateNames();
  readonly metrics = new Metrics();
  /** By tenant. */
  readonly policies = new RecentMap<string, KnownPolicy>(5000);
  /** By tenant; what one request notes another one may send. */
  readonly usage = new Map<string, UsageBatch>();
  /** Calls that the index of runs is to be told of, and since when (Unix ms) somebody collects them. */
  readonly notedRuns: { waiting: { tenant: string; run: RunEntry }[]; collectedSince: number | null } = {
    waiting: [],
    collectedSince: null,
  };
  /** MCP servers by address and headers. */
  readonly mcpServers = new RecentMap<string, KnownServer>(200);
  /** Keys that tickets are signed with, by runner. */
  readonly ticketKeys = new Map<string, CryptoKey>();
  /** Callers that the ledger refused, with the time in Unix ms until which it goes on refusing them. */
  readonly refusals = new RecentMap<string, number>(1000);
  /** Prompts, by tenant and digest, that the provider `mock` was sent to be cached. */
  readonly mockPrompts = new RecentMap<string, true>(1000);
  /** Digests of assembled skills, by tenant and stored version; a version never changes. */
  readonly assembled = new RecentMap<string, string>(1000);
  /** Contents of workspaces that file tools have read, by their keys in R2, each of which is written once. */
  readonly contents = new BlobCache();
  /** SHA-256 of skills' zips, by the skill's version. */
  readonly zipDigests = new RecentMap<string, string>(2000);
  /** When this isolate last removed what `/v1` no longer needs, in Unix ms. */
  sweptAt = 0;
  /** The OpenAPI document of the tenant that asked last. */
  openapi: { catalog: LoadedCatalog; bytes: Uint8Array } | null = null;
  #open = false;

  /** @throws Internal for variables that cannot be read */
  constructor(env: Bindings) {
    this.env = env;
    this.settings = readSettings(env);
    this.models = new DeploymentModels(env, this.settings);
    this.tenantRules = new TenantRules(env, this.models);
    this.mocks = new ConfiguredMocks(env, this.settings);
    this.registry = new SkillRegistry(env, this.settings);
    this.catalogs = new TenantCatalogs(env, this.registry);
    this.keys = new KnownKeys(env, this.settings.adminKey);
    const secret = this.settings.secretKeys[0] ?? this.settings.adminKey;
    this.signIns = new SignIns(secret);
    this.listSeal = new ListSeal(secret);
    this.sealer = new Sealer(this.settings.secretKeys);
    this.isolates = env.LOADER === undefined ? null : new Isolates(env.LOADER);
  }

  /** Whether every variable that is secret is known. Whoever serves waits for `open` before. */
  get isOpen(): boolean {
    return this.#open;
  }

  /**
   * Reads the provider file and the published catalog, which name secret variables: what left before would pass a redactor that
   * does not know them. What cannot be read is tried again by the next one who serves; whoever needs it fails by itself. Those
   * who come at once each read for themselves, since one request may not wait for what another one reads.
   * @param background keeps a promise alive after the answer
   */
  async open(background: (work: Promise<unknown>) => void): Promise<void> {
    const [models, catalog] = await Promise.allSettled([
      this.models.registry(),
      this.registry.catalog(background),
    ]);
    const unpublished = catalog.status === "rejected" && catalog.reason instanceof CatalogMissing;
    this.#open = models.status === "fulfilled" && (catalog.status === "fulfilled" || unpublished);
  }
}

/** The one thing that a module remembers: the runtime hands the same environment to the Worker and to its objects. */
const deployments = new WeakMap<Bindings, Deployment>();

/** The deployment of an environment, for what the runtime starts: a request, an object, a schedule. @throws Internal */
export function deploymentOf(env: Bindings): Deployment {
  const known = deployments.get(env) ?? new Deployment(env);
  deployments.set(env, known);
  return known;
}
