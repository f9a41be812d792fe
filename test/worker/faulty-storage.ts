/** R2, D1 and KV that fail as a test says. */
import type { Bindings } from "../../src/env.ts";

/** What fails. */
interface Fault {
  binding: "FILES" | "DB" | "SKILLS";
  method: "get" | "head" | "prepare" | "put";
  /** Only calls with this text in their key or statement fail. */
  of?: string;
  /** The call returns bytes that break off. */
  breaksOff?: boolean;
}

/** Asks while the storage fails. @param most how often it fails @returns also how often it did */
export async function withFaults<T>(
  env: Bindings,
  { binding, method, of = "", breaksOff = false }: Fault,
  most: number,
  ask: () => Promise<T>,
): Promise<{ answer: T; faults: number }> {
  const { [binding]: real } = env;
  const away = (): Promise<never> => Promise.reject(new TypeError("Network connection lost."));
  let faults = 0;
  const faulty = (...asked: unknown[]): unknown => {
    if (faults >= most || !String(asked[0]).includes(of)) return Reflect.get(real, method).apply(real, asked);
    faults += 1;
    if (binding === "DB") return { bind: () => ({ run: away, first: away, all: away }) };
    return breaksOff ? { body: new ReadableStream({ pull: away }) } : away();
  };
  const get = (target: object, name: PropertyKey) => {
    const value: unknown = Reflect.get(target, name);
    if (typeof value !== "function") return value;
    return name === method ? faulty : value.bind(target);
  };
  Object.assign(env, { [binding]: new Proxy(real, { get }) });
  try {
    return { answer: await ask(), faults };
  } finally {
    Object.assign(env, { [binding]: real });
  }
}
