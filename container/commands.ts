/** Finds the file that a command starts. */
import { execFile } from "node:child_process";
import { accessSync, closeSync, constants, openSync, readSync, type Stats, statSync } from "node:fs";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Environment } from "./environment.ts";

export interface Command {
  /** Absolute path, or a path that begins with `./` inside the bundle, which is the process's cwd. */
  file: string;
  /** The process's own name, as the process sees it. */
  argv0: string;
}

/** Time limit for a shim to name the interpreter behind it. */
const PROBE_MS = 10_000;

export class Commands {
  readonly #environment: Environment;
  readonly #onPath = new Map<string, Promise<Command | null> | Command>();

  /** `environment`: inherited by processes; its `PATH` is searched. */
  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /**
   * The file of a command; `null` if there is none. A name with `/` or a leading `.` is a path in the bundle and must
   * stay in it. An absolute path is used unchanged, but never for an uploaded skill. Any other name is looked up in the
   * bundle's root, then on `PATH`. Returns synchronously if possible, to keep the hot path short.
   */
  resolve(argv0: string, bundleDir: string, untrusted = false): Command | null | Promise<Command | null> {
    if (isAbsolute(argv0)) return !untrusted && isFile(argv0) ? { file: argv0, argv0 } : null;
    if (argv0.includes("/") || argv0.startsWith(".")) {
      const file = resolve(bundleDir, argv0);
      if (!file.startsWith(bundleDir + sep) || !isFile(file)) return null;
      return { file: `./${relative(bundleDir, file)}`, argv0 };
    }
    if (argv0 === "") return null;
    if (isExecutable(join(bundleDir, argv0))) return { file: `./${argv0}`, argv0 };
    const known = this.#onPath.get(argv0);
    if (known !== undefined) return known;
    const found = this.#search(argv0);
    if (found === null) return null;
    this.#onPath.set(argv0, found);
    if (found instanceof Promise) {
      void found.then((command) => {
        if (command === null) this.#onPath.delete(argv0);
        else this.#onPath.set(argv0, command);
      });
    }
    return found;
  }

  /** Forgets a name whose file no longer exists. */
  forget(argv0: string): void {
    this.#onPath.delete(argv0);
  }

  #search(name: string): Command | Promise<Command> | null {
    for (const dir of (this.#environment.PATH ?? "/usr/local/bin:/usr/bin:/bin").split(":")) {
      if (!isAbsolute(dir)) continue;
      const file = join(dir, name);
      if (!isExecutable(file)) continue;
      if (/^python[0-9.]*$/.test(name) && isScript(file)) return this.#pythonBehind(file, name);
      return { file, argv0: name };
    }
    return null;
  }

  /**
   * The interpreter that a version manager's shim starts. The runner asks the shim only once, because the shim is a
   * shell program that costs about 40 ms at every start. As with the shim, the interpreter runs under its full path.
   */
  #pythonBehind(shim: string, name: string): Promise<Command> {
    return new Promise((done) => {
      const args = ["-c", "import sys; print(sys.executable)"];
      execFile(shim, args, { env: this.#environment, timeout: PROBE_MS, cwd: "/" }, (error, stdout) => {
        const file = stdout.trim();
        const found = error === null && isAbsolute(file) && isExecutable(file);
        done(found ? { file, argv0: file } : { file: shim, argv0: name });
      });
    });
  }
}

/** `null`: there is nothing, or nothing that the runner may look at. */
function statsOf(path: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}

/** Whether a path is a regular file's. */
export const isFile = (path: string): boolean => statsOf(path)?.isFile() === true;

/** Whether a path is a folder's. */
export const isFolder = (path: string): boolean => statsOf(path)?.isDirectory() === true;

function isExecutable(path: string): boolean {
  if (!isFile(path)) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isScript(path: string): boolean {
  const head = Buffer.alloc(2);
  const fd = openSync(path, "r");
  try {
    readSync(fd, head);
  } finally {
    closeSync(fd);
  }
  return head.toString("latin1") === "#!";
}
