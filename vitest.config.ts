import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const cores = availableParallelism();
/** For what hangs: far longer than anything takes on a machine that is busy with other things. */
const HANGS = { testTimeout: 240_000, hookTimeout: 240_000 };

/** `unit` and `real` run in Node, `worker` inside workerd. */
export default defineConfig({
  test: {
    maxWorkers: cores,
    projects: [
      {
        test: {
          ...HANGS,
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          // These tests share nothing that one of them changes, so files share a process and the modules in it.
          isolate: false,
        },
      },
      "./test/worker/vitest.config.ts",
      {
        test: {
          ...HANGS,
          name: "real",
          include: ["test/{runner,e2e}/**/*.test.ts"],
          globalSetup: "test/support/global-setup.ts",
          // After the others, and more at once than there are cores: these tests mostly wait for processes.
          sequence: { groupOrder: 1 },
          maxWorkers: cores + 1,
          // Real processes on CI's two shared cores: a test that fails there for want of a core runs once more.
          retry: process.env.CI === undefined ? 0 : 1,
        },
      },
    ],
  },
});
