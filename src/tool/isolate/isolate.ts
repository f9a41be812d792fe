/**
 * Isolates of Worker Loader: code that is not Hull's
 * own gets no bindings, a fixed compatibility date, and of network and variables what its caller names.
 */

/** Behaviour of a stored module must not change when Hull's own date moves. */
const COMPATIBILITY_DATE = "2026-10-20";

export interface IsolateLimits {
  /** Most CPU time in ms, where the platform enforces it. */
  cpuMs: number;
  /** Most requests to the outside, RPC of the harness included. */
  subRequests: number;
}

export interface IsolateCode {
  main: string;
  /** Texts of ES modules by name. */
  modules: Record<string, string>;
  env: Record<string, string>;
  /** `null`: no network. */
  outbound: Fetcher | null;
  /** Whether modules of Node are there, and a private `/tmp`. */
  node: boolean;
}

/** The isolates of a deployment. */
export class Isolates {
  readonly #loader: WorkerLoader;
  /** How many isolates of an id were given up: the next one gets another id. */
  readonly #abandoned = new Map<string, number>();

  constructor(loader: WorkerLoader) {
    this.#loader = loader;
  }

  /**
   * The isolate of this id; started when it is first asked for something, unless one is warm.
   * @param code asked for only when an isolate starts
   */
  warm<T extends Rpc.WorkerEntrypointBranded>(
    id: string,
    code: () => Promise<IsolateCode>,
    limits: IsolateLimits,
  ): Fetcher<T> {
    return this.#loader
      .get(`${id}:${this.#abandoned.get(id) ?? 0}`, async () => workerCode(await code()))
      .getEntrypoint<T>(undefined, { limits: { ...limits } });
  }

  /** An isolate for one use. */
  fresh<T extends Rpc.WorkerEntrypointBranded>(code: IsolateCode, limits: IsolateLimits): Fetcher<T> {
    return this.#loader.load(workerCode(code)).getEntrypoint<T>(undefined, { limits: { ...limits } });
  }

  /** Gives up the warm isolate of an id, which may be busy for ever. */
  abandon(id: string): void {
    this.#abandoned.set(id, (this.#abandoned.get(id) ?? 0) + 1);
  }
}

function workerCode({ main, modules, env, outbound, node }: IsolateCode): WorkerLoaderWorkerCode {
  const js = Object.entries(modules).map(([name, text]) => [name, { js: text }] as const);
  return {
    compatibilityDate: COMPATIBILITY_DATE,
    ...(node ? { compatibilityFlags: ["nodejs_compat"] } : {}),
    mainModule: main,
    modules: Object.fromEntries(js),
    env,
    globalOutbound: outbound,
  };
}

export type IsolateOutcome =
  | { by: "answer"; value: unknown }
  | { by: "error"; message: string }
  | { by: "time" }
  | { by: "signal" };

/** Waits for whichever comes first; what comes later is nobody's business. */
export async function withinTime(
  work: Promise<unknown>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<IsolateOutcome> {
  const { promise, resolve } = Promise.withResolvers<IsolateOutcome>();
  const timer = setTimeout(resolve, timeoutMs, { by: "time" });
  const onAbort = () => resolve({ by: "signal" });
  signal?.addEventListener("abort", onAbort, { once: true });
  work.then(
    (value) => resolve({ by: "answer", value }),
    (error: unknown) => resolve({ by: "error", message: faultText(error) }),
  );
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Whether the platform ended an isolate for its use of CPU. */
export const overCpu = (message: string): boolean => /exceeded CPU time limit/i.test(message);

/** What the platform says of an isolate that broke, without the words around it. */
function faultText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text
    .replace(/^Failed to start Worker:\s*/, "")
    .replace(/^Uncaught\s+/, "")
    .replace(/\s*\n\s*/g, " ");
}
