/** `hull clean`: removes what Hull has made below a project. */
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { removeTree } from "../../container/scratch.ts";
import { type Command, EXIT, parseFlags } from "../command.ts";
import { checkUnlocked } from "../dev/state-lock.ts";
import { findUpwards } from "../project.ts";

const STATE = "state";

export const command: Command = {
  name: "clean",
  summary: "Remove builds, caches and, with --all, the local state",
  usage: `
Usage: hull clean [dir] [--all]

  --all  also .hull/state: sessions, daemons, files, uploaded skills and keys of hull dev, which are then lost

Removes what is in .hull of the project; the next command makes it again. A folder that --state named is left alone.
`,
  async run(argv) {
    const { values, positionals } = parseFlags(argv, { all: { type: "boolean" } }, 1);
    const made = join(await findUpwards(resolve(positionals[0] ?? ".")), ".hull");
    const all = await readdir(made).catch((): string[] => []);
    const names = all.filter((name) => values.all === true || name !== STATE);
    if (names.includes(STATE)) await checkUnlocked(join(made, STATE));
    // Skills of the runner are read-only, so that nothing but this removes them without more ado.
    for (const name of names) await removeTree(join(made, name));
    const kept = all.includes(STATE) && values.all !== true ? `; ${STATE} stays, --all removes it too` : "";
    process.stdout.write(
      `Removed ${names.length === 0 ? "nothing" : names.join(", ")} from ${made}${kept}.\n`,
    );
    return EXIT.ok;
  },
};
