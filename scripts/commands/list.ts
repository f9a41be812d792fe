/** `hull list`: the skills of a project and their problems. */
import { blocksServing } from "../../src/skill/blocking-findings.ts";
import { buildRoots } from "../build/build.ts";
import { printDiagnostics } from "../build/print.ts";
import { defineCommand, EXIT, SWITCH } from "../command.ts";
import { oneLine } from "../dev/report.ts";
import { buildOptionsOf, openProject } from "../project.ts";
import { table } from "../table.ts";

export const command = defineCommand({
  name: "list",
  summary: "List the skills with their routes",
  usage: `
Usage: hull list [dir] [--json]

  --json   print {skills, diagnostics}, skills as the cards that GET /skills shows
`,
  flags: { json: SWITCH },
  words: 1,
  async run({ values, positionals }) {
    const project = await openProject(positionals[0]);
    const result = await buildRoots(project.roots, {
      ...buildOptionsOf(project),
      skillsOnly: true,
    });
    const diagnostics = result.diagnostics.map(({ diagnostic }) => diagnostic);
    const cards = result.skills.map((skill) => skill.card);
    if (values.json === true) {
      process.stdout.write(`${JSON.stringify({ skills: cards, diagnostics }, null, 2)}\n`);
    } else {
      const rows = cards.map((c) => [
        c.slug,
        c.mode,
        `${c.method} ${c.route}`,
        c.description.replace(/(?<!\s)\s*\n\s*/g, " "),
      ]);
      const lines = table([["SKILL", "MODE", "ROUTE", "DESCRIPTION"], ...rows])
        .trimEnd()
        .split("\n");
      const { columns } = process.stdout;
      process.stdout.write(lines.map((line) => `${oneLine(line, columns)}\n`).join(""));
      printDiagnostics(result.diagnostics);
    }
    return diagnostics.some(blocksServing) ? EXIT.failed : EXIT.ok;
  },
});
