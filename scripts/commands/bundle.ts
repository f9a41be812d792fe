/** `hull bundle`: the Worker's modules for wrangler. */
import { join } from "node:path";
import { defineCommand, EXIT } from "../command.ts";
import { REPO_DIR } from "../dev/paths.ts";
import { workerFolder } from "../dev/worker-bundle.ts";
import { readModules, writeModules } from "../dev/worker-modules.ts";

export const command = defineCommand({
  name: "bundle",
  summary: "Bundle Hull's Worker for wrangler, which runs this by itself",
  usage: `
Usage: hull bundle

Writes the Worker's modules to dist, in the folder where Hull is installed: worker.js, and parts that the Worker imports when a
request first needs them. Hull's wrangler.toml names this command in [build]. You need not call it before hull deploy or hull dev.
`,
  flags: {},
  words: 0,
  async run() {
    const dist = join(REPO_DIR, "dist");
    const folder = await workerFolder(dist);
    if (folder !== dist) await writeModules(dist, await readModules(folder));
    return EXIT.ok;
  },
});
