/** Commands of `hull` inside the test's own process: what they print and how they end, without the start of a Node for each. */
// It always works in the folder in which it was loaded: not in that of a test, which is removed.
import "esbuild";
import { vi } from "vitest";
import { runCli } from "../../../scripts/cli.ts";

export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** Runs one command to its end. One at a time: the process has one working directory and one output. */
export async function hullHere(args: string[], cwd = process.cwd()): Promise<Ended> {
  const printed = { out: "", err: "" };
  const collect = (to: keyof Omit<Ended, "code">) => (text: string | Uint8Array) => {
    printed[to] += typeof text === "string" ? text : Buffer.from(text).toString();
    return true;
  };
  const before = process.cwd();
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(collect("out")),
    vi.spyOn(process.stderr, "write").mockImplementation(collect("err")),
  ];
  process.chdir(cwd);
  try {
    const code = await runCli(args);
    return { code, ...printed };
  } finally {
    process.chdir(before);
    for (const spy of spies) spy.mockRestore();
  }
}
