// Lets Node run Hull's TypeScript where it is installed as a package: Node itself strips types outside node_modules only.
import { hash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { getCompileCacheDir, registerHooks, stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = new URL("..", import.meta.url).href;

// Node calls this function experimental at its first use; Hull brings the Node that it was tested with.
const emitWarning = process.emitWarning;
process.emitWarning = (warning, ...rest) => {
  if (!String(warning).includes("stripTypeScriptTypes")) emitWarning.call(process, warning, ...rest);
};

/** The folder of the stripped texts, next to what Node compiled. */
const compiled = getCompileCacheDir();
const folder = compiled === undefined ? null : join(dirname(compiled), "stripped");

registerHooks({
  load(url, context, next) {
    if (!url.startsWith(root) || !url.endsWith(".ts")) return next(url, context);
    return { format: "module", source: stripped(url), shortCircuit: true };
  },
});

/**
 * The text of a file without its types. Stripping takes half of a start, so the result is kept for each file, below a line
 * that says what it was made of.
 * @param {string} url
 */
function stripped(url) {
  const text = readFileSync(fileURLToPath(url), "utf8");
  if (folder === null) return stripTypeScriptTypes(text);
  const file = join(folder, hash("sha256", url));
  const head = `${process.versions.node} ${hash("sha256", text)}\n`;
  try {
    const kept = readFileSync(file, "utf8");
    if (kept.startsWith(head)) return kept.slice(head.length);
  } catch {
    // It is not kept yet.
  }
  const source = stripTypeScriptTypes(text);
  try {
    mkdirSync(folder, { recursive: true });
    const temporary = `${file}.${process.pid}`;
    writeFileSync(temporary, head + source);
    renameSync(temporary, file);
  } catch {
    // Where nothing can be kept, each start strips the types again.
  }
  return source;
}
