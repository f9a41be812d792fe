/** Bundles a skill's hook module and all its imports. */
import type { Message } from "esbuild";
import type { SourceFile } from "../../src/skill/bundle.ts";
import type { MadeHooks } from "../../src/skill/hooks.ts";
import type { ModuleFault } from "../../src/skill/module-fault.ts";
import { buildFault, bundleModule, nodeModules } from "./bundle-module.ts";

/** Modules of Node that exist in an isolate and reach nothing outside it. */
const IN_ISOLATE = new Set(
  "assert async_hooks buffer crypto diagnostics_channel events path path/posix punycode querystring stream string_decoder timers timers/promises url util zlib".split(
    " ",
  ),
);

interface BundledHooks {
  result: MadeHooks | { faults: ModuleFault[] };
  /** Absolute paths of all files read. */
  read: string[];
}

/** @param folder absolute path of the skill folder */
export async function bundleHooks(folder: string, { path, bytes }: SourceFile): Promise<BundledHooks> {
  const source = { folder, path, contents: new TextDecoder().decode(bytes) };
  const bundled = await bundleModule(source, { minify: true, plugins: [builtins] });
  if ("errors" in bundled)
    return { result: { faults: bundled.errors.map((message) => faultOf(message, folder)) }, read: [] };
  return { result: { bytes: bundled.bytes, exports: bundled.exports }, read: bundled.read };
}

function faultOf(message: Message, folder: string): ModuleFault {
  const fault = buildFault(message, folder, { code: "hooks_build", subject: "The hook module" });
  return message.detail === REFUSED ? { ...fault, code: "hooks_module", hint: ISOLATE_HINT } : fault;
}

/** Our own plugin's mark of a refused import. */
const REFUSED = "refused";
const ISOLATE_HINT = "A hook computes on JSON, without files, processes or network. Do the rest in a tool.";

const builtins = nodeModules((path, name) =>
  IN_ISOLATE.has(name)
    ? null
    : { text: `The module "${path}" does not exist where hooks run`, detail: REFUSED },
);
