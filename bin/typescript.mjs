// Lets Node run Hull's TypeScript where it is installed as a package: Node itself strips types outside node_modules only.
import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";

const root = new URL("..", import.meta.url).href;

// Node calls this function experimental at its first use; Hull brings the Node that it was tested with.
const emitWarning = process.emitWarning;
process.emitWarning = (warning, ...rest) => {
  if (!String(warning).includes("stripTypeScriptTypes")) emitWarning.call(process, warning, ...rest);
};

registerHooks({
  load(url, context, next) {
    if (!url.startsWith(root) || !url.endsWith(".ts")) return next(url, context);
    const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8"));
    return { format: "module", source, shortCircuit: true };
  },
});
