/** The local Worker of `hull dev`: by wrangler, or workerd directly (`--direct`). */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { TYPESCRIPT_FLAGS } from "./paths.ts";
import { keepRecent, notStarted, Supervised } from "./supervised.ts";
import type { WorkerInput, WorkerOptions } from "./worker-options.ts";
import { bindingsOf } from "./wrangler-toml.ts";

/** Time limit for the Worker's first answer, in ms. */
const START_MS = 60_000;

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
  const listening = Promise.withResolvers<string>();
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
  const recent: string[] = [];
  let crashed = false;
  const child = new Supervised({
    name: "worker",
    command: process.execPath,
    args: () => program,
    env: workerEnvironment(process.env),
    cwd: repoDir,
    input: `${JSON.stringify(input)}\n`,
    // A workerd that outlives the process would use the same objects as the next one.
    endsGroup: true,
    onLine: (line) => {
      const url = listeningUrl(line);
      if (url !== null) {
        listening.resolve(url);
        if (crashed) onRestarted?.();
        return;
      }
      keepRecent(recent, line);
      onLine(line);
    },
    onCrash: (code, signal) => {
      crashed = true;
      onLine(restarting(code, signal));
    },
  });
  child.start();
  const timer = setTimeout(
    () => listening.reject(notStarted("Worker", `did not answer on port ${port}`, START_MS, recent)),
    START_MS,
  );
  try {
    const url = await listening.promise;
    return { url, stop: () => child.stop() };
  } catch (error) {
    await child.stop();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function listeningUrl(line: string): string | null {
  return /^\{"event":"listening","url":"([^"]+)"\}$/.exec(line)?.[1] ?? null;
}

const restarting = (code: number | null, signal: NodeJS.Signals | null): string =>
  `worker ended (${signal ?? `exit code ${code}`}); starting it again`;

/**
 * The process gets only those variables of the developer that it needs to run. wrangler's own pages, which read and
 * write the database without a key, are switched off.
 */
function workerEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const allowed =
    /^(PATH|HOME|USER|SHELL|TERM|LANG|LC_[A-Z]+|TMPDIR|XDG_[A-Z_]+|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|CI)$/;
  const kept = Object.entries(environment).filter(([name]) => allowed.test(name));
  return {
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
