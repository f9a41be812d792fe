/**
 * Lints the Python of a checkout with Ruff, which is also published as WebAssembly. The runner joins several files into
 * one text (container/program-source.ts), so they are linted joined: one of them may use what another one defines.
 * Prints the findings.
 *
 * Run it with `--liftoff-only`: optimising Ruff takes Node far longer than running it.
 */
import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";
import * as z from "zod";

/** Faults, not style. */
const RULES = ["B", "E7", "E9", "F", "PIE", "PLE", "RET", "W6"];
/**
 * Ignored: a loop may name all parts of a tuple, and an error that is raised as a handler's result is reported by its
 * text, without a cause.
 */
const IGNORED = ["B007", "B904"];
/** Findings about code that is meant as it is. */
const MEANT = new Set([
  "fork.py F401", // Calls are forks, and find these modules loaded.
  "network_namespace.py F401", // As in fork.py.
  "checks.py B018", // Asks whether Python has this name.
]);
/** The constants that the runner writes before the spawner (container/spawner.ts). */
const SETTINGS = ["GATEWAY", "GATEWAY_PORT", "NETWORK_NAMESPACE", "PRIVATE", "SECCOMP", "STATE", "WARM"];

const findings = z.array(
  z.object({
    code: z.string().nullable(),
    message: z.string(),
    start_location: z.object({ row: z.int() }),
  }),
);

interface Line {
  path: string;
  number: number;
  text: string;
}

const root = process.argv[2] ?? join(import.meta.dirname, "..");
const folder = "container/programs";

function linesOf(path: string): Line[] {
  const texts = readFileSync(join(root, path), "utf8").split("\n");
  return texts.map((text, i) => ({ path, number: i + 1, text }));
}

/** The files of each program in Python that the runner names: `programSource("<name>", …)`. */
function programs(): string[][] {
  const modules = globSync("container/**/*.ts", { cwd: root });
  const named = modules.flatMap((module) => {
    const calls = readFileSync(join(root, module), "utf8").matchAll(
      /\bprogramSource\(([^()]*\.py"[^()]*)\)/g,
    );
    return Array.from(calls, ([, names = ""]) => Array.from(names.matchAll(/[\w.]+/g), ([name]) => name));
  });
  const spawner = named.find((names) => names.at(-1) === "spawner.py") ?? [];
  const joined = named
    .filter((names) => names !== spawner)
    // A fork server is an extended spawner, so it contains all of the spawner.
    .map((names) => (names.at(-1) === "fork.py" ? [...names, ...spawner] : names));
  return joined.map((names) => names.map((name) => `${folder}/${name}`));
}

const ruff = new Workspace(
  { "target-version": "py39", builtins: SETTINGS, lint: { select: RULES, ignore: IGNORED } },
  PositionEncoding.Utf16,
);

function* faults(paths: readonly string[]): Generator<string> {
  const lines = paths.flatMap(linesOf);
  for (const { code, message, start_location } of findings.parse(
    ruff.check(lines.map(({ text }) => text).join("\n")),
  )) {
    const line = lines[start_location.row - 1];
    if (line === undefined || MEANT.has(`${line.path.slice(folder.length + 1)} ${code}`)) continue;
    // Each file must import what it uses.
    if (code === "F811" && /^import /.test(line.text)) continue;
    yield `${line.path}:${line.number} ${code} ${message}`;
  }
}

const joined = programs();
const alone = globSync("{scripts,skills}/**/*.py", { cwd: root }).map((path) => [path]);
const found = new Set([...joined, ...alone].flatMap((paths) => [...faults(paths)]));
for (const name of readdirSync(join(root, folder)).filter((each) => each.endsWith(".py"))) {
  if (!joined.flat().includes(`${folder}/${name}`)) found.add(`${folder}/${name}: no program has it`);
}
for (const fault of found) process.stderr.write(`${fault}\n`);
process.exitCode = found.size === 0 ? 0 : 1;
