/**
 * `npm run check`: runs in parallel all checks that need no test run; `npm run types` runs `types` alone. The output of
 * a check is printed when it has ended, and the exit code is 1 if a check found something.
 */
import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";

const REPO = join(import.meta.dirname, "..");
/** By default a compiler checks in four threads, which takes more processor time than two cores have to give. */
const types = (config: string): string[] => ["tsc", "-p", config, "--checkers", "1"];

const TYPES = [
  types("tsconfig.node.json"),
  // With all of `src`, which has the same types alone: a compiler of its own would read and check it once more.
  types("test/worker/tsconfig.json"),
  // Scripts that run elsewhere: next to foreign code, and in a browser.
  types("src/tool/isolate"),
  types("src/console"),
];
const LINT = ["node", "scripts/lint-changed.ts"];
const PYTHON = ["node", "--liftoff-only", "scripts/lint-python.ts"];
/** The longest first. */
const ALL = [...TYPES, LINT, ["node", "scripts/architecture.ts"], PYTHON];

const env = {
  ...process.env,
  PATH: [join(REPO, "node_modules", ".bin"), process.env.PATH].join(delimiter),
  // The compilers run only briefly and keep nearly all that they allocate: collecting garbage takes a tenth of their time.
  GOGC: "off",
  GOMEMLIMIT: "3GiB",
};

/** Runs one check and prints its output; returns whether it found nothing. */
async function passes([program = "", ...args]: string[]): Promise<boolean> {
  const child = spawn(program, args, { cwd: REPO, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const { promise, resolve } = Promise.withResolvers<boolean>();
  child.once("error", ({ message }) => {
    output += `${message}\n`;
    resolve(false);
  });
  child.once("close", (code) => resolve(code === 0));
  const passed = await promise;
  process.stdout.write(`${passed ? "✓" : "✗"} ${[program, ...args].join(" ")}\n${output}`);
  return passed;
}

const results = await Promise.all((process.argv[2] === "types" ? TYPES : ALL).map(passes));
process.exitCode = results.every((passed) => passed) ? 0 : 1;
