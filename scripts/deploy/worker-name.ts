/** The Worker's name for a project. Two projects of one account must not replace each other's Worker. */
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline/promises";
import { slugify } from "../../src/skill/slug.ts";
import { usageError } from "../command.ts";
import { CONFIG_FILE } from "../config.ts";
import { REPO_DIR } from "../dev/paths.ts";
import type { Project } from "../project.ts";
import { readIfThere } from "../read-if-there.ts";
import { replaceFile } from "../replace-file.ts";

/** The longest name of a Worker that leaves room for the names of its stores. */
const MAX_NAME = 54;

interface Wish {
  /** The value of `--worker`. */
  worker?: string | undefined;
  /** The value of `--config`. */
  config?: string | undefined;
}

/**
 * The name of the Worker: from `--worker`, from the wrangler.toml of `--config`, else `name` of hull.toml. A project
 * without a name is asked for it once, in a terminal; the answer becomes `name` of its hull.toml.
 * @returns `undefined`: the name in the wrangler.toml
 * @throws CommandError (exit 2) if there is no name and nobody to ask, or if no Worker can have the name
 */
export async function workerName(project: Project, { worker, config }: Wish): Promise<string | undefined> {
  if (worker !== undefined) return checked(worker);
  // Hull's own checkout is the project of Hull's own wrangler.toml.
  if (config !== undefined || project.dir === REPO_DIR) return undefined;
  const { name } = project.config;
  const suggested = nameFrom(name ?? basename(project.dir));
  if (name !== null && suggested !== "") return suggested;
  if (!process.stdin.isTTY) {
    throw usageError(
      "worker_name_missing",
      `${join(project.dir, CONFIG_FILE)} has no name that a Worker can have.`,
      `Add this line at its top: name = ${JSON.stringify(suggested || "my-skills")}`,
    );
  }
  const answer = checked(await ask(suggested || "my-skills"));
  await writeName(join(project.dir, CONFIG_FILE), answer, name !== null);
  return answer;
}

/**
 * Warns that this makes another Worker, if the project was deployed from this machine under another name, and never
 * under this one.
 */
export async function warnOfNewName(projectDir: string, name: string): Promise<void> {
  const earlier = await readdir(join(projectDir, ".hull", "deploy")).catch((): string[] => []);
  if (earlier.length === 0 || earlier.includes(name)) return;
  const [before = ""] = earlier;
  process.stderr.write(
    `This project was deployed as ${earlier.join(", ")} before. ${name} is another Worker with stores of its own: keys, secrets, sessions, files and uploaded skills do not come along, and ${before} stays as it is. To deploy ${before} again: name = ${JSON.stringify(before)} in ${CONFIG_FILE}, or --worker ${before}.\n`,
  );
}

/** The part of a title that can name a Worker. */
export function nameFrom(title: string): string {
  return slugify(title)
    .slice(0, MAX_NAME)
    .replace(/(?<!-)-+$/, "");
}

function checked(name: string): string {
  if (/^[a-z0-9]([a-z0-9-]{0,52}[a-z0-9])?$/.test(name)) return name;
  const hint = `A name holds a-z, 0-9 and -, at most ${MAX_NAME} characters, no - at its ends.`;
  throw usageError("bad_name", `"${name}" cannot name a Worker.`, hint);
}

async function ask(suggested: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const question = `Name of the Worker, its database and bucket [${suggested}]: `;
    return (await terminal.question(question)).trim() || suggested;
  } finally {
    terminal.close();
  }
}

/** @param replaces whether the file already has a name */
async function writeName(path: string, name: string, replaces: boolean): Promise<void> {
  const text = (await readIfThere(path))?.toString("utf8") ?? "";
  const line = `name = ${JSON.stringify(name)}`;
  await replaceFile(path, replaces ? text.replace(/^name\s*=.*$/m, line) : `${line}\n${text}`);
  process.stderr.write(`Wrote ${line} into ${path}.\n`);
}
