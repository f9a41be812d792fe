/** Command lines of scripts and tools: `run` and `tools[].command`. */
import { wrongType } from "./fields.ts";
import { fileNamed } from "./file-lookup.ts";
import type { Findings } from "./findings.ts";
import type { Manifest } from "./manifest.ts";
import { insidePath } from "./path.ts";
import { items, type Slot, stringOf } from "./tree.ts";

/** The bundled files by path; `undefined`: unknown, and checks that need them are skipped. */
export type SkillFiles = ReadonlyMap<string, Uint8Array>;

const SHELL_SYNTAX = /["'\\$`|&;<>*?()]/;

/** The argument vector: a list of texts, or one text split on blanks. */
export function readCommand(findings: Findings, slot: Slot): string[] | undefined {
  const { node } = slot;
  const text = stringOf(node);
  if (text !== null) {
    const found = SHELL_SYNTAX.exec(text);
    if (found !== null) {
      findings.error(
        "command_needs_list",
        slot,
        `The field ${slot.path} contains ${found[0]}. No shell reads it, so quotes and shell syntax have no meaning in text form.`,
        "Use list form, one argument per item: [python3, 'a b.py'].",
      );
      return undefined;
    }
    const words = text.split(/\s+/).filter((word) => word !== "");
    return checkArgv(findings, slot, words);
  }
  if (node.kind !== "list") {
    wrongType(
      findings,
      slot,
      "a command, as a list of strings or one string",
      "Write for example [python3, main.py].",
    );
    return undefined;
  }
  const words: string[] = [];
  for (const item of items(node, slot.path)) {
    const word = stringOf(item.node);
    if (word !== null) words.push(word);
    else wrongType(findings, item, "text", "Put the argument in quotes.");
  }
  return words.length === node.items.length ? checkArgv(findings, slot, words) : undefined;
}

/** The same, with a check of the files that it starts. */
export function readBundledCommand(
  findings: Findings,
  slot: Slot,
  files: SkillFiles | undefined,
): string[] | undefined {
  const argv = readCommand(findings, slot);
  if (argv !== undefined && files !== undefined) checkCommandFiles(findings, slot, argv, files);
  return argv;
}

function checkArgv(findings: Findings, slot: Slot, argv: string[]): string[] | undefined {
  if (argv[0] === undefined || argv[0].trim() === "") {
    findings.error(
      "command_empty",
      slot,
      `The field ${slot.path} names no program.`,
      "Write for example [bash, main.sh].",
    );
    return undefined;
  }
  if (argv.some((word) => word.includes("\0"))) {
    findings.error("command_nul", slot, `The field ${slot.path} contains a NUL character.`);
    return undefined;
  }
  return argv;
}

/** Whether the runner resolves the program inside the skill folder instead of on PATH. */
function isLocal(program: string): boolean {
  return !program.startsWith("/") && (program.includes("/") || program.startsWith("."));
}

/** The commands of a skill, each with its field. */
export function commandsOf({ run, llm }: Manifest): [field: string, argv: readonly string[]][] {
  const commands: [string, readonly string[]][] = (llm?.tools ?? []).map(({ command }, i) => [
    `tools[${i}].command`,
    command,
  ]);
  for (const server of llm?.mcp_servers ?? [])
    if ("command" in server) commands.push([`mcp_servers.${server.name}.command`, server.command]);
  if (run !== undefined) commands.push(["run", run]);
  return commands;
}

/** The bundled files that are started directly and therefore need the executable bit. */
export function executables(manifest: Manifest): string[] {
  return commandsOf(manifest).flatMap(([, [program]]) => {
    const path = program !== undefined && isLocal(program) ? insidePath(program) : null;
    return path === null ? [] : [path];
  });
}

/** Interpreters whose first plain argument is a script, with the file endings of their scripts. */
const INTERPRETER =
  /^(?:bash|dash|sh|zsh|python(?:[23](?:\.\d+)?)?|pypy3?|node|deno|bun|tsx|ruby|perl|php|lua|Rscript)$/;
const SCRIPT = /\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|mts|rb|pl|php|lua|R)$/;
/** Options after which the program is not a file: code or a module name follows. */
const INLINE = /^(?:-[cemp]|--eval|--print|--module)$/;

const ADD_FILE = "Add the file, or correct the path; it is relative to SKILL.md.";

/** @param near a file whose name differs in letter case or Unicode's form alone */
const nearHint = (path: string, near: string): string =>
  path.normalize("NFC") === near.normalize("NFC")
    ? "There is a file whose name only looks the same: it is in another of Unicode's forms NFC and NFD. Rename it, or copy its name."
    : `There is ${near}: letter case counts.`;

/** Reports programs and scripts that the folder lacks, and paths that leave it. */
export function checkCommandFiles(findings: Findings, slot: Slot, argv: string[], files: SkillFiles): void {
  const [program = "", ...rest] = argv;
  if (isLocal(program)) {
    checkLineEnds(findings, slot, checkFile(findings, slot, program, files), files);
    return;
  }
  if (!program.includes("/") && (SCRIPT.test(program) || files.has(program))) {
    const present = files.has(program);
    const message = `The program ${program} has no ./ before its name, so Hull looks for it on PATH, not in the skill's folder${present ? "" : ", and the folder has no such file either"}.`;
    const hint = present
      ? `Write ./${program} for the file in the folder.`
      : "Add the file and write ./ before its name.";
    if (SCRIPT.test(program)) findings.error("program_not_local", slot, message, hint);
    else findings.warning("program_not_local", slot, message, hint);
    return;
  }
  if (!INTERPRETER.test(program.slice(program.lastIndexOf("/") + 1))) return;
  for (const word of rest) {
    if (INLINE.test(word)) return;
    if (word.startsWith("-") || word === "run") continue;
    if (!SCRIPT.test(word) || word.startsWith("/")) return;
    const path = checkFile(findings, slot, word, files);
    if (/\.(?:sh|bash|zsh)$/.test(word)) checkLineEnds(findings, slot, path, files);
    return;
  }
}

/** Warns of a script that cannot run: shells and the first line `#!…` take a carriage return for a part of the line. */
export function checkLineEnds(
  findings: Findings,
  slot: Slot,
  path: string | undefined,
  files: SkillFiles,
): void {
  const bytes = path === undefined ? undefined : files.get(path);
  if (bytes === undefined) return;
  if (BYTE_ORDER_MARK.every((byte, n) => bytes[n] === byte)) {
    const message = `${path} begins with a byte order mark, which shells, and the system that reads the first line, do not know.`;
    findings.warning("script_byte_order_mark", slot, message, "Save it as UTF-8 without a byte order mark.");
    return;
  }
  if (bytes[0] !== 0x23 || bytes[bytes.indexOf(0x0a) - 1] !== 0x0d) return;
  findings.warning(
    "script_line_ends",
    slot,
    `The lines of ${path} end as on Windows (CR LF). Shells, and the system that reads the first line, take the CR for a part of the line.`,
    "Save it with the line ends of Unix (LF).",
  );
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Reports a path that leaves the folder or names none of its files; returns the path as bundled. */
export function checkFile(
  findings: Findings,
  slot: Slot,
  path: string,
  files: SkillFiles,
): string | undefined {
  const inside = insidePath(path);
  if (inside === null) {
    findings.error(
      "path_outside",
      slot,
      `The path ${path} does not stay in the skill's folder.`,
      "Move the file into the folder and name it relative to SKILL.md.",
    );
    return undefined;
  }
  if (files.has(inside)) return inside;
  const near = fileNamed(inside, [...files.keys()]);
  const message = `The skill's folder has no file ${inside}, or Hull never bundles it.`;
  findings.error("file_missing", slot, message, near === null ? ADD_FILE : nearHint(inside, near));
  return undefined;
}
