/**
 * Starts `program.js`, which is next to the bundle of this module, from code that V8 compiled: in `program.code`, or in a file
 * for the command that is the first argument, because commands call different functions. The first process writes the file: a
 * server once it serves, since V8 drops the code of a start after a while, a command at its end. Node's own cache has only
 * what V8 compiles when it loads a file, not the functions that a start calls.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { constants, Script } from "node:vm";

const folder = import.meta.dirname;
const [command = "program"] = /^[a-z]+$/.exec(process.argv[2] ?? "") ?? [];
const [program, code] = [join(folder, "program.js"), join(folder, `${command}.code`)];

/** The compiled code; `undefined`: there is none yet. */
function compiled(): Buffer | undefined {
  try {
    return readFileSync(code);
  } catch {
    return undefined;
  }
}

// The program is ASCII: V8 keeps and hashes one byte for each of its characters.
const script = new Script(`(function (require) {${readFileSync(program, "latin1")}\n})`, {
  filename: program,
  cachedData: compiled(),
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
if (script.cachedDataRejected !== false) {
  const store = (): void => {
    process.off("exit", store);
    // Another process may be reading it.
    const part = `${code}.${process.pid}`;
    writeFileSync(part, script.createCachedData());
    renameSync(part, code);
  };
  process.once("exit", store);
  // A server calls it when it serves.
  Object.assign(module, { flushCompileCache: store });
}
script.runInThisContext()(module.createRequire(program));
