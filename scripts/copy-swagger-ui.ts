/**
 * Copies the reader of `GET /docs` into `assets/docs`: three files of the development dependency swagger-ui-dist, with
 * their licence. npm runs this after an install and before packing (`prepare`), so that neither wrangler nor an
 * installed Hull needs the package.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { REPO_DIR } from "./dev/paths.ts";

const FILES = {
  "swagger-ui-bundle.js": "swagger-ui-bundle.js",
  "swagger-ui.css": "swagger-ui.css",
  "swagger-ui-bundle.js.LICENSE.txt": "swagger-ui-bundle.js.LICENSE.txt",
  LICENSE: "swagger-ui.LICENSE.txt",
  NOTICE: "swagger-ui.NOTICE.txt",
};

/**
 * Copies the files; returns whether the package was there. Existing files stay untouched: a server may be serving them,
 * or watching the folder.
 */
export async function copySwaggerUi(assetsDir: string): Promise<boolean> {
  const from = packageDir();
  if (from === null) return false;
  const to = join(assetsDir, "docs");
  await mkdir(to, { recursive: true });
  for (const [source, target] of Object.entries(FILES)) {
    const content = await readFile(join(from, source));
    const placed = await readFile(join(to, target)).catch(() => null);
    if (placed === null || !placed.equals(content)) await writeFile(join(to, target), content);
  }
  return true;
}

function packageDir(): string | null {
  try {
    return dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  } catch {
    return null;
  }
}

if (import.meta.main) {
  const placed = await copySwaggerUi(join(REPO_DIR, "assets"));
  if (!placed) process.stderr.write("swagger-ui-dist is not installed: GET /docs has no reader.\n");
}
