/** The interface of a `hull` command, its failures, and the parsing of flags. */
import { parseArgs } from "node:util";
import { nearest } from "../src/skill/match.ts";

export interface Command {
  name: string;
  /** One line for the overview. */
  summary: string;
  /** Synopsis, options and examples, as shown by `--help`. */
  usage: string;
  /** Returns the exit code; failures may also be thrown as `CommandError`. */
  run(argv: string[]): Promise<number>;
}

/** Exit codes, the same for every command. */
export const EXIT = {
  ok: 0,
  /** Errors in skills, or a failed call. */
  failed: 1,
  usage: 2,
  /** No such folder, skill or file. */
  missing: 3,
  /** Server or runner unreachable, port in use. */
  unreachable: 4,
  unauthorised: 5,
  timed_out: 124,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A failure that the user can understand: what failed and where, what is accepted, what to do next. */
export class CommandError extends Error {
  readonly exit: ExitCode;
  readonly code: string;
  readonly hint: string | undefined;
  /** The message without the code, for programs. */
  readonly detail: string;
  /** Its faults in files, for programs. */
  readonly errors?: readonly object[];

  constructor(exit: ExitCode, code: string, message: string, hint?: string, detail = message) {
    super(message);
    this.name = "CommandError";
    this.exit = exit;
    this.code = code;
    this.hint = hint;
    this.detail = detail;
  }
}

/** A failure as a command prints it. One with `errors` says the places of its faults instead of who found them. */
export const failureText = ({ message, hint, errors }: CommandError): string =>
  `${errors === undefined ? "hull: " : ""}${message}\n${hint === undefined ? "" : `  ${hint}\n`}`;

/** The word, if it is one of these. Throws `CommandError` (exit 2) otherwise. @param what the words name */
export function oneOf<W extends string>(what: string, words: readonly W[], given: string): W {
  const word = words.find((one) => one === given);
  if (word !== undefined) return word;
  throw usageError("bad_arguments", `There is no ${what} "${given}".`, `Accepted: ${words.join(", ")}.`);
}

/** The failure of a command that was called wrongly, or whose files and variables are wrong (exit 2). */
export const usageError = (code: string, message: string, hint?: string): CommandError =>
  new CommandError(EXIT.usage, code, message, hint);

/** A flag that takes a value, and one that takes none. */
export const VALUE = { type: "string" } as const;
export const SWITCH = { type: "boolean" } as const;

type FlagOptions = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>["options"]>;

/**
 * A command from its parts.
 * @param words how many other words it takes than flags
 * @param flags as for `parseArgs` of `node:util`
 * @param exclude pairs of flags of which only one may be given
 * @param need flags that have no effect without another one, by name
 * @param only the actions (a command's first word) with which a flag has an effect, by its name
 */
export const defineCommand = <O extends FlagOptions>({
  flags,
  words,
  exclude = [],
  need = {},
  only = {},
  run,
  ...shown
}: Omit<Command, "run"> & {
  flags: O;
  words: number;
  exclude?: readonly (readonly [keyof O & string, keyof O & string])[];
  need?: { readonly [Name in keyof O & string]?: keyof O & string };
  only?: { readonly [Name in keyof O & string]?: readonly string[] };
  run(given: ReturnType<typeof parseFlags<O>>): Promise<number>;
}): Command => ({
  ...shown,
  async run(argv) {
    const given = parseFlags(argv, flags, words);
    const has = new Map(Object.entries(given.values));
    for (const [one, other] of exclude)
      if (has.has(one) && has.has(other))
        throw usageError("flags_exclude", `--${one} and --${other} exclude each other.`);
    for (const [name, other] of Object.entries<string | undefined>(need))
      if (has.has(name) && other !== undefined && !has.has(other))
        process.stderr.write(`--${name} has no effect without --${other}.\n`);
    const [action = ""] = given.positionals;
    for (const [name, actions] of Object.entries<readonly string[] | undefined>(only))
      if (has.has(name) && actions?.includes(action) === false)
        process.stderr.write(`--${name} has an effect only with ${actions.join(" and ")}.\n`);
    return run(given);
  },
});

/** Throws `CommandError` (exit 2) with the wrong word and the nearest flag. */
function parseFlags<O extends FlagOptions>(argv: string[], options: O, positionals: number) {
  const { tokens } = parseArgs({ args: argv, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const declared = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (declared === undefined) {
      const names = Object.keys(options);
      const [near] = nearest(token.name, names);
      const known = names.map((name) => `--${name}`).join(", ") || "none";
      throw usageError(
        "unknown_flag",
        `Unknown flag ${token.rawName}.`,
        near === undefined ? `Flags of this command: ${known}.` : `Did you mean --${near}?`,
      );
    }
    if (declared.type === "string" && token.value === undefined) {
      throw usageError("flag_value", `The flag ${token.rawName} needs a value.`);
    }
    if (declared.type === "boolean" && token.value !== undefined) {
      throw usageError("flag_value", `The flag ${token.rawName} takes no value.`);
    }
  }
  const words = tokens.filter((token) => token.kind === "positional");
  const extra = words[positionals];
  if (extra !== undefined) {
    throw unexpectedArgument(extra.value);
  }
  try {
    return parseArgs({ args: argv, options, strict: true, allowPositionals: true });
  } catch (error) {
    throw usageError("bad_arguments", error instanceof Error ? error.message : String(error));
  }
}

export const unexpectedArgument = (word: string): CommandError =>
  usageError("unexpected_argument", `Unexpected argument ${JSON.stringify(word)}.`);

/** Waits for a signal, stops a server, and returns the exit code. */
export async function untilStopped(server: { stop: () => Promise<void> }): Promise<ExitCode> {
  const { promise, resolve } = Promise.withResolvers<ExitCode>();
  process.once("SIGINT", () => resolve(EXIT.interrupted));
  process.once("SIGTERM", () => resolve(EXIT.ok));
  process.once("SIGHUP", () => resolve(EXIT.ok));
  const code = await promise;
  await server.stop();
  return code;
}

/** The value of `--timeout` in ms; `undefined` if it is not given. Throws `CommandError` (exit 2) if it is invalid. */
export function timeoutMs(seconds: string | undefined): number | undefined {
  if (seconds === undefined) return undefined;
  const number = Number(seconds);
  if (seconds !== "" && number >= 0 && number <= 3600) return Math.round(number * 1000);
  const message = `--timeout is a number of seconds up to 3600, not ${JSON.stringify(seconds)}.`;
  throw usageError("bad_arguments", message);
}
