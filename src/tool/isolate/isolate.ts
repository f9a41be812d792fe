/**
 * Isolates of Worker Loader: foreign code gets no bindings, a fixed compatibility date, and only the network and
 * variables that its caller names.
 */

/** A stored module must behave the same when Hull's own date moves. */
const COMPATIBILITY_DATE = "2026-10-20";

/**
 * How often an id gets another warm isolate. Then each of its calls has one of its own: workerd keeps a named isolate for as
 * long as it runs, about 2 MB each, so that code which always hangs would fill its memory.
 */
const MAX_REPLACED = 10;
/** Most ids whose isolates Hull remembers as abandoned. */
const MAX_ABANDONED = 1000;

export interface IsolateLimits {
  /** The most CPU time in ms, if the platform enforces it. */
  cpuMs: number;
  /** The most requests to the outside, including RPC of the harness. */
  subRequests: number;
}

export interface IsolateCode {
  main: string;
  /** Texts of ES modules by name. */
  modules: Record<string, string>;
  env: Record<string, string>;
  /** `null`: no network. */
  outbound: Fetcher | null;
  /** Whether the isolate has modules of Node, and a private `/tmp`. */
  node: boolean;
}

/** The isolates of a deployment. */
export class Isolates {
  readonly #loader: WorkerLoader;
  /** By id, the number of the isolate that replaces the last abandoned one, and how many were abandoned. */
  readonly #abandoned = new Map<string, { number: number; times: number }>();
  /** The number of the isolates of all other ids. */
  #others = 0;
  /** How many isolates were abandoned. */
  #count = 0;

  constructor(loader: WorkerLoader) {
    this.#loader = loader;
  }

  /**
   * The isolate of this id; it starts on first use, unless one is warm. `null`: one for one use.
   * @param code called only when an isolate starts
   */
  async of<T extends Rpc.WorkerEntrypointBranded>(
    id: string | null,
    code: () => IsolateCode | Promise<IsolateCode>,
    limits: IsolateLimits,
  ): Promise<Fetcher<T>> {
    const stub =
      id === null
        ? this.#loader.load(workerCode(await code()))
        : this.#loader.get(this.#nameOf(id), async () => workerCode(await code()));
    return stub.getEntrypoint<T>(undefined, { limits: { ...limits } });
  }

  #nameOf(id: string): string | null {
    const { number, times } = this.#abandoned.get(id) ?? { number: this.#others, times: 0 };
    return times > MAX_REPLACED ? null : `${id}:${number}`;
  }

  /** Abandons the warm isolate of an id, which may be busy for ever. */
  abandon(id: string): void {
    const times = (this.#abandoned.get(id)?.times ?? 0) + 1;
    this.#abandoned.set(id, { number: ++this.#count, times });
    if (this.#abandoned.size <= MAX_ABANDONED) return;
    // Nobody knows any longer which isolates may be busy, so that every id starts another one.
    this.#abandoned.clear();
    this.#others = this.#count;
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

/** Waits for the work, the time limit or the signal, whichever comes first; ignores what comes later. */
export async function withinTime(
  work: Promise<unknown>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<IsolateOutcome> {
  const { promise, resolve } = Promise.withResolvers<IsolateOutcome>();
  const timer = setTimeout(resolve, timeoutMs, { by: "time" });
  const onAbort = () => resolve({ by: "signal" });
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
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

/** The parts of a harness's short answer; `null`: it is none. */
export function answerParts(value: unknown): { kind: string; text: string } | null {
  if (typeof value !== "string") return null;
  const end = value.indexOf("\n");
  return end === -1 ? null : { kind: value.slice(0, end), text: value.slice(end + 1) };
}

/** Whether the platform ended an isolate because of its CPU use. */
export const overCpu = (message: string): boolean => /exceeded CPU time limit/i.test(message);

/** The platform's message about a broken isolate, without its fixed wording. */
function faultText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text
    .replace(/^Failed to start Worker:\s*/, "")
    .replace(/^Uncaught\s+/, "")
    .replace(/(?<!\s)\s*\n\s*/g, " ");
}
