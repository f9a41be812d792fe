/** Checks the variables of a Worker before it starts: whether it can read them, and whether they have an effect. */
import type { ModelRegistry } from "../src/model/registry/definition.ts";
import { variablePrefix } from "../src/model/registry/layer.ts";
import { canonicalProvider } from "../src/model/registry/registry.ts";
import { nearest } from "../src/skill/match.ts";
import { readVariables, variableNames } from "../src/variables.ts";
import { usageError } from "./command.ts";

/** Refuses what the Worker could not read: it would answer 500 to every request. @throws CommandError (exit 2) */
export function checkReadable(variables: Iterable<readonly [name: string, value: string]>): void {
  const read = readVariables(Object.fromEntries(variables));
  if (!("fault" in read)) return;
  const hint = /_KEY$/.test(read.variable)
    ? "Make one with: openssl rand -hex 32"
    : "Correct it where it is set, or remove it there.";
  throw usageError("bad_env_value", `${read.variable} ${read.fault}.`, hint);
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
