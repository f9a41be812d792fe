import { availableParallelism } from "node:os";
import { join } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { readWorkerConfig, writeWorkerConfig } from "../../scripts/deploy/worker-config.ts";
import { MEMORY } from "../support/memory.ts";
import { PREBUILT_RULES, prebuiltSources } from "../support/prebuilt-sources.ts";

const REPO = join(import.meta.dirname, "..", "..");

// Durable Objects wait for the disk at each of their writes: in memory these tests take a third less time. The processes of the
// other projects have their own TMPDIR (vitest.config.ts).
if (MEMORY !== null) process.env.TMPDIR = MEMORY;

/** The bindings of wrangler.toml alone: vitest bundles, and would take each CommonJS module for an ES module by its rules. */
async function bindingsAlone(): Promise<string> {
  const config = await readWorkerConfig(join(REPO, "wrangler.toml"), undefined);
  const { build: _, rules: __, no_bundle: ___, ...rest } = config;
  return writeWorkerConfig(join(REPO, "node_modules", ".cache", "hull-worker-tests"), rest);
}

/** Tests inside workerd, with the bindings of wrangler.toml as miniflare runs them. */
export default defineConfig({
  plugins: [
    prebuiltSources(),
    cloudflareTest({
      main: "./worker-under-test.ts",
      remoteBindings: false,
      wrangler: { configPath: await bindingsAlone() },
      miniflare: { modulesRules: PREBUILT_RULES },
    }),
  ],
  test: {
    name: "worker",
    // Without it one file runs at a time, after all others. As many as the unit tests have.
    maxWorkers: availableParallelism() + 1,
    include: ["**/*.test.ts"],
    // Files share a workerd, whose start and import of the sources take longer than the tests of most files; see setup.ts.
    isolate: false,
    setupFiles: ["./setup.ts"],
    // The bundle of the sources is another one in each run.
    fsModuleCache: false,
    unstubGlobals: true,
    // Long enough for a machine that is busy with other things.
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});
