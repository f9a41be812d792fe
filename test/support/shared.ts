/**
 * Servers that all tests of a file share. They start when the file is loaded, `const hull = await sharedHull({...})`,
 * and end after its last test, the last one first.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach } from "vitest";
import { removeTree } from "../../container/tree.ts";
import { type FakeProvider, startFakeProvider } from "./fake-provider.ts";
import { type HullDev, type HullDevOptions, startHullDev } from "./hull-dev.ts";
import { until } from "./runner.ts";

/** A fake provider. Before each test it forgets its calls and its script. */
export async function sharedProvider(): Promise<FakeProvider> {
  const provider = await startFakeProvider();
  afterAll(() => provider.close());
  beforeEach(() => {
    provider.requests.length = 0;
    provider.script([]);
  });
  return provider;
}

/** A `hull dev` of the file's own. */
export async function sharedHull(options: HullDevOptions = {}): Promise<HullDev> {
  const hull = await startHullDev(options);
  afterAll(() => hull.stop());
  return hull;
}

const PARTS = { worker: ["/worker-process.", "workerd serve"], runner: [" --secret-file "] };

/**
 * Sends SIGKILL to the processes of some parts of a server, if there are any; returns their number. It removes the
 * temporary files of a killed Worker, which nothing else would remove; all other files are checked when the server ends.
 */
export async function kill(
  hull: Pick<HullDev, "processes" | "root">,
  ...parts: (keyof typeof PARTS)[]
): Promise<number> {
  const temporary = join(hull.root, "tmp");
  // Read before the processes are, so that no folder belongs to a Worker that has started meanwhile.
  const left = parts.includes("worker")
    ? readdirSync(temporary).filter((name) => name.startsWith("miniflare-"))
    : [];
  const words = parts.flatMap((part) => PARTS[part]);
  const all = [...hull.processes()].filter(([, line]) => words.some((word) => line.includes(word)));
  for (const [pid] of all) process.kill(pid, "SIGKILL");
  for (const name of left) await removeTree(join(temporary, name));
  return all.length;
}

/** Sends SIGKILL to the Worker's processes, and waits until others answer. @param between happens before those start */
export async function killWorker(
  hull: Pick<HullDev, "processes" | "root" | "call">,
  between: () => void = () => {},
): Promise<void> {
  const killed = await kill(hull, "worker");
  between();
  if (killed === 0) throw new RangeError("no process of the Worker was there");
  await until(
    async () => (await hull.call("/healthz").catch(() => null))?.status,
    (status) => status === 200,
  );
}
