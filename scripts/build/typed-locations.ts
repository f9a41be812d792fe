/** Maps findings about the files that the build makes from a `skill.ts` back to the calls in that file. */
import { relative, sep } from "node:path";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import type { ModuleFault } from "../../src/skill/module-fault.ts";
import { TOOLS_FILE } from "../../src/skill/tools-json/read.ts";
import { KEYS, type SkillDescription } from "../../src/typed/describe.ts";
import { TYPED_FILE } from "./is-skill.ts";

type Location = Required<Pick<ModuleFault, "file" | "at">>;

export interface TypedLocations {
  /**
   * The place of a fault whose path begins with the name of a tool; empty: of the skill. Returns nothing if unknown.
   */
  ofFault(path: string): Pick<ModuleFault, "file" | "at">;
  /**
   * A finding about a file made from skill.ts becomes one about skill.ts; others stay unchanged. @param base path from
   * the root to the skill's folder
   */
  pointed(found: Diagnostic, base: string): Diagnostic;
}

interface Source {
  /** The folder that the sources of the stacks are relative to; absolute. */
  dir: string;
  /** How many tools of tools.json the author wrote directly; they come first. */
  own: number;
  /** Whether the author wrote SKILL.md directly. */
  hasText: boolean;
}

/** Members of a tool's definition by the key of tools.json that the build makes from them. */
const MEMBERS: ReadonlyMap<string, string> = new Map([
  ...Array.from(KEYS, ([member, key]): [string, string] => [key, member]),
  ["parameters", "input"],
  ["x-input-schema", "input"],
  ["x-output-schema", "output"],
  ["x-config", "config"],
]);

export function locationsOf(
  { tools, stacks }: SkillDescription,
  { dir, own, hasText }: Source,
): TypedLocations {
  const ofSkill = locationIn(stacks.skill, dir);
  const ofTools = stacks.tools.map((stack) => locationIn(stack, dir));
  const byScript = new Map(tools.map(({ script }, index) => [String(script), index]));
  const moved = (found: Diagnostic, base: string, location: Location | null, field?: string): Diagnostic => {
    const { line: _, column: __, field: ___, ...rest } = found;
    const file = base + (location?.file ?? TYPED_FILE);
    return { ...rest, file, ...location?.at, ...(field === undefined ? {} : { field }) };
  };
  return {
    ofFault(path) {
      const index = tools.findIndex(({ name }) => path === name || path.startsWith(`${name}.`));
      return (path === "" ? ofSkill : ofTools[index]) ?? {};
    },
    pointed(found, base) {
      const path = found.file.startsWith(base) ? found.file.slice(base.length) : found.file;
      if (path === "SKILL.md" && !hasText) return moved(found, base, ofSkill, found.field);
      const handler = byScript.get(path);
      if (handler !== undefined) return moved(found, base, ofTools[handler] ?? null, `tools[${handler}].run`);
      if (path !== TOOLS_FILE) return found;
      const [, number = "", rest = ""] = /^\[(\d+)\](.*)$/s.exec(found.field ?? "") ?? [];
      if (number === "" && own > 0) return found;
      const index = Number(number) - own;
      if (index < 0) return found;
      return moved(found, base, ofTools[index] ?? ofSkill, `tools[${index}]${inDefinition(rest)}`);
    },
  };
}

/** `.x-output-schema.type` becomes `.output.type`. */
const inDefinition = (path: string): string =>
  path.replace(/^\.([^.[]+)/, (whole, key: string) => `.${MEMBERS.get(key) ?? whole.slice(1)}`);

/** The innermost call inside the skill's folder. */
function locationIn(stack: string, dir: string): Location | null {
  for (const [, source = "", line, column] of stack.matchAll(/(\/[^\s()]*?):(\d+):(\d+)\)?$/gm)) {
    const file = relative(dir, source).split(sep).join("/");
    if (file.startsWith("../") || !/\.[cm]?ts$/.test(file)) continue;
    return { file, at: { line: Number(line), column: Number(column) } };
  }
  return null;
}
