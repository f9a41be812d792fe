/**
 * The common part of the main modules of isolates: Hull's own text next to foreign code. It shares the isolate with
 * that code, so its answers are checked outside.
 */

/** The global function that guarded loops call (`loop-guard.ts`): returns `true`, throws once the time is up. */
export const TICK = "__hull_tick";

/**
 * For the head of a main module. Code of a call runs in `calls.run({ end, log }, …)`: until `end` (Unix ms), with its
 * console lines going to `log`. `encoded` returns `{kind: "value" | "invalid", text}`.
 */
export const HARNESS = `
import { AsyncLocalStorage } from "node:async_hooks";
import { WorkerEntrypoint } from "cloudflare:workers";

const now = Date.now;
const calls = new AsyncLocalStorage();
const shown = (value) => {
  if (typeof value === "string") return value;
  if (value instanceof Error) return String(value);
  try { return JSON.stringify(value) ?? String(value); } catch { return String(value); }
};
const log = (...values) => calls.getStore()?.log(values.map(shown).join(" "));
for (const name of Object.getOwnPropertyNames(console)) if (typeof console[name] === "function") console[name] = log;
Object.defineProperty(globalThis, "caches", { value: undefined });

let ticks = 0;
// While a module is loaded the clock stands at 0: then turns are counted instead.
const MOST_AT_LOAD = 20_000_000;
let spent = 0;
const over = () => {
  const time = now();
  return time === 0 ? (spent += 64) > MOST_AT_LOAD : time > calls.getStore()?.end;
};
class TimeUp extends Error {}
Object.defineProperty(globalThis, "${TICK}", {
  value: () => {
    if ((++ticks & 63) === 0 && over()) {
      // The loop around a loop that was stopped is asked at once.
      ticks |= 63;
      throw new TimeUp("The time limit is over.");
    }
    return true;
  },
});

const finite = (_, value) => {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError("it holds " + value);
  return value;
};
const encoded = (value, most) => {
  if (value === undefined) return { kind: "value", text: "null" };
  let text;
  try { text = JSON.stringify(value, finite); } catch (error) { return { kind: "invalid", text: String(error?.message ?? error) }; }
  if (text === undefined) return { kind: "invalid", text: "it is a " + typeof value };
  if (text.length > most) return { kind: "invalid", text: "it is longer than " + most + " characters" };
  return { kind: "value", text };
};
`;
