/**
 * Handlers of uploads, which nothing bundles. A file without imports, or with Node's modules only, is its own module. A
 * file that imports files of the skill or packages runs in a process, which can resolve them.
 */
import type { SourceFile } from "../bundle.ts";
import { chosen, type HandlerMaker } from "./handlers.ts";
import { filesNeed } from "./javascript-needs.ts";

/** Modules of Node without their prefix, those that handlers in isolates import. */
const NODE_MODULES = new Set(
  "assert async_hooks buffer console constants crypto diagnostics_channel dns events fs http http2 https module os path perf_hooks process punycode querystring readline stream string_decoder sys timers tty url util zlib".split(
    " ",
  ),
);

const isNodes = (specifier: string): boolean =>
  specifier.startsWith("node:") || NODE_MODULES.has(specifier.split("/")[0] ?? "");

/** Makes the handlers of uploaded files. */
export function unbundled(files: readonly SourceFile[]): HandlerMaker {
  const byPath = new Map(files.map(({ path, bytes }) => [path, bytes]));
  return async ({ path, bytes }, wanted) => {
    if (/\.m?ts$/.test(path)) {
      const message = "Hull does not compile the TypeScript handlers of an upload.";
      return { faults: [{ code: "handler_needs_build", message, hint: bundleHint(path) }] };
    }
    const { process, others, relative } = filesNeed(path, byPath);
    const packages = others.filter((specifier) => !isNodes(specifier));
    const imported = packages[0] ?? relative[0];
    const reason =
      process ?? (imported === undefined ? null : `it imports ${imported}, and Hull does not bundle uploads`);
    if (wanted === "isolate" && imported !== undefined) {
      const message = `x-tier asks for an isolate, but the handler imports ${imported}, and Hull does not bundle uploads.`;
      return { faults: [{ code: "handler_needs_build", message, hint: bundleHint(path) }] };
    }
    const made = chosen(bytes, wanted, reason);
    if (packages.length === 0) return made;
    const message = `The handler imports ${packages.join(", ")}, which the upload does not contain.`;
    return { ...made, warnings: [{ code: "handler_import", message, hint: bundleHint(path) }] };
  };
}

function bundleHint(path: string): string {
  const bundle = `npx esbuild ${path} --bundle --format=esm --platform=node --outfile=`;
  const made = path.replace(/\.m?ts$/, ".js");
  const one =
    made === path ? `${bundle}${path} --allow-overwrite` : `${bundle}${made}, and name ${made} in tools.json`;
  return `Upload one file: ${one}; or let the operator publish the folder.`;
}
