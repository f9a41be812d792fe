/** The memory of commands that have a limit of their own, where there are no cgroups. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Bundle, bundle, run, startRunner, type TestRunner } from "../support/runner.ts";

let runner: TestRunner;
let files: Bundle;
beforeAll(async () => {
  runner = await startRunner();
  files = await bundle({ "noop.sh": "#!/bin/sh\n" });
});
afterAll(() => runner.stop());

async function command(text: string, memory_bytes?: number) {
  const handler = { language: "bash" as const, config: "{}", context: "{}", network: null };
  const limits = { max_output_bytes: 1_000_000, ...(memory_bytes === undefined ? {} : { memory_bytes }) };
  const stdin = Buffer.from(text);
  const { stdout, status } = await run(runner, files, { argv: ["bash"], handler, limits }, { stdin });
  return { said: stdout.toString(), status };
}

const eat = (bytes: number): string => `python3 -S -E -c 'print(len(bytearray(${bytes})))'`;

test("a process has no more memory than its limit, and cannot raise it; reserved memory does not count", async () => {
  const limit = 1024 ** 3;
  const { said, status } = await command(eat(1_500_000_000), limit);
  expect(said).toContain("MemoryError");
  expect(status).toMatchObject({ cause: "exit", exit_code: 1 });
  expect((await command(`${eat(100_000_000)} && node -e 'console.log(7)'`, limit)).said).toBe(
    "100000000\n7\n",
  );
  expect((await command(`ulimit -d unlimited; ${eat(1_500_000_000)}`, limit)).said).toMatch(
    /ulimit.*MemoryError/s,
  );
  expect((await command(eat(400_000_000))).said).toBe("400000000\n");
});
