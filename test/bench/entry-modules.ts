/** The modules of the Worker that each isolate compiles when it starts. */
import { relative } from "node:path";
import type { Metafile } from "esbuild";
import { bundleWithMetafile, workerBuild } from "../../scripts/dev/worker-bundle.ts";
import { ENTRY, type WorkerModules } from "../../scripts/dev/worker-modules.ts";

type Outputs = Metafile["outputs"];

/** The Worker's modules; and the outputs that its entry reaches by `import` statements, but not by `import()`. */
export async function entryModules(repoDir: string): Promise<{ modules: WorkerModules; entry: Outputs }> {
  const { modules, metafile } = await bundleWithMetafile(repoDir);
  const reached: Outputs = {};
  const reach = (path: string): void => {
    const output = metafile.outputs[path];
    if (output === undefined || path in reached) return;
    reached[path] = output;
    for (const { kind, path: imported } of output.imports) if (kind === "import-statement") reach(imported);
  };
  reach(`${relative(repoDir, workerBuild(repoDir).outdir)}/${ENTRY}`);
  return { modules, entry: reached };
}
