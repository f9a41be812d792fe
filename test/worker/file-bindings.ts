/**
 * The bindings of one test file. Files share workerd: each gets Durable Objects under names that no other file uses, and
 * `setup.ts` empties KV, R2 and D1 before it begins.
 */
import { env } from "cloudflare:workers";
import type { Bindings } from "../../src/env.ts";

const file = crypto.randomUUID();

/** @param note called with each id */
function named<T extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<T>,
  note: (id: string) => void = () => {},
): DurableObjectNamespace<T> {
  return new Proxy(namespace, {
    get(target, key) {
      if (key === "idFromName")
        return (name: string) => {
          const id = target.idFromName(`${file} ${name}`);
          note(id.toString());
          return id;
        };
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

/** The bindings of sessions' objects, by id: those of the Worker that named the session first. */
const sessions = new Map<string, Bindings>();

/** The bindings of a Worker with these variables, and of the sessions that it names first: a deployment has one environment. */
export function deployedWith(variables: Record<string, string>): Bindings {
  const deployed: Bindings = Object.assign({}, bindings, variables);
  deployed.SESSIONS = named(shared.SESSIONS, (id) => {
    if (!sessions.has(id)) sessions.set(id, deployed);
  });
  return deployed;
}

export const sessionBindings = (id: DurableObjectId): Bindings => sessions.get(id.toString()) ?? bindings;
