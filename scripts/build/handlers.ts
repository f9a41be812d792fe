/** Makes a tool's JavaScript or TypeScript handler callable: in an isolate if possible. */
import { readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { relative, resolve, sep } from "node:path";
import type { BuildOptions, Message, Plugin } from "esbuild";
import type { SourceFile } from "../../src/skill/bundle.ts";
import type { ModuleFault } from "../../src/skill/module-fault.ts";
import { chosen, type MadeHandler } from "../../src/skill/tools-json/handlers.ts";
import { importNeed, javascriptNeeds, type Needs } from "../../src/skill/tools-json/javascript-needs.ts";
import { buildFault, buildHint, bundleModule, nodeModules, RESOLVING } from "./bundle-module.ts";

interface BuiltHandler {
  made: MadeHandler | { faults: ModuleFault[] };
  /** Absolute paths of all files read; `null`: something was missing, which may exist next time. */
  read: string[] | null;
}

/**
 * @param folder absolute path of the skill folder
 * @param bundled the script is what the build itself bundled for an isolate
 */
export async function buildHandler(
  folder: string,
  { path, bytes }: SourceFile,
  wanted: MadeHandler["tier"] | null,
  bundled: boolean,
): Promise<BuiltHandler> {
  const contents = new TextDecoder().decode(bytes);
  const source = { folder, path, contents };
  const needs = javascriptNeeds(contents);
  const alone = !path.endsWith("ts") && needs.imports.every(isBuiltin);
  const own = (): BuiltHandler => ({
    made: chosen(bytes, wanted, needs.process ?? importNeed(needs.imports)),
    read: [],
  });
  if (alone && bundled) return own();
  const isolate = await bundleModule(source, FOR_ISOLATE);
  if ("errors" in isolate) return refused(isolate.errors, folder);
  // Used unchanged, so its line numbers stay correct.
  if (alone) return own();
  const sources = await ownFiles(folder, [resolve(folder, path), ...isolate.read]);
  const { process, imports } = javascriptNeeds(new TextDecoder().decode(isolate.bytes));
  const missing = imports.filter((specifier) => !isBuiltin(specifier) && !specifier.endsWith(".node"));
  const lacks =
    missing.length === 0 ? null : `it imports ${missing.join(", ")}, which the build does not find`;
  const made = chosen(isolate.bytes, wanted, needOf(sources) ?? process ?? importNeed(imports) ?? lacks);
  const warnings = missing.map(missingFault);
  const withWarnings = warnings.length === 0 ? made : { ...made, warnings };
  const read = warnings.length === 0 ? isolate.read : null;
  if (runsAsItIs(sources, isolate.read)) return { made: withWarnings, read };
  if (made.tier === "isolate") return { made: { ...withWarnings, start: isolate.bytes }, read };
  const node = await bundleModule(source, FOR_NODE);
  if ("errors" in node) return refused(node.errors, folder);
  return {
    made: { ...withWarnings, start: node.bytes },
    read: read && [...new Set([...read, ...node.read])],
  };
}

/** A file of the skill or of the project, but not of a package. */
interface OwnFile {
  /** Relative to the skill's folder. */
  path: string;
  needs: Needs;
}

async function ownFiles(folder: string, read: readonly string[]): Promise<OwnFile[]> {
  const own = [...new Set(read)].filter((file) => !file.split(sep).includes("node_modules"));
  return Promise.all(
    own.map(async (file) => ({
      path: relative(folder, file).split(sep).join("/"),
      needs: /\.[cm]?[jt]s$/.test(file)
        ? javascriptNeeds(await readFile(file, "utf8"))
        : { process: null, imports: [] },
    })),
  );
}

/** The reasons why the author's own files need a process; the bundle shows those of their imports. */
function needOf([entry, ...others]: readonly OwnFile[]): string | null {
  if (entry?.needs.process != null) return entry.needs.process;
  for (const { path, needs } of others) {
    if (path.endsWith(".cjs")) return `it imports the CommonJS module ${path}`;
    if (needs.process !== null) return `${needs.process} (in ${path})`;
  }
  return null;
}

/** Whether Node finds everything by itself: files of the folder, in JavaScript, under their own names. */
function runsAsItIs(own: readonly OwnFile[], read: readonly string[]): boolean {
  const files = new Set(read.filter((file) => !file.includes(`${sep}node_modules${sep}`)));
  if (files.size < read.length) return false;
  return own.every(
    ({ path, needs }) =>
      !path.startsWith("../") &&
      /\.[cm]?js$/.test(path) &&
      needs.imports.every((specifier) => isBuiltin(specifier) || /^\.\.?\/.*\.[cm]?js$/.test(specifier)),
  );
}

function refused(errors: readonly Message[], folder: string): BuiltHandler {
  const faults = errors.map((message) =>
    buildFault(message, folder, { code: "handler_build", subject: "The handler" }),
  );
  return { made: { faults }, read: null };
}

function missingFault(specifier: string): ModuleFault {
  const message = `The handler imports ${specifier}, which the build does not find.`;
  return { code: "handler_import", message, hint: buildHint(`Could not resolve "${specifier}"`) };
}

const keepNodes = nodeModules((path, name) =>
  isBuiltin(name) ? null : { text: `The module "${path}" does not exist where handlers run` },
);

/** Packages that are not installed, and native modules, stay imports: only a process may still find them. */
const keepMissing: Plugin = {
  name: "hull-missing",
  setup(build) {
    build.onResolve({ filter: /\.node$/ }, ({ path }) => ({ path, external: true }));
    build.onResolve(
      { filter: /^[^./]/ },
      async ({ path, importer, resolveDir, kind, namespace, pluginData }) => {
        if (pluginData === RESOLVING || kind === "entry-point") return undefined;
        const found = await build.resolve(path, {
          importer,
          resolveDir,
          kind,
          namespace,
          pluginData: RESOLVING,
        });
        return found.errors.length === 0 ? found : { path, external: true };
      },
    );
  },
};

export const FOR_ISOLATE: BuildOptions = { plugins: [keepNodes, keepMissing] };
export const FOR_NODE: BuildOptions = {
  platform: "node",
  conditions: ["node"],
  plugins: [keepNodes, keepMissing],
  // Definitions that CommonJS packages expect and an ES module lacks.
  banner: {
    js: 'import{createRequire as hullRequire}from"node:module";globalThis.require??=hullRequire(import.meta.url);globalThis.__dirname??=import.meta.dirname;globalThis.__filename??=import.meta.filename;',
  },
};
