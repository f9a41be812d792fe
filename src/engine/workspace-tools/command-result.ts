/** The model's text about a finished command. Pure. */
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
  /** Most memory that it may have; `null`: as much as the runner allows. */
  memory_bytes: number | null;
}

/** The whole text of a command that succeeded and printed nothing. */
export const NO_OUTPUT = "[hull: no output]";
const exitLine = (exit_code: number | null): string[] =>
  exit_code === null || exit_code === 0 ? [] : [`exit code ${exit_code}`];

/** The parts of such a text, for clients that get them separately. */
interface CommandParts {
  /** What the command printed. */
  output: string;
  exit_code: number | null;
  /** Hull's own lines after it; empty: none. */
  remarks: string;
}

/** The shown output and further remarks. */
export function commandText(command: string, output: string, end: CommandEnd): string {
  const { exit_code, remark, notKept, offline, memory_bytes } = end;
  const failed = exit_code !== 0;
  const lines = [
    output.replace(/\n$/, ""),
    ...(remark === null ? [] : [`[hull: ${remark}]`]),
    ...exitLine(exit_code),
    ...(offline && lackedNetwork(command, output, failed) ? [NO_NETWORK] : []),
    ...(memory_bytes !== null && failed && MEMORY_FAULTS.test(`${remark ?? ""}\n${output}`)
      ? [`[hull: it may have ${memory_bytes} bytes of memory in this container, by its memory_limit]`]
      : []),
    ...(notKept.length === 0 ? [] : [`[hull: not kept among the files: ${listNotKept(notKept)}]`]),
  ];
  return textOf(lines);
}

const textOf = (lines: readonly string[]): string =>
  lines.filter((line) => line !== "").join("\n") || NO_OUTPUT;

/** Splits the text of a command that ended with `exit_code`. */
export function commandParts(text: string, exit_code: number | null): CommandParts {
  if (text === NO_OUTPUT) return { output: "", exit_code, remarks: "" };
  const lines = text.split("\n");
  let end = lines.length;
  while (end > 0 && /^\[hull: .*\]$/.test(lines[end - 1] ?? "")) end -= 1;
  const remarks = lines.slice(end).join("\n");
  const [exit] = exitLine(exit_code);
  if (exit !== undefined && lines[end - 1] === exit) end -= 1;
  return { output: lines.slice(0, end).join("\n"), exit_code, remarks };
}

/** The text that was split into these parts. */
export const joinedCommand = ({ output, exit_code, remarks }: CommandParts): string =>
  textOf([output, ...exitLine(exit_code), remarks]);

const NO_NETWORK =
  "[hull: commands reach no other machine here, since [workspace_tools] network of this deployment's hull.toml does not allow it. Do without, or say what you would need.]";

const MEMORY_FAULTS =
  /\bMemoryError\b|cannot allocate memory|out of memory|memory exhausted|bad_alloc|exceeded its memory limit/i;

const NETWORK_PROGRAMS =
  /\b(?:curl|wget|pip3?|npm|npx|pnpm|yarn|uvx?|apt|apt-get|apk|brew|cargo|gem|go|ssh|scp|rsync|ping|dig|host|nslookup|git\s+(?:clone|fetch|pull|push|ls-remote))\b/;
const NETWORK_FAULTS =
  /could ?n[o']t resolve|name resolution|network is unreachable|\b(?:getaddrinfo|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH)\b|name or service not known|failed to establish a new connection|urlopen error/i;

/**
 * In a successful command a part may still have failed. Then both its programs and its output must point to the
 * network.
 */
function lackedNetwork(command: string, output: string, failed: boolean): boolean {
  const [programs, faults] = [NETWORK_PROGRAMS.test(command), NETWORK_FAULTS.test(output)];
  return failed ? programs || faults : programs && faults;
}
