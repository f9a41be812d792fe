/** `hull doctor`: what this machine and project need, and how to mend what is missing (serving.md §7). */
import { styleText } from "node:util";
import { type Command, EXIT, parseFlags } from "../command.ts";
import { type Finding, machineChecks, projectChecks } from "../dev/checks.ts";

const MARKS = { ok: "✔", warning: "!", error: "✘" } as const;
const STYLES = { ok: "green", warning: "yellow", error: "red" } as const;

export const command: Command = {
  name: "doctor",
  summary: "Check this machine and project, and say how to mend what is missing",
  usage: `
Usage: hull doctor [dir] [--port N] [--json]

  --port N   the port that hull dev would use (default: that of hull.toml)
  --json     print [{check, level, message, remedy?}]

Checks node, python3, bash, workerd, the port, provider keys, bindings, the runner and the skills.
Exit code 1 when something is broken; warnings leave it 0.
`,
  async run(argv) {
    const { values, positionals } = parseFlags(
      argv,
      { port: { type: "string" }, json: { type: "boolean" } },
      1,
    );
    const findings = [...(await machineChecks()), ...(await projectChecks(positionals[0], values.port))];
    if (values.json === true) process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
    else for (const finding of findings) process.stdout.write(render(finding));
    return findings.some(({ level }) => level === "error") ? EXIT.failed : EXIT.ok;
  },
};

function render({ check, level, message, remedy }: Finding): string {
  const mark = styleText(STYLES[level], MARKS[level]);
  const fix = remedy === undefined ? "" : `\n    fix: ${remedy}`;
  return `${mark} ${check.padEnd(10)} ${message}${fix}\n`;
}
