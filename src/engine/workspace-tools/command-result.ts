/** The model's text about a finished command. Pure. */
import { objectOf } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import { listNotKept } from "../tool-result.ts";

/** How a command ended, as far as it concerns the model. */
interface CommandEnd {
  /** `null`: it did not end by itself. */
  exit_code: number | null;
  /** Why it was ended, or could not begin; `null`: it ended by itself. */
  remark: string | null;
  /** Files that the work folder did not accept, and why. */
  notKept: readonly { path: string; why: string }[];
  /** Whether commands have no network here. */
  offline: boolean;
  /** The folder of the run's skills, and whether the command began or ended in it; `null`: it has none. */
  skills: { folder: string; entered: boolean } | null;
  /** Most memory that it may have; `null`: as much as the runner allows. */
  memory_bytes: number | null;
}

/** The whole text of a command that succeeded and printed nothing. */
export const NO_OUTPUT = "[hull: no output]";
const exitLine = (exit_code: number | null): string[] =>
  exit_code === null || exit_code === 0 ? [] : [`exit code ${exit_code}`];

/** The parts of such a text, for clients that get them separately. */
interface CommandParts {
  /** What the command printed; without `stderr` where that is known. */
  stdout: string;
  stderr: string;
  exit_code: number | null;
  /** Hull's own lines after both; empty: none. */
  remarks: string;
}

/** The shown output and further remarks. */
export function commandText(command: string, output: string, end: CommandEnd): string {
  const { exit_code, remark, notKept, offline, skills, memory_bytes } = end;
  const failed = exit_code !== 0;
  const lines = [
    output.replace(/\n$/, ""),
    ...(remark === null ? [] : [`[hull: ${remark}]`]),
    ...exitLine(exit_code),
    ...(offline && lackedNetwork(command, output, failed) ? [NO_NETWORK] : []),
    ...(exit_code !== NOT_EXECUTABLE && changesSkills(output, skills) ? [READ_ONLY] : []),
    ...(memory_bytes !== null && failed && MEMORY_FAULTS.test(`${remark ?? ""}\n${output}`)
      ? [`[hull: it may have ${memory_bytes} bytes of memory in this container, by its memory_limit]`]
      : []),
    ...(notKept.length === 0 ? [] : [`[hull: not kept among the files: ${listNotKept(notKept)}]`]),
  ];
  return textOf(lines);
}

const textOf = (lines: readonly string[], none = NO_OUTPUT): string =>
  lines.filter((line) => line !== "").join("\n") || none;

/** stdout, then stderr, each on lines of its own. */
export const bothOutputs = (stdout: string, stderr: string): string =>
  stderr === ""
    ? stdout
    : [stdout, stderr]
        .map((text) => text.replace(/\n$/, ""))
        .filter(Boolean)
        .join("\n");

/** Splits what `bothOutputs` joined. A text that does not end with this stderr is stdout as a whole. */
export function outputsApart(text: string, stderr: string): { stdout: string; stderr: string } {
  const end = stderr.replace(/\n$/, "");
  if (end !== "" && text === end) return { stdout: "", stderr: end };
  if (end === "" || !text.endsWith(`\n${end}`)) return { stdout: text, stderr: "" };
  return { stdout: text.slice(0, -end.length - 1), stderr: end };
}

/** What a command printed on stderr, from the `value` of its result. */
export function stderrOf(value: Json): string {
  const { stderr } = objectOf(value);
  return typeof stderr === "string" ? stderr : "";
}

/** Splits Hull's own lines at the end off. */
function remarksApart(text: string): [text: string, remarks: string] {
  const lines = text.split("\n");
  let end = lines.length;
  while (end > 0 && /^\[hull: .*\]$/.test(lines[end - 1] ?? "")) end -= 1;
  return [lines.slice(0, end).join("\n"), lines.slice(end).join("\n")];
}

/** Splits the text of a command that ended with `exit_code`. @param stderr as of `stderrOf` */
export function commandParts(text: string, exit_code: number | null, stderr: string): CommandParts {
  if (text === NO_OUTPUT) return { stdout: "", stderr: "", exit_code, remarks: "" };
  const [before, remarks] = remarksApart(text);
  const [exit = ""] = exitLine(exit_code);
  const printed = outputsApart(before, exit).stdout;
  const errors = printed.endsWith(stderr) ? stderr : remarksApart(stderr)[0];
  return { ...outputsApart(printed, errors), exit_code, remarks };
}

/** Hull's remarks stand after stderr for clients that get a command's parts separately. */
export const stderrShown = ({ stderr, remarks }: CommandParts): string => textOf([stderr, remarks], "");

/** The text that was split into these parts. */
export const joinedCommand = ({ stdout, stderr, exit_code, remarks }: CommandParts): string =>
  textOf([bothOutputs(stdout, stderr), ...exitLine(exit_code), remarks]);

/** The text of a command whose parts a client sends back. @param shown as of `stderrShown` */
export function sentCommand(stdout: string, shown: string, exit_code: number | null): string {
  const [stderr, remarks] = remarksApart(shown);
  return joinedCommand({ stdout, stderr, exit_code, remarks });
}

const NO_NETWORK =
  "[hull: commands reach no other machine here, since [workspace_tools] network of this deployment's hull.toml does not allow it. Do without, or say what you would need.]";

const READ_ONLY =
  "[hull: a skill's folder is read-only. Copy what has to change into the work folder, scripts that write next to themselves included, and go on there.]";
/** bash's exit code for a file that it may not execute. */
const NOT_EXECUTABLE = 126;
const WRITE_FAULTS =
  /permission denied|read-only file system|operation not permitted|\b(?:EACCES|EROFS|EPERM)\b/i;

const changesSkills = (output: string, skills: CommandEnd["skills"]): boolean =>
  skills !== null &&
  output
    .split("\n")
    .some((line) => WRITE_FAULTS.test(line) && (skills.entered || line.includes(skills.folder)));

const MEMORY_FAULTS =
  /\bMemoryError\b|cannot allocate memory|out of memory|memory exhausted|bad_alloc|exceeded its memory limit/i;

/** Not as a part of a path, an option or another name. */
const NETWORK_PROGRAMS =
  /(?<![\w.-]|(?<!\bbin)\/)(?:curl|wget|pip3?|npm|npx|pnpm|yarn|uvx?|apt|apt-get|apk|brew|cargo|gem|go|ssh|scp|rsync|ping|dig|host|nslookup|git\s+(?:clone|fetch|pull|push|ls-remote))(?![\w./-])/;
const NETWORK_FAULTS =
  /could ?n[o']t resolve|name resolution|network is unreachable|\b(?:getaddrinfo|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH)\b|name or service not known|failed to establish a new connection|urlopen error/i;

/** What the shell says of a command that it could not start. */
const NOT_STARTED = /command not found|No such file or directory|syntax error/;

/**
 * In a successful command a part may still have failed. Then both its programs and its output must point to the
 * network.
 */
function lackedNetwork(command: string, output: string, failed: boolean): boolean {
  const [programs, faults] = [NETWORK_PROGRAMS.test(command), NETWORK_FAULTS.test(output)];
  return failed ? faults || (programs && !NOT_STARTED.test(output)) : programs && faults;
}
