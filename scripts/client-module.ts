/**
 * Makes `typed/client`, which the package exports as `hullrun/client`, from `src/client`: one module without
 * dependencies and its types. The types of the API are there already: `client-types.ts` makes them.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";

const OUT = "typed/client";
/** The types of the API, which `src/client` imports from there. */
export const CLIENT_TYPES = `${OUT}/api.d.ts`;
const NOTE = "// `npm run docs` writes this file from src/client.\n";

/** Its files by path. Throws if the sources have a fault. @param root of the checkout */
export function clientModule(root: string): Map<string, string> {
  const { outputFiles } = buildSync({
    entryPoints: [join(root, "src/client/client.ts")],
    bundle: true,
    format: "esm",
    target: "es2022",
    banner: { js: NOTE },
    legalComments: "none",
    write: false,
  });
  const files = new Map(outputFiles.map(({ text }) => [`${OUT}/client.mjs`, text]));
  const made = mkdtempSync(join(tmpdir(), "hull-client-"));
  try {
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    execFileSync(process.execPath, [compiler, "-p", join(root, "src/client"), "--outDir", made]);
    for (const name of readdirSync(made)) {
      const text = readFileSync(join(made, name), "utf8");
      files.set(`${OUT}/${name}`, NOTE + text.replaceAll(`"../../${CLIENT_TYPES}"`, '"./api.ts"'));
    }
  } finally {
    rmSync(made, { recursive: true });
  }
  return files;
}
