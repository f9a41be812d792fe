import { spawnSync } from "node:child_process";
import { availableParallelism, tmpdir } from "node:os";
import { delimiter, dirname } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";

const cores = availableParallelism();
/** For what hangs: far longer than anything takes on a machine that is busy with other things. */
const HANGS = { testTimeout: 240_000, hookTimeout: 240_000, expect: { poll: { timeout: 120_000 } } };

// For esbuild and the compiler, which are programs in Go, wherever a test or its preparation starts them: with Go's own heap, a
// third of esbuild's processor time collects garbage.
process.env.GOGC ??= "400";

/**
 * Temporary files of tests that run in Node: the project `worker` changes the variable for workerd. Commands print no
 * annotations for GitHub.
 */
const env = { TMPDIR: tmpdir(), GITHUB_ACTIONS: "" };

/**
 * The search path on which `python3` is the interpreter itself. A wrapper (pyenv) finds it anew at each start, which takes ten
 * times as long as what the unit tests start it for.
 */
function pathToPython(): string {
  const program = "import sys; print(sys.executable)";
  const { stdout } = spawnSync("python3", ["-I", "-S", "-c", program], { encoding: "utf8" });
  const folders = (process.env.PATH ?? "").split(delimiter);
  const own = dirname(stdout?.trim() ?? "");
  return own === "." || folders.includes(own) ? folders.join(delimiter) : [own, ...folders].join(delimiter);
}

/**
 * Short files that take long: at the end of a run they would go on alone. Otherwise vitest begins with what took long in the last
 * run, or, where it remembers none, with the largest files.
 */
const LONG =
  /(?:-crash|recovery|removal|large|package|deploy|executions|sigkill|npm-start|docs|daemons|packages|journal|load|console|testing|tutorials|aborts|attack-dev|e2e\/(?:files|keys|triggers|uploads))\.test\.ts$/;

class LongFirst extends BaseSequencer {
  override async sort(...args: Parameters<BaseSequencer["sort"]>): ReturnType<BaseSequencer["sort"]> {
    const files = await super.sort(...args);
    // Each project by itself: what runs the files of one ends when a file of another is the next.
    const projects = Map.groupBy(files, ({ project }) => project).values();
    return [...projects].flatMap((own) => {
      const { long = [], short = [] } = Object.groupBy(own, ({ moduleId }) =>
        LONG.test(moduleId) ? "long" : "short",
      );
      return [...long, ...short];
    });
  }
}

/** `unit` and `real` run in Node, `worker` inside workerd. */
export default defineConfig({
  test: {
    // Servers that files share end after the last test.
    teardownTimeout: 120_000,
    // One more than there are cores, since some tests wait for a clock.
    maxWorkers: cores + 1,
    sequence: { sequencer: LongFirst },
    silent: "passed-only",
    projects: [
      {
        test: {
          ...HANGS,
          env: { ...env, PATH: pathToPython() },
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          // These tests share nothing that one of them changes, so files share a process and the modules in it.
          isolate: false,
          // A process that runs many files makes and drops much: with a small heap, a tenth of its processor time collects it.
          execArgv: ["--initial-old-space-size=512", "--min-semi-space-size=16", "--max-semi-space-size=32"],
        },
      },
      "./test/worker/vitest.config.ts",
      {
        test: {
          ...HANGS,
          env,
          name: "real",
          include: ["test/{runner,e2e}/**/*.test.ts"],
          globalSetup: "test/support/global-setup.ts",
          // What a file changes is in processes of its own.
          isolate: false,
          // Full collections of these processes, which live long and keep little, took a sixth of their processor time.
          execArgv: ["--initial-old-space-size=512"],
          // After `unit`, and more at once than there are cores: these tests mostly wait for processes.
          sequence: { groupOrder: 1 },
          maxWorkers: cores * 2 + 2,
        },
      },
    ],
  },
});
