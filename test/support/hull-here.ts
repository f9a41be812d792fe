/** Commands of `hull` inside the test's own process: what they print and how they end, without the start of a Node for each. */
// It always works in the folder in which it was loaded: not in that of a test, which is removed.
import "esbuild";
import { dirname, join } from "node:path";
import { vi } from "vitest";

/**
 * Of the command line as the run bundled it (`global-setup.ts`), if it did: each process of tests would otherwise load some 300
 * modules of it one by one.
 */
const { HULL_CLI_BUNDLE } = process.env;
const { runCli }: typeof import("../../scripts/cli.ts") = await (HULL_CLI_BUNDLE === undefined
  ? import("../../scripts/cli.ts")
  : import(join(dirname(HULL_CLI_BUNDLE), "cli.mjs")));

let busy = false;

/** Whether a command runs here now: a process has one working directory, one environment and one output. */
export const isBusy = (): boolean => busy;

/** Runs one command to its end, with these variables and no others. */
export async function hullHere(
  args: string[],
  cwd: string,
  env: Record<string, string>,
): Promise<{ code: number; output: string }> {
  busy = true;
  const before = { cwd: process.cwd(), env: { ...process.env } };
  let output = "";
  const collect = (text: string | Uint8Array): boolean => {
    output += typeof text === "string" ? text : Buffer.from(text).toString();
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(collect),
    vi.spyOn(process.stderr, "write").mockImplementation(collect),
  ];
  replaceVariables(env);
  process.chdir(cwd);
  try {
    const code = await runCli(args);
    return { code, output };
  } finally {
    process.chdir(before.cwd);
    replaceVariables(before.env);
    for (const spy of spies) spy.mockRestore();
    busy = false;
  }
}

function replaceVariables(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
}
