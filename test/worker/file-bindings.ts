/**
 * The bindings of one test file. Files share workerd: each gets Durable Objects under names that no other file uses, and
 * `setup.ts` empties KV, R2 and D1 before it begins.
 */
import { env } from "cloudflare:workers";
import type { Bindings } from "../../src/env.ts";

const file = crypto.randomUUID();

function named<T extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<T>,
): DurableObjectNamespace<T> {
  return new Proxy(namespace, {
    get(target, key) {
      if (key === "idFromName") return (name: string) => target.idFromName(`${file} ${name}`);
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const shared = env as Bindings;

export const bindings: Bindings = {
  ...shared,
  SESSIONS: named(shared.SESSIONS),
  LEDGER: named(shared.LEDGER),
  FILE_INDEX: named(shared.FILE_INDEX),
  MOCKS: named(shared.MOCKS),
  RUNNER: named(shared.RUNNER),
};
