/**
 * The main module of a handler's isolate. It makes the work folder and `ctx`, calls the handler, and returns the result
 * and the changes of the folder. It loads the handler's module on first use, so that faults in loading are answers too.
 */

import { WorkerEntrypoint } from "cloudflare:workers";
import process from "node:process";
import { calls, encoded, failed, messageOf, now, shown, TimeUp } from "./harness.mjs";

/** @import { FolderFile, HarnessCall, HostCallback } from "./handler-rpc.ts" */
/**
 * A call of the handler: `abort` is for its signal, which listens to the outside once it was asked for.
 * @typedef {import("./harness.mjs").Call & { abort: AbortController, asked: boolean }} HandlerCall
 */
/** @typedef {[path: string, why: string]} Left a path of the folder that was not accepted */

const MAX_FILES = 10_000;
const MAX_DEPTH = 100;
const LAST_NOTES_MS = 5000;
const { mkdirSync, readdirSync, readFileSync, lstatSync, rmSync, writeFileSync } =
  process.getBuiltinModule("node:fs");
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (/** @type {string | Uint8Array} */ chunk) => {
    calls.getStore()?.log(typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk), "");
    return true;
  };
}

/**
 * @param {unknown} error
 * @param {string} name
 */
const stackLocation = (error, name) => {
  const at = /\bat (?:[^\n]*?\()?([^\s()]+:\d+:\d+)\)?/.exec(
    error instanceof Error ? String(error.stack) : "",
  );
  return at?.[1]?.startsWith(name) ? at[1] : name;
};

/**
 * @param {string} module
 * @returns {Promise<{ handler?: (args: object, ctx: object) => unknown, fault?: string }>}
 */
const load = async (module) => {
  const name = module.replace(/^(?:\.\.?\/)+/, "");
  try {
    const { default: handler } = await import(module);
    return typeof handler === "function"
      ? { handler }
      : { fault: `${name}:1: it has no default export that is a function` };
  } catch (error) {
    if (error instanceof TimeUp) throw error;
    return { fault: `${stackLocation(error, name)}: ${messageOf(error)}` };
  }
};

/**
 * Finds the files of a folder, and what is left out: links and what is neither.
 * @param {string} root
 * @param {string} base
 * @param {number} depth
 * @param {Map<string, number>} found sizes by path
 * @param {Left[]} left
 */
const walk = (root, base, depth, found, left) => {
  if (depth > MAX_DEPTH) {
    left.push([base, "too deep"]);
    return;
  }
  for (const name of readdirSync(root + base)) {
    const path = base === "" ? name : `${base}/${name}`;
    const stat = lstatSync(root + path);
    if (stat.isDirectory()) walk(root, path, depth + 1, found, left);
    else if (!stat.isFile()) left.push([path, stat.isSymbolicLink() ? "a symbolic link" : "no plain file"]);
    else if (found.size >= MAX_FILES) left.push([path, "too many files"]);
    else found.set(path, stat.size);
  }
};

/**
 * @param {Uint8Array} a
 * @param {Uint8Array} b
 */
const same = (a, b) => {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
};

/**
 * @param {string} folder
 * @param {FolderFile[]} seeds
 * @param {number} most bytes of written files
 */
const changesOf = (folder, seeds, most) => {
  /** @type {Map<string, number>} */
  const found = new Map();
  /** @type {FolderFile[]} */
  const written = [];
  /** @type {Left[]} */
  const left = [];
  const before = new Map(seeds.map(({ path, bytes }) => [path, bytes]));
  let sum = 0;
  walk(folder, "", 0, found, left);
  for (const [path, size] of found) {
    const bytes = readFileSync(folder + path);
    const old = before.get(path);
    if (old !== undefined && same(old, bytes)) continue;
    sum += size;
    if (sum > most) left.push([path, "too large"]);
    else written.push({ path, bytes });
  }
  return { written, removed: [...before.keys()].filter((path) => !found.has(path)), left };
};

/**
 * The handler's `ctx`, and the messages that the outside has not yet answered.
 * @param {HarnessCall} call
 * @param {string} workDir
 * @param {HandlerCall} store
 * @param {HostCallback} hear
 */
const contextOf = (call, workDir, store, hear) => {
  let streamed = 0;
  /** @type {Set<Promise<unknown>>} */
  const pending = new Set();
  /** @type {HostCallback} */
  const ask = (kind, text) => {
    const answer = hear(kind, text);
    /** @type {Promise<unknown>} */
    const settled = answer
      .then(
        () => {},
        () => {},
      )
      .then(() => pending.delete(settled));
    if (kind !== "cancelled") pending.add(settled);
    return answer;
  };
  /**
   * @param {Parameters<HostCallback>[0]} kind
   * @param {string} text
   */
  const tell = async (kind, text) => {
    if (streamed > call.mostStreamed) return;
    // The listener enforces the limit; this check only stops a handler that never stops sending.
    streamed += text.length + 1;
    await ask(kind, text);
  };
  store.log = (line, end = "\n") => {
    tell("stderr", line + end).catch(() => {});
  };
  /**
   * @param {unknown} value
   * @param {Record<string, unknown>} marks
   */
  const artifact = async (value, marks) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new TypeError("An artifact is an object, such as { type, title, content }.");
    const given = { ...value, ...marks };
    const id = "id" in given && typeof given.id === "string" ? given.id : crypto.randomUUID();
    const { kind, text } = encoded({ ...given, id }, call.most);
    if (kind !== "value") throw new TypeError(`The artifact cannot be sent as JSON: ${text}`);
    await ask("artifact", text);
    return { id };
  };
  const ctx = {
    workDir,
    config: call.config,
    env: call.env,
    callId: call.callId,
    ...(call.sessionId === null ? {} : { sessionId: call.sessionId }),
    ...(call.bot === null ? {} : { bot: call.bot }),
    models: call.models,
    /** @param {unknown} text */
    emit: (text) => tell("emit", shown(text)),
    artifact: Object.assign(
      /** @param {unknown} value */
      (value) => artifact(value, { __artifact__: true }),
      {
        /**
         * @param {string} id
         * @param {unknown} value
         */
        update: (id, value) => artifact(value, { id, __artifact_update__: true }),
      },
    ),
    /**
     * @param {unknown} code
     * @param {{ timeoutMs?: number }} [options]
     */
    python: async (code, options) => {
      if (!call.python)
        throw new TypeError(
          "There is no Python here: ctx.python is for tools that declare x-requires-filesystem, under a policy that permits processes.",
        );
      const asked = JSON.stringify({ code: String(code), timeoutMs: options?.timeoutMs ?? null });
      const answer = JSON.parse(await ask("python", asked));
      if (typeof answer.error === "string") throw new TypeError(answer.error);
      return answer;
    },
    get signal() {
      if (!store.asked)
        ask("cancelled", "").then(
          (how) => {
            if (how !== "") store.abort.abort();
          },
          () => {},
        );
      store.asked = true;
      return store.abort.signal;
    },
  };
  return { ctx, pending };
};

/**
 * @param {HarnessCall} call
 * @param {string} folder
 * @param {object} ctx
 */
const answer = async (call, folder, ctx) => {
  try {
    const { handler, fault = "" } = await load(call.module);
    if (handler === undefined) return { kind: "thrown", text: fault };
    return encoded(await handler({ ...call.args, __workDir: folder }, ctx), call.most);
  } catch (error) {
    return failed(error);
  }
};

/** `HandlerRpc` of handler-rpc.ts. */
export default class extends WorkerEntrypoint {
  /**
   * Returns `{kind, text, written, removed, left}`: `value` with JSON, `thrown` with a message, `invalid` with a reason,
   * or `timeout`; written files, removed paths, and `[path, why]` of what was not accepted. If nothing changed it returns
   * a text, since an object costs the platform far more: a line with the kind, and the rest.
   * @param {string} text
   * @param {FolderFile[]} files
   * @param {HostCallback} hear
   */
  async run(text, files, hear) {
    /** @type {HarnessCall} */
    const call = JSON.parse(text);
    const folder = `/tmp/${crypto.randomUUID()}`;
    const root = `${folder}/`;
    mkdirSync(folder);
    for (const { path, bytes } of files) {
      const cut = path.lastIndexOf("/");
      if (cut > 0) mkdirSync(root + path.slice(0, cut), { recursive: true });
      writeFileSync(root + path, bytes);
    }
    process.chdir(folder);
    /** @type {HandlerCall} */
    const store = { end: now() + call.timeout, abort: new AbortController(), asked: false, log() {} };
    const { ctx, pending } = contextOf(call, folder, store, hear);
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(() => {
        store.abort.abort();
        resolve({ kind: "timeout", text: "" });
      }, call.timeout);
    });
    const first = await calls.run(store, () => Promise.race([answer(call, folder, ctx), late]));
    clearTimeout(timer);
    if (pending.size > 0) await Promise.race([Promise.all(pending), scheduler.wait(LAST_NOTES_MS)]);
    /** @type {ReturnType<typeof changesOf>} */
    const none = { written: [], removed: [], left: [] };
    let changes = none;
    try {
      if (first.kind !== "timeout") changes = changesOf(root, files, call.mostChanged);
      process.chdir("/");
      rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      return { kind: "thrown", text: `The work folder cannot be read: ${messageOf(error)}`, ...none };
    }
    const { written, removed, left } = changes;
    const changed = written.length > 0 || removed.length > 0 || left.length > 0;
    return changed ? { ...first, ...changes } : `${first.kind}\n${first.text}`;
  }

  /**
   * @param {string} module
   * @param {number} timeout
   */
  async check(module, timeout) {
    const late = scheduler.wait(timeout).then(() => ({ fault: `it was not loaded within ${timeout} ms` }));
    const store = { end: now() + timeout, log() {} };
    const loaded = () => Promise.race([load(module), late]);
    const { fault = null } = await calls.run(store, loaded).catch((error) => ({ fault: messageOf(error) }));
    return fault;
  }
}
