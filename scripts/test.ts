/**
 * Runs the tests: `node scripts/test.ts [--quick] [ARGUMENT...]`. `--quick` leaves out the tests that start servers;
 * vitest gets the other arguments. Its last line is "N passed, N failed".
 *
 * Two vitests run at once: one with the projects in Node, one with the tests inside workerd. Those would otherwise get
 * no workers of their own, and the projects in Node would wait for the last of them.
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as z from "zod";

const REPO = join(import.meta.dirname, "..");
const VITEST = join(REPO, "node_modules", "vitest", "vitest.mjs");

const Report = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  testResults: z.array(
    z.object({ status: z.string(), assertionResults: z.array(z.object({ status: z.string() })) }),
  ),
});

interface Outcome {
  passed: number;
  failed: number;
  /** Whether vitest itself found everything well; an error outside of a test fails none. */
  well: boolean;
}

/** Runs one vitest; its lines go to the standard output as they come. */
async function run(name: string, parameters: string[], folder: string): Promise<Outcome> {
  const report = join(folder, `${name}.json`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const child = spawn(process.execPath, [VITEST, "run", "--passWithNoTests", ...reporters, ...parameters], {
    cwd: REPO,
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream).on("line", (line) => process.stdout.write(`${line}\n`));
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  const counts = countsOf(await readFile(report, "utf8").catch(() => null));
  return { ...counts, well: code === 0 };
}

/** What a report counts; a file that fails before its first test is one failure, as is a report that is missing. */
function countsOf(text: string | null): Omit<Outcome, "well"> {
  if (text === null) return { passed: 0, failed: 1 };
  const { numPassedTests, numFailedTests, testResults } = Report.parse(JSON.parse(text));
  const broken = testResults.filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((test) => test.status === "failed"),
  );
  return { passed: numPassedTests, failed: numFailedTests + broken.length };
}

const given = process.argv.slice(2);
const rest = given.filter((argument) => argument !== "--quick");
const inNode = given.includes("--quick") ? ["unit"] : ["unit", "real"];
// Each workerd more takes a second and a half of processor time. By themselves the tests inside workerd end earlier with more of
// them, since some tests wait for a clock; in a whole run the tests that start servers go on for longer.
const workerds = given.length === 0 ? [`--maxWorkers=${availableParallelism() * 2}`] : [];
// The children of a terminal end by its signal; their outcomes still count.
process.on("SIGINT", () => undefined);

const folder = await mkdtemp(join(tmpdir(), "hull-test-reports-"));
try {
  const outcomes = await Promise.all([
    run("node", [...inNode.flatMap((project) => ["--project", project]), ...rest], folder),
    run("worker", ["--project", "worker", ...workerds, ...rest], folder),
  ]);
  const sum = (count: (outcome: Outcome) => number): number =>
    outcomes.reduce((total, outcome) => total + count(outcome), 0);
  const [passed, failed] = [sum((outcome) => outcome.passed), sum((outcome) => outcome.failed)];
  if (passed + failed === 0) process.stdout.write("No test matches.\n");
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  if (passed + failed === 0 || !outcomes.every(({ well }) => well)) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true });
}
