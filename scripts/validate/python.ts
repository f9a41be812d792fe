/** Checks whether Python can parse the Python handlers of skills. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { isWithin } from "../build/file-system.ts";
import type { RootedDiagnostic } from "../build/roots.ts";
import type { BuiltSkill } from "../build/skill.ts";

const COMPILE = join(import.meta.dirname, "compile.py");

const faultList = z.array(
  z.object({ index: z.int(), message: z.string(), line: z.int().nullable(), column: z.int().nullable() }),
);

/** Syntax errors in Python handlers. If the machine has no Python, nothing is compiled. */
export async function checkPython(
  skills: readonly BuiltSkill[],
  roots: readonly string[],
): Promise<RootedDiagnostic[]> {
  const handlers = skills.flatMap(({ folder, tools }) => {
    const scripts = tools.flatMap(({ script }) => (script?.endsWith(".py") === true ? [script] : []));
    return [...new Set(scripts)].map((script) => ({ folder, script }));
  });
  if (handlers.length === 0) return [];
  const texts = await Promise.all(
    handlers.map(({ folder, script }) => readFile(join(folder, script), "utf8")),
  );
  return (await compile(texts)).flatMap(({ index, message, line, column }) => {
    const handler = handlers[index];
    if (handler === undefined) return [];
    const { folder, script } = handler;
    const root = roots.find((path) => isWithin(folder, path)) ?? folder;
    return {
      root,
      diagnostic: {
        level: "error",
        code: "handler_build",
        skill: basename(folder),
        file: relative(root, join(folder, script)),
        ...(line === null ? {} : { line, column: Math.max(column ?? 1, 1) }),
        message: `Python cannot compile the handler: ${message}.`,
        hint: "Correct the source; each call of the tool fails with this error.",
      },
    };
  });
}

async function compile(texts: readonly string[]): Promise<z.infer<typeof faultList>> {
  const child = promisify(execFile)("python3", ["-I", COMPILE], {
    timeout: 30_000,
    maxBuffer: 2 ** 26,
  });
  child.child.stdin?.on("error", () => {}).end(JSON.stringify(texts));
  const answer = await child.catch(() => null);
  return answer === null ? [] : faultList.parse(JSON.parse(answer.stdout));
}
