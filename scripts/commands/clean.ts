/** `hull clean`: removes the files that Hull has made below a project. */
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { removeTree } from "../../container/tree.ts";
import { statOf } from "../build/file-system.ts";
import { CommandError, defineCommand, EXIT, SWITCH } from "../command.ts";
import { removeUnusedRunners } from "../dev/runner-folder.ts";
import { checkUnlocked } from "../dev/state-lock.ts";
import { findUpwards } from "../project.ts";

const STATE = "state";

export const command = defineCommand({
  name: "clean",
  summary: "Remove builds, caches and, with --all, the local state",
  usage: `
Usage: hull clean [dir] [--all [--yes]]

  --all  also .hull/state: sessions, daemons, files, uploaded skills and keys of hull dev, which are then lost;
         in a terminal it asks first
  --yes  do not ask

Removes the contents of .hull in the project, state only with --all. The next command makes builds and caches again. A folder
that --state named stays.
`,
  flags: { all: SWITCH, yes: SWITCH },
  words: 1,
  async run({ values, positionals }) {
    const start = resolve(positionals[0] ?? ".");
    // If the folder does not exist, the user did not mean the project around it.
    if (statOf(start)?.isDirectory() !== true)
      throw new CommandError(EXIT.missing, "folder_missing", `There is no folder ${start}.`);
    const made = join(findUpwards(start), ".hull");
    const all = await readdir(made).catch((): string[] => []);
    const names = all.filter((name) => values.all === true || name !== STATE);
    if (names.includes(STATE)) await checkUnlocked(join(made, STATE));
    if (names.includes(STATE) && values.yes !== true && !(await agreed(join(made, STATE)))) {
      process.stdout.write("Nothing was removed.\n");
      return EXIT.failed;
    }
    // The runner's skills are read-only, so ordinary tools do not remove them easily.
    for (const name of names) await removeTree(join(made, name));
    await removeUnusedRunners();
    const kept = all.includes(STATE) && values.all !== true ? `; ${STATE} stays, --all removes it too` : "";
    process.stdout.write(
      `Removed ${names.length === 0 ? "nothing" : names.join(", ")} from ${made}${kept}.\n`,
    );
    return EXIT.ok;
  },
});

/** Asks if a user can answer; a script must pass --all. */
async function agreed(state: string): Promise<boolean> {
  const { stdin: input, stdout: output } = process;
  if (!input.isTTY || !output.isTTY) return true;
  const terminal = createInterface({ input, output, terminal: false });
  // Without an answer (Ctrl-D) the question never settles.
  const closed = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
  const answer = await Promise.race([
    terminal.question(`Remove ${state} with its sessions, daemons, files, uploads and keys? [y/N] `),
    closed,
  ]);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}
