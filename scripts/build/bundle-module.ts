/**
 * Bundles a module of a skill and all its imports into one ES module. The same sources give the same bytes, wherever
 * they are.
 */
import { builtinModules } from "node:module";
import { basename, relative, resolve, sep } from "node:path";
import type {
  BuildOptions,
  BuildResult,
  Loader,
  Message,
  OnResolveArgs,
  PartialMessage,
  Plugin,
} from "esbuild";
import type { ModuleFault } from "../../src/skill/module-fault.ts";

/** The mark that Hull's plugins put on an import while they ask how it would be resolved without them. */
export const RESOLVING = "resolving";

const BUILTINS = new Set(builtinModules);

interface ModuleSource {
  /** Absolute path of the skill folder, which resolves imports. */
  folder: string;
  /** Relative to it; the file ending determines the language. */
  path: string;
  contents: string;
}

export interface BundledModule {
  bytes: Uint8Array<ArrayBuffer>;
  /** Sorted. */
  exports: string[];
  /** Absolute paths of all files read. */
  read: string[];
}

/** @param options settings for this kind of module; a plugin is needed for Node's modules */
export async function bundleModule(
  { folder, path, contents }: ModuleSource,
  options: BuildOptions,
): Promise<BundledModule | { errors: Message[] }> {
  const built = await buildWith(folder, {
    stdin: {
      contents,
      // Relative to `resolveDir`.
      sourcefile: basename(path),
      resolveDir: resolve(folder, path, ".."),
      loader: loaderOf(path),
    },
    ...options,
  });
  if ("errors" in built) return built;
  const { outputFiles, metafile } = built.result;
  const [output] = Object.values(metafile?.outputs ?? {});
  const inputs = Object.keys(metafile?.inputs ?? {}).filter((input) => !input.includes(":"));
  return {
    bytes: new Uint8Array(outputFiles?.[0]?.contents ?? []),
    exports: (output?.exports ?? []).sort(),
    read: inputs.map((input) => resolve(folder, input)),
  };
}

/**
 * Bundles several modules of a folder, each into a module of its own, as `bundleModule` does; files that they share are
 * read once.
 * @param path of all of them, relative to the folder
 * @returns the modules in the order of the sources
 */
export async function bundleModules(
  { folder, path }: Omit<ModuleSource, "contents">,
  sources: readonly string[],
  { plugins = [], ...options }: BuildOptions,
): Promise<Uint8Array<ArrayBuffer>[] | { errors: Message[] }> {
  const entries: Plugin = {
    name: "hull-entries",
    setup(build) {
      build.onResolve({ filter: /^hull-entry:\d+$/ }, ({ path: name, kind }) =>
        kind === "entry-point" ? { path: name, namespace: "hull-entry" } : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: "hull-entry" }, ({ path: name }) => ({
        contents: sources[Number(name.slice("hull-entry:".length))] ?? "",
        resolveDir: resolve(folder, path, ".."),
        loader: loaderOf(path),
      }));
    },
  };
  const built = await buildWith(folder, {
    entryPoints: sources.map((_, index) => ({ in: `hull-entry:${index}`, out: String(index) })),
    outdir: folder,
    plugins: [entries, ...plugins],
    ...options,
  });
  if ("errors" in built) return built;
  const contents = new Map(built.result.outputFiles?.map((file) => [basename(file.path), file.contents]));
  return sources.map((_, index) => new Uint8Array(contents.get(`${index}.js`) ?? []));
}

const loaderOf = (path: string): Loader => (/\.m?ts$/.test(path) ? "ts" : "js");

async function buildWith(
  folder: string,
  options: BuildOptions,
): Promise<{ result: BuildResult } | { errors: Message[] }> {
  // Loaded for the first skill with a module.
  const { build } = await import("esbuild");
  try {
    const result = await build({
      absWorkingDir: folder,
      bundle: true,
      write: false,
      metafile: true,
      format: "esm",
      platform: "neutral",
      target: "es2024",
      mainFields: ["module", "main"],
      conditions: ["workerd", "worker", "browser"],
      // This also keeps file names, which depend on the place, out of the text.
      minifyWhitespace: true,
      legalComments: "none",
      // A tsconfig.json somewhere above must not change a digest.
      tsconfigRaw: {},
      define: { "process.env.NODE_ENV": '"production"' },
      loader: { ".json": "json", ".txt": "text", ".md": "text" } satisfies Record<string, Loader>,
      logLevel: "silent",
      ...options,
    });
    return { result };
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    return { errors: error.errors };
  }
}

function isBuildFailure(error: unknown): error is { errors: Message[] } {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

/** The place of a bundler's message. */
function locationOf({ location }: Message, folder: string): Pick<ModuleFault, "file" | "at"> {
  if (location === null) return {};
  const file = relative(folder, resolve(folder, location.file)).split(sep).join("/");
  return { file, at: { line: location.line, column: location.column + 1 } };
}

/** The fault of a module that cannot be bundled. @param subject begins the message, e.g. `The handler` */
export function buildFault(
  message: Message,
  folder: string,
  { code, subject }: { code: string; subject: string },
): ModuleFault {
  return {
    code,
    message: `${subject} cannot be built: ${message.text.replace(/\.?$/, ".")}`,
    hint: buildHint(message.text),
    ...locationOf(message, folder),
  };
}

/** A hint for an import that cannot be resolved, or for a syntax error. */
export function buildHint(text: string): string {
  const missing = /^Could not resolve "([^"]+)"/.exec(text)?.[1];
  if (missing === undefined) return "Fix the source; the build checks syntax, not types.";
  return missing.startsWith(".")
    ? "Correct the path; it is relative to the file that imports it and carries its extension."
    : `Install it where the skill or the project can see it: npm install ${missing}.`;
}

/**
 * Handles imports that are not files: Node's modules stay imports under their full names; for others the answer of
 * `refuse` is an error.
 * @param refuse gets the specifier and the name without `node:`
 */
export function nodeModules(refuse: (path: string, name: string) => PartialMessage | null): Plugin {
  return {
    name: "hull-builtins",
    setup(build) {
      const filter = /^(?:node:|cloudflare:|[a-z_]+(?:\/[a-z]+)?$)/;
      build.onResolve({ filter }, ({ path, kind, namespace }: OnResolveArgs) => {
        const name = path.replace(/^node:/, "");
        if (!path.includes(":") && !BUILTINS.has(name)) return undefined;
        const refused = refuse(path, name);
        if (refused !== null) return { errors: [refused] };
        // An ES module cannot `require` anything outside of itself. But it can import it, and `require` the import.
        if (kind === "require-call")
          return { path: name, namespace: namespace === "required" ? "imported" : "required" };
        return { path: `node:${name}`, external: true };
      });
      build.onLoad({ filter: /.*/, namespace: "required" }, ({ path }) => ({
        contents: `module.exports = require("node:${path}").default;`,
      }));
      build.onLoad({ filter: /.*/, namespace: "imported" }, ({ path }) => ({
        contents: `export { default } from "node:${path}";`,
      }));
    },
  };
}
