/**
 * Capability rules that a tenant installed at run time: kept in D1, remembered per isolate for
 * seconds. They count for the tenant's own calls, never for how a served skill is carried out.
 */
import * as z from "zod/mini";
import { databaseWith } from "../../database.ts";
import type { Bindings, Settings } from "../../env.ts";
import type { ModelRegistry } from "./definition.ts";
import { type CapabilityTables, capabilityTables } from "./layer.ts";
import { loadModelRegistry, modelRegistryOf } from "./load.ts";
import { mergeModelRegistry } from "./registry.ts";
import { CAPABILITY_RULES_SCHEMA } from "./rules-schema.ts";

/** Age in ms up to which what was read is used; then it is read again in the background. */
const FRESH_MS = 5000;
/** Age in ms from which a call waits for what D1 says now. */
const STALE_MS = 30_000;
/** Remembered tenants per isolate. */
const MAX_TENANTS = 2000;

interface Known {
  registry: ModelRegistry;
  /** Unix ms. */
  readAt: number;
  refreshing: boolean;
}

const memories = new WeakMap<Settings, Map<string, Known>>();

interface TenantContext {
  env: Bindings;
  settings: Settings;
  /** Keeps a promise alive after the answer. */
  background: (work: Promise<unknown>) => void;
}

/** The deployment's model registry with the tenant's rules upon it. */
export async function tenantModelRegistry(context: TenantContext, tenant: string): Promise<ModelRegistry> {
  const known = memoryOf(context.settings).get(tenant);
  const age = known === undefined ? Number.POSITIVE_INFINITY : Date.now() - known.readAt;
  if (known === undefined || age >= STALE_MS) return read(context, tenant);
  if (age >= FRESH_MS && !known.refreshing) {
    known.refreshing = true;
    context.background(read(context, tenant).catch(() => {}));
  }
  return known.registry;
}

/** Replaces what the tenant installed before. Takes effect in this isolate at once, elsewhere within seconds. */
export async function installRules(
  context: TenantContext,
  tenant: string,
  rules: CapabilityTables,
): Promise<void> {
  const db = await database(context.env);
  await db
    .prepare("INSERT OR REPLACE INTO capability_rules (tenant, rules, updated_at) VALUES (?, ?, ?)")
    .bind(tenant, JSON.stringify(rules), new Date().toISOString())
    .run();
  memoryOf(context.settings).delete(tenant);
  await remember(context, tenant, rules, Date.now());
}

/** Removes what the tenant installed. */
export async function clearRules(context: TenantContext, tenant: string): Promise<void> {
  const db = await database(context.env);
  await db.prepare("DELETE FROM capability_rules WHERE tenant = ?").bind(tenant).run();
  memoryOf(context.settings).delete(tenant);
  await remember(context, tenant, null, Date.now());
}

async function read(context: TenantContext, tenant: string): Promise<ModelRegistry> {
  const readAt = Date.now();
  const db = await database(context.env);
  const row: unknown = await db
    .prepare("SELECT rules FROM capability_rules WHERE tenant = ?")
    .bind(tenant)
    .first("rules");
  return remember(context, tenant, row === null ? null : storedRules.parse(row), readAt);
}

async function remember(
  context: TenantContext,
  tenant: string,
  rules: CapabilityTables | null,
  readAt: number,
): Promise<ModelRegistry> {
  const { settings, env } = context;
  const base = modelRegistryOf(settings) ?? (await loadModelRegistry(settings, env));
  const registry = rules === null ? base : mergeModelRegistry(base, { capabilities: rules });
  const memory = memoryOf(settings);
  const known = memory.get(tenant);
  // Read before something was installed here: that is newer.
  if (known !== undefined && known.readAt > readAt) return known.registry;
  memory.delete(tenant);
  const oldest = memory.size >= MAX_TENANTS ? memory.keys().next().value : undefined;
  if (oldest !== undefined) memory.delete(oldest);
  memory.set(tenant, { registry, readAt, refreshing: false });
  return registry;
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

function memoryOf(settings: Settings): Map<string, Known> {
  let memory = memories.get(settings);
  if (memory === undefined) {
    memory = new Map();
    memories.set(settings, memory);
  }
  return memory;
}
