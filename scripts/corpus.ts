/**
 * `npm run corpus -- DIR`: how many of the SKILL.md files below a folder load, and their findings. Fails if fewer than
 * 95 % load.
 */
import { readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseSkill } from "../src/skill/parse-skill.ts";

const LEAST_LENIENT = 0.95;

interface Tally {
  files: number;
  /** Links without a target. */
  dangling: number;
  strict: number;
  lenient: number;
  /** Number of files by finding. */
  rejected: Map<string, number>;
  findings: Map<string, number>;
}

/** Reads every SKILL.md below a folder, whatever the letter case of its name. */
function tallyOf(root: string): Tally {
  const tally: Tally = {
    files: 0,
    dangling: 0,
    strict: 0,
    lenient: 0,
    rejected: new Map(),
    findings: new Map(),
  };
  for (const file of skillFiles(root)) {
    const stats = statsOf(file);
    if (stats === null) tally.dangling++;
    if (stats?.isFile() !== true) continue;
    const source = { directory: basename(dirname(file)), fileName: basename(file) };
    const { verdicts, diagnostics } = parseSkill(readFileSync(file), source);
    tally.files++;
    if (verdicts.strict.valid) tally.strict++;
    if (verdicts.lenient.valid) tally.lenient++;
    count(tally.rejected, new Set(verdicts.strict.diagnostics.map(({ code }) => code)));
    count(tally.findings, new Set(diagnostics.map(({ level, code }) => `${level} ${code}`)));
  }
  return tally;
}

/** The files below a folder that are called SKILL.md. Each folder is searched once, however many links lead to it. */
function* skillFiles(folder: string, seen = new Set<string>()): Generator<string> {
  const real = realpathSync(folder);
  if (seen.has(real)) return;
  seen.add(real);
  // Folders come before links to them.
  const entries = readdirSync(folder, { withFileTypes: true }).sort(
    (a, b) => Number(a.isSymbolicLink()) - Number(b.isSymbolicLink()) || (a.name < b.name ? -1 : 1),
  );
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.name.toLowerCase() === "skill.md") yield path;
    else if (entry.name === "node_modules" || entry.name === ".git") continue;
    else if (entry.isDirectory() || (entry.isSymbolicLink() && statsOf(path)?.isDirectory() === true))
      yield* skillFiles(path, seen);
  }
}

/** `null` if nothing is there, or only a link without a target. */
function statsOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function count(counts: Map<string, number>, names: Iterable<string>): void {
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
}

function histogram(counts: ReadonlyMap<string, number>, of: number): string[] {
  const rows = Array.from(counts).sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return rows.map(([name, n]) => `  ${String(n).padStart(7)}  ${percent(n, of).padStart(6)}  ${name}`);
}

const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;

const [given] = process.argv.slice(2);
if (given === undefined) {
  process.stderr.write("Usage: npm run corpus -- DIR\n");
  process.exitCode = 2;
} else {
  const { files, dangling, strict, lenient, rejected, findings } = tallyOf(resolve(given));
  if (files === 0) {
    process.stderr.write(`There is no SKILL.md below ${resolve(given)}.\n`);
    process.exitCode = 3;
  } else {
    const lines = [
      `${files} files`,
      ...(dangling === 0 ? [] : [`${dangling} links that lead nowhere`]),
      `strict accepts ${strict} (${percent(strict, files)})`,
      `lenient loads ${lenient} (${percent(lenient, files)})`,
      "",
      "why strict rejects, files by code:",
      ...histogram(rejected, files),
      "",
      "what loading says, files by code:",
      ...histogram(findings, files),
    ];
    process.stdout.write(`${lines.join("\n")}\n`);
    if (lenient < files * LEAST_LENIENT) {
      process.stderr.write(`Fewer than ${percent(LEAST_LENIENT, 1)} load.\n`);
      process.exitCode = 1;
    }
  }
}
