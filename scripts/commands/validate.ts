/** `hull validate`: all checks of a build, or those of the Agent Skills format alone, without writing anything. */
import { stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { counted } from "../../src/plural.ts";
import type { Diagnostic, JsonObject } from "../../src/skill/manifest.ts";
import { buildRoots } from "../build/build.ts";
import { printDiagnostics } from "../build/print.ts";
import { type RootedDiagnostic, scanRoots } from "../build/roots.ts";
import { PluginFolders } from "../build/shared-folder.ts";
import { singleName } from "../build/singles.ts";
import { CommandError, defineCommand, EXIT, SWITCH, usageError, VALUE } from "../command.ts";
import { imageOf, needsWarnings, skillNeeds } from "../needs/skills.ts";
import { buildOptionsOf, openProject, openSingle, type Project } from "../project.ts";
import { checkPrograms } from "../validate/programs.ts";
import { checkPython } from "../validate/python.ts";
import { lint, locateFindings, type ParsedFolder, parseFolder } from "../validate/validate-skill.ts";

const PROFILES = ["strict", "lenient"] as const;
type Profile = (typeof PROFILES)[number];

export const command = defineCommand({
  name: "validate",
  summary: "Check skills without building them",
  usage: `
Usage: hull validate [path…] [--profile strict|lenient] [--strict] [--runner] [--json]

  path         a project, a folder of skills, a skill, its SKILL.md, or a command or agent of a plugin (default: the current folder)
  --profile P  check only the Agent Skills format: strict, as its own validator; lenient, whatever can be loaded
  --strict     warnings are errors
  --runner     also check that the programs of scripts and tools exist on this machine
  --json       print [{path, properties, profiles, diagnostics}]

Hull runs a skill.ts to read its tools, after it has checked a signature that exists or is required. The process cannot use
your variables, files, programs and network, as far as this machine can prevent it (docs/security.md).

Exit code 0 if everything is valid, 1 if not or if there is no skill, 3 if a path does not exist.
`,
  flags: { profile: VALUE, strict: SWITCH, runner: SWITCH, json: SWITCH },
  words: Number.POSITIVE_INFINITY,
  exclude: [["profile", "runner"]],
  async run({ values, positionals }) {
    const profile = readProfile(values.profile);
    const checks: Checked[] = [];
    for (const path of positionals.length > 0 ? positionals : [undefined]) {
      const project = await (path === undefined ? openProject(path) : projectOf(path));
      checks.push(
        profile === null
          ? await checkServed(project, values.runner === true)
          : await checkFormat(project, profile),
      );
    }
    const found = checks.flatMap(({ diagnostics }) => diagnostics);
    if (values.json === true) {
      process.stdout.write(`${JSON.stringify(checks.flatMap(report), null, 2)}\n`);
    } else {
      printDiagnostics(found, true);
      const count = checks.reduce((sum, { valid }) => sum + valid.size, 0);
      const strict = values.strict === true ? " --strict counts warnings as errors." : "";
      process.stdout.write(`${counted(count, "valid skill")}, ${tally(found)}.${strict}\n`);
    }
    const fatal = found.some(
      ({ diagnostic: d }) => d.level === "error" || (values.strict === true && d.level === "warning"),
    );
    const empty = checks.some(({ folders }) => folders.length === 0);
    return fatal || empty ? EXIT.failed : EXIT.ok;
  },
});

function readProfile(given: string | undefined): Profile | null {
  if (given === undefined) return null;
  const profile = PROFILES.find((name) => name === given);
  if (profile !== undefined) return profile;
  throw usageError("bad_profile", `--profile is ${PROFILES.join(" or ")}, not ${given}.`);
}

/** The project of a path: of a folder, of that of a SKILL.md, or of a command or agent. */
async function projectOf(path: string): Promise<Project> {
  const stats = await stat(path).catch(() => null);
  if (stats === null)
    throw new CommandError(EXIT.missing, "path_missing", `There is no file or folder ${resolve(path)}.`);
  const name = basename(path).toLowerCase();
  if (stats.isDirectory() || name === "skill.md")
    return openProject(stats.isDirectory() ? path : dirname(path), [], true);
  if (singleName(name) !== null) return openSingle(resolve(path));
  throw usageError(
    "not_a_skill",
    `${resolve(path)} is neither a folder, a SKILL.md, nor a command or agent of a plugin.`,
  );
}

/** The result for one path. */
interface Checked {
  folders: ParsedFolder[];
  diagnostics: RootedDiagnostic[];
  /** Absolute folders of skills that pass. */
  valid: ReadonlySet<string>;
  /** Absolute folders of skills that a build serves; `null`: not checked. */
  served: ReadonlySet<string> | null;
}

/** Checks all rules of a build, and what is probably wrong. */
async function checkServed(project: Project, runner: boolean): Promise<Checked> {
  const { roots, dir, config } = project;
  const { skills, diagnostics } = await buildRoots(roots, { ...buildOptionsOf(project), skillsOnly: true });
  if (runner) diagnostics.push(...checkPrograms(skills, roots));
  diagnostics.push(...(await checkPython(skills, roots)));
  diagnostics.push(...needsWarnings(await skillNeeds(project, skills), imageOf(project)));
  const served = new Set(skills.map(({ folder }) => folder));
  const folders: ParsedFolder[] = [];
  const plugins = new PluginFolders();
  for (const { root, rootContext, scan } of scanRoots(roots, dir, config).scans) {
    for (const folder of scan.skills) {
      const one = await parseFolder(folder, rootContext, config.signatures);
      folders.push(one);
      diagnostics.push(...lint(one, rootContext, dir, plugins).map((diagnostic) => ({ root, diagnostic })));
    }
  }
  const faulty = byFolder(
    folders,
    diagnostics.filter(({ diagnostic: { level } }) => level === "error"),
  );
  const valid = folders.filter((one) => served.has(one.folder.path) && !faulty.has(one));
  return { folders, diagnostics, valid: new Set(valid.map(({ folder }) => folder.path)), served };
}

/** Checks the rules of the Agent Skills format alone. */
async function checkFormat({ roots, dir, config }: Project, profile: Profile): Promise<Checked> {
  const { scans, diagnostics } = scanRoots(roots, dir, config);
  const folders: ParsedFolder[] = [];
  const valid = new Set<string>();
  for (const { root, rootContext, scan } of scans) {
    const found = [...scan.diagnostics, ...scan.refused.map(({ diagnostic }) => diagnostic)];
    for (const folder of scan.skills) {
      const one = await parseFolder(folder, rootContext, config.signatures);
      folders.push(one);
      const verdict = one.parsed.verdicts[profile];
      if (verdict.valid) valid.add(folder.path);
      // The build reports it in the checks of everything that is served.
      if (one.unreadable !== null) found.push(one.unreadable);
      else found.push(...locateFindings(one, verdict.diagnostics));
    }
    diagnostics.push(...found.map((diagnostic) => ({ root, diagnostic })));
  }
  return { folders, diagnostics, valid, served: null };
}

/** The findings about the files of each folder. A folder without findings is absent. */
function byFolder(
  folders: readonly ParsedFolder[],
  diagnostics: readonly RootedDiagnostic[],
): Map<ParsedFolder, RootedDiagnostic[]> {
  const key = (root: string, within: string): string => `${root}\0${within}`;
  // hull.toml may list a folder of skills twice.
  const known = Map.groupBy(folders, ({ folder: { root, within } }) => key(root, within));
  const found = new Map<ParsedFolder, RootedDiagnostic[]>();
  for (const each of diagnostics) {
    const names = each.diagnostic.file.split("/");
    for (let end = names.length; end >= 0; end--) {
      const owners = known.get(key(each.root, names.slice(0, end).join("/")));
      if (owners === undefined) continue;
      for (const folder of owners) {
        const own = found.get(folder) ?? [];
        own.push(each);
        found.set(folder, own);
      }
      break;
    }
  }
  return found;
}

interface Report {
  path: string;
  properties: JsonObject;
  profiles: string[];
  diagnostics: Diagnostic[];
}

/** One entry for each skill, and one for each root with findings. */
function report({ folders, diagnostics, served }: Checked): Report[] {
  const left = new Set(diagnostics);
  const entry = (path: string, rest: Omit<Report, "path">): Report => ({
    path: relative(process.cwd(), path) || ".",
    ...rest,
  });
  const found = byFolder(folders, diagnostics);
  const skills = folders.map((one) => {
    const { folder, parsed, properties } = one;
    const own = found.get(one) ?? [];
    for (const one of own) left.delete(one);
    const profiles = [
      ...PROFILES.filter((profile) => parsed.verdicts[profile].valid),
      ...(served?.has(folder.path) === true ? ["husk"] : []),
    ];
    return entry(folder.path, { properties, profiles, diagnostics: own.map(({ diagnostic }) => diagnostic) });
  });
  const others = Map.groupBy(left, ({ root, diagnostic: { skill } }) => join(root, skill));
  return [
    ...skills,
    ...Array.from(others, ([path, found]) =>
      entry(path, { properties: {}, profiles: [], diagnostics: found.map(({ diagnostic }) => diagnostic) }),
    ),
  ];
}

function tally(list: readonly RootedDiagnostic[]): string {
  const count = (level: Diagnostic["level"]) =>
    counted(list.filter(({ diagnostic }) => diagnostic.level === level).length, level);
  return `${count("error")}, ${count("warning")}`;
}
