/** `hull doctor`: checks what this machine and project need, and says how to fix what is missing. */
import { styleText } from "node:util";
import { buildRoots } from "../build/build.ts";
import { defineCommand, EXIT, SWITCH, VALUE } from "../command.ts";
import { type Finding, machineChecks, projectChecks } from "../dev/checks.ts";
import { imageWithAll } from "../needs/images.ts";
import { shownNeed } from "../needs/needs.ts";
import { imageOf, missingSentences, skillNeeds } from "../needs/skills.ts";
import { buildOptionsOf, openProject } from "../project.ts";

const MARKS = { ok: "✔", warning: "!", error: "✘" } as const;
const STYLES = { ok: "green", warning: "yellow", error: "red" } as const;

export const command = defineCommand({
  name: "doctor",
  summary: "Check this machine and project, and say how to fix what is missing",
  usage: `
Usage: hull doctor [dir] [--port N] [--json]
       hull doctor [dir] --skills [--json]

  --skills   list for each skill whose runs may run commands: the programs and packages that its text and scripts use,
             those that this machine and the image of hull.toml lack, and the image that has them
  --port N   the port that hull dev would use (default: $HULL_PORT, port of hull.toml, else 3000)
  --json     print [{check, level, message, remedy?}]

Checks node, python3, bash, workerd, the port, provider keys, bindings, the runner and the skills.
Exit code 1 when something is broken; warnings leave it 0.
`,
  flags: { port: VALUE, json: SWITCH, skills: SWITCH },
  words: 1,
  exclude: [["skills", "port"]],
  async run({ values, positionals }) {
    if (values.skills === true) return reportNeeds(positionals[0], values.json === true);
    const findings = [...(await machineChecks()), ...(await projectChecks(positionals[0], values.port))];
    if (values.json === true) process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
    else for (const finding of findings) process.stdout.write(render(finding));
    return findings.some(({ level }) => level === "error") ? EXIT.failed : EXIT.ok;
  },
});

async function reportNeeds(dir: string | undefined, json: boolean): Promise<number> {
  const project = await openProject(dir);
  const { skills } = await buildRoots(project.roots, { ...buildOptionsOf(project), skillsOnly: true });
  const image = imageOf(project);
  const needs = await skillNeeds(project, skills);
  if (json) {
    const shown = needs.map(({ slug, uses, missing_here, missing_in_image }) => ({
      skill: slug,
      uses,
      missing_here,
      missing_in_image,
      has_all: imageWithAll(uses),
    }));
    process.stdout.write(`${JSON.stringify({ image, skills: shown }, null, 2)}\n`);
    return EXIT.ok;
  }
  if (needs.length === 0) process.stdout.write("No skill needs tools to run commands.\n");
  for (const skill of needs) {
    const uses = skill.uses.map(shownNeed).join(", ");
    const message = `${uses === "" ? "uses only what every machine has" : `uses ${uses}`}.`;
    const lacks = missingSentences(skill, image);
    const level = lacks.length === 0 ? "ok" : "warning";
    process.stdout.write(render({ check: skill.slug, level, message }));
    for (const sentence of lacks) process.stdout.write(`    ${sentence}\n`);
  }
  return EXIT.ok;
}

function render({ check, level, message, remedy }: Finding): string {
  const mark = styleText(STYLES[level], MARKS[level]);
  const fix = remedy === undefined ? "" : `\n    fix: ${remedy}`;
  return `${mark} ${check.padEnd(10)} ${message}${fix}\n`;
}
