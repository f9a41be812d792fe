/** The modules of the Worker that each isolate compiles when it starts. */
import { relative } from "node:path";
import { build, type Metafile } from "esbuild";
import { ENTRY, workerBuild } from "../../scripts/dev/worker-bundle.ts";

type Outputs = Metafile["outputs"];

/** The outputs that the Worker's entry reaches by `import` statements, but not by `import()`. */
export async function entryModules(repoDir: string): Promise<Outputs> {
  const options = workerBuild(repoDir);
  const { metafile } = await build({ ...options, metafile: true });
  const reached: Outputs = {};
  const reach = (path: string): void => {
    const output = metafile.outputs[path];
    if (output === undefined || path in reached) return;
    reached[path] = output;
    for (const { kind, path: imported } of output.imports) if (kind === "import-statement") reach(imported);
  };
  reach(`${relative(repoDir, options.outdir)}/${ENTRY}`);
  return reached;
}
