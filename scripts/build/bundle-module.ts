/**
 * Bundles a module of a skill with all that it imports into one ES module. The same sources give the same bytes wherever
 * they lie.
 */
import { builtinModules } from "node:module";
import { basename, relative, resolve, sep } from "node:path";
import type { BuildOptions, Loader, Message, OnResolveArgs, PartialMessage, Plugin } from "esbuild";
import type { ModuleFault } from "../../src/skill/module-fault.ts";

/** What our plugins mark an import with while they ask how it would be resolved without them. */
export const RESOLVING = "resolving";

const BUILTINS = new Set(builtinModules);

interface ModuleSource {
  /** Absolute path of the skill folder, from where imports are resolved. */
  folder: string;
  /** Relative to it; its ending says what it is written in. */
  path: string;
  contents: string;
}

export interface BundledModule {
  bytes: Uint8Array<ArrayBuffer>;
  /** Sorted. */
  exports: string[];
  /** Absolute paths of all that was read. */
  read: string[];
}

/** @param options what this kind of module differs in; a plugin is needed for Node's modules */
export async function bundleModule(
  { folder, path, contents }: ModuleSource,
  options: BuildOptions,
): Promise<BundledModule | { errors: Message[] }> {
  // Loaded when the first skill has a module.
  const { build } = await import("esbuild");
  const base = resolve(folder, path, "..");
  try {
    const { outputFiles, metafile } = await build({
      absWorkingDir: folder,
      stdin: {
        contents,
        // Relative to `resolveDir`.
        sourcefile: basename(path),
        resolveDir: base,
        loader: /\.m?ts$/.test(path) ? "ts" : "js",
      },
      bundle: true,
      write: false,
      metafile: true,
      format: "esm",
      platform: "neutral",
      target: "es2024",
      mainFields: ["module", "main"],
      conditions: ["workerd", "worker", "browser"],
      // Also what keeps file names, which depend on the place, out of the text.
      minifyWhitespace: true,
      legalComments: "none",
      // A tsconfig.json somewhere above must not change a digest.
      tsconfigRaw: {},
      define: { "process.env.NODE_ENV": '"production"' },
      loader: { ".json": "json", ".txt": "text", ".md": "text" } satisfies Record<string, Loader>,
      logLevel: "silent",
      ...options,
    });
    const [output] = Object.values(metafile?.outputs ?? {});
    const inputs = Object.keys(metafile?.inputs ?? {}).filter((input) => !input.includes(":"));
    return {
      bytes: new Uint8Array(outputFiles?.[0]?.contents ?? []),
      exports: (output?.exports ?? []).sort(),
      read: inputs.map((input) => resolve(folder, input)),
    };
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    return { errors: error.errors };
  }
}

function isBuildFailure(error: unknown): error is { errors: Message[] } {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

/** Where a message of the bundler points to. */
export function locationOf({ location }: Message, folder: string): Pick<ModuleFault, "file" | "at"> {
  if (location === null) return {};
  const file = relative(folder, resolve(folder, location.file)).split(sep).join("/");
  return { file, at: { line: location.line, column: location.column + 1 } };
}

/** What to do about an import that leads nowhere, or about a fault of syntax. */
export function buildHint(text: string): string {
  const missing = /^Could not resolve "([^"]+)"/.exec(text)?.[1];
  if (missing === undefined) return "Mend the source; the build checks syntax, not types.";
  return missing.startsWith(".")
    ? "Correct the path; it is relative to the file that imports it and carries its extension."
    : `Install it where the skill or the project can see it: npm install ${missing}.`;
}

/**
 * What is not a file: Node's modules stay imports under their full names; what `refuse` answers for others is an error.
 * @param refuse is told the specifier and the name without `node:`
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
        // An ES module cannot `require` what is outside of it. It can import it, and `require` that.
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
