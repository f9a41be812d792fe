import { defineConfig } from "vitest/config";

/** Node-side tests; those that run inside workerd are the second project. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "node",
          include: ["test/{unit,runner,e2e}/**/*.test.ts"],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      "./test/worker/vitest.config.ts",
    ],
  },
});
