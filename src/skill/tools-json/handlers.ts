/**
 * Turns declared tools into callable ones: decides where each handler runs, and makes the module that an isolate loads.
 * Pure. The caller passes the function that makes a module, since the build has a bundler and uploads have none.
 */
import type { Hash, SourceFile } from "../bundle.ts";
import type { Findings } from "../findings.ts";
import type { SkillTool } from "../manifest.ts";
import type { ModuleFault } from "../module-fault.ts";
import { readToolsJson, TOOLS_FILE, type ToolDraft, type ToolsSource } from "./read.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A callable JavaScript or TypeScript handler. */
export interface MadeHandler {
  tier: "isolate" | "runner";
  /** Why, for people: a clause. */
  reason: string;
  /** One ES module that imports nothing but modules of Node; present exactly in tier `isolate`. */
  module?: Bytes;
  /** What a process starts instead of the script, if it cannot start the script unchanged. */
  start?: Bytes;
  /** A fault to report, although the handler can be called. */
  warnings?: ModuleFault[];
}

/** Makes a handler of a script, or returns its faults. `wanted` is the tier that the author requests. */
export type HandlerMaker = (
  script: SourceFile,
  wanted: ToolDraft["wanted"],
) => Promise<MadeHandler | { faults: ModuleFault[] }>;

interface MadeTools {
  /** `null`: the skill has no tools.json. */
  tools: SkillTool[] | null;
  modules: { sha256: string; bytes: Bytes }[];
  /** Files that the pack holds in addition to the skill's own. */
  started: SourceFile[];
  /** Names of tools that errors leave out, or whose handler cannot be made; `null`: tools.json cannot be read. */
  broken: string[] | null;
}

/** Largest module that an isolate loads. */
const MAX_MODULE_BYTES = 10 * 1024 * 1024;

/**
 * The tools of a skill's files. A tool with a faulty declaration is left out. A tool whose module cannot become a
 * handler stays, and answers each call with the faults.
 */
export async function makeTools(
  skill: Findings,
  files: readonly SourceFile[],
  source: Omit<ToolsSource, "files">,
  { make, hash }: { make: HandlerMaker; hash: Hash },
): Promise<MadeTools> {
  const made: MadeTools = { tools: null, modules: [], started: [], broken: [] };
  const manifest = files.find(({ path }) => path === TOOLS_FILE);
  if (manifest === undefined) return made;
  const findings = skill.part(TOOLS_FILE);
  const byPath = new Map(files.map((entry) => [entry.path, entry]));
  const bytes = new Map(files.map((entry) => [entry.path, entry.bytes]));
  const read = readToolsJson(findings, manifest.bytes, { ...source, files: bytes });
  made.tools = [];
  made.broken = read.faulty;
  for (const draft of read.tools) {
    const script = draft.script === undefined ? undefined : byPath.get(draft.script);
    if (script === undefined) {
      made.tools.push(toolOf(draft, { tier: "stub" }));
      continue;
    }
    const handler = isModule(script.path) ? await make(script, draft.wanted) : processHandler(script, draft);
    const faults = "faults" in handler ? handler.faults : sizeFaults(handler);
    report("error", faults, draft, script.path);
    const fails = "faults" in handler || faults.length > 0;
    if (fails) made.broken?.push(draft.name);
    if (fails && !isModule(script.path)) continue;
    const usable = fails ? standIn(script.path, faults) : handler;
    report("warning", usable.warnings ?? [], draft, script.path);
    made.tools.push(await keep(made, draft, script, usable, hash));
  }
  return made;

  /** A fault without a position in the handler is where the handler is named. */
  function report(
    level: "error" | "warning",
    faults: readonly ModuleFault[],
    draft: ToolDraft,
    path: string,
  ) {
    for (const { code, message, hint, file = path, at } of faults) {
      if (at !== undefined) skill.part(file)[level](code, { at }, message, hint);
      else findings[level](code, { path: draft.field, at: draft.at }, message, hint);
    }
  }
}

/** A handler that always fails with the faults of the intended one, so that the model reads them, with file and line. */
function standIn(path: string, faults: readonly ModuleFault[]): MadeHandler {
  const reasons = faults.map(({ message, file = path, at }) => {
    return `${file}${at === undefined ? "" : `, line ${at.line}, column ${at.column}`}: ${message}`;
  });
  const text = `export default () => {\n  throw Error(${JSON.stringify(reasons.join(" "))});\n};\n`;
  const module = new Uint8Array(new TextEncoder().encode(text));
  return { tier: "isolate", reason: "its handler cannot be made", module, start: module };
}

/** Adds the handler's files; returns the tool. */
async function keep(
  made: MadeTools,
  draft: ToolDraft,
  script: SourceFile,
  { tier, reason, module, start }: ProcessHandler,
  hash: Hash,
): Promise<SkillTool> {
  const sha256 = module === undefined ? undefined : await hash(module);
  if (module !== undefined && sha256 !== undefined && made.modules.every((other) => other.sha256 !== sha256))
    made.modules.push({ sha256, bytes: module });
  const path = start === undefined ? script.path : script.path.replace(/\.[^./]+$/, ".hull.mjs");
  if (start !== undefined && made.started.every((other) => other.path !== path))
    made.started.push({ path, mode: 0o644, bytes: start });
  return toolOf(draft, {
    tier,
    ...(reason === undefined ? {} : { tier_reason: reason }),
    script: path,
    ...(path === script.path ? {} : { source: script.path }),
    ...(sha256 === undefined ? {} : { module: sha256 }),
  });
}

function toolOf(
  { wanted: _, at: __, field: ___, script: ____, ...declared }: ToolDraft,
  chosen: Pick<SkillTool, "tier" | "tier_reason" | "script" | "source" | "module">,
): SkillTool {
  return { ...declared, ...chosen };
}

/** The handler in the place where it must run. @param process why a process is needed; `null`: none is */
export function chosen(
  module: Uint8Array<ArrayBuffer>,
  wanted: "isolate" | "runner" | null,
  process: string | null,
): MadeHandler {
  const tier = wanted ?? (process === null ? "isolate" : "runner");
  const found = process ?? "it is JavaScript that needs no process";
  const reason = wanted === null ? found : "x-tier asks for it";
  return tier === "isolate" ? { tier, reason, module } : { tier, reason };
}

const isModule = (path: string): boolean => /\.(?:m?js|m?ts)$/.test(path);

type ProcessHandler = Pick<MadeHandler, "tier"> & Partial<MadeHandler>;

/** Programs of other languages: by their file ending, or as an executable that names its interpreter. */
function processHandler(
  { path, mode, bytes }: SourceFile,
  { wanted }: ToolDraft,
): ProcessHandler | { faults: ModuleFault[] } {
  if (wanted === "isolate") {
    const message = `x-tier asks for an isolate, which runs JavaScript only, not ${path}.`;
    return { faults: [{ code: "handler_tier", message, hint: 'Leave x-tier out, or write "runner".' }] };
  }
  if (/\.(?:py|sh)$/.test(path)) return { tier: "runner" };
  const shebang = bytes[0] === 0x23 && bytes[1] === 0x21;
  if (shebang && mode === 0o755) return { tier: "runner", reason: "it is an executable file" };
  const lacks = shebang ? "is not executable" : "does not begin with #! and an interpreter";
  const message = `The handler ${path} cannot be started: its file ending is not .js, .mjs, .ts, .mts, .py or .sh, and it ${lacks}.`;
  const hint = shebang
    ? `Make it executable: chmod +x ${path}.`
    : "Begin it with #!/usr/bin/env and the program, or write it in one of those languages.";
  return { faults: [{ code: "handler_start", message, hint }] };
}

function sizeFaults({ module }: ProcessHandler): ModuleFault[] {
  if (module === undefined || module.length <= MAX_MODULE_BYTES) return [];
  const message = `The handler has ${module.length} bytes with all that it imports; an isolate takes at most ${MAX_MODULE_BYTES}.`;
  return [{ code: "handler_too_large", message, hint: 'Import less, or set "x-tier": "runner".' }];
}
