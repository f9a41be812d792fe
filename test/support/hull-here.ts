/**
 * Runs commands of `hull` inside the test's own process, and captures their output and exit code. That saves the start
 * of Node for each command.
 */
// esbuild always works in the folder in which it was loaded. That must not be a test's folder, which is removed.
import "esbuild";
import { dirname, join } from "node:path";
import { vi } from "vitest";

/**
 * The command line as the run bundled it (`global-setup.ts`), if it did. Otherwise each test process would load some 300
 * modules of it one by one.
 */
const { HULL_CLI_BUNDLE } = process.env;
const { runCli }: typeof import("../../scripts/cli.ts") = await (HULL_CLI_BUNDLE === undefined
  ? import("../../scripts/cli.ts")
  : import(join(dirname(HULL_CLI_BUNDLE), "cli.mjs")));

let busy = false;

/**
 * Whether a command is running here. Only one can, since a process has one working directory, one environment and one
 * output.
 */
export const isBusy = (): boolean => busy;

interface Printed {
  to: "out" | "err";
  text: string;
}

/** Runs one command to its end, with exactly these variables; returns its exit code and what it printed, in order. */
export async function runHere(
  args: string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: number; printed: Printed[] }> {
  busy = true;
  const before = { cwd: process.cwd(), env: { ...process.env } };
  const printed: Printed[] = [];
  const collect = (to: Printed["to"]) => (text: string | Uint8Array) => {
    printed.push({ to, text: typeof text === "string" ? text : Buffer.from(text).toString() });
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(collect("out")),
    vi.spyOn(process.stderr, "write").mockImplementation(collect("err")),
  ];
  replaceVariables(env);
  process.chdir(cwd);
  try {
    return { code: await runCli(args), printed };
  } finally {
    process.chdir(before.cwd);
    replaceVariables(before.env);
    for (const spy of spies) spy.mockRestore();
    busy = false;
  }
}

export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** Runs one command to its end with the variables of the process. */
export async function hullHere(args: string[], cwd = process.cwd()): Promise<Ended> {
  const { code, printed } = await runHere(args, cwd, { ...process.env });
  const textTo = (wanted: Printed["to"]) =>
    printed.map(({ to, text }) => (to === wanted ? text : "")).join("");
  return { code, out: textTo("out"), err: textTo("err") };
}

function replaceVariables(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
}
