/** The local runner of `hull dev`: started with a new secret, watched, and stopped. */
import { cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { HullConfig } from "../config.ts";
import { runnerFlags } from "../serving-config.ts";
import { buildCached } from "./build-cache.ts";
import { randomSecret } from "./random-secret.ts";
import { runnerFolder } from "./runner-folder.ts";
import { Supervised } from "./supervised.ts";
import { runnerEnvironment } from "./variables.ts";
import { inputsOf } from "./worker-bundle.ts";

const PROGRAM = "runner.cjs";
/** How long a stopped server waits for work in progress, in ms: shorter than a deployment, since a developer waits. */
const DEV_DRAIN_MS = 2000;

/** A small young generation keeps the runner small; a smaller one would cost each execution several collections. */
const NODE_FLAGS = ["--max-semi-space-size=4"];

/**
 * Bundles the runner into one file, as its image does, because it then starts faster and uses less memory. Copies the
 * programs in other languages next to it. Returns the absolute paths of the source files, and of the folder of these
 * programs.
 */
export async function bundleRunner(repoDir: string, outfile: string): Promise<string[]> {
  // Loaded only to bundle: most starts use a cached file.
  const { build } = await import("esbuild");
  const { metafile } = await build({
    // By default, this is the folder of the process, which may no longer exist.
    absWorkingDir: repoDir,
    entryPoints: [join(repoDir, "container", "main.ts")],
    outfile,
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    metafile: true,
    logLevel: "error",
  });
  const sources = join(repoDir, "container", "programs");
  const programs = join(dirname(outfile), "programs");
  await rm(programs, { recursive: true, force: true });
  await cp(sources, programs, { recursive: true });
  const names = await readdir(sources, { recursive: true });
  return [...inputsOf(metafile, repoDir), sources, ...names.map((name) => join(sources, name))];
}

/** The runner's single file, cached or made in `dir`. The tests make it once for all servers that they start. */
async function runnerBundle(repoDir: string, dir: string): Promise<string> {
  const made = process.env.HULL_RUNNER_BUNDLE;
  if (made !== undefined) return made;
  const folder = await buildCached("runner", dir, (to) => bundleRunner(repoDir, join(to, PROGRAM)));
  return join(folder, PROGRAM);
}

export interface LocalRunner {
  url: string;
  secret: string;
  /** Its state folder, as processes see it. */
  root: string;
  pid: () => number | undefined;
  stop: () => Promise<void>;
}

interface LocalRunnerOptions {
  repoDir: string;
  stateDir: string;
  config: HullConfig["runner"];
  /** Those of the project. */
  variables: ReadonlyMap<string, string>;
  onLine: (line: string) => void;
}

/** Starts the runner on a free port of loopback; after a crash it restarts on the same port. */
export async function startRunner(options: LocalRunnerOptions): Promise<LocalRunner> {
  const { config, repoDir } = options;
  await mkdir(options.stateDir, { recursive: true, mode: 0o700 });
  const root = await runnerFolder(options.stateDir);
  const secret = randomSecret();
  const secretFile = join(options.stateDir, "runner.secret");
  await writeFile(secretFile, secret, { mode: 0o600 });
  const program = await runnerBundle(repoDir, join(options.stateDir, "runner-bundle"));
  let port = "0";
  const supervised = new Supervised({
    name: "runner",
    failure: "did not start",
    args: () => [
      ...NODE_FLAGS,
      program,
      "--port",
      port,
      "--host",
      "127.0.0.1",
      "--state",
      root,
      "--secret-file",
      secretFile,
      ...runnerFlags({ ...config, drain_ms: Math.min(config.drain_ms, DEV_DRAIN_MS) }),
      "--exit-with-parent",
    ],
    env: runnerEnvironment(process.env, options.variables),
    cwd: repoDir,
    listening: /^\{"event":"listening","port":(\d+)\}$/,
    onLine: options.onLine,
  });
  port = await supervised.start();
  const stop = async (): Promise<void> => {
    await supervised.stop();
    await rm(secretFile, { force: true });
  };
  return { url: `http://127.0.0.1:${port}`, secret, root, pid: () => supervised.pid, stop };
}
