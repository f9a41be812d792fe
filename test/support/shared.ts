/**
 * Servers that all tests of a file share: begun where the file is read, `const hull = await sharedHull({...})`, ended after
 * its last test, the last one first.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeEach } from "vitest";
import { removeTree } from "../../container/tree.ts";
import { type FakeProvider, startFakeProvider } from "./fake-provider.ts";
import { type HullDev, type HullDevOptions, startHullDev } from "./hull-dev.ts";
import { until } from "./runner.ts";

/** A fake provider. Before each test it forgets what it was asked, and what it was to say. */
export async function sharedProvider(): Promise<FakeProvider> {
  const provider = await startFakeProvider();
  afterAll(() => provider.close());
  beforeEach(() => {
    provider.requests.length = 0;
    provider.script([]);
  });
  return provider;
}

/** A `hull dev`. With `killed`, tests kill parts of it: temporary files that workerd then leaves are not looked at. */
export async function sharedHull({
  killed,
  ...options
}: HullDevOptions & { killed?: true } = {}): Promise<HullDev> {
  const hull = await startHullDev(options);
  afterAll(async () => {
    if (killed === true) {
      const temporary = join(hull.root, "tmp");
      for (const name of await readdir(temporary)) await removeTree(join(temporary, name));
    }
    await hull.stop();
  });
  return hull;
}

const PARTS = { worker: ["worker-process.ts", "workerd serve"], runner: [" --secret-file "] };

/** Sends SIGKILL to the processes of parts of a server, as far as there are any now; answers how many. */
export async function kill(hull: HullDev, ...parts: (keyof typeof PARTS)[]): Promise<number> {
  const words = parts.flatMap((part) => PARTS[part]);
  const all = [...hull.processes()].filter(([, line]) => words.some((word) => line.includes(word)));
  for (const [pid] of all) process.kill(pid, "SIGKILL");
  return all.length;
}

/** Sends SIGKILL to the Worker's processes, and waits until others answer. */
export async function killWorker(hull: HullDev): Promise<void> {
  if ((await kill(hull, "worker")) === 0) throw new RangeError("no process of the Worker was there");
  await until(
    async () => (await hull.call("/healthz").catch(() => null))?.status,
    (status) => status === 200,
  );
}
