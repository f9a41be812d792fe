/**
 * Bundles the script that renders artifacts of React in the console into `assets/console`: `src/console/react-frame.js`
 * with React and a compiler of JSX, which are development dependencies, and their licences. npm runs this after an install
 * and before packing (`prepare`), so that neither wrangler nor an installed Hull needs the packages.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";
import { REPO_DIR } from "./dev/paths.ts";

const NAME = "react-frame.js";
const PACKAGES = ["react", "react-dom", "sucrase"];

/**
 * Writes the files; returns whether the packages were there. Correct files stay untouched: a server may be serving
 * them, or watching the folder.
 */
export async function bundleReactFrame(assetsDir: string): Promise<boolean> {
  if (!isInstalled()) return false;
  const { outputFiles, metafile } = await build({
    absWorkingDir: REPO_DIR,
    entryPoints: [`src/console/${NAME}`],
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: "iife",
    // This also escapes what would end a script inside a page.
    platform: "browser",
    target: "es2022",
    legalComments: "none",
    banner: {
      js: `/*! Licences of React, Sucrase and what they contain: ${NAME}.LICENSE.txt of the package hullrun */`,
    },
    define: { "process.env.NODE_ENV": '"production"' },
    tsconfigRaw: {},
    logLevel: "error",
  });
  const to = join(assetsDir, "console");
  await mkdir(to, { recursive: true });
  await place(join(to, NAME), outputFiles[0]?.text ?? "");
  await place(join(to, `${NAME}.LICENSE.txt`), await licences(Object.keys(metafile.inputs)));
  return true;
}

function isInstalled(): boolean {
  const { resolve } = createRequire(import.meta.url);
  try {
    for (const name of PACKAGES) resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** The licences of the packages that these files belong to. */
async function licences(files: readonly string[]): Promise<string> {
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  const texts = [...new Set(folders)].sort().map(async (folder) => {
    const names = await readdir(join(REPO_DIR, folder));
    const name = names.find((one) => /^licen[cs]e/i.test(one)) ?? "LICENSE";
    const text = await readFile(join(REPO_DIR, folder, name), "utf8");
    return `${folder.replace(/^.*node_modules\//, "")}\n\n${text.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}

async function place(path: string, content: string): Promise<void> {
  const placed = await readFile(path, "utf8").catch(() => null);
  if (placed !== content) await writeFile(path, content);
}

if (import.meta.main) {
  const placed = await bundleReactFrame(join(REPO_DIR, "assets"));
  if (!placed)
    process.stderr.write(
      "React and Sucrase are not installed: the console cannot render artifacts of React.\n",
    );
}
