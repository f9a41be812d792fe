import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

/** Tests inside workerd, with the bindings of wrangler.toml as miniflare runs them. */
export default defineConfig({
  plugins: [cloudflareTest({ remoteBindings: false, wrangler: { configPath: "../../wrangler.toml" } })],
  // Long enough for a machine that is busy with other things.
  test: {
    name: "worker",
    include: ["**/*.test.ts"],
    silent: "passed-only",
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});
