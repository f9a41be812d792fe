/** The local Worker of `hull dev`: wrangler dev as a tethered child, or workerd directly (`--direct`). */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandError, EXIT } from "../command.ts";
import { originOf, TYPESCRIPT_FLAGS, WRANGLER } from "./places.ts";
import { Supervised } from "./supervised.ts";
import { envFile } from "./variables.ts";

/** How long the Worker may take until it answers, in ms. */
const START_MS = 60_000;

interface LocalWorkerOptions {
  repoDir: string;
  stateDir: string;
  host: string;
  port: number;
  direct: boolean;
  variables: ReadonlyMap<string, string>;
  onLine: (line: string) => void;
}

export interface LocalWorker {
  url: string;
  stop: () => Promise<void>;
}

export async function startWorker(options: LocalWorkerOptions): Promise<LocalWorker> {
  const stateDir = join(options.stateDir, "worker");
  await mkdir(stateDir, { recursive: true });
  return options.direct ? startWorkerd({ ...options, stateDir }) : startWrangler({ ...options, stateDir });
}

/** workerd without wrangler, in a process that ends with this one. */
async function startWorkerd(options: LocalWorkerOptions): Promise<LocalWorker> {
  const { repoDir, stateDir, host, port, onLine } = options;
  const listening = Promise.withResolvers<string>();
  const input = { repoDir, stateDir, host, port, variables: [...options.variables] };
  const recent: string[] = [];
  const child = new Supervised({
    name: "worker",
    command: process.execPath,
    args: () => [...TYPESCRIPT_FLAGS, join(import.meta.dirname, "direct-process.ts")],
    env: wranglerEnvironment(process.env),
    cwd: repoDir,
    input: `${JSON.stringify(input)}\n`,
    onLine: (line) => {
      const url = listeningUrl(line);
      if (url !== null) return listening.resolve(url);
      keepRecent(recent, line);
      onLine(line);
    },
    onCrash: (code, signal) => onLine(restarting(code, signal)),
  });
  child.start();
  const timer = setTimeout(() => listening.reject(notStarted(`port ${port}`, recent)), START_MS);
  try {
    return { url: await listening.promise, stop: () => child.stop() };
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

/** The last lines, for the report of a start that fails. */
function keepRecent(recent: string[], line: string): void {
  recent.push(line);
  if (recent.length > 40) recent.shift();
}

const restarting = (code: number | null, signal: NodeJS.Signals | null): string =>
  `worker ended (${signal ?? `exit code ${code}`}); starting it again`;

const notStarted = (where: string, recent: readonly string[]): CommandError =>
  new CommandError(
    EXIT.unreachable,
    "worker_not_started",
    `The Worker did not answer on ${where} within ${START_MS / 1000} s.\n${recent.join("\n")}`,
    "Run `hull doctor`.",
  );

async function startWrangler(options: LocalWorkerOptions): Promise<LocalWorker> {
  const { host, port, repoDir, stateDir } = options;
  const variablesFile = join(dirname(stateDir), "worker.env");
  await writeFile(variablesFile, envFile(options.variables), { mode: 0o600 });
  const recent: string[] = [];
  const child = new Supervised({
    name: "wrangler",
    command: process.execPath,
    args: () => [
      ...TYPESCRIPT_FLAGS,
      join(import.meta.dirname, "tether.ts"),
      ...[process.execPath, WRANGLER, "dev", "--local", "--config", join(repoDir, "wrangler.toml")],
      ...["--ip", host, "--port", String(port), "--inspector-port", "0", "--persist-to", stateDir],
      ...["--env-file", variablesFile, "--show-interactive-dev-session=false"],
    ],
    env: wranglerEnvironment(process.env),
    cwd: repoDir,
    onLine: (line) => {
      keepRecent(recent, line);
      options.onLine(line);
    },
    onCrash: (code, signal) => options.onLine(restarting(code, signal)),
  });
  child.start();
  const url = originOf(host, port);
  const stop = async (): Promise<void> => {
    await child.stop();
    await rm(variablesFile, { force: true });
  };
  if (await answers(url)) return { url, stop };
  await stop();
  throw notStarted(url, recent);
}

/** wrangler gets no variable of the developer but those it needs to run; the Worker's are in the env file. */
function wranglerEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const allowed =
    /^(PATH|HOME|USER|SHELL|TERM|LANG|LC_[A-Z]+|TMPDIR|XDG_[A-Z_]+|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS|CI)$/;
  const kept = Object.entries(environment).filter(([name]) => allowed.test(name));
  return { ...Object.fromEntries(kept), WRANGLER_SEND_METRICS: "false", NO_COLOR: "1" };
}

async function answers(url: string): Promise<boolean> {
  const end = Date.now() + START_MS;
  while (Date.now() < end) {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5000) }).catch(() => null);
    await response?.body?.cancel();
    if (response?.ok) return true;
    await sleep(100);
  }
  return false;
}
