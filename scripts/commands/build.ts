/** `hull build`: bundles, catalog and diagnostics into a folder. */

import { join, relative, resolve } from "node:path";
import { counted } from "../../src/plural.ts";
import { blocksServing } from "../../src/skill/blocking-findings.ts";
import { buildRoots } from "../build/build.ts";
import { printDiagnostics } from "../build/print.ts";
import { writeBuild } from "../build/write.ts";
import { defineCommand, EXIT, SWITCH, VALUE } from "../command.ts";
import { buildOptionsOf, openProject } from "../project.ts";

export const command = defineCommand({
  name: "build",
  summary: "Build the skills into bundles and a catalog",
  usage: `
Usage: hull build [dir] [--out DIR] [--keep-going] [--strict] [--json]

  --out DIR      where to write (default: .hull/build of the project)
  --keep-going   leave broken skills out instead of refusing to make a catalog
  --strict       treat warnings as errors, and make no catalog if a tools.json has errors
  --json         print {catalog, skills, diagnostics} instead of text

Looks for skills in dir/skills, else in dir. Exit code 1 when a skill has an error. An error in a tools.json leaves
out only its tool.
`,
  flags: { out: VALUE, "keep-going": SWITCH, strict: SWITCH, json: SWITCH },
  words: 1,
  async run({ values, positionals }) {
    const project = await openProject(positionals[0]);
    const keepGoing = values["keep-going"] === true;
    const strict = values.strict === true;
    const result = await buildRoots(project.roots, {
      ...buildOptionsOf(project),
      keepGoing,
      strict,
    });
    const out = values.out === undefined ? join(project.dir, ".hull", "build") : resolve(values.out);
    await writeBuild(out, result, new Date());
    const diagnostics = result.diagnostics.map(({ diagnostic }) => diagnostic);
    const errors = diagnostics.filter((d) => (strict ? d.level !== "info" : blocksServing(d))).length;
    // A fault in tools.json leaves out its tool, not the skill.
    const left = diagnostics.filter(({ level }) => level === "error").length - (strict ? 0 : errors);
    const id = result.catalog?.id ?? null;
    if (values.json === true) {
      const skills = id === null ? [] : result.skills.map((skill) => skill.card);
      process.stdout.write(`${JSON.stringify({ catalog: id, skills, diagnostics }, null, 2)}\n`);
    } else {
      printDiagnostics(result.diagnostics);
      const where = relative(process.cwd(), out) || ".";
      process.stdout.write(
        id === null
          ? `No catalog: ${counted(errors, "error")}. --keep-going leaves broken skills out.\n`
          : `Built ${counted(result.skills.length, "skill")} into ${where}, catalog ${id.slice(0, 12)}${left === 0 ? "" : `; ${counted(left, "error")} in tools`}.\n`,
      );
    }
    return errors > 0 ? EXIT.failed : EXIT.ok;
  },
});
