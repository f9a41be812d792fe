/**
 * The variables of a Worker before it starts: those that hull.toml names, whether the Worker can read them, and whether
 * they have an effect.
 */
import { readMockLines } from "../src/model/mock/read.ts";
import type { ModelRegistry } from "../src/model/registry/definition.ts";
import { variablePrefix } from "../src/model/registry/layer.ts";
import { canonicalProvider } from "../src/model/registry/registry.ts";
import { WEBHOOK_SECRETS } from "../src/secrets.ts";
import { nameMatches } from "../src/skill/glob.ts";
import { nearest } from "../src/skill/match.ts";
import { templateVariables } from "../src/skill/placeholder.ts";
import { settingTemplates } from "../src/skill/serving-settings.ts";
import { readVariables, variableNames } from "../src/variables.ts";
import { usageError } from "./command.ts";

/** Refuses what the Worker could not read: it would answer 500 to every request. @throws CommandError (exit 2) */
export function checkReadable(variables: Iterable<readonly [name: string, value: string]>): void {
  const given = Object.fromEntries(variables);
  checkMocks(given.HULL_LLM_MOCKS ?? "");
  const read = readVariables(given);
  if (!("fault" in read)) return;
  const hint = /_KEY$/.test(read.variable)
    ? "Make one with: openssl rand -hex 32"
    : "Correct it where it is set, or remove it there.";
  throw usageError("bad_env_value", `${read.variable} ${read.fault}.`, hint);
}

/** @param text of `HULL_LLM_MOCKS`. What is in KV, the Worker reads. @throws CommandError (exit 2) */
export function checkMocks(text: string): void {
  const read = text.startsWith("kv:") ? { mocks: [] } : readMockLines(text);
  if (!("faults" in read)) return;
  const faults = read.faults.slice(0, 5).map(({ message }) => message);
  const hint =
    "Each line is one mock as JSON, or the variable names a key in KV: kv:<key>. See docs/testing.md.";
  throw usageError("bad_env_value", `HULL_LLM_MOCKS:\n  ${faults.join("\n  ")}`, hint);
}

/** What the Worker at an address says of settings in KV that it cannot read; `null`: it can, or cannot be reached. */
export async function unreadableInKv(
  url: string,
  variables: ReadonlyMap<string, string>,
): Promise<string | null> {
  const inKv = ["HULL_PROVIDERS_CONFIG", "HARN_PROVIDERS_CONFIG", "HULL_LLM_MOCKS"];
  if (!inKv.some((name) => variables.get(name)?.startsWith("kv:"))) return null;
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(30_000) });
    const { settings }: { settings?: string } = JSON.parse(await response.text());
    return settings ?? null;
  } catch {
    return null;
  }
}

/** The tables of hull.toml that name variables. */
export interface NamingTables {
  mcp?: { servers: Record<string, Parameters<typeof settingTemplates>[0]> } | undefined;
  daemons?: { webhook_secrets?: readonly string[] | undefined } | undefined;
  workspace_tools?: { env?: readonly string[] | undefined } | undefined;
  host_delegate?: { secret_env?: string | undefined } | undefined;
}

/** The variables that tables of hull.toml name. */
export function variablesIn({ mcp, workspace_tools, host_delegate }: NamingTables): Set<string> {
  const { secret_env } = host_delegate ?? {};
  return new Set([
    ...(workspace_tools?.env ?? []),
    ...(secret_env === undefined ? [] : [secret_env]),
    ...templateVariables(Object.values(mcp?.servers ?? {}).flatMap(settingTemplates)),
  ]);
}

/** Whether they name a variable, or have a pattern for it. */
export function namedBy(tables: NamingTables): (variable: string) => boolean {
  const listed = variablesIn(tables);
  const webhooks = tables.daemons?.webhook_secrets ?? WEBHOOK_SECRETS;
  return (name: string): boolean => listed.has(name) || webhooks.some((glob) => nameMatches(glob, name));
}

/** Names with this beginning are Hull's own. */
const OWN = /^HULL_/;
/** Those that commands and their processes read. */
const OF_COMMANDS =
  /^HULL_(?:URL|API_KEY|PORT|WRANGLER|VERSION|IMAGE|TYPED|(?:CONFIG|LLM)_\d+|(?:CLI|RUNNER|WORKER|WORKER_PROCESS)_BUNDLE|SKILL|FOLDER|WORKSPACE|PYTHON_SESSION|EXECUTION_ID|SKILL_DIR|(?:INPUT|OUTPUT)_(?:FILE|DIR)|TOOL_(?:CONFIG|CONTEXT))$/;
const RATE = /^H(?:ULL|ARN)_RATE_LIMIT_(.+)$/;
const PROVIDER = /^H(?:ULL|ARN)_(?:DEFAULT|LLM)_PROVIDER$/;

/**
 * A line for each variable without effect: one of Hull's that Hull does not know, or one that names a provider which the
 * deployment does not have.
 * @param named whether the configuration names a variable
 */
export function variablesWithoutEffect(
  variables: ReadonlyMap<string, string>,
  registry: ModelRegistry,
  named: (variable: string) => boolean = () => false,
): string[] {
  const providers = [...registry.providers.keys()];
  const known = variableNames();
  const prefixes = providers.map(variablePrefix);
  return Array.from(variables).flatMap(([name, value]): string[] => {
    if (value.trim() === "") return [];
    const rated = RATE.exec(name)?.[1];
    if (rated !== undefined)
      return prefixes.includes(rated) ? [] : [lacking(`${name} limits the provider`, rated, prefixes)];
    if (PROVIDER.test(name)) {
      const provider = value.trim();
      const isKnown = provider === "auto" || registry.providers.has(canonicalProvider(registry, provider));
      return isKnown ? [] : [lacking(`${name} names the provider`, provider, providers)];
    }
    if (!OWN.test(name) || OF_COMMANDS.test(name) || known.includes(name) || named(name)) return [];
    const [near] = nearest(name, [...known, "HULL_URL", "HULL_API_KEY", "HULL_PORT"]);
    return [
      `${name} has no effect: Hull has no variable of this name${near === undefined ? "" : `; did you mean ${near}?`}`,
    ];
  });
}

function lacking(what: string, name: string, known: readonly string[]): string {
  const [near] = nearest(name, known);
  return `${what} ${name}, which Hull does not have${near === undefined ? `; it has ${known.join(", ")}` : `; did you mean ${near}?`}`;
}
