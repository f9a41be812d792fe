/** Which of the developer's variables reach the local Worker, and how (serving.md §4.1, contract.md "Rulings"). */

import { PROVIDER_KEY_VARIABLES } from "../../src/secrets.ts";
import type { Manifest } from "../../src/skill/manifest.ts";
import { proxyVariables } from "../../src/skill/placeholder.ts";

const PROVIDER_SETTINGS = /^([A-Z0-9_]+_BASE_URL|OLLAMA_HOST|LOCAL_LLM_[A-Z_]+|HULL_[A-Z0-9_]+)$/;

/**
 * Everything of `.env` and `.dev.vars`; of the environment only provider keys and settings, `HULL_*`, and what the
 * served skills name. The rest of a shell's environment is none of the Worker's business.
 */
export function workerVariables(
  files: ReadonlyMap<string, string>,
  environment: NodeJS.ProcessEnv,
  manifests: Iterable<Manifest>,
): Map<string, string> {
  const named = new Set<string>([...files.keys(), ...PROVIDER_KEY_VARIABLES]);
  for (const manifest of manifests) for (const name of variablesOf(manifest)) named.add(name);
  const variables = new Map(files);
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && (named.has(name) || PROVIDER_SETTINGS.test(name))) variables.set(name, value);
  }
  return variables;
}

/** Names that a skill reads from the Worker's variables. */
function variablesOf(manifest: Manifest): string[] {
  const { proxy, tool_env } = manifest;
  return proxy === undefined ? tool_env : [...tool_env, ...proxyVariables(proxy)];
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
