/** Bundles programs of the checkout into files that start from code that V8 compiled in an earlier start. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type BuildOptions, build, type Plugin, transform } from "esbuild";

/** How long the bundle of other sources is kept, in ms; another run may still use it. */
const KEPT_MS = 86_400_000;

/** Makes each module report the place of its source. */
export const places: Plugin = {
  name: "places",
  setup({ onLoad }) {
    onLoad({ filter: /\/(?:scripts|src|container)\/.*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      if (!source.includes("import.meta.")) return { contents: source, loader: "ts" };
      const { code } = await transform(source, {
        loader: "ts",
        target: "node24",
        define: {
          "import.meta.dirname": JSON.stringify(dirname(path)),
          "import.meta.url": JSON.stringify(pathToFileURL(path).href),
          "import.meta.main": "false",
        },
      });
      return { contents: code, loader: "js" };
    });
  },
};

/** What a bundle replaces in a file, which must contain it. */
export interface Replacement {
  file: RegExp;
  from: string;
  to: string;
}

const replacing = (replacements: readonly Replacement[]): Plugin => ({
  name: "replacing",
  setup({ onLoad }) {
    for (const { file, from, to } of replacements)
      onLoad({ filter: file }, async ({ path }) => {
        const source = await readFile(path, "utf8");
        if (!source.includes(from)) throw new RangeError(`${path} does not contain ${from}`);
        return { contents: source.replace(from, to), loader: path.endsWith(".ts") ? "ts" : "js" };
      });
  },
});

/**
 * The files of a program that starts from compiled code (`start-compiled.ts`), by name.
 * @param start the name of the module to start
 */
export async function compiledProgram(
  repo: string,
  entry: string,
  start: string,
  replacements: readonly Replacement[],
  options: BuildOptions,
): Promise<[name: string, text: string][]> {
  const common = { bundle: true, write: false, platform: "node", target: "node24", format: "cjs" } as const;
  const [program, starter] = await Promise.all([
    build({
      ...options,
      ...common,
      entryPoints: [join(repo, entry)],
      logLevel: "error",
      plugins: [replacing(replacements), places],
    }),
    build({
      ...common,
      entryPoints: [fileURLToPath(new URL("start-compiled.ts", import.meta.url))],
      define: { "import.meta.dirname": "__dirname" },
    }),
  ]);
  const [text = "", started = ""] = [program, starter].map(({ outputFiles: [file] }) => file?.text);
  return [
    ["program.js", inAscii(text)],
    [start, started],
  ];
}

/** esbuild leaves other characters only in regular expressions, which know the same escapes as strings. */
const inAscii = (text: string): string =>
  text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/**
 * Writes files into their own folder below `folder`, and returns it. Its name has a hash of them, because Node and
 * `start-compiled.ts` find compiled code by the path. Removes old folders with the same prefix.
 */
export async function writeBundle(
  folder: string,
  prefix: string,
  files: readonly [name: string, text: string][],
): Promise<string> {
  const hash = createHash("sha256");
  for (const part of files.flat()) hash.update(part);
  const name = `${prefix}${hash.digest("hex").slice(0, 16)}`;
  const target = join(folder, name);
  await mkdir(target, { recursive: true });
  for (const [file, text] of files) await writeFile(join(target, file), text);
  for (const other of await readdir(folder)) {
    if (!other.startsWith(prefix) || other === name) continue;
    const { mtimeMs } = await stat(join(folder, other));
    if (Date.now() - mtimeMs > KEPT_MS) await rm(join(folder, other), { recursive: true });
  }
  return target;
}
