/**
 * The common part of the main modules of isolates: Hull's own code next to foreign code. It shares the isolate with
 * that code, so its answers are checked outside.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * A call's code runs until `end` (Unix ms), with its console lines going to `log`.
 * @typedef {{ end: number, log: (line: string, end?: string) => void }} Call
 */

export const now = Date.now;
/** @type {AsyncLocalStorage<Call>} */
export const calls = new AsyncLocalStorage();

/** @param {unknown} value */
export const shown = (value) => {
  if (typeof value === "string") return value;
  if (value instanceof Error) return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
};

/** @param {unknown[]} values */
const log = (...values) => calls.getStore()?.log(values.map(shown).join(" "));
for (const name of Object.getOwnPropertyNames(console))
  if (typeof Reflect.get(console, name) === "function") Reflect.set(console, name, log);
Object.defineProperty(globalThis, "caches", { value: undefined });

let ticks = 0;
/** While a module loads, the clock stands at 0, so the guard counts iterations instead. */
const MOST_AT_LOAD = 20_000_000;
let spent = 0;
const over = () => {
  const time = now();
  if (time !== 0) return time > (calls.getStore()?.end ?? Number.POSITIVE_INFINITY);
  spent += 64;
  return spent > MOST_AT_LOAD;
};
export class TimeUp extends Error {}
// `TICK` of loop-guard.ts: guarded loops call it; it returns true, and throws once the time is up.
Object.defineProperty(globalThis, "__hull_tick", {
  value: () => {
    if ((++ticks & 63) === 0 && over()) {
      // Makes the enclosing loop check the time at its next iteration.
      ticks |= 63;
      throw new TimeUp("The time limit is over.");
    }
    return true;
  },
});

/**
 * @param {string} _
 * @param {unknown} value
 */
const finite = (_, value) => {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`it holds ${value}`);
  return value;
};

/**
 * A value as JSON, or why it has none.
 * @param {unknown} value
 * @param {number} most of its UTF-16 units
 * @returns {{ kind: "value" | "invalid", text: string }}
 */
export const encoded = (value, most) => {
  if (value === undefined) return { kind: "value", text: "null" };
  let text;
  try {
    text = JSON.stringify(value, finite);
  } catch (error) {
    return { kind: "invalid", text: String(Object(error).message ?? error) };
  }
  if (text === undefined) return { kind: "invalid", text: `it is a ${typeof value}` };
  if (text.length > most) return { kind: "invalid", text: `it is longer than ${most} characters` };
  return { kind: "value", text };
};

/**
 * A thrown value in words. An object without words of its own is shown as JSON.
 * @param {unknown} error
 */
export const messageOf = (error) => {
  try {
    if (error instanceof Error) return String(error.message || error.name);
    const words = String(error);
    return words === "[object Object]" ? (JSON.stringify(error) ?? words) : words;
  } catch {
    return "a value that cannot be shown";
  }
};

/**
 * The answer of a call that threw.
 * @param {unknown} error
 */
export const failed = (error) =>
  error instanceof TimeUp ? { kind: "timeout", text: "" } : { kind: "thrown", text: messageOf(error) };
