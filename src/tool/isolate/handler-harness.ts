/**
 * The main module of a handler's isolate. It makes the work folder and `ctx`, calls the handler, and returns the result
 * and the changes of the folder. It loads the handler's module on first use, so that faults in loading are answers too.
 */
import { HARNESS } from "./harness.ts";

/** The harness's input for each call, as JSON. Times in ms, sizes in UTF-16 units or bytes. */
export interface HarnessCall {
  args: object;
  config: object;
  env: Record<string, string>;
  models: object;
  callId: string;
  sessionId: string | null;
  bot: string | null;
  /** Whether `ctx.python` exists. */
  python: boolean;
  timeout: number;
  /** Longest result. */
  most: number;
  /** The longest text of all notes together. */
  mostStreamed: number;
  /** The most bytes of changed files. */
  mostChanged: number;
}

/** A file of the work folder; `path` is relative to it. */
export interface FolderFile {
  path: string;
  bytes: Uint8Array;
}

/**
 * Receives a handler's messages while it works: `emit` and `stderr` with text; `artifact` with JSON; `python` with
 * `{code, timeoutMs}` as JSON, answered with JSON; `cancelled`, answered when the call is cancelled.
 */
export type Hear = (kind: string, text: string) => Promise<string>;

/** The interface of the harness. Its answers come from possibly hostile code, and are checked. */
export interface HandlerRpc extends Rpc.WorkerEntrypointBranded {
  run(call: string, files: FolderFile[], hear: Hear): Promise<unknown>;
  /** Loads the module; returns why it cannot be called, or `null`. */
  check(timeout: number): Promise<string | null>;
}

/**
 * The harness for a module of this name, relative to the harness. `run` returns `{kind, text, written, removed, left}`:
 * `value` with JSON, `thrown` with a message, `invalid` with a reason, or `timeout`; written files, removed paths, and
 * `[path, why]` of what was not accepted. If nothing changed it returns a text, since an object costs the platform far
 * more: a line with the kind, and the rest.
 */
export const handlerHarness = (module: string): string => `${HARNESS}
import process from "node:process";

const HANDLER = ${JSON.stringify(module)};
const NAME = HANDLER.replace(/^(?:\\.\\.?\\/)+/, "");
const MAX_FILES = 10_000, MAX_DEPTH = 100, LAST_NOTES_MS = 5000;
const { mkdirSync, readdirSync, readFileSync, lstatSync, rmSync, writeFileSync } = process.getBuiltinModule("node:fs");
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (chunk) => {
    calls.getStore()?.log(typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk), "");
    return true;
  };
}

const messageOf = (error) => {
  try {
    return error instanceof Error ? String(error.message || error.name) : String(error);
  } catch {
    return "a value that cannot be shown";
  }
};
const placeOf = (error) => {
  const at = /\\bat (?:[^\\n]*?\\()?([^\\s()]+:\\d+:\\d+)\\)?/.exec(error instanceof Error ? String(error.stack) : "");
  return at === null || !at[1].startsWith(NAME) ? NAME : at[1];
};
const load = async () => {
  try {
    const { default: handler } = await import(HANDLER);
    return typeof handler === "function" ? { handler } : { fault: NAME + ":1: it has no default export that is a function" };
  } catch (error) {
    if (error instanceof TimeUp) throw error;
    return { fault: placeOf(error) + ": " + messageOf(error) };
  }
};

// Folders with their files, links and what is neither left out.
const walk = (root, base, depth, found, left) => {
  if (depth > MAX_DEPTH) { left.push([base, "too deep"]); return; }
  for (const name of readdirSync(root + base)) {
    const path = base === "" ? name : base + "/" + name;
    const stat = lstatSync(root + path);
    if (stat.isDirectory()) walk(root, path, depth + 1, found, left);
    else if (!stat.isFile()) left.push([path, stat.isSymbolicLink() ? "a symbolic link" : "no plain file"]);
    else if (found.size >= MAX_FILES) left.push([path, "too many files"]);
    else found.set(path, stat.size);
  }
};
const same = (a, b) => {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
};
const changesOf = (folder, seeds, most) => {
  const found = new Map(), written = [], left = [];
  const before = new Map(seeds.map(({ path, bytes }) => [path, bytes]));
  let sum = 0;
  walk(folder, "", 0, found, left);
  for (const [path, size] of found) {
    const bytes = readFileSync(folder + path);
    const old = before.get(path);
    if (old !== undefined && same(old, bytes)) continue;
    if ((sum += size) > most) left.push([path, "too large"]);
    else written.push({ path, bytes });
  }
  return { written, removed: [...before.keys()].filter((path) => !found.has(path)), left };
};

const contextOf = (call, workDir, store, hear) => {
  let streamed = 0;
  const pending = new Set();
  const ask = (kind, text) => {
    const answer = hear(kind, text);
    const settled = answer.then(() => {}, () => {}).then(() => pending.delete(settled));
    if (kind !== "cancelled") pending.add(settled);
    return answer;
  };
  const tell = async (kind, text) => {
    if (streamed > call.mostStreamed) return;
    // The listener cuts what is over; this only keeps one who talks for ever from being heard for ever.
    streamed += text.length + 1;
    await ask(kind, text);
  };
  store.log = (line, end = "\\n") => { tell("stderr", line + end).catch(() => {}); };
  const artifact = async (value) => {
    const id = typeof value?.id === "string" ? value.id : crypto.randomUUID();
    const { kind, text } = encoded({ ...value, id }, call.most);
    if (kind !== "value") throw new TypeError("The artifact cannot be sent as JSON: " + text);
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
    emit: (text) => tell("emit", typeof text === "string" ? text : shown(text)),
    artifact: Object.assign((value) => artifact({ ...value, __artifact__: true }), {
      update: (id, value) => artifact({ ...value, id, __artifact_update__: true }),
    }),
    python: async (code, options) => {
      if (!call.python) throw new TypeError("There is no Python here: ctx.python is for tools that declare x-requires-filesystem, under a policy that permits processes.");
      const answer = JSON.parse(await ask("python", JSON.stringify({ code: String(code), timeoutMs: options?.timeoutMs ?? null })));
      if (typeof answer.error === "string") throw new TypeError(answer.error);
      return answer;
    },
    get signal() {
      if (!store.asked) ask("cancelled", "").then(() => store.abort.abort(), () => {});
      store.asked = true;
      return store.abort.signal;
    },
  };
  return { ctx, pending };
};

const answer = async (call, folder, ctx) => {
  try {
    const { handler, fault } = await load();
    if (fault !== undefined) return { kind: "thrown", text: fault };
    return encoded(await handler({ ...call.args, __workDir: folder }, ctx), call.most);
  } catch (error) {
    return error instanceof TimeUp ? { kind: "timeout", text: "" } : { kind: "thrown", text: messageOf(error) };
  }
};

export default class extends WorkerEntrypoint {
  async run(text, files, hear) {
    const call = JSON.parse(text);
    const folder = "/tmp/" + crypto.randomUUID();
    const root = folder + "/";
    mkdirSync(folder);
    for (const { path, bytes } of files) {
      const cut = path.lastIndexOf("/");
      if (cut > 0) mkdirSync(root + path.slice(0, cut), { recursive: true });
      writeFileSync(root + path, bytes);
    }
    process.chdir(folder);
    const store = { end: now() + call.timeout, abort: new AbortController(), asked: false, log() {} };
    const { ctx, pending } = contextOf(call, folder, store, hear);
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(() => { store.abort.abort(); resolve({ kind: "timeout", text: "" }); }, call.timeout);
    });
    const first = await calls.run(store, () => Promise.race([answer(call, folder, ctx), late]));
    clearTimeout(timer);
    if (pending.size > 0) await Promise.race([Promise.all(pending), scheduler.wait(LAST_NOTES_MS)]);
    const none = { written: [], removed: [], left: [] };
    let changes = none;
    try {
      if (first.kind !== "timeout") changes = changesOf(root, files, call.mostChanged);
      process.chdir("/");
      rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      return { kind: "thrown", text: "The work folder cannot be read: " + messageOf(error), ...none };
    }
    const { written, removed, left } = changes;
    const changed = written.length > 0 || removed.length > 0 || left.length > 0;
    return changed ? { ...first, ...changes } : first.kind + "\\n" + first.text;
  }

  async check(timeout) {
    const late = scheduler.wait(timeout).then(() => ({ fault: "it was not loaded within " + timeout + " ms" }));
    const store = { end: now() + timeout, log() {} };
    const { fault = null } = await calls.run(store, () => Promise.race([load(), late])).catch((error) => ({ fault: messageOf(error) }));
    return fault;
  }
}
`;
