/**
 * A typed skill: the exports of its `skill.ts` become an ordinary Skill Tools folder, with SKILL.md if there is none,
 * tools.json, and one bundled handler for each tool.
 */

import { join } from "node:path";
import type { BuildOptions, Message, Plugin } from "esbuild";
import { sha256, utf8 } from "../../src/bytes.ts";
import type { SourceFile } from "../../src/skill/bundle.ts";
import { Findings } from "../../src/skill/findings.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { type ModuleFault, reportFaults } from "../../src/skill/module-fault.ts";
import { parseManifest } from "../../src/skill/parse.ts";
import { checkSignature } from "../../src/skill/signed.ts";
import { TOOLS_FILE } from "../../src/skill/tools-json/read.ts";
import type { SignaturePolicy } from "../../src/skill/trust.ts";
import type { SkillDescription } from "../../src/typed/describe.ts";
import { type BundledModule, buildFault, bundleModule, bundleModules, RESOLVING } from "./bundle-module.ts";
import { evaluateModule, MESSAGE_FD } from "./evaluate.ts";
import { FOR_ISOLATE, FOR_NODE } from "./handlers.ts";
import { TYPED_FILE } from "./is-skill.ts";
import { locationsOf, type TypedLocations } from "./typed-locations.ts";

const HULL = join(import.meta.dirname, "..", "..");
const LOCATED = "src/typed/located.ts";
/** Stacks name the sources' lines, not their texts. */
const STACKS = { sourcemap: "inline", sourcesContent: false } as const satisfies BuildOptions;

export interface TypedFolder {
  /** The folder's own files and those made from its skill.ts. */
  files: SourceFile[];
  /** Paths of the handlers made from it. */
  handlers: ReadonlySet<string>;
  /** The description in skill.ts; `null`: there is none, or it is unusable. */
  described: SkillDescription | null;
  /** Maps findings about files made from skill.ts; `null` with `described`. */
  locations: TypedLocations | null;
  diagnostics: Diagnostic[];
  /** Absolute paths of all files read; `null`: something was missing. */
  read: string[] | null;
}

/**
 * Adds to the files of a folder what its skill.ts defines; without one they stay unchanged. A signature is checked
 * first: code that its signer did not sign never runs, nor code that requires a trusted signer and has none.
 * @param path the folder, absolute
 * @param place its name, and the path of its SKILL.md, for diagnostics
 * @param signatures the signers that count; `null`: the folder is about to be signed, whatever its content
 */
export async function expandTyped(
  path: string,
  files: readonly SourceFile[],
  { folder, file }: { folder: string; file: string },
  signatures: SignaturePolicy | null,
): Promise<TypedFolder> {
  const source = files.find((entry) => entry.path === TYPED_FILE);
  const findings = new Findings(folder, file);
  const unchanged = (read: string[] | null): TypedFolder => ({
    files: [...files],
    handlers: new Set(),
    described: null,
    locations: null,
    diagnostics: findings.list,
    read,
  });
  const refuse = (faults: readonly ModuleFault[], read: string[] | null): TypedFolder => {
    reportFaults(findings, faults, TYPED_FILE);
    return unchanged(read);
  };
  if (source === undefined) return unchanged([]);
  if (signatures !== null) await checkUnbuilt(findings, files, { folder, file, signatures });
  if (findings.failed) return unchanged([]);
  const program = await bundleDescription(path);
  if ("faults" in program) return refuse(program.faults, null);
  const answer = await evaluateModule(program.bytes);
  if ("fault" in answer) return refuse([evaluationFault(answer.fault)], program.read);
  const { description: described } = answer;
  const own = readOwnTools(files);
  const hasText = files.some((entry) => /^skill\.md$/i.test(entry.path));
  const locations = locationsOf(described, { dir: answer.dir, own: own?.length ?? 0, hasText });
  const faults = [
    ...described.faults.map((fault) => ({ ...schemaFault(fault), ...locations.ofFault(fault.path) })),
    ...clashes(described, files, own),
  ];
  if (faults.length > 0 || own === null) return refuse(faults, program.read);
  const names = described.tools.map(({ name }) => String(name));
  const bundled = await bundleHandlers(path, names);
  if ("faults" in bundled) return refuse(bundled.faults, null);
  const made = names.flatMap((name, index): SourceFile[] => {
    const bytes = bundled[index];
    return bytes === undefined ? [] : [{ path: `scripts/${name}.js`, mode: 0o644, bytes }];
  });
  const scripts = new Set(made.map((file) => file.path));
  const tools = `${JSON.stringify([...own, ...described.tools], null, 2)}\n`;
  made.push({ path: TOOLS_FILE, mode: 0o644, bytes: utf8(tools) });
  if (!hasText) made.push({ path: "SKILL.md", mode: 0o644, bytes: utf8(skillText(described)) });
  const kept = files.filter((entry) => entry.path !== TOOLS_FILE);
  if (!answer.offline) {
    const message = "The build ran skill.ts with access to the network: this machine cannot block it.";
    const hint = "To block it, Linux needs user namespaces (unshare), or Python 3 with seccomp.";
    findings.part(TYPED_FILE).info("typed_with_network", {}, message, hint);
  }
  return {
    files: [...kept, ...made],
    handlers: scripts,
    described,
    locations,
    diagnostics: findings.list,
    read: program.read,
  };
}

/** Whether the code of a folder may run: its signature, or that it has none, may be an error. */
async function checkUnbuilt(
  findings: Findings,
  files: readonly SourceFile[],
  location: { folder: string; file: string; signatures: SignaturePolicy },
): Promise<void> {
  const bytes = files.find((entry) => /^skill\.md$/i.test(entry.path))?.bytes;
  const byPath = new Map(files.map((entry) => [entry.path, entry.bytes]));
  const parsed = bytes === undefined ? null : parseManifest(bytes, { ...location, files: byPath });
  const manifest = parsed?.manifest ?? { name: location.folder };
  const all = new Findings(location.folder, location.file);
  await checkSignature(all, files, manifest, { ...location, unbuilt: true }, sha256);
  findings.list.push(...all.list.filter(({ level }) => level === "error"));
}

/** The contradictions between a SKILL.md and a skill.ts in the same folder. */
export function disagreement(
  { name, description }: { name: string; description: string },
  described: SkillDescription,
): ModuleFault[] {
  const pairs = [
    ["name", name, described.name],
    ["description", description, described.description.trim()],
  ] as const;
  return pairs
    .filter(([, written, typed]) => written !== typed)
    .map(([key, written, typed]) => ({
      code: "typed_disagrees",
      message: `SKILL.md has the ${key} ${JSON.stringify(written)}, skill.ts has ${JSON.stringify(typed)}.`,
      hint: "Make them the same.",
    }));
}

const importable = (file: string): string => JSON.stringify(join(HULL, file));

/** Represents a file next to skill.ts. */
const ENTRY = "entry.hull.ts";

/** One module for each tool, in their order. */
async function bundleHandlers(
  folder: string,
  tools: readonly string[],
): Promise<Uint8Array<ArrayBuffer>[] | { faults: ModuleFault[] }> {
  const { plugins = [] } = FOR_ISOLATE;
  const options = { ...FOR_ISOLATE, minify: true, plugins: [authoring("typed/hull.mjs"), ...plugins] };
  const handler = importable("src/typed/handler.ts");
  const sources = tools.map(
    (name) =>
      `import skill from "./skill.ts"; import { handlerOf } from ${handler}; export default handlerOf(skill, ${JSON.stringify(name)});`,
  );
  const bundled = await bundleModules({ folder, path: ENTRY }, sources, options);
  return "errors" in bundled
    ? { faults: bundled.errors.map((message) => faultOf(message, folder)) }
    : bundled;
}

/** The module that describes the skill. */
async function bundleDescription(folder: string): Promise<BundledModule | { faults: ModuleFault[] }> {
  const contents = `import { writeFileSync } from "node:fs"; import skill from "./skill.ts"; import { describeSkill } from ${importable("src/typed/describe.ts")}; import { stackOf } from ${importable(LOCATED)}; writeFileSync(${MESSAGE_FD}, JSON.stringify(describeSkill(skill, stackOf)) + "\\n");`;
  const plugins = [authoring(LOCATED), ...(FOR_NODE.plugins ?? [])];
  const source = { folder, path: ENTRY, contents };
  const bundled = await bundleModule(source, { ...FOR_NODE, ...STACKS, plugins });
  if (!("errors" in bundled))
    return { ...bundled, read: bundled.read.filter((path) => !path.startsWith(HULL_TYPED)) };
  return { faults: bundled.errors.map((message) => faultOf(message, folder)) };
}

const HULL_TYPED = join(HULL, "src", "typed");

/**
 * Resolves `hullrun` and `hull` to this package, wherever the skill is, and `zod` to the author's, else to Hull's own.
 * @param file its path relative to the package
 */
const authoring = (file: string): Plugin => ({
  name: "hull-authoring",
  setup(build) {
    build.onResolve({ filter: /^hull(?:run)?$/ }, () => ({ path: join(HULL, file) }));
    build.onResolve({ filter: /^zod(?:\/|$)/ }, async ({ path, kind, resolveDir, importer, pluginData }) => {
      if (pluginData === RESOLVING) return undefined;
      const found = await build.resolve(path, { kind, resolveDir, importer, pluginData: RESOLVING });
      return found.errors.length === 0
        ? found
        : build.resolve(path, { kind, resolveDir: HULL, pluginData: RESOLVING });
    });
  },
});

/** The tools of a tools.json next to skill.ts; `null`: it is not a list, which is a conflict. */
function readOwnTools(files: readonly SourceFile[]): { name?: unknown }[] | null {
  const file = files.find(({ path }) => path === TOOLS_FILE);
  if (file === undefined) return [];
  try {
    const tools: unknown = JSON.parse(new TextDecoder().decode(file.bytes));
    return Array.isArray(tools) ? tools : null;
  } catch {
    return null;
  }
}

function clashes(
  { tools }: SkillDescription,
  files: readonly SourceFile[],
  own: readonly { name?: unknown }[] | null,
): ModuleFault[] {
  const hint = "Keep one of the two.";
  if (own === null) {
    const message = "The tools.json next to skill.ts is not a list of tools, so Hull cannot join the two.";
    return [{ code: "typed_clash", message, hint: "Fix it, or move its tools into skill.ts." }];
  }
  const names = new Set(own.map((tool) => tool?.name));
  const paths = new Set(files.map(({ path }) => path));
  const messages = tools.flatMap(({ name, script }) => [
    ...(names.has(name) ? [`The tool ${String(name)} is in both tools.json and skill.ts.`] : []),
    ...(paths.has(String(script))
      ? [`The handler of ${String(name)} would replace the file ${String(script)}.`]
      : []),
  ]);
  return messages.map((message) => ({ code: "typed_clash", message, hint }));
}

function schemaFault({ path, message }: { path: string; message: string }): ModuleFault {
  const subject = path === "" ? "skill.ts" : path;
  const hint =
    path === ""
      ? 'import { defineSkill, tool } from "hullrun".'
      : "Use a type that JSON has: a string, number, boolean, list or object.";
  return { code: "typed_schema", message: `${subject}: ${message}.`, hint };
}

const faultOf = (message: Message, folder: string): ModuleFault =>
  buildFault(message, folder, { code: "typed_build", subject: "The typed skill" });

function evaluationFault(reason: string): ModuleFault {
  const message = `The build runs skill.ts to read its tools, and that failed: ${reason}`;
  return {
    code: "typed_build",
    message,
    hint: "Code at its top level must work on the machine that builds the skill.",
  };
}

/** Strict Agent Skills: the texts are quoted as JSON, which YAML reads. */
function skillText({ name, description, instructions, tools }: SkillDescription): string {
  const list = tools.map((tool) => `- \`${String(tool.name)}\`: ${String(tool.description)}`).join("\n");
  const body = instructions.trim() === "" ? `Use the tools of this skill:\n\n${list}` : instructions.trim();
  return `---\nname: ${JSON.stringify(name)}\ndescription: ${JSON.stringify(description)}\n---\n\n${body}\n`;
}
