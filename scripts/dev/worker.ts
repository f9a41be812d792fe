/** The local Worker of `hull dev`: by wrangler, or workerd directly (`--direct`). */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { TYPESCRIPT_FLAGS } from "./paths.ts";
import { Supervised } from "./supervised.ts";
import { bindingsOf, type WranglerConfig } from "./wrangler-toml.ts";

export interface WorkerOptions {
  /** Where wrangler.toml and the sources are. */
  repoDir: string;
  /** The content of wrangler.toml. */
  config: WranglerConfig;
  host: string;
  port: number;
  /** Folder of the persistent state. */
  stateDir: string;
  variables: ReadonlyMap<string, string>;
  onLine: (line: string) => void;
}

/**
 * The shape of the first line, which `startWorker` of the same code writes. Checking it with zod would take longer than
 * the rest.
 */
export interface WorkerInput extends Omit<WorkerOptions, "variables" | "onLine"> {
  /** A folder with the Worker's modules, for workerd; `null`: wrangler bundles and serves them. */
  bundle: string | null;
  variables: [name: string, value: string][];
}

/** A Worker that serves. */
export interface StartedWorker {
  url: string;
  /** Calls its `scheduled` handler, as the cron trigger does in a deployment. */
  scheduled: (cron: string) => Promise<unknown>;
  stop: () => Promise<void>;
}

interface LocalWorkerOptions extends Omit<WorkerOptions, "config"> {
  /** The folder of the Worker's modules if workerd is started directly; `null`: wrangler serves it. */
  bundle: string | null;
  /** Called when it listens again after a crash. */
  onRestarted?: () => void;
}

export interface LocalWorker {
  url: string;
  stop: () => Promise<void>;
}

/**
 * Starts the Worker in a process that ends with this one, and restarts it after a crash.
 * @throws CommandError (exit 4) if it does not answer in time
 */
export async function startWorker(options: LocalWorkerOptions): Promise<LocalWorker> {
  const { repoDir, host, port, bundle, onLine, onRestarted } = options;
  const stateDir = join(options.stateDir, "worker");
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const config = await bindingsOf(repoDir);
  const variables = [...options.variables];
  const input: WorkerInput = { repoDir, config, stateDir, host, port, variables, bundle };
  // The tests bundle it once for all servers that they start. Started from compiled code, it would spend a tenth of its start
  // on collecting V8's first, small young generation.
  const made = process.env.HULL_WORKER_PROCESS_BUNDLE;
  const program =
    made === undefined
      ? [...TYPESCRIPT_FLAGS, join(import.meta.dirname, "worker-process.ts")]
      : ["--min-semi-space-size=8", made];
  const child = new Supervised({
    name: "Worker",
    failure: `did not answer on port ${port}`,
    args: () => program,
    env: workerEnvironment(process.env),
    cwd: repoDir,
    input: `${JSON.stringify(input)}\n`,
    // A workerd that outlives the process would use the same objects as the next one.
    endsGroup: true,
    listening: /^\{"event":"listening","url":"([^"]+)"\}$/,
    onLine,
    onRestarted,
  });
  return { url: await child.start(), stop: () => child.stop() };
}

/**
 * The process gets only those variables of the developer that it needs to run. wrangler's own pages, which read and
 * write the database without a key, are switched off.
 */
function workerEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const allowed =
    /^(PATH|HOME|USER|SHELL|TERM|LANG|LC_[A-Z]+|TMPDIR|XDG_[A-Z_]+|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA|NODE_COMPILE_CACHE|CI|(https?|no)_proxy|(HTTPS?|NO)_PROXY)$/;
  const kept = Object.entries(environment).filter(([name]) => allowed.test(name));
  return {
    // workerd gets it from miniflare, and reads no variable itself.
    ...(environment.SSL_CERT_FILE === undefined ? {} : { NODE_EXTRA_CA_CERTS: environment.SSL_CERT_FILE }),
    ...Object.fromEntries(kept),
    // miniflare copies the 55 MB that it sends to workerd again and again. On a Linux that provides large pages, this
    // saves half the page faults of a start.
    GLIBC_TUNABLES: "glibc.malloc.hugetlb=1",
    X_LOCAL_EXPLORER: "false",
    X_LOCAL_OBSERVABILITY: "false",
    WRANGLER_SEND_METRICS: "false",
    NO_COLOR: "1",
  };
}
