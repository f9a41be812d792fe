/**
 * Capability rules that a tenant installed at run time: stored in D1, cached per isolate for seconds. They apply to the
 * tenant's own calls, never to the execution of a served skill.
 */
import * as z from "zod/mini";
import { databaseWith } from "../../database.ts";
import type { Bindings } from "../../env.ts";
import { RecentMap } from "../../recent.ts";
import type { ModelRegistry } from "./definition.ts";
import { type CapabilityTables, capabilityTables } from "./layer.ts";
import type { DeploymentModels } from "./load.ts";
import { mergeModelRegistry } from "./registry.ts";

/** The table of capability rules that tenants install (docs/storage-schema.md). */
export const CAPABILITY_RULES_SCHEMA = [
  `CREATE TABLE IF NOT EXISTS capability_rules (
  tenant TEXT PRIMARY KEY,
  rules TEXT NOT NULL,
  updated_at TEXT NOT NULL
)`,
] as const;

/** Up to this age in ms, rules are used as they are; older rules are used and read again in the background. */
const FRESH_MS = 5000;
/** From this age in ms on, a call waits until the rules have been read again from D1. */
const STALE_MS = 30_000;
/** Cached tenants per isolate. */
const MAX_TENANTS = 2000;

interface Known {
  registry: ModelRegistry;
  /** Unix ms. */
  readAt: number;
  refreshing: boolean;
}

type Background = (work: Promise<unknown>) => void;

export class TenantRules {
  readonly #env: Bindings;
  readonly #models: DeploymentModels;
  readonly #known = new RecentMap<string, Known>(MAX_TENANTS);

  constructor(env: Bindings, models: DeploymentModels) {
    this.#env = env;
    this.#models = models;
  }

  /**
   * The deployment's model registry with the tenant's rules on top.
   * @param background keeps a promise alive after the answer
   */
  async registryOf(tenant: string, background: Background): Promise<ModelRegistry> {
    const known = this.#known.get(tenant);
    const age = known === undefined ? Number.POSITIVE_INFINITY : Date.now() - known.readAt;
    if (known === undefined || age >= STALE_MS) return this.#read(tenant);
    if (age >= FRESH_MS && !known.refreshing) {
      known.refreshing = true;
      background(this.#read(tenant).catch(() => {}));
    }
    return known.registry;
  }

  /** Replaces the tenant's earlier rules. Takes effect in this isolate immediately, elsewhere within seconds. */
  async install(tenant: string, rules: CapabilityTables): Promise<void> {
    const db = await database(this.#env);
    await db
      .prepare("INSERT OR REPLACE INTO capability_rules (tenant, rules, updated_at) VALUES (?, ?, ?)")
      .bind(tenant, JSON.stringify(rules), new Date().toISOString())
      .run();
    this.#known.delete(tenant);
    await this.#remember(tenant, rules, Date.now());
  }

  /** Removes the tenant's rules. */
  async clear(tenant: string): Promise<void> {
    const db = await database(this.#env);
    await db.prepare("DELETE FROM capability_rules WHERE tenant = ?").bind(tenant).run();
    this.#known.delete(tenant);
    await this.#remember(tenant, null, Date.now());
  }

  async #read(tenant: string): Promise<ModelRegistry> {
    const readAt = Date.now();
    const db = await database(this.#env);
    const row: unknown = await db
      .prepare("SELECT rules FROM capability_rules WHERE tenant = ?")
      .bind(tenant)
      .first("rules");
    return this.#remember(tenant, row === null ? null : storedRules.parse(row), readAt);
  }

  async #remember(tenant: string, rules: CapabilityTables | null, readAt: number): Promise<ModelRegistry> {
    const base = await this.#models.registry();
    const registry = rules === null ? base : mergeModelRegistry(base, { capabilities: rules });
    const known = this.#known.get(tenant);
    // Newer rules were installed here after this read began.
    if (known !== undefined && known.readAt > readAt) return known.registry;
    this.#known.set(tenant, { registry, readAt, refreshing: false });
    return registry;
  }
}

const storedRules = z.lazy(() =>
  z.pipe(
    z.pipe(
      z.string(),
      z.transform((text): unknown => JSON.parse(text)),
    ),
    capabilityTables,
  ),
);

const database = ({ DB }: Bindings): Promise<D1Database> => databaseWith(DB, CAPABILITY_RULES_SCHEMA);
