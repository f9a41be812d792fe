/** `hull list`: the skills of a project and what is wrong with them. */
import { stopsSkill } from "../../src/skill/stops.ts";
import { buildRoots } from "../build/build.ts";
import { printDiagnostics } from "../build/print.ts";
import { type Command, EXIT, parseFlags } from "../command.ts";
import { openProject } from "../project.ts";
import { table } from "../table.ts";

export const command: Command = {
  name: "list",
  summary: "List the skills with their routes",
  usage: `
Usage: hull list [dir] [--json]

  --json   print {skills, diagnostics}, skills as the cards that GET /skills shows
`,
  async run(argv) {
    const { values, positionals } = parseFlags(argv, { json: { type: "boolean" } }, 1);
    const project = await openProject(positionals[0]);
    const result = await buildRoots(project.roots, {
      projectDir: project.dir,
      models: project.models,
      signatures: project.config.signatures,
      keepGoing: true,
    });
    const diagnostics = result.diagnostics.map(({ diagnostic }) => diagnostic);
    const cards = result.skills.map((skill) => skill.card);
    if (values.json === true) {
      process.stdout.write(`${JSON.stringify({ skills: cards, diagnostics }, null, 2)}\n`);
    } else {
      const rows = cards.map((c) => [c.slug, c.mode, `${c.method} ${c.route}`, firstLine(c.description)]);
      process.stdout.write(table([["SKILL", "MODE", "ROUTE", "DESCRIPTION"], ...rows]));
      printDiagnostics(result.diagnostics);
    }
    return diagnostics.some(stopsSkill) ? EXIT.failed : EXIT.ok;
  },
};

function firstLine(text: string): string {
  const [line = ""] = text.split("\n");
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`;
}
