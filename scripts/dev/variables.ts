/** Which of the developer's variables reach the local Worker, and how. */

import * as z from "zod";
import { keyVariablesOf, type Layer } from "../../src/model/registry/layer.ts";
import { PROVIDER_KEY_VARIABLES, WEBHOOK_SECRETS } from "../../src/secrets.ts";
import { nameMatches } from "../../src/skill/glob.ts";
import { templateVariables } from "../../src/skill/placeholder.ts";
import { variablesOf } from "../../src/skill/variables.ts";
import { CommandError, EXIT } from "../command.ts";

const PROVIDER_SETTINGS = /^([A-Z0-9_]+_BASE_URL|OLLAMA_HOST|LOCAL_LLM_[A-Z_]+|(HULL|HARN)_[A-Z0-9_]+)$/;

/**
 * Everything of `.env` and `.dev.vars`; of the environment only provider keys and settings, `HULL_*` and `HARN_*`, what
 * the served skills, the configured models and MCP servers name, what `HULL_GRANTS` gives to uploaded skills, and what signed
 * events may be checked with. The rest of a shell's environment is none of the Worker's business.
 * @param models layers of configuration
 * @param servers the MCP servers of hull.toml, whose headers name variables
 * @param webhooks globs over the variables of signed events
 * @param commands names of variables that the workspace tool Bash sees
 */
export function workerVariables(
  files: ReadonlyMap<string, string>,
  environment: NodeJS.ProcessEnv,
  skills: Iterable<Parameters<typeof variablesOf>[0]>,
  models: readonly Layer[],
  servers: readonly { headers: Record<string, string> }[] = [],
  webhooks: readonly string[] = WEBHOOK_SECRETS,
  commands: readonly string[] = [],
): Map<string, string> {
  const grants = granted(environment.HULL_GRANTS ?? files.get("HULL_GRANTS"));
  const named = new Set<string>([...files.keys(), ...PROVIDER_KEY_VARIABLES, ...grants, ...commands]);
  for (const skill of skills) for (const name of variablesOf(skill)) named.add(name);
  for (const layer of models) for (const name of variablesOfLayer(layer)) named.add(name);
  for (const { headers } of servers) {
    for (const name of templateVariables(Object.values(headers))) named.add(name);
  }
  const variables = new Map(files);
  for (const [name, value] of Object.entries(environment)) {
    const wanted =
      named.has(name) || PROVIDER_SETTINGS.test(name) || webhooks.some((glob) => nameMatches(glob, name));
    if (value !== undefined && wanted) variables.set(name, value);
  }
  return variables;
}

/** Fewest characters of `HULL_ADMIN_KEY`; the Worker does not start to serve with less. */
const MIN_ADMIN_KEY = 16;

/**
 * Looks whether the Worker can get each variable exactly as it is.
 * @param files what `.env` and `.dev.vars` say
 * @param bindings names of wrangler.toml
 * @throws CommandError (exit 2) that names the variable
 */
export function checkVariables(
  variables: ReadonlyMap<string, string>,
  files: ReadonlyMap<string, string>,
  bindings: ReadonlySet<string>,
): void {
  const refuse = (name: string, message: string, hint: string): never => {
    throw new CommandError(EXIT.usage, "bad_env_value", `${name} ${message}`, hint);
  };
  for (const [name, value] of variables) {
    if (bindings.has(name))
      refuse(name, "is the name of a binding of the Worker.", "Give the variable another name.");
    // Node reads the environment so; what a file holds is looked at where it is read.
    if (value.includes("\uFFFD") && files.get(name) !== value) {
      refuse(name, "has bytes in the environment that are not UTF-8.", "Set it in UTF-8.");
    }
  }
  const key = variables.get("HULL_ADMIN_KEY") ?? "";
  if (key !== "" && key.length < MIN_ADMIN_KEY) {
    refuse(
      "HULL_ADMIN_KEY",
      `has fewer than ${MIN_ADMIN_KEY} characters.`,
      "Make one by: openssl rand -hex 32",
    );
  }
}

/** Names that `HULL_GRANTS` gives to uploaded skills; where it cannot be read, the Worker says so. */
function granted(text: string | undefined): string[] {
  try {
    return Object.values(z.record(z.string(), z.array(z.string())).parse(JSON.parse(text ?? "{}"))).flat();
  } catch {
    return [];
  }
}

/** Where providers are, and their keys. */
function variablesOfLayer(layer: Layer): string[] {
  const providers = Object.values(layer.llm?.providers ?? {});
  return [...keyVariablesOf(layer), ...providers.flatMap(({ base_url_env = [] }) => base_url_env)];
}

/**
 * Environment of the runner: what a shell needs to find programs, where packages come from, proxies, and its own switch;
 * never a secret of Hull's. Which of it a process sees is the runner's to say.
 */
export function runnerEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const allowed =
    /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|TZ|LC_[A-Z]+|TMPDIR|HULL_RUNNER_EGRESS)$/;
  const forInstaller = /^(PIP_\w+|(https?|no|all)_proxy|SSL_CERT_(FILE|DIR))$/i;
  const entries = Object.entries(environment);
  return Object.fromEntries(entries.filter(([name]) => allowed.test(name) || forInstaller.test(name)));
}
