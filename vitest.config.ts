import { defineConfig } from "vitest/config";

/** Node-side tests; those that run inside workerd are the second project. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "node",
          include: ["test/{unit,runner,e2e}/**/*.test.ts"],
          // For what hangs: far longer than anything takes on a machine that is busy with other things.
          testTimeout: 240_000,
          hookTimeout: 240_000,
          // Real processes on CI's two shared cores: a test that fails there once for want of a core is asked again.
          retry: process.env.CI === undefined ? 0 : 2,
        },
      },
      "./test/worker/vitest.config.ts",
    ],
  },
});
