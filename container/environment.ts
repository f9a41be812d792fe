/** Computes the exact environment of a process. */
import { PROVIDER_KEY_VARIABLES } from "../src/secrets.ts";
import type { ExecutionSpec } from "../src/tool/protocol.ts";
import { Refused } from "./refusal.ts";
import type { Scratch } from "./scratch.ts";

/** Variables that processes inherit from the runner's environment, with every `LC_*`; no others. */
const INHERITED = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ"];

export type Environment = Record<string, string>;

/** The part that is the same for every process; computed once at start-up. */
export function inheritedEnvironment(source: NodeJS.ProcessEnv): Environment {
  const names = [...INHERITED, ...Object.keys(source).filter((name) => name.startsWith("LC_"))];
  const environment: Environment = {};
  for (const name of names) {
    const value = source[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/** What the installer of packages gets in addition: the addresses of packages, and how to reach them. */
const INSTALLER =
  /^(?:PIP_\w+|(?:https?|no|all)_proxy|SSL_CERT_(?:FILE|DIR)|(?:REQUESTS|CURL)_CA_BUNDLE|GIT_SSL_CAINFO)$/i;

/** Inherited by the installer's process. */
export function installerEnvironment(source: NodeJS.ProcessEnv): Environment {
  const entries = Object.entries(source).flatMap(([name, value]): [string, string][] =>
    value !== undefined && INSTALLER.test(name) ? [[name, value]] : [],
  );
  return { ...inheritedEnvironment(source), ...Object.fromEntries(entries) };
}

/**
 * Refuses names that no process may get from outside: provider keys and Hull's own.
 * @param withheld keys of providers that Hull does not ship
 * @throws Refused 400, naming the variable and never its value
 */
export function checkOptedIn(environment: Record<string, string>, withheld: readonly string[] = []): void {
  const keys = [...PROVIDER_KEY_VARIABLES, ...withheld];
  for (const name of Object.keys(environment)) {
    if (keys.includes(name) || name.startsWith("HULL_") || name.startsWith("HUSK_")) {
      throw new Refused("bad_request", `The variable ${name} may not be passed to a process.`);
    }
  }
}

/** `inputFile`: absolute path of the first uploaded file of `input.mode: file`, else null. */
export function processEnvironment(
  inherited: Environment,
  spec: ExecutionSpec,
  { cwd, bundle, workspace }: { cwd: string; bundle: string; workspace: { dir: string } | null },
  scratch: Scratch,
  inputFile: string | null,
): Environment {
  const environment: Environment = { ...inherited, ...spec.env };
  environment.PWD = cwd;
  environment.TMPDIR = environment.TMP = environment.TEMP = scratch.dir;
  const both = (name: string, value: string | null | undefined): void => {
    if (value === null || value === undefined) return;
    environment[`HULL_${name}`] = value;
    environment[`HUSK_${name}`] = value;
  };
  both("INPUT_FILE", inputFile);
  both("INPUT_MIME", spec.input.mime);
  both("INPUT_FILENAME", spec.input.filename === undefined ? null : plainName(spec.input.filename));
  both("OUTPUT_FILE", scratch.outputFile);
  both("OUTPUT_DIR", scratch.outputDir);
  if (workspace !== null) {
    environment.HULL_WORKSPACE = workspace.dir;
    environment.HULL_SKILL_DIR = bundle;
  }
  environment.HULL_INPUT_DIR = scratch.inputDir;
  environment.HULL_EXECUTION_ID = spec.id;
  environment.HULL_SKILL = spec.skill;
  return environment;
}

/** A client's file name without separators and control characters: safe as one path segment and in the environment. */
export function plainName(name: string): string {
  const plain = name.replace(/[/\\\u0000-\u001f\u007f]/g, "_");
  return plain === "" || plain === "." || plain === ".." ? "_" : plain;
}
