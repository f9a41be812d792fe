/**
 * The main module of a hook's isolate. It loads the hook module on first use, so that faults in loading are answers
 * too.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { calls, encoded, failed, messageOf, now, TimeUp } from "./harness.mjs";

const HOOKS = "./hooks.js";

/** @type {Record<string, unknown> | null} */
let hooks = null;

/**
 * Waits for a promise until the time limit. The timer is necessary: if nothing is pending, the platform treats a call
 * whose promise never settles as hung, and ends it long before the limit.
 * @template T
 * @param {PromiseLike<T>} promise
 * @param {number} timeout ms
 * @returns {Promise<T>}
 */
const withTimeout = (promise, timeout) => {
  const { promise: settled, resolve, reject } = Promise.withResolvers();
  const timer = setTimeout(() => reject(new TimeUp("The time limit is over.")), timeout);
  promise.then(resolve, reject);
  return settled.finally(() => clearTimeout(timer));
};

/**
 * @param {string} name
 * @param {string | null} payload
 * @param {number} timeout ms
 * @param {number} most
 */
const answer = async (name, payload, timeout, most) => {
  try {
    hooks ??= await withTimeout(import(HOOKS), timeout);
    const hook = hooks?.[name];
    if (typeof hook !== "function") return { kind: "thrown", text: "the export is not a function" };
    const result = payload === null ? hook() : hook(JSON.parse(payload));
    // Most hooks return at once, and a timer for each would be expensive.
    const isPending = typeof result?.then === "function";
    return encoded(isPending ? await withTimeout(result, timeout) : result, most);
  } catch (error) {
    return failed(error);
  }
};

/** `HarnessRpc` of hook.ts. */
export default class extends WorkerEntrypoint {
  /**
   * Returns a text, since an object costs the platform far more: a line with the kind, and the rest: for `value` JSON,
   * for `thrown` a message, for `invalid` a reason, for `timeout` nothing. Nobody gets what a hook writes to the console.
   * @param {string} name
   * @param {string | null} payload JSON, `null` to call it without arguments
   * @param {number} timeout ms
   * @param {number} most UTF-16 units of the result
   */
  async call(name, payload, timeout, most) {
    const { kind, text } = await calls.run({ log() {}, end: now() + timeout }, () =>
      answer(name, payload, timeout, most),
    );
    return `${kind}\n${text}`;
  }

  /**
   * The names of the module's functions, or why it cannot be loaded.
   * @param {number} timeout ms
   */
  async exports(timeout) {
    try {
      const module = await calls.run({ log() {}, end: now() + timeout }, () => import(HOOKS));
      return { names: Object.keys(module).filter((name) => typeof module[name] === "function"), fault: null };
    } catch (error) {
      return { names: [], fault: messageOf(error) };
    }
  }
}
