/**
 * The folder for the files of an answer. The call is already paid for, so no file may be lost, and none may replace
 * another one unless the user asked for that.
 */

import { access, constants, lstat, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, parse, resolve } from "node:path";
import { counted } from "../../src/plural.ts";
import { type CommandError, usageError } from "../command.ts";
import { makeFolder } from "../make-folder.ts";
import { isSystemError, reasonOf } from "../system-error.ts";
import { writeError } from "../terminal-text.ts";

/** The characters that common systems permit in a file's name. */
const MAX_NAME_BYTES = 255;

export class OutFolder {
  readonly #dir: string;
  readonly #force: boolean;
  /** Files that this answer has written. Even with `--force`, two files of one answer do not share a name. */
  readonly #written = new Set<string>();

  /** @param force overwrite existing files */
  constructor(dir: string, force: boolean) {
    this.#dir = dir;
    this.#force = force;
  }

  /** Throws `CommandError` (exit 2) where it is already certain that no file can be written. */
  async check(): Promise<void> {
    let above = resolve(this.#dir);
    let found = await stat(above).catch(() => null);
    while (found === null && above !== dirname(above)) {
      above = dirname(above);
      found = await stat(above).catch(() => null);
    }
    if (found?.isDirectory() !== true) throw this.#unusable(`${above} is not a folder`);
    const refused = await access(above, constants.W_OK | constants.X_OK).catch(() => true);
    if (refused === true) throw this.#unusable(`${above} cannot be written to`);
  }

  #unusable(why: string): CommandError {
    const message = `The files of the answer cannot go into ${this.#dir}: ${why}.`;
    return usageError(
      "out_unusable",
      message,
      "Name another folder with --out; Hull makes it if it does not exist.",
    );
  }

  /**
   * Writes a file and names it on stderr. If another file has its name, it gets a number. A file that cannot be written
   * is stored in a temporary folder.
   * @param name below the folder
   * @returns whether it is in the folder
   */
  async write(name: string, content: Uint8Array): Promise<boolean> {
    try {
      say(await this.#place(name, content));
      return true;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      const short = Buffer.byteLength(basename(name)) > MAX_NAME_BYTES ? "output" : basename(name);
      const kept = join(await mkdtemp(join(tmpdir(), "hull-answer-")), short);
      await writeFile(kept, content);
      say(
        `hull: ${join(this.#dir, name)} cannot be written (${reasonOf(error)}). The file is kept as ${kept}.`,
      );
      return false;
    }
  }

  /** Writes the file; returns the message about it. */
  async #place(name: string, content: Uint8Array): Promise<string> {
    const wanted = join(this.#dir, name);
    await makeFolder(dirname(wanted));
    for (let n = 1; ; n++) {
      const path = n === 1 ? wanted : numbered(wanted, n);
      const own = this.#written.has(path);
      const state = own ? "taken" : await put(path, content, this.#force);
      if (state === "taken") continue;
      this.#written.add(path);
      const size = `${path} (${counted(content.length, "byte")}${state === "same" ? ", unchanged" : ""})`;
      if (n === 1) return size;
      return this.#force ? size : `${size}: ${wanted} is another file, which --force overwrites`;
    }
  }
}

/** `same`: the folder already has this file; `taken`: another file has the name. */
async function put(path: string, content: Uint8Array, force: boolean): Promise<"written" | "same" | "taken"> {
  try {
    await writeFile(path, content, { flag: force ? "w" : "wx" });
    return "written";
  } catch (error) {
    if (!isSystemError(error) || error.code !== "EEXIST") throw error;
  }
  const there = await lstat(path).catch(() => null);
  if (there?.isFile() !== true || there.size !== content.length) return "taken";
  const bytes = await readFile(path).catch(() => null);
  return bytes?.equals(content) === true ? "same" : "taken";
}

/** `chart.png` as `chart-2.png`. */
function numbered(path: string, n: number): string {
  const { dir, name, ext } = parse(path);
  return join(dir, `${name}-${n}${ext}`);
}

function say(line: string): void {
  writeError(`${line}\n`);
}
