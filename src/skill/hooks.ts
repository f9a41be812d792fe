/**
 * A skill's hook module: `hooks.ts` or `hooks.js` next to SKILL.md. The build bundles it. Without a bundler Hull takes
 * the file unchanged, which works for JavaScript without imports. Pure.
 */
import type { SourceFile } from "./bundle.ts";
import type { Findings } from "./findings.ts";
import { isMemberDot, words } from "./javascript.ts";
import { type ModuleFault, reportFaults } from "./module-fault.ts";

const HOOK_FILES = ["hooks.ts", "hooks.js"] as const;
/** Largest module. An isolate parses it on first use. */
const MAX_HOOK_BYTES = 4 * 1024 * 1024;

/** One ES module and the names of what it exports, sorted. */
export interface MadeHooks {
  bytes: Uint8Array<ArrayBuffer>;
  exports: string[];
}

/** Bundles the file into a module, or returns its faults. */
export type HookReader = (source: SourceFile) => Promise<MadeHooks | { faults: ModuleFault[] }>;

/** Bundles the hooks among a skill's files; `null` if it has none, or faulty ones. */
export async function findHooks(
  findings: Findings,
  files: readonly SourceFile[],
  read: HookReader,
): Promise<MadeHooks | null> {
  const [source, second] = files.filter(({ path }) => HOOK_FILES.some((name) => name === path));
  if (source === undefined) return null;
  const made = second === undefined ? await read(source) : { faults: [TWO_FILES] };
  const faults = "faults" in made ? made.faults : faultsOf(made);
  reportFaults(findings, faults, source.path);
  return "faults" in made || faults.length > 0 ? null : made;
}

const TWO_FILES: ModuleFault = {
  code: "hooks_two_files",
  message: "The folder has both hooks.ts and hooks.js.",
  hint: "Keep one of them; list the other in .hullignore or rename it.",
};

function faultsOf({ bytes, exports }: MadeHooks): ModuleFault[] {
  const faults: ModuleFault[] = [];
  if (bytes.length > MAX_HOOK_BYTES) {
    faults.push({
      code: "hooks_too_large",
      message: `The hook module and its imports have ${bytes.length} bytes; at most ${MAX_HOOK_BYTES} are allowed.`,
      hint: "Import less, or move the work into a tool.",
    });
  }
  if (exports.length === 0) {
    faults.push({
      code: "hooks_no_exports",
      message: "The hook module exports nothing, so no hook can be called.",
      hint: "Export functions by name, for example: export function post_turn_callback(turn) { return null; }",
    });
  }
  return faults;
}

/** Why an uploaded hook module cannot be used unchanged: it is not JavaScript, or needs other modules. */
export function uploadFault({ path, bytes }: SourceFile): ModuleFault | null {
  const bundle = `npx esbuild ${path} --bundle --format=esm --outfile=hooks.js`;
  const typed = path === "hooks.ts";
  const hint = `Upload one file: ${bundle} ${typed ? "(then leave hooks.ts out)" : "--allow-overwrite"}, or let the operator publish the folder.`;
  if (typed) {
    return { code: "hooks_need_build", message: "Hull does not compile the hooks.ts of an upload.", hint };
  }
  const text = new TextDecoder().decode(bytes);
  const [, found] =
    words(text).find(([before, word, next]) => {
      if (isMemberDot(before)) return false;
      if (word?.text === "from") return next?.type === "StringLiteral";
      return word?.text === "import" && next?.text !== ":" && next?.text !== ".";
    }) ?? [];
  if (found === undefined) return null;
  const above = text.slice(0, found.start).split("\n");
  const at = { line: above.length, column: (above.at(-1)?.length ?? 0) + 1 };
  return {
    code: "hooks_need_build",
    message: "The hooks.js of an upload may not import anything: Hull does not bundle uploads.",
    hint,
    at,
  };
}

/**
 * The fault of a module that could not be loaded. For syntax errors the engine gives the place as
 * `hooks.js:<line>:<column>`.
 */
export function loadFault(text: string): ModuleFault {
  const location = /(?<!\s)\s*at hooks\.js:(\d+):(\d+)\s*$/.exec(text);
  const message = `The hook module cannot be loaded: ${location === null ? text : text.slice(0, location.index)}`;
  const hint = "It must be an ES module that exports functions and needs no Node or CommonJS globals.";
  if (location === null) return { code: "hooks_build", message, hint };
  // The engine's columns count from 0.
  return {
    code: "hooks_build",
    message,
    hint,
    at: { line: Number(location[1]), column: Number(location[2]) + 1 },
  };
}
