/**
 * Capability rules that a tenant installed at run time: stored in D1, cached per isolate for seconds. They apply to the
 * tenant's own calls, never to the execution of a served skill.
 */

import * as z from "zod/mini";
import CAPABILITY_RULES from "../../../migrations/0003_capability_rules.sql?raw";
import { jsonColumn, Tables } from "../../database.ts";
import type { Bindings } from "../../env.ts";
import type { Background } from "../../log.ts";
import { type CacheEntry, RecentMap, usable } from "../../recent.ts";
import type { ModelRegistry } from "./definition.ts";
import { type CapabilityTables, capabilityTables } from "./layer.ts";
import type { DeploymentModels } from "./load.ts";
import { mergeModelRegistry } from "./registry.ts";

const AGES = { refresh: 5000, expire: 30_000 };
/** Cached tenants per isolate. */
const MAX_TENANTS = 2000;

interface Known extends CacheEntry {
  registry: ModelRegistry;
}

export class TenantRules {
  readonly #tables: Tables;
  readonly #models: DeploymentModels;
  readonly #known = new RecentMap<string, Known>(MAX_TENANTS);

  constructor({ DB }: Bindings, models: DeploymentModels) {
    this.#tables = new Tables(DB, CAPABILITY_RULES);
    this.#models = models;
  }

  /** The deployment's model registry with the tenant's rules on top. */
  async registryOf(tenant: string, background: Background): Promise<ModelRegistry> {
    const read = (): Promise<ModelRegistry> => this.#read(tenant);
    const known = usable(this.#known.get(tenant), AGES, read, background);
    return known === undefined ? read() : known.registry;
  }

  /** Replaces the tenant's earlier rules. Takes effect in this isolate immediately, elsewhere within seconds. */
  async install(tenant: string, rules: CapabilityTables): Promise<void> {
    await this.#tables.run(
      "INSERT OR REPLACE INTO capability_rules (tenant, rules, updated_at) VALUES (?, ?, ?)",
      [tenant, JSON.stringify(rules), new Date().toISOString()],
    );
    this.#known.delete(tenant);
    await this.#remember(tenant, rules, Date.now());
  }

  /** Removes the tenant's rules. */
  async clear(tenant: string): Promise<void> {
    await this.#tables.run("DELETE FROM capability_rules WHERE tenant = ?", [tenant]);
    this.#known.delete(tenant);
    await this.#remember(tenant, null, Date.now());
  }

  async #read(tenant: string): Promise<ModelRegistry> {
    const readAt = Date.now();
    const statement = "SELECT rules FROM capability_rules WHERE tenant = ?";
    const row = await this.#tables.first(rowShape, statement, [tenant]);
    return this.#remember(tenant, row?.rules ?? null, readAt);
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

const rowShape = z.lazy(() => z.object({ rules: z.pipe(jsonColumn(), capabilityTables) }));
