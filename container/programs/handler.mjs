/**
 * Runs a JavaScript handler in the runner: an ES module, whose default export it calls with the arguments and `ctx`.
 *
 *   node FILE script settings [args]     stdin: the arguments as JSON; descriptor 3: messages; 1 and 2: its other output
 *
 * A message is `RS JSON LF`: `{"emit": text}` and `{"artifact": value}` as they come, then `{"value": ...}` or
 * `{"error": "..."}`. `settings` is JSON: `context`, the rest of `ctx`; `python`, the interpreter of `ctx.python`.
 */
import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";

const MOST_BYTES = 5 * 1024 * 1024;
const MOST_CHARACTERS = 20_000;
/** How long the streams of `ctx.python` may stay open after its end, for bytes that were written before. */
const PIPES_MS = 250;
const [node, , script, settingsText, ...rest] = process.argv;
const skillDir = process.env.HULL_SKILL_DIR ?? "/";
const { context, python } = JSON.parse(settingsText);
let answered = false;

/** What a message is about, for its faults. */
const SUBJECTS = { value: "The result", emit: "The output", artifact: "The artifact" };
class TooLarge extends RangeError {}

function report(kind, value) {
  const text = JSON.stringify({ [kind]: value === undefined ? null : value }, (_, item) => {
    if (typeof item === "number" && !Number.isFinite(item))
      throw new TypeError(`${item} has no form in JSON`);
    return item;
  });
  if (text === "{}") throw new TypeError(`a ${typeof value} has no form in JSON`);
  const bytes = Buffer.from(`\x1e${text}\n`);
  if (bytes.length > MOST_BYTES + 2)
    throw new TooLarge(
      `${SUBJECTS[kind]} has ${bytes.length} bytes as JSON; at most ${MOST_BYTES} are taken.`,
    );
  for (let at = 0; at < bytes.length; ) at += writeSync(3, bytes, at);
}

/** The text of a handler's output, as in an isolate. */
function shown(value) {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

/** A thrown value in words. An object without words of its own is shown as JSON. */
function messageOf(error) {
  try {
    if (error instanceof Error) return String(error.message || error.name);
    const words = String(error);
    return words === "[object Object]" ? (JSON.stringify(error) ?? words) : words;
  } catch {
    return "a value that cannot be shown";
  }
}

/** Sends the last message and exits. */
function answer(kind, value) {
  if (answered) return;
  answered = true;
  try {
    report(kind, value);
  } catch (error) {
    report(
      "error",
      error instanceof TooLarge ? error.message : `The result is not JSON: ${messageOf(error)}`,
    );
    process.exit(1);
  }
  process.exit(kind === "value" ? 0 : 1);
}

function fail(error, location = "") {
  console.error(error instanceof Error ? error.stack : error);
  const plain = messageOf(error)
    .replaceAll(pathToFileURL(`${skillDir}/`).href, "")
    .replaceAll(`${skillDir}/`, "");
  answer("error", beginning(plain) + location);
}

/** The beginning of a long text, up to a blank: redaction does not recognise a part of a secret. */
function beginning(text) {
  if (text.length <= MOST_CHARACTERS) return text;
  const blank = text.lastIndexOf(" ", MOST_CHARACTERS);
  return text.slice(0, blank > 0 ? blank : MOST_CHARACTERS);
}

/** Where in the handler's file an error arose, if it did. */
function placeIn(error) {
  const name = relative(skillDir, script);
  // Only Node's printed text contains the location of a syntax error.
  const printed =
    error instanceof SyntaxError
      ? spawnSync(node, ["--check", script], { encoding: "utf8" }).stderr
      : error?.stack;
  const at = String(printed).split(`${script}:`)[1];
  const line = at === undefined ? Number.NaN : Number.parseInt(at, 10);
  return Number.isNaN(line) ? ` (${name})` : ` (${name}, line ${line})`;
}

function runPython(code, { timeoutMs = 60_000 } = {}) {
  if (context.filesystem !== true)
    throw new Error("ctx.python is for tools that declare x-requires-filesystem.");
  if (python === null) throw new Error("There is no Python in this runner.");
  return new Promise((resolve, reject) => {
    const child = spawn(python, ["-"], { cwd: ctx.workDir, timeout: timeoutMs, killSignal: "SIGKILL" });
    const texts = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8").on("data", (text) => {
        if (texts[name].length < MOST_BYTES) texts[name] += text;
      });
    }
    child.stdin.on("error", () => {});
    child.stdin.end(code);
    child.once("error", reject);
    // What Python started may outlive it and hold its streams open.
    child.once("exit", () => {
      const leave = () => [child.stdout, child.stderr].forEach((stream) => void stream.destroy());
      setTimeout(() => setImmediate(leave), PIPES_MS);
    });
    child.once("close", (status, signal) => {
      if (signal === "SIGKILL") texts.stderr += `Stopped by SIGKILL, after ${timeoutMs} ms at most.\n`;
      resolve({ ...texts, exit_code: status ?? 128 });
    });
  });
}

async function artifact(value, marks) {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TypeError("An artifact is an object, such as { type, title, content }.");
  const given = { ...value, ...marks };
  const id = typeof given.id === "string" ? given.id : randomUUID();
  report("artifact", { ...given, id });
  return { id };
}

const stop = new AbortController();
process.once("SIGTERM", () => {
  stop.abort(new Error("The call was stopped."));
  setTimeout(() => process.exit(143), 100);
});
process.on("uncaughtException", (error) => fail(error));
process.on("beforeExit", () => answer("error", "The handler's promise never settles."));
process.on("exit", (status) => {
  if (answered) return;
  answered = true;
  const left = `The handler called process.exit, with status ${status}, instead of returning.`;
  report("error", stop.signal.aborted ? "SIGTERM stopped the handler before it returned." : left);
});

process.argv = [node, script, ...rest];
const args = JSON.parse(readFileSync(0, "utf8"));
const ctx = {
  workDir: args.__workDir,
  config: JSON.parse(process.env.HULL_TOOL_CONFIG ?? "{}"),
  env: Object.fromEntries(context.env.map((name) => [name, process.env[name]])),
  signal: stop.signal,
  callId: context.callId,
  ...(context.sessionId === null ? {} : { sessionId: context.sessionId }),
  ...(context.bot === null ? {} : { bot: context.bot }),
  models: context.models,
  emit: async (text) => report("emit", shown(text)),
  artifact: Object.assign((value) => artifact(value, { __artifact__: true }), {
    update: (id, changes) => artifact(changes, { __artifact_update__: true, id }),
  }),
  python: async (code, options) => runPython(code, options),
};

const HINT =
  " is a CommonJS module. A handler is an ES module: export default async function handler(args) { ... }";
const name = relative(skillDir, script);
let loaded = false;
try {
  if (script.endsWith(".cjs")) throw new SyntaxError(name + HINT);
  const { default: handler } = await import(pathToFileURL(script).href);
  if (createRequire(script).cache[script] !== undefined) throw new SyntaxError(name + HINT);
  if (typeof handler !== "function") {
    throw new TypeError(
      name + (handler === undefined ? " has no default export." : ": its default export is not a function."),
    );
  }
  loaded = true;
  answer("value", await handler(args, ctx));
} catch (error) {
  const named = error instanceof Error && error.message.startsWith(name);
  fail(error, loaded || named ? "" : placeIn(error));
}
