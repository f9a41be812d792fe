/**
 * Isolates of Worker Loader (design.md §2.7; https://developers.cloudflare.com/dynamic-workers/): code that is not Hull's
 * own gets no network, no bindings, no variables, and a fixed compatibility date.
 */
import { HooksUnavailable } from "../../errors/hook.ts";
import { HARNESS, HARNESS_NAME, HOOKS_NAME } from "./harness.ts";
import { guardLoops } from "./loop-guard.ts";

/** How the harness is asked. Its answers are the word of code that may be hostile, and are checked. */
export interface HarnessRpc extends Rpc.WorkerEntrypointBranded {
  call(
    name: string,
    payload: string | null,
    timeout: number,
    most: number,
  ): Promise<{ kind: string; text: string; logs: string[] }>;
  exports(timeout: number): Promise<{ names: string[]; fault: string | null }>;
}

/** Behaviour of a stored module must not change when Hull's own date moves. */
const COMPATIBILITY_DATE = "2026-10-20";

export interface IsolateLimits {
  /** The platform enforces no CPU limit, as locally: loops are made to end by other means. */
  guarded: boolean;
  /** Most CPU time in ms, where the platform enforces it. */
  cpuMs: number;
}

/** How many isolates of an id were given up: the next one gets another id. */
const abandoned = new WeakMap<WorkerLoader, Map<string, number>>();

/**
 * The isolate of this id; started when it is first asked for something, unless one is warm.
 * @param source the module's text; asked for only when an isolate starts
 * @throws HooksUnavailable
 */
export function warmIsolate(
  binding: WorkerLoader | undefined,
  id: string,
  source: () => Promise<string>,
  limits: IsolateLimits,
): Fetcher<HarnessRpc> {
  const loader = present(binding);
  const name = `${id}:${abandoned.get(loader)?.get(id) ?? 0}`;
  return entry(
    loader.get(name, async () => codeOf(await source(), limits)),
    limits,
  );
}

/** An isolate for one use. @throws HooksUnavailable */
export function freshIsolate(
  binding: WorkerLoader | undefined,
  source: string,
  limits: IsolateLimits,
): Fetcher<HarnessRpc> {
  return entry(present(binding).load(codeOf(source, limits)), limits);
}

/** Gives up the warm isolate of an id, which may be busy for ever. */
export function abandonIsolate(loader: WorkerLoader, id: string): void {
  const counts = abandoned.get(loader) ?? new Map<string, number>();
  abandoned.set(loader, counts);
  counts.set(id, (counts.get(id) ?? 0) + 1);
}

function present(loader: WorkerLoader | undefined): WorkerLoader {
  if (loader === undefined) throw new HooksUnavailable({});
  return loader;
}

function codeOf(source: string, { guarded }: IsolateLimits): WorkerLoaderWorkerCode {
  return {
    compatibilityDate: COMPATIBILITY_DATE,
    mainModule: HARNESS_NAME,
    modules: { [HARNESS_NAME]: HARNESS, [HOOKS_NAME]: guarded ? guardLoops(source) : source },
    env: {},
    globalOutbound: null,
  };
}

function entry(worker: WorkerStub, { cpuMs }: IsolateLimits): Fetcher<HarnessRpc> {
  return worker.getEntrypoint<HarnessRpc>(undefined, { limits: { cpuMs, subRequests: 0 } });
}
