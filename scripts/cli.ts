/** The `hull` command line: finds the command, runs it, turns failures into messages and exit codes. */

import hull from "../package.json" with { type: "json" };
import { nearest } from "../src/skill/match.ts";
import { annotations } from "./annotations.ts";
import { type Command, CommandError, EXIT, failureText, usageError } from "./command.ts";
import { FileError, faultText } from "./file-error.ts";
import { isSystemError, systemError } from "./system-error.ts";
import { writeError, writeOut } from "./terminal-text.ts";

/** In the order of the overview. */
const COMMANDS: { name: string; aliases: readonly string[]; load: () => Promise<{ command: Command }> }[] = [
  { name: "init", aliases: [], load: () => import("./commands/init.ts") },
  { name: "new", aliases: [], load: () => import("./commands/new.ts") },
  { name: "dev", aliases: ["serve"], load: () => import("./commands/dev.ts") },
  { name: "call", aliases: [], load: () => import("./commands/call.ts") },
  { name: "chat", aliases: [], load: () => import("./commands/chat.ts") },
  { name: "run", aliases: [], load: () => import("./commands/run.ts") },
  { name: "replay", aliases: [], load: () => import("./commands/replay.ts") },
  { name: "list", aliases: [], load: () => import("./commands/list.ts") },
  { name: "pack", aliases: [], load: () => import("./commands/pack.ts") },
  { name: "sign", aliases: [], load: () => import("./commands/sign.ts") },
  { name: "validate", aliases: [], load: () => import("./commands/validate.ts") },
  { name: "build", aliases: [], load: () => import("./commands/build.ts") },
  { name: "publish", aliases: [], load: () => import("./commands/publish.ts") },
  { name: "deploy", aliases: [], load: () => import("./commands/deploy.ts") },
  { name: "upload", aliases: [], load: () => import("./commands/upload.ts") },
  { name: "remove", aliases: [], load: () => import("./commands/remove.ts") },
  { name: "sessions", aliases: [], load: () => import("./commands/sessions.ts") },
  { name: "runs", aliases: [], load: () => import("./commands/runs.ts") },
  { name: "approvals", aliases: [], load: () => import("./commands/approvals.ts") },
  { name: "logs", aliases: [], load: () => import("./commands/logs.ts") },
  { name: "tasks", aliases: [], load: () => import("./commands/tasks.ts") },
  { name: "workflow", aliases: ["workflows"], load: () => import("./commands/workflow.ts") },
  { name: "daemons", aliases: [], load: () => import("./commands/daemons.ts") },
  { name: "keys", aliases: [], load: () => import("./commands/keys.ts") },
  { name: "mcp", aliases: [], load: () => import("./commands/mcp.ts") },
  { name: "bundle", aliases: [], load: () => import("./commands/bundle.ts") },
  { name: "clean", aliases: [], load: () => import("./commands/clean.ts") },
  { name: "doctor", aliases: [], load: () => import("./commands/doctor.ts") },
];

async function main(argv: string[]): Promise<number> {
  const [word, ...rest] = argv;
  if (
    word === undefined ||
    word === "--help" ||
    word === "-h" ||
    (word === "help" && rest[0] === undefined)
  ) {
    process.stdout.write(await overview());
    return word === undefined ? EXIT.usage : EXIT.ok;
  }
  if (word === "--version" || word === "-V") {
    process.stdout.write(`hull ${hull.version}\n`);
    return EXIT.ok;
  }
  if (word === "help") return main([rest[0] ?? "", "--help"]);
  const entry = COMMANDS.find(({ name, aliases }) => name === word || aliases.includes(word));
  if (entry === undefined) {
    const [near] = nearest(
      word,
      COMMANDS.flatMap(({ name, aliases }) => [name, ...aliases]),
    );
    throw usageError(
      "unknown_command",
      `Unknown command ${JSON.stringify(word)}.`,
      near === undefined ? "hull --help lists the commands." : `Did you mean: hull ${near}`,
    );
  }
  const { command } = await entry.load();
  if (asksForHelp(rest)) {
    process.stdout.write(`${command.summary}\n\n${command.usage.trim()}\n`);
    return EXIT.ok;
  }
  return command.run(rest);
}

function asksForHelp(argv: string[]): boolean {
  const end = argv.indexOf("--");
  return (end < 0 ? argv : argv.slice(0, end)).some((word) => word === "--help" || word === "-h");
}

async function overview(): Promise<string> {
  const commands = await Promise.all(COMMANDS.map(async ({ load }) => (await load()).command));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(10)}${summary}`);
  return `Hull serves a folder of agent skills over HTTPS.\n\nUsage: hull <command> [options]\n\n${lines.join("\n")}\n\nhull <command> --help says more, hull --version which Hull this is. Exit codes: 0 ok, 1 errors in skills or a\nfailed call, 2 usage, 3 not found, 4 unreachable, 5 not authorised, 124 timed out, 130 interrupted.\n`;
}

function report(error: unknown, json: boolean): number {
  const failure = describe(error);
  if (json) {
    const { code, detail, hint, errors } = failure;
    writeOut(`${JSON.stringify({ code, detail, hint, errors })}\n`);
  } else {
    writeError(failureText(failure));
    if (failure instanceof FileError) {
      const { code, errors } = failure;
      const found = errors.map((fault) => ({
        ...fault,
        level: "error" as const,
        code,
        message: faultText(fault),
      }));
      writeError(annotations(found, process.env));
    }
  }
  return failure.exit;
}

function describe(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  if (isSystemError(error)) return systemError(error);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new CommandError(
    EXIT.failed,
    "internal",
    text,
    "This is a fault in Hull; please report it with this text.",
  );
}

/** Runs the command that `argv` names, prints its messages, and returns the exit code. Never throws. */
export async function runCli(argv: string[]): Promise<number> {
  try {
    return await main(argv);
  } catch (error) {
    return report(error, argv.includes("--json"));
  }
}
