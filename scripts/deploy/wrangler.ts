/** Calls wrangler as a separate process, and explains its failures. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { CommandError, EXIT, type ExitCode } from "../command.ts";
import { WRANGLER } from "../dev/paths.ts";

/** Lines of wrangler's report to show after a failure. */
const SHOWN_LINES = 20;

interface Answer {
  code: number;
  stdout: string;
  stderr: string;
}

/** The purpose of a call, and the advice if it fails. */
export interface Purpose {
  what: string;
  hint: string;
}

/** The arguments of a call in shell syntax. */
export function commandLine(args: readonly string[]): string {
  const words = args.map((arg) => (/^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`));
  return `wrangler ${words.join(" ")}`;
}

export class Wrangler {
  readonly #cwd: string;
  /** Called for every call before it is made. */
  readonly #onCall: (line: string) => void;

  /** @param cwd where wrangler looks for `.env` */
  constructor(cwd: string, onCall: (line: string) => void) {
    this.#cwd = cwd;
    this.#onCall = onCall;
  }

  /** Makes a call without interaction and reads its output. Returns an answer even if the call fails. */
  async try(args: readonly string[]): Promise<Answer> {
    this.#onCall(commandLine(args));
    const child = this.#start(args, ["ignore", "pipe", "pipe"], {});
    const output = (stream: NodeJS.ReadableStream | null) => (stream === null ? "" : text(stream));
    const [stdout, stderr, code] = await Promise.all([
      output(child.stdout),
      output(child.stderr),
      exitCodeOf(child),
    ]);
    return { code, stdout, stderr };
  }

  /** Like `try`. @throws CommandError with wrangler's output if it fails */
  async ask(args: readonly string[], purpose: Purpose): Promise<string> {
    const answer = await this.try(args);
    if (answer.code !== 0) throw failed(args, answer, purpose);
    return answer.stdout;
  }

  /** Makes a call that shows its own progress and may ask the user. @throws CommandError */
  async run(args: readonly string[], purpose: Purpose, env: Record<string, string> = {}): Promise<void> {
    this.#onCall(commandLine(args));
    const child = this.#start(args, "inherit", env);
    const code = await exitCodeOf(child);
    if (code !== 0) throw failed(args, { code, stdout: "", stderr: "" }, purpose);
  }

  #start(args: readonly string[], stdio: Stdio, env: Record<string, string>) {
    const program = process.env.HULL_WRANGLER ?? WRANGLER;
    return spawn(process.execPath, ["--no-warnings", program, ...args], {
      cwd: this.#cwd,
      env: { ...process.env, WRANGLER_HIDE_BANNER: "true", ...env },
      stdio,
    });
  }
}

/** @throws if the process cannot start */
async function exitCodeOf(child: ChildProcess): Promise<number> {
  const [code]: (number | null)[] = await once(child, "close");
  return code ?? 1;
}

type Stdio = "inherit" | ["ignore", "pipe", "pipe"];

function failed(
  args: readonly string[],
  { code, stdout, stderr }: Answer,
  { what, hint }: Purpose,
): CommandError {
  const said = stripVTControlCharacters(`${stdout}\n${stderr}`)
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "" && !/Logs were written to|wrangler \d+\.\d+|^─+$/.test(line));
  const report = said.slice(-SHOWN_LINES).map((line) => `\n  ${line}`);
  const call = commandLine(args);
  return new CommandError(
    exitOf(said.join("\n")),
    "wrangler_failed",
    `${what}: \`${call}\` ended with exit code ${code}.${report.join("")}`,
    hint,
  );
}

function exitOf(said: string): ExitCode {
  if (/code: 10000\b|not authenticated|CLOUDFLARE_API_TOKEN|wrangler login/i.test(said))
    return EXIT.unauthorised;
  return /fetch failed|connectivity issue|ENOTFOUND|ECONNREFUSED/i.test(said)
    ? EXIT.unreachable
    : EXIT.failed;
}
