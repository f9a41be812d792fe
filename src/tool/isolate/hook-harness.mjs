/**
 * The main module of a hook's isolate. It loads the hook module on first use, so that faults in loading are answers
 * too.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { calls, encoded, now, shown, TimeUp } from "./harness.mjs";

const HOOKS = "./hooks.js";
const MAX_LOGS = 50;
const MAX_LINE = 1000;

/** @type {Record<string, unknown> | null} */
let hooks = null;

/** @param {unknown} error */
const messageOf = (error) => {
  try {
    if (error instanceof Error) return String(error.message || error.name);
    return typeof error === "object" && error !== null ? shown(error) : String(error);
  } catch {
    return "a value that cannot be shown";
  }
};

/**
 * @param {string} name
 * @param {string | null} payload
 * @param {number} most
 */
const answer = async (name, payload, most) => {
  try {
    hooks ??= await import(HOOKS);
    const hook = hooks?.[name];
    if (typeof hook !== "function") return { kind: "thrown", text: "the export is not a function" };
    const given = payload === null ? [] : [JSON.parse(payload)];
    return encoded(await hook(...given), most);
  } catch (error) {
    return error instanceof TimeUp
      ? { kind: "timeout", text: "" }
      : { kind: "thrown", text: messageOf(error) };
  }
};

/** `HarnessRpc` of hook.ts. */
export default class extends WorkerEntrypoint {
  /**
   * Returns a text, since an object costs the platform far more: a line with the kind, a line with a JSON list of log
   * lines, and the rest: for `value` JSON, for `thrown` a message, for `invalid` a reason, for `timeout` nothing.
   * @param {string} name
   * @param {string | null} payload JSON, `null` to call it without arguments
   * @param {number} timeout ms
   * @param {number} most UTF-16 units of the result
   */
  async call(name, payload, timeout, most) {
    /** @type {string[]} */
    const logs = [];
    /** @param {string} line */
    const log = (line) => {
      if (logs.length < MAX_LOGS) logs.push(line.slice(0, MAX_LINE));
    };
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, timeout, { kind: "timeout", text: "" });
    });
    const asked = () => Promise.race([answer(name, payload, most), late]);
    const first = await calls.run({ log, end: now() + timeout }, asked);
    clearTimeout(timer);
    return `${first.kind}\n${JSON.stringify(logs)}\n${first.text}`;
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
