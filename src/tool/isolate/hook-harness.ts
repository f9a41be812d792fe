/**
 * The main module of a hook's isolate. It loads the hook module on first use, so that faults in loading are answers
 * too.
 */
import { HARNESS } from "./harness.ts";

export const HOOKS_NAME = "hooks.js";

/**
 * `call` returns a text, since an object costs the platform far more: a line with the kind, a line with a JSON list of
 * log lines, and the rest: for `value` JSON, for `thrown` a message, for `invalid` a reason, for `timeout` nothing.
 * `exports` returns `{names, fault}`: the module's functions, or why it cannot be loaded. Time in ms, sizes in UTF-16
 * units.
 */
export const HOOK_HARNESS = `${HARNESS}
const HOOKS = "./${HOOKS_NAME}";
let hooks = null;
const MAX_LOGS = 50, MAX_LINE = 1000;

const messageOf = (error) => {
  try {
    if (error instanceof Error) return String(error.message || error.name);
    return typeof error === "object" && error !== null ? shown(error) : String(error);
  } catch {
    return "a value that cannot be shown";
  }
};
const answer = async (name, payload, most) => {
  try {
    hooks ??= await import(HOOKS);
    const hook = hooks[name];
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
    const log = (line) => { if (logs.length < MAX_LOGS) logs.push(line.slice(0, MAX_LINE)); };
    let timer;
    const late = new Promise((resolve) => { timer = setTimeout(resolve, timeout, { kind: "timeout", text: "" }); });
    const first = await calls.run({ log, end: now() + timeout }, () => Promise.race([answer(name, payload, most), late]));
    clearTimeout(timer);
    return first.kind + "\\n" + JSON.stringify(logs) + "\\n" + first.text;
  }

  async exports(timeout) {
    try {
      const module = await calls.run({ log() {}, end: now() + timeout }, () => import(HOOKS));
      return { names: Object.keys(module).filter((name) => typeof module[name] === "function"), fault: null };
    } catch (error) {
      return { names: [], fault: messageOf(error) };
    }
  }
}
`;
