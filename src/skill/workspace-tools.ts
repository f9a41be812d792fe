/** Which skills are made for a model that reads files and runs commands. */
import { instructionFiles } from "./file-text.ts";
import type { Findings } from "./findings.ts";
import type { Manifest, PluginOfSkill, SkillRecord, SkillTool } from "./manifest.ts";
import { textCommands } from "./text-commands.ts";
import { allowedTools, workspaceTool } from "./tool-names.ts";

interface File {
  path: string;
  bytes?: Uint8Array;
}

/** The parts of a skill that determine this. */
interface SkillFacts {
  manifest: Pick<Manifest, "mode" | "allowed_tools" | "llm" | "activation">;
  body: string;
  files: readonly File[];
  tools?: readonly Pick<SkillTool, "script" | "source">[];
  plugin?: PluginOfSkill;
}

/**
 * Whether a model can follow a skill's instructions only with workspace tools: the skill has files for the model, its
 * text names or links to files of its plugin, it names one of the tools in `allowed-tools`, its text has commands for a
 * shell, or its hooks are commands.
 */
export function wantsWorkspaceTools({ manifest, body, files, tools = [], plugin }: SkillFacts): boolean {
  if (manifest.mode !== "llm") return false;
  const { folder } = plugin ?? {};
  if (folder !== undefined && (folder.linked === true || body.includes("CLAUDE_PLUGIN_ROOT"))) return true;
  if (allowedTools(manifest.allowed_tools ?? []).some(({ tool }) => workspaceTool(tool) !== null))
    return true;
  if (SHELL_BLOCK.test(body) || textCommands(body).length > 0) return true;
  if (manifest.activation?.command_hooks !== undefined) return true;
  const handled = programFiles(files, manifest, tools);
  return instructionFiles(files.map(({ path }) => path)).some(
    (path) => !handled.has(path) && !LICENCE.test(path),
  );
}

/** The files that the skill's own tools run, and their imports: the model need not run them. */
export function programFiles(
  files: readonly File[],
  { llm }: Pick<Manifest, "llm">,
  tools: readonly Pick<SkillTool, "script" | "source">[],
): ReadonlySet<string> {
  const started = [
    "skill.ts",
    "hooks.ts",
    "hooks.js",
    ...tools.flatMap(({ script, source }) => [script, source]),
    ...(llm?.tools ?? []).flatMap(({ command }) => command.map((word) => word.replace(/^\.\//, ""))),
  ];
  const byPath = new Map(files.map((file) => [file.path, file]));
  const modules = Map.groupBy(files, ({ path }) => moduleName(path));
  const found = new Set<string>();
  const open = started.filter((path) => path !== undefined && byPath.has(path));
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    const text = new TextDecoder().decode(byPath.get(path)?.bytes);
    for (const [, specifier = "", module = ""] of text.matchAll(IMPORT))
      for (const imported of modules.get(moduleName(specifier || module)) ?? []) open.push(imported.path);
  }
  return found;
}

/** The name of an import: in JavaScript a specifier that refers to a file, in Python a module. */
const IMPORT =
  /(?:\bfrom|\bimport|\brequire\()\s*["'](\.[^"'\n]+)["']|^[ \t]*(?:from|import)[ \t]+\.?([A-Za-z_]\w*)/gm;

const moduleName = (path: string): string => path.replace(/^.*\//, "").replace(/\.\w+$/, "");

/** Whether a run with the skill has workspace tools, unless hull.toml or the run's options say otherwise. */
export function givesWorkspaceTools({
  manifest: { workspace_tools: declared },
  wants_workspace_tools,
}: { manifest: Pick<Manifest, "workspace_tools"> } & Pick<SkillRecord, "wants_workspace_tools">): boolean {
  if (declared === undefined) return wants_workspace_tools === true;
  return Array.isArray(declared) ? declared.length > 0 : declared;
}

/** An error if a model should answer with a file but has no tools to make one. */
export function checkFileOutput(
  findings: Findings,
  skill: SkillFacts & { manifest: Pick<Manifest, "output" | "workspace_tools"> },
): void {
  const { mode, output } = skill.manifest;
  if (mode !== "llm" || output !== "file") return;
  const declared = skill.manifest.workspace_tools !== undefined;
  if (declared ? givesWorkspaceTools(skill) : wantsWorkspaceTools(skill)) return;
  const field = findings.place("output").at === undefined ? "output_mime" : "output";
  const message = "An llm skill answers with a file only where its model has workspace tools to make one.";
  const hint = "Set workspace_tools: true, or output: text or json with a textual output_mime.";
  findings.error("output_file_llm", findings.field(field), message, hint);
}

const SHELL_BLOCK = /^[ \t]*(?:`{3,}|~{3,})[ \t]*\{?\.?(?:bash|sh|shell)\b/im;

const LICENCE = /(?:^|\/)(?:licen[cs]e|copying|notice)[^/]*$/i;
