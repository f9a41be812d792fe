/**
 * Bundles a skill's hook module with all that it imports into one ES module (agent-runtime.md §0.4). The same sources give
 * the same bytes wherever they lie.
 */
import { builtinModules } from "node:module";
import { relative, resolve, sep } from "node:path";
import type { Loader, Message, Plugin } from "esbuild";
import type { SourceFile } from "../../src/skill/bundle.ts";
import type { HookFault, MadeHooks } from "../../src/skill/hooks.ts";

/** Modules of Node that an isolate has and that reach nothing outside it. */
const IN_ISOLATE = new Set(
  "assert async_hooks buffer crypto diagnostics_channel events path path/posix punycode querystring stream string_decoder timers timers/promises url util zlib".split(
    " ",
  ),
);
const BUILTINS = new Set(builtinModules);

export interface BundledHooks {
  result: MadeHooks | { faults: HookFault[] };
  /** Absolute paths of all that was read. */
  read: string[];
}

/** @param folder absolute path of the skill folder */
export async function bundleHooks(folder: string, source: SourceFile): Promise<BundledHooks> {
  // Loaded when the first skill has hooks.
  const { build } = await import("esbuild");
  try {
    const { outputFiles, metafile } = await build({
      absWorkingDir: folder,
      stdin: {
        contents: new TextDecoder().decode(source.bytes),
        sourcefile: source.path,
        resolveDir: folder,
        loader: source.path.endsWith(".ts") ? "ts" : "js",
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
      minify: true,
      legalComments: "none",
      // A tsconfig.json somewhere above must not change a digest.
      tsconfigRaw: {},
      define: { "process.env.NODE_ENV": '"production"' },
      loader: { ".json": "json", ".txt": "text", ".md": "text" } satisfies Record<string, Loader>,
      plugins: [builtins],
      logLevel: "silent",
    });
    const [output] = Object.values(metafile.outputs);
    const inputs = Object.keys(metafile.inputs).filter((path) => !path.includes(":"));
    const bytes = new Uint8Array(outputFiles[0]?.contents ?? []);
    return {
      result: { bytes, exports: (output?.exports ?? []).sort() },
      read: inputs.map((path) => resolve(folder, path)),
    };
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    return { result: { faults: error.errors.map((message) => faultOf(message, folder)) }, read: [] };
  }
}

function isBuildFailure(error: unknown): error is { errors: Message[] } {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

function faultOf({ text, location, detail }: Message, folder: string): HookFault {
  const missing = /^Could not resolve "([^"]+)"/.exec(text)?.[1];
  const message = `The hook module cannot be built: ${text.replace(/\.?$/, ".")}`;
  const fault: HookFault =
    detail === REFUSED
      ? { code: "hooks_module", message, hint: ISOLATE_HINT }
      : { code: "hooks_build", message, hint: hintFor(missing) };
  if (location === null) return fault;
  const file = relative(folder, resolve(folder, location.file)).split(sep).join("/");
  return { ...fault, file, at: { line: location.line, column: location.column + 1 } };
}

/** What our own plugin says of an import. */
const REFUSED = "refused";
const ISOLATE_HINT =
  "A hook computes on JSON, without files, processes or network. Do the rest in a tool, which runs in the runner.";

function hintFor(missing: string | undefined): string {
  if (missing === undefined) return "Mend the source; the build checks syntax, not types.";
  return missing.startsWith(".")
    ? "Correct the path; it is relative to the file that imports it and carries its extension."
    : `Install it where the skill or the project can see it: npm install ${missing}.`;
}

/** What is not a file: Node's modules that the isolate has stay imports, all others are refused. */
const builtins: Plugin = {
  name: "hull-builtins",
  setup(build) {
    const filter = /^(?:node:|cloudflare:|[a-z_]+(?:\/[a-z]+)?$)/;
    build.onResolve({ filter }, ({ path, kind, namespace }) => {
      const name = path.replace(/^node:/, "");
      if (!path.includes(":") && !BUILTINS.has(name)) return undefined;
      if (!IN_ISOLATE.has(name)) {
        const text = `The module "${path}" does not exist where hooks run`;
        return { errors: [{ text, detail: REFUSED }] };
      }
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
