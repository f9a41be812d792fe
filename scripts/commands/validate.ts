/** `hull validate`: all checks of a build, without writing anything. */
import { access, constants, stat } from "node:fs/promises";
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { Diagnostic, JsonObject, Manifest } from "../../src/skill/manifest.ts";
import { type BuildResult, buildRoots, type RootedDiagnostic } from "../build/build.ts";
import { printDiagnostics } from "../build/print.ts";
import type { BuiltSkill } from "../build/skill.ts";
import { type Command, CommandError, EXIT, parseFlags } from "../command.ts";
import { openProject } from "../project.ts";

export const command: Command = {
  name: "validate",
  summary: "Check skills without building them",
  usage: `
Usage: hull validate [path…] [--strict] [--runner] [--json]

  path       a project, a folder of skills, a skill, or its SKILL.md (default: the current folder)
  --strict   warnings are errors
  --runner   also check that the programs of scripts and tools exist on this machine
  --json     print [{path, properties, profiles, diagnostics}]

Exit code 0 when everything is valid, 1 when not, 3 when a path does not exist.
`,
  async run(argv) {
    const { values, positionals } = parseFlags(
      argv,
      { strict: { type: "boolean" }, runner: { type: "boolean" }, json: { type: "boolean" } },
      Number.POSITIVE_INFINITY,
    );
    const results: BuildResult[] = [];
    for (const path of positionals.length > 0 ? positionals : [undefined]) {
      const project = await openProject(path === undefined ? undefined : await skillPath(path));
      const result = await buildRoots(project.roots, {
        projectDir: project.dir,
        models: project.models,
        keepGoing: true,
      });
      if (values.runner === true)
        result.diagnostics.push(...(await checkPrograms(result.skills, project.roots)));
      results.push(result);
    }
    const found = results.flatMap((result) => result.diagnostics);
    if (values.json === true) {
      process.stdout.write(`${JSON.stringify(results.flatMap(report), null, 2)}\n`);
    } else {
      printDiagnostics(found);
      const count = results.reduce((sum, result) => sum + result.skills.length, 0);
      process.stdout.write(`${count} valid skill${count === 1 ? "" : "s"}, ${tally(found)}.\n`);
    }
    const fatal = found.some(
      ({ diagnostic: d }) => d.level === "error" || (values.strict === true && d.level === "warning"),
    );
    return fatal ? EXIT.failed : EXIT.ok;
  },
};

/** The folder that a path means: that of a SKILL.md, else itself. */
async function skillPath(path: string): Promise<string> {
  const stats = await stat(path).catch(() => null);
  if (stats === null) throw new CommandError(EXIT.missing, "path_missing", `There is no ${resolve(path)}.`);
  if (stats.isDirectory()) return path;
  if (basename(path).toLowerCase() === "skill.md") return dirname(path);
  throw new CommandError(EXIT.usage, "not_a_skill", `${resolve(path)} is neither a folder nor a SKILL.md.`);
}

interface Report {
  path: string;
  properties: JsonObject;
  profiles: string[];
  diagnostics: Diagnostic[];
}

function report(result: BuildResult): Report[] {
  const reports = new Map<string, Report>();
  const at = (path: string): Report => {
    const existing = reports.get(path);
    if (existing !== undefined) return existing;
    const made: Report = { path, properties: {}, profiles: [], diagnostics: [] };
    reports.set(path, made);
    return made;
  };
  for (const skill of result.skills) {
    const entry = at(skill.folder);
    entry.properties = properties(skill.manifest);
    entry.profiles = ["husk"];
  }
  for (const { root, diagnostic } of result.diagnostics) {
    const folder = diagnostic.file.startsWith(`${diagnostic.skill}/`) ? join(root, diagnostic.skill) : root;
    at(folder).diagnostics.push(diagnostic);
  }
  return Array.from(reports.values(), (entry) => ({
    ...entry,
    path: relative(process.cwd(), entry.path) || ".",
  }));
}

/** The fields of the Agent Skills format in its own order; absent and empty ones are left out. */
function properties(manifest: Manifest): JsonObject {
  const all: [string, JsonObject[string] | undefined][] = [
    ["name", manifest.name],
    ["description", manifest.description],
    ["license", manifest.license],
    ["compatibility", manifest.compatibility],
    ["allowed-tools", manifest.allowed_tools?.join(" ")],
    ["metadata", manifest.metadata],
  ];
  return Object.fromEntries(
    all.flatMap(([key, value]) => (value === undefined || value === "" ? [] : [[key, value]])),
  );
}

/** Programs that a local runner would look for on PATH, and does not find. */
async function checkPrograms(
  skills: readonly BuiltSkill[],
  roots: readonly string[],
): Promise<RootedDiagnostic[]> {
  const found: RootedDiagnostic[] = [];
  for (const { folder, manifest } of skills) {
    const commands: [string, string[]][] = (manifest.llm?.tools ?? []).map((tool, i) => [
      `tools[${i}].command`,
      tool.command,
    ]);
    if (manifest.run !== undefined) commands.push(["run", manifest.run]);
    for (const [field, [program = ""]] of commands) {
      const local = !isAbsolute(program) && (program.includes("/") || program.startsWith("."));
      if (local || (await isExecutable(program))) continue;
      const root = roots.find((path) => folder === path || folder.startsWith(`${path}/`)) ?? folder;
      const diagnostic: Diagnostic = {
        level: "error",
        code: "program_missing",
        skill: basename(folder),
        file: relative(root, join(folder, "SKILL.md")),
        field,
        value: JSON.stringify(program),
        message: `The program ${program} is not on this machine's PATH, so a local runner cannot start it.`,
        hint: `Install ${program}, or name another program.`,
      };
      found.push({ root, diagnostic });
    }
  }
  return found;
}

async function isExecutable(program: string): Promise<boolean> {
  const candidates = isAbsolute(program)
    ? [program]
    : (process.env.PATH ?? "").split(delimiter).map((dir) => join(dir, program));
  for (const path of candidates) {
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return true;
  }
  return false;
}

function tally(list: readonly RootedDiagnostic[]): string {
  const count = (level: Diagnostic["level"], word: string) => {
    const n = list.filter(({ diagnostic }) => diagnostic.level === level).length;
    return `${n} ${word}${n === 1 ? "" : "s"}`;
  };
  return `${count("error", "error")}, ${count("warning", "warning")}`;
}
