/** Which of the developer's variables the local Worker gets, and how. */

import * as z from "zod";
import { installerEnvironment } from "../../container/environment.ts";
import { keyVariablesOf, type Layer } from "../../src/model/registry/layer.ts";
import { PROVIDER_KEY_VARIABLES } from "../../src/secrets.ts";
import { variablesOf } from "../../src/skill/variables.ts";
import { usageError } from "../command.ts";
import { checkReadable, type NamingTables, namedBy } from "../worker-variables.ts";

const PROVIDER_SETTINGS = /^([A-Z0-9_]+_BASE_URL|OLLAMA_HOST|LOCAL_LLM_[A-Z_]+|(HULL|HARN)_[A-Z0-9_]+)$/;

/**
 * Everything of `.env` and `.dev.vars`. From the environment only provider keys and settings, `HULL_*` and `HARN_*`,
 * the variables that the served skills, the configured models and MCP servers name, those that `HULL_GRANTS` gives to
 * uploaded skills, those that may verify signed events or sign calls of the host delegate, and those of the workspace tool
 * Bash. The Worker does not need the rest of a shell's environment.
 * @param models layers of configuration
 */
export function workerVariables(
  files: ReadonlyMap<string, string>,
  environment: NodeJS.ProcessEnv,
  skills: Iterable<Parameters<typeof variablesOf>[0]>,
  models: readonly Layer[],
  tables: NamingTables = {},
): Map<string, string> {
  const configured = namedBy(tables);
  const grants = granted(environment.HULL_GRANTS ?? files.get("HULL_GRANTS"));
  const named = new Set<string>([...files.keys(), ...PROVIDER_KEY_VARIABLES, ...grants]);
  for (const skill of skills) for (const name of variablesOf(skill)) named.add(name);
  for (const layer of models) for (const name of variablesOfLayer(layer)) named.add(name);
  const variables = new Map(files);
  for (const [name, value] of Object.entries(environment)) {
    const wanted = named.has(name) || PROVIDER_SETTINGS.test(name) || configured(name);
    if (value !== undefined && wanted) variables.set(name, value);
  }
  return variables;
}

/** Variables that `hull dev` sets itself, whatever the project says. */
const OWN = new Set([
  "HULL_ENV",
  "HULL_CONFIG",
  "HULL_LLM",
  "HULL_DEV_KEY",
  "HULL_RUNNER_URL",
  "HULL_RUNNER_ROOT",
]);

/**
 * Checks whether each variable reaches the Worker unchanged, and whether the Worker can read it.
 * @param files content of `.env` and `.dev.vars`
 * @param bindings names of wrangler.toml
 * @throws CommandError (exit 2) that names the variable
 */
export function checkVariables(
  variables: ReadonlyMap<string, string>,
  files: ReadonlyMap<string, string>,
  bindings: ReadonlySet<string>,
): void {
  const refuse = (name: string, message: string, hint: string): never => {
    throw usageError("bad_env_value", `${name} ${message}`, hint);
  };
  for (const [name, value] of variables) {
    if (bindings.has(name))
      refuse(name, "is the name of a binding of the Worker.", "Give the variable another name.");
    // Node decodes the environment like this; the reader of a file checks its content itself.
    if (value.includes("\uFFFD") && files.get(name) !== value) {
      refuse(name, "has bytes in the environment that are not UTF-8.", "Set it in UTF-8.");
    }
  }
  checkReadable(Array.from(variables).filter(([name]) => !OWN.has(name)));
}

/** Names that `HULL_GRANTS` gives to uploaded skills; if it is unreadable, the Worker reports it. */
function granted(text: string | undefined): string[] {
  try {
    return Object.values(z.record(z.string(), z.array(z.string())).parse(JSON.parse(text ?? "{}"))).flat();
  } catch {
    return [];
  }
}

/** Variables with the addresses of providers, and their keys. */
function variablesOfLayer(layer: Layer): string[] {
  const providers = Object.values(layer.llm?.providers ?? {});
  return [...keyVariablesOf(layer), ...providers.flatMap(({ base_url_env = [] }) => base_url_env)];
}

/**
 * Environment of the runner: what a shell needs to find programs, the sources of packages, proxies, and its own switch;
 * never a secret of Hull. The runner decides which of it a process sees.
 * @param variables those of the project, which may hold the switch
 */
export const runnerEnvironment = (
  environment: NodeJS.ProcessEnv,
  variables: ReadonlyMap<string, string>,
): NodeJS.ProcessEnv => ({
  ...installerEnvironment(environment),
  TMPDIR: environment.TMPDIR,
  HULL_RUNNER_EGRESS: variables.get("HULL_RUNNER_EGRESS") || undefined,
});
