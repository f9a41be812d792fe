/** Which of the developer's variables reach the local Worker, and how (serving.md §4.1, contract.md "Rulings"). */

import * as z from "zod";
import { keyVariablesOf, type Layer } from "../../src/model/catalogue/layer.ts";
import { PROVIDER_KEY_VARIABLES, WEBHOOK_SECRETS } from "../../src/secrets.ts";
import type { Manifest } from "../../src/skill/manifest.ts";
import { templateVariables } from "../../src/skill/placeholder.ts";
import { variablesOf } from "../../src/skill/variables.ts";

const PROVIDER_SETTINGS = /^([A-Z0-9_]+_BASE_URL|OLLAMA_HOST|LOCAL_LLM_[A-Z_]+|(HULL|HARN)_[A-Z0-9_]+)$/;

/**
 * Everything of `.env` and `.dev.vars`; of the environment only provider keys and settings, `HULL_*` and `HARN_*`, what
 * the served skills, the configured models and MCP servers name, what `HULL_GRANTS` gives to uploaded skills, and what signed
 * events may be checked with. The rest of a shell's environment is none of the Worker's business.
 * @param models layers of configuration
 * @param servers the MCP servers of hull.toml, whose headers name variables
 * @param webhooks globs over the variables of signed events
 */
export function workerVariables(
  files: ReadonlyMap<string, string>,
  environment: NodeJS.ProcessEnv,
  manifests: Iterable<Manifest>,
  models: readonly Layer[],
  servers: readonly { headers: Record<string, string> }[] = [],
  webhooks: readonly string[] = WEBHOOK_SECRETS,
): Map<string, string> {
  const grants = granted(environment.HULL_GRANTS ?? files.get("HULL_GRANTS"));
  const named = new Set<string>([...files.keys(), ...PROVIDER_KEY_VARIABLES, ...grants]);
  for (const manifest of manifests) for (const name of variablesOf(manifest)) named.add(name);
  for (const layer of models) for (const name of variablesOfLayer(layer)) named.add(name);
  for (const { headers } of servers) {
    for (const name of templateVariables(Object.values(headers))) named.add(name);
  }
  const variables = new Map(files);
  const signs = new RegExp(`^(${webhooks.map(expression).join("|") || "(?!)"})$`);
  for (const [name, value] of Object.entries(environment)) {
    const wanted = named.has(name) || PROVIDER_SETTINGS.test(name) || signs.test(name);
    if (value !== undefined && wanted) variables.set(name, value);
  }
  return variables;
}

/** A glob as a regular expression. */
const expression = (glob: string): string => glob.replace(/[^\w*]/g, "\\$&").replaceAll("*", ".*");

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

/** Environment of the runner: what a shell needs to find programs, and its own switch; never a secret. */
export function runnerEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const allowed =
    /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|TZ|LC_[A-Z]+|TMPDIR|HULL_RUNNER_EGRESS)$/;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => allowed.test(name)));
}

/** An env file that wrangler reads back exactly: each value in quotes that it does not contain. */
export function envFile(variables: ReadonlyMap<string, string>): string {
  const lines: string[] = [];
  for (const [name, value] of variables) {
    const quote = ["'", "`", '"'].find((q) => !value.includes(q));
    if (quote !== undefined) lines.push(`${name}=${quote}${value}${quote}`);
  }
  return `${lines.join("\n")}\n`;
}
