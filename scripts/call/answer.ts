/** Shows a call's answer: text on stdout, files in a folder, failures with their code. */
import { basename } from "node:path";
import { brokenOff, eventsOf, parsed, requestTo, wholeOf } from "../admin-client.ts";
import { EXIT, type ExitCode, failureText } from "../command.ts";
import { problemOf, refusal } from "../problem.ts";
import { writeError, writeOut } from "../terminal-text.ts";
import { EventPrinter } from "./event-printer.ts";
import type { OutFolder } from "./out-folder.ts";

interface AnswerFiles {
  out: OutFolder;
  /** Fetches a file of the answer from its path on the server. */
  fetch: (path: string) => Promise<Response>;
}

interface AnswerOptions {
  /** Print failures as problem documents. */
  json: boolean;
  /** Absent: the answer's files stay on the server. */
  files?: AnswerFiles;
  /** The answer is `{text, files}`: an agent run gives that to clients that accept JSON. */
  listsFiles?: boolean;
  /** Called with each event of a stream after it is printed. @param say prints a line on stderr */
  onEvent?: (event: string | undefined, value: Record<string, unknown>, say: (line: string) => void) => void;
}

/** Prints an answer; returns the exit code. */
export async function printAnswer(
  response: Response,
  options: AnswerOptions & { files: AnswerFiles },
): Promise<number> {
  const { out } = options.files;
  const bytes = await wholeOf(response);
  if (!response.ok) return printFailure(bytes.toString("utf8"), response.status, options);
  const note = response.headers.get("x-hull-note");
  if (note !== null) writeError(`${decodeURIComponent(note)}\n`);
  const name = fileName(response.headers.get("content-disposition") ?? "");
  if (name !== null) return (await out.write(ownName(name), bytes)) ? EXIT.ok : EXIT.failed;
  const isJson = response.headers.get("content-type") === "application/json";
  const several = isJson ? filesOf(bytes) : null;
  if (several !== null) return writeSeveral(several, options);
  const made = isJson && options.listsFiles === true ? madeOf(bytes) : null;
  const text = made === null ? bytes : Buffer.from(made.text);
  // Only a model's answer has this header. A script may colour its own text, so its control characters stay.
  const ofModel = response.headers.has("x-hull-finish-reason");
  if (ofModel) writeOut(text.toString("utf8"));
  else process.stdout.write(text);
  if (process.stdout.isTTY && text.at(-1) !== 0x0a) process.stdout.write("\n");
  return writeMade(made?.files ?? listedFiles(response.headers.get("x-hull-files") ?? ""), options);
}

/** Writes the files of an answer with several files; returns the exit code. */
async function writeSeveral(
  { note, files }: SeveralFiles,
  options: AnswerOptions & { files: AnswerFiles },
): Promise<ExitCode> {
  if (note !== "") writeError(`${note.trimEnd()}\n`);
  let exit: ExitCode = EXIT.ok;
  for (const { filename, dataBase64, url = "" } of files) {
    const name = ownName(filename);
    const written =
      dataBase64 === undefined
        ? await fetchOut(url, name, options.files, options)
        : await options.files.out.write(name, Buffer.from(dataBase64, "base64"));
    if (!written) exit = EXIT.failed;
  }
  return exit;
}

/** A file that a run made in its work folder. */
interface MadeFile {
  id: string;
  /** In the work folder. */
  path: string;
}

/** The text and files of an agent run's answer; `null` for any other JSON. */
function madeOf(bytes: Buffer): { text: string; files: MadeFile[] } | null {
  const value = parsed<{ text?: unknown; files?: unknown } | null>(bytes.toString("utf8"))?.json;
  if (typeof value !== "object" || typeof value?.text !== "string") return null;
  return Array.isArray(value.files) ? { text: value.text, files: value.files.filter(isMade) } : null;
}

function isMade(value: Partial<MadeFile> | null): value is MadeFile {
  return typeof value?.id === "string" && typeof value.path === "string";
}

/** The files that the header `x-hull-files` names. */
const listedFiles = (header: string): MadeFile[] =>
  Array.from(header.matchAll(/(file_\w+);path="([^"]*)"/g), ([, id = "", path = ""]) => ({
    id,
    path: decodeURI(path),
  }));

/** Writes the files of a run into the folder, each below its path; returns the exit code. */
async function writeMade(made: readonly MadeFile[], options: AnswerOptions): Promise<ExitCode> {
  let exit: ExitCode = EXIT.ok;
  if (options.files === undefined) return exit;
  for (const { id, path } of made) {
    // Whatever the server says, nothing is written outside of the folder.
    const parts = path.split("/").filter((part) => !["", ".", ".."].includes(part));
    const from = requestTo("GET /files/{id}", { path: { id } }).path;
    const written = await fetchOut(from, parts.join("/") || id, options.files, options);
    if (!written) exit = EXIT.failed;
  }
  return exit;
}

/** Fetches a file and writes it; `false` if the server does not have it, or it cannot be written in its place. */
async function fetchOut(
  url: string,
  path: string,
  { out, fetch }: AnswerFiles,
  options: AnswerOptions,
): Promise<boolean> {
  const response = await fetch(url);
  const content = await wholeOf(response);
  if (response.ok) return out.write(path, content);
  printFailure(content.toString("utf8"), response.status, options);
  return false;
}

/** Follows an event stream: text on stdout, tool calls and stderr on stderr. */
export async function printStream(response: Response, options: AnswerOptions): Promise<number> {
  let exit: number = EXIT.failed;
  let finished = false;
  let files: MadeFile[] = [];
  let shown = false;
  const printer = new EventPrinter();
  try {
    for await (const { event, data } of eventsOf(response)) {
      const value: Record<string, unknown> = JSON.parse(data);
      printer.print(event, value);
      options.onEvent?.(event, value, (line) => printer.say(line));
      if (event === "stderr") shown = true;
      if (event === "error") {
        printer.endLine();
        // The script's stderr has already been printed as it arrived.
        exit = printFailure(data, Number(value.status), options, !shown);
      }
      if (event === "done") {
        finished = true;
        if (value.ok === true) exit = EXIT.ok;
        if (Array.isArray(value.files)) files = value.files.filter(isMade);
      }
    }
  } catch (error) {
    // After the last event, the connection does not matter any more.
    if (!(error instanceof Error && "code" in error)) throw error;
  }
  printer.endLine();
  if (!finished) throw brokenOff();
  return (await writeMade(files, options)) || exit;
}

function printFailure(text: string, status: number, { json }: AnswerOptions, withStderr = true): ExitCode {
  const failure = refusal(status, text);
  const { stderr } = problemOf(text);
  if (json) writeOut(`${text}\n`);
  else {
    // A script may colour its own text.
    if (withStderr && stderr) process.stderr.write(`${stderr.trimEnd()}\n`);
    writeError(failureText(failure));
  }
  // A call that the skill refused has failed; wrong usage is that of the command.
  const { code, exit } = failure;
  if (code === "skill_not_found" || exit === EXIT.unauthorised || exit === EXIT.timed_out) return exit;
  return EXIT.failed;
}

interface NamedFile {
  filename: string;
  dataBase64?: string;
  url?: string;
}

/** The files of an answer with several files, and the script's note. */
interface SeveralFiles {
  note: string;
  files: NamedFile[];
}

/** `null` for any other JSON. */
function filesOf(bytes: Buffer): SeveralFiles | null {
  const value = parsed<{ note?: unknown; files?: NamedFile[] } | null>(bytes.toString("utf8"))?.json;
  if (typeof value?.note !== "string" || !Array.isArray(value.files)) return null;
  const { note, files } = value;
  return files.every((file) => typeof file?.filename === "string") ? { note, files } : null;
}

/**
 * The file name of an answer; `null`: the answer is not a file, and is an attachment only so that browsers do not
 * render it.
 */
function fileName(disposition: string): string | null {
  const encoded = /filename\*=UTF-8''([^;]+)/.exec(disposition)?.[1];
  return encoded === undefined ? null : decodeURIComponent(encoded);
}

/** Makes a name from elsewhere usable as a file name in the folder. */
function ownName(given: string): string {
  const name = basename(given);
  return ["", ".", ".."].includes(name) ? "output" : name;
}
