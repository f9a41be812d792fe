/**
 * Bundles the process of the Worker with miniflare into one file, which starts from code that V8 compiled in an earlier
 * start (`start-compiled.ts`). A test's server then starts in three quarters of the processor time.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { build, type Plugin } from "esbuild";
import { places, removeOthers } from "./cli-bundle.ts";

/** Packages that are loaded on demand, or that find files of theirs by their own place. */
const EXTERNAL = ["esbuild", "sharp", "workerd", "wrangler", "youch"];
/** What is replaced in files: how the Worker's process loads miniflare, which a bundler does not see, and how miniflare grows. */
const REPLACED = [
  {
    file: /\/scripts\/dev\/direct\.ts$/,
    from: 'createRequire(import.meta.url)("miniflare")',
    to: 'require("miniflare")',
  },
  {
    // miniflare would copy all that it has written for workerd so far, 2 MB in the end, for almost each value that follows.
    file: /\/miniflare\/dist\/src\/index\.js$/,
    from: "s.buffer = new ArrayBuffer(srcBuffer.byteLength + minSize)",
    to: "s.buffer = new ArrayBuffer(2 * srcBuffer.byteLength + minSize)",
  },
];

const replaced: Plugin = {
  name: "replaced",
  setup({ onLoad }) {
    for (const { file, from, to } of REPLACED)
      onLoad({ filter: file }, async ({ path }) => {
        const source = await readFile(path, "utf8");
        if (!source.includes(from)) throw new RangeError(`${path} does not contain ${from}`);
        return { contents: source.replace(from, to), loader: path.endsWith(".ts") ? "ts" : "js" };
      });
  },
};

/** Bundles it into its own folder below `folder`, named by its content; returns the module to start. */
export async function bundleWorkerProcess(repo: string, folder: string): Promise<string> {
  const common = { bundle: true, write: false, platform: "node", target: "node24", format: "cjs" } as const;
  const miniflare = createRequire(join(repo, "package.json")).resolve("miniflare");
  const [program, starter] = await Promise.all([
    build({
      ...common,
      entryPoints: [join(repo, "scripts/dev/worker-process.ts")],
      external: EXTERNAL,
      minify: true,
      legalComments: "none",
      logLevel: "error",
      plugins: [replaced, places],
      // Its other files are next to its module.
      define: { __dirname: JSON.stringify(dirname(miniflare)), __filename: JSON.stringify(miniflare) },
    }),
    build({ ...common, entryPoints: [join(repo, "test/support/start-compiled.ts")] }),
  ]);
  const [text, start] = [program, starter].map(({ outputFiles: [file] }) => file?.text ?? "");
  const name = `worker-process-${createHash("sha256").update(`${text}${start}`).digest("hex").slice(0, 16)}`;
  const target = join(folder, name);
  await mkdir(target, { recursive: true });
  await writeFile(join(target, "program.js"), inAscii(text ?? ""));
  await writeFile(join(target, "worker-process.cjs"), start ?? "");
  await removeOthers(folder, "worker-process-", name);
  return join(target, "worker-process.cjs");
}

/** esbuild leaves other characters only in regular expressions, which know the same escapes as strings. */
const inAscii = (text: string): string =>
  text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
