/**
 * The main module of a hook's isolate. It loads the hook module when it is first asked, so that what goes wrong there is
 * an answer too. It is Hull's own text, but shares the isolate with the hooks: whatever it answers is checked outside.
 */
import { TICK } from "./loop-guard.ts";

export const HARNESS_NAME = "hull.js";
export const HOOKS_NAME = "hooks.js";

/**
 * `call` answers `{kind, text, logs}`: `value` with JSON, `thrown` with a message, `invalid` with a reason, or `timeout`.
 * `exports` answers `{names, fault}`: the module's functions, or why it cannot be loaded. Time in ms, sizes in UTF-16 units.
 */
export const HARNESS = `
import { AsyncLocalStorage } from "node:async_hooks";
import { WorkerEntrypoint } from "cloudflare:workers";

const HOOKS = "./${HOOKS_NAME}";
const now = Date.now;
const MAX_LOGS = 50, MAX_LINE = 1000;
// Of the call that code runs for: what it logged, and when its time is up.
const calls = new AsyncLocalStorage();
const shown = (value) => {
  if (typeof value === "string") return value;
  if (value instanceof Error) return String(value);
  try { return JSON.stringify(value) ?? String(value); } catch { return String(value); }
};
const log = (...values) => {
  const list = calls.getStore()?.logs;
  if (list !== undefined && list.length < MAX_LOGS) list.push(values.map(shown).join(" ").slice(0, MAX_LINE));
};
for (const name of Object.getOwnPropertyNames(console)) if (typeof console[name] === "function") console[name] = log;
Object.defineProperty(globalThis, "caches", { value: undefined });

let ticks = 0;
class TimeUp extends Error {}
Object.defineProperty(globalThis, "${TICK}", {
  value: () => {
    if ((++ticks & 63) === 0 && now() > calls.getStore()?.end) {
      // The loop around a loop that was stopped is asked at once.
      ticks |= 63;
      throw new TimeUp("The time limit of the hook is over.");
    }
    return true;
  },
});

const messageOf = (error) => {
  try {
    if (error instanceof Error) return String(error.message || error.name);
    return typeof error === "object" && error !== null ? shown(error) : String(error);
  } catch {
    return "a value that cannot be shown";
  }
};
const finite = (_, value) => {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError("it holds " + value);
  return value;
};
const encoded = (value, most) => {
  if (value === undefined) return { kind: "value", text: "null" };
  let text;
  try { text = JSON.stringify(value, finite); } catch (error) { return { kind: "invalid", text: messageOf(error) }; }
  if (text === undefined) return { kind: "invalid", text: "it is a " + typeof value };
  if (text.length > most) return { kind: "invalid", text: "it is longer than " + most + " characters" };
  return { kind: "value", text };
};
const answer = async (name, payload, most) => {
  try {
    const hook = (await import(HOOKS))[name];
    if (typeof hook !== "function") return { kind: "thrown", text: "the export is not a function" };
    const given = payload === null ? [] : [JSON.parse(payload)];
    return encoded(await hook(...given), most);
  } catch (error) {
    return error instanceof TimeUp ? { kind: "timeout", text: "" } : { kind: "thrown", text: messageOf(error) };
  }
};

export default class extends WorkerEntrypoint {
  async call(name, payload, timeout, most) {
    const logs = [];
    let timer;
    const late = new Promise((resolve) => { timer = setTimeout(resolve, timeout, { kind: "timeout", text: "" }); });
    const first = await calls.run({ logs, end: now() + timeout }, () => Promise.race([answer(name, payload, most), late]));
    clearTimeout(timer);
    return { ...first, logs };
  }

  async exports(timeout) {
    try {
      const module = await calls.run({ logs: [], end: now() + timeout }, () => import(HOOKS));
      return { names: Object.keys(module).filter((name) => typeof module[name] === "function"), fault: null };
    } catch (error) {
      return { names: [], fault: messageOf(error) };
    }
  }
}
`;
