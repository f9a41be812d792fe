/** `hull pack`: packs one skill into a file that other programs can install. */

import { dirname, join, relative, resolve } from "node:path";
import { counted } from "../../src/plural.ts";
import { reportAlike } from "../../src/skill/file-findings.ts";
import { SIGNATURE_FILE } from "../../src/skill/file-text.ts";
import { Findings } from "../../src/skill/findings.ts";
import { packZip } from "../../src/skill/zip-write.ts";
import { printFindings, readWhole, skillAt } from "../build/one-skill.ts";
import { defineCommand, EXIT, usageError, VALUE } from "../command.ts";
import { makeFolder } from "../make-folder.ts";
import { replaceFile } from "../replace-file.ts";
import { locateFindings, parseFolder } from "../validate/validate-skill.ts";

export const command = defineCommand({
  name: "pack",
  summary: "Write one skill as a .skill file",
  usage: `
Usage: hull pack <dir> [--out DIR]

  dir        the folder of the skill, which holds its SKILL.md, or the file of a plugin's command or agent
  --out DIR  where to write <name>.skill (default: the current folder)

The file is a zip of the folder, the same bytes on every machine. It leaves out the files that hull build never bundles, those
that .hullignore lists, and in a folder without signature evals next to SKILL.md. For a typed skill, hull pack runs its skill.ts,
as hull validate does, and adds the files that it defines.
`,
  flags: { out: VALUE },
  words: 1,
  async run({ values, positionals }) {
    const [given] = positionals;
    if (given === undefined)
      throw usageError("bad_arguments", "The command needs the folder of a skill.", "hull pack <dir>");
    const root = resolve(given);
    const skill = await skillAt(root);
    const signatures = skill.project.config.signatures;
    const parsedFolder = await parseFolder(skill.folder, skill.rootContext, signatures);
    const { parsed } = parsedFolder;
    const { files, diagnostics } = await readWhole(skill, signatures, (found) => {
      // A signature covers the whole folder.
      const signed = found.some(({ path }) => path === SIGNATURE_FILE);
      return signed ? found : found.filter(({ path }) => !path.startsWith("evals/"));
    });
    const alike = new Findings(skill.folder.name, skill.folder.file);
    reportAlike(
      alike,
      files.map((file) => file.path),
    );
    const all = [...locateFindings(parsedFolder, parsed.diagnostics), ...diagnostics, ...alike.list];
    printFindings(skill, all);
    if (parsed.record === undefined || all.some(({ level }) => level === "error")) {
      process.stderr.write("Nothing was packed: the skill has errors.\n");
      return EXIT.failed;
    }
    const top = skill.folder.name;
    const bytes = packZip(files.map((source) => ({ ...source, path: `${top}/${source.path}` })));
    const path = join(resolve(values.out ?? "."), `${parsed.record.slug ?? top}.skill`);
    await makeFolder(dirname(path));
    await replaceFile(path, bytes);
    const count = counted(files.length, "file");
    process.stdout.write(`${relative(process.cwd(), path)}: ${count}, ${counted(bytes.length, "byte")}\n`);
    return EXIT.ok;
  },
});
