/** Who runs, who waits and who is refused: the queue of the runner, without its processes. */
import { expect, test } from "vitest";
import { AdmissionQueue } from "../../container/queue.ts";
import { Refused } from "../../container/refusal.ts";

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test("what waits for its skill's limit runs in turn, and lets other skills pass", async () => {
  const queue = new AdmissionQueue({ concurrency: 2, queue: 10, queueTimeoutMs: 60_000 });
  const order: string[] = [];
  const release: Record<string, () => void> = {};
  const enter = (name: string, limit?: number): void => {
    const entry = queue.enter("acme", name[0] ?? "", limit);
    const admit = (slot: { release(): void }): void => {
      order.push(name);
      release[name] = slot.release;
    };
    if ("slot" in entry) void entry.slot.then(admit, () => order.push(`${name} refused`));
    else admit(entry);
  };
  for (const name of ["a1", "a2", "a3"]) enter(name, 1);
  for (const name of ["b1", "b2"]) enter(name);
  expect([order, queue.running, queue.waiting]).toEqual([["a1", "b1"], 2, 3]);
  release.a1?.();
  await settled();
  // The slot goes to who came first; a2 is in line behind it.
  expect(order).toEqual(["a1", "b1", "b2"]);
  release.b1?.();
  release.b1?.();
  await settled();
  expect([order.at(-1), queue.running, queue.waiting]).toEqual(["a2", 2, 1]);
  release.b2?.();
  await settled();
  expect([order.length, queue.running, queue.waiting]).toEqual([4, 1, 1]);
  release.a2?.();
  await settled();
  expect([order.at(-1), queue.running, queue.waiting]).toEqual(["a3", 1, 0]);
  queue.close(new Refused("runner_draining", "x"));
  expect(() => enter("c1")).toThrow(Refused);
});

test("a tenant that floods the runner leaves the others their turn and their place", async () => {
  const queue = new AdmissionQueue({ concurrency: 2, queue: 4, queueTimeoutMs: 60_000 });
  const order: string[] = [];
  const free: (() => void)[] = [];
  const enter = (tenant: string, name: string, limit?: number): void => {
    const entry = queue.enter(tenant, limit === undefined ? "" : "skill", limit);
    const admit = (slot: { release(): void }): void => {
      order.push(name);
      free.push(slot.release);
    };
    if ("slot" in entry) void entry.slot.then(admit, () => order.push(`${name} refused`));
    else admit(entry);
  };
  for (const name of ["a1", "a2", "a3", "a4", "a5", "a6"]) enter("a", name);
  expect(() => enter("a", "a7")).toThrow(Refused);
  // Places 4 of 4: the tenant that waits most gives its last one up, as long as it waits more.
  enter("b", "b1");
  enter("c", "c1");
  expect(() => enter("b", "b2")).toThrow(Refused);
  await settled();
  expect([order, queue.waiting]).toEqual([["a1", "a2", "a6 refused", "a5 refused"], 4]);
  while (free.length > 0) {
    free.shift()?.();
    await settled();
  }
  expect([order.slice(4), queue.running]).toEqual([["b1", "c1", "a3", "a4"], 0]);
  // The same where a skill's own limit makes them wait.
  for (let n = 1; n <= 17; n++) enter("a", `s${n}`, 1);
  enter("b", "b3", 1);
  enter("c", "c3", 1);
  for (const _ of [1, 2, 3]) {
    free.shift()?.();
    await settled();
  }
  expect(order.slice(8)).toEqual(["s1", "s17 refused", "s16 refused", "b3", "c3", "s2"]);
  queue.close(new Refused("runner_draining", "x"));
  await settled();
});

test("a skill's limit counts those in line, too, but no other skill's; who leaves makes room", async () => {
  const queue = new AdmissionQueue({ concurrency: 1, queue: 10, queueTimeoutMs: 60_000 });
  const order: string[] = [];
  const enter = (name: string, limit?: number): ((reason: Refused) => void) => {
    const entry = queue.enter("", name[0] ?? "", limit);
    if ("release" in entry) return () => entry.release();
    const passes = entry.slot.then(({ release }) => {
      order.push(name);
      release();
    });
    passes.catch(() => {});
    return entry.abandon;
  };
  const first = enter("x");
  const [leave] = [enter("a1", 2), enter("a2", 2), enter("a3", 2), enter("b1", 1), enter("b2", 1)];
  leave?.(new Refused("client_closed_request", "x"));
  enter("y");
  first(new Refused("client_closed_request", "x"));
  await expect.poll(() => order).toEqual(["a2", "b1", "a3", "y", "b2"]);
  enter("s", 1);
  for (let n = 0; n < 16; n += 1) enter("s", 1);
  expect(() => enter("s", 1)).toThrow('"s" has as many runs as it may');
});
