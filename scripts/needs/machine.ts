/** Finds out which programs and packages this machine has. */
import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import type { Need } from "./needs.ts";

const run = promisify(execFile);

/** Whether a program is on PATH, or exists under its absolute path. */
export function isExecutable(program: string): boolean {
  const candidates = isAbsolute(program)
    ? [program]
    : (process.env.PATH ?? "").split(delimiter).map((dir) => join(dir, program));
  return candidates.some((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const MODULES = join(import.meta.dirname, "modules.py");

const modules = z.object({ found: z.array(z.string()), own: z.array(z.string()) });

/** The findings about some needs. */
interface Machine {
  has: (need: Need) => boolean;
  /** Whether it is a module of Python itself, which exists wherever Python does. */
  isOwn: (need: Need) => boolean;
}

/** Checks all needs together, since each start of Python takes time. */
export async function lookFor(needs: readonly Need[]): Promise<Machine> {
  const names = [...new Set(needs.filter(({ kind }) => kind === "python").map(({ name }) => name))];
  const { found, own } = await pythonModules(names);
  const require = createRequire("/");
  const resolves = (name: string): boolean => {
    try {
      require.resolve(name);
      return true;
    } catch {
      return false;
    }
  };
  return {
    has: ({ kind, name }) =>
      kind === "command" ? isExecutable(name) : kind === "python" ? found.has(name) : resolves(name),
    isOwn: ({ kind, name }) => kind === "python" && own.has(name),
  };
}

async function pythonModules(names: readonly string[]): Promise<{ found: Set<string>; own: Set<string> }> {
  if (names.length === 0) return { found: new Set(), own: new Set() };
  try {
    const started = run("python3", ["-I", MODULES], { timeout: 30_000 });
    started.child.stdin?.end(JSON.stringify(names));
    const { stdout } = await started;
    const { found, own } = modules.parse(JSON.parse(stdout));
    return { found: new Set(found), own: new Set(own) };
  } catch {
    return { found: new Set(), own: new Set() };
  }
}
