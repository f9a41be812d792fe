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

/**
 * The bindings of wrangler.toml without its build rules: vitest bundles the code, and by those rules would take each
 * CommonJS module for an ES module.
 */
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
    // Without this, one file runs at a time. More than there are cores, since some tests wait for a clock; each worker is a
    // workerd, which takes two seconds of processor time before its first test. A whole run has fewer (scripts/test.ts).
    maxWorkers: availableParallelism() * 3,
    // vitest wants the same number of all projects of a group.
    sequence: { groupOrder: 2 },
    include: ["**/*.test.ts"],
    // Files share a workerd, whose start and import of the sources take longer than the tests of most files; see setup.ts.
    isolate: false,
    setupFiles: ["./setup.ts"],
    // Each run has another bundle of the sources.
    fsModuleCache: false,
    unstubGlobals: true,
    // Long enough for a busy machine.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 120_000 } },
  },
});
