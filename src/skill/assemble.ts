/**
 * Turns the files of a skill folder into what Hull publishes of it: checked, recorded, packed. The build and the
 * Worker's uploads share it. Import it lazily in the Worker, since it evaluates the `yaml` module.
 */

import { sha256 } from "../bytes.ts";
import { blocksServing } from "./blocking-findings.ts";
import { card, type Hash, makeRecord, type RecordExtras, type SourceFile } from "./bundle.ts";
import { reportAlike, reportName } from "./file-findings.ts";
import { skillFileName } from "./file-text.ts";
import { Findings } from "./findings.ts";
import { findHooks, type HookReader } from "./hooks.ts";
import { defined, present } from "./json.ts";
import { SHIPPED } from "./known-providers.ts";
import type { Card, Diagnostic, SkillRecord } from "./manifest.ts";
import { checkNamedTools, type ProvidedTools } from "./missing-tools.ts";
import { type ParsedSkill, type ParseSource, parseManifest } from "./parse.ts";
import { checkSignature } from "./signed.ts";
import { type HandlerMaker, makeTools } from "./tools-json/handlers.ts";
import { unbundled } from "./tools-json/unbundled.ts";
import type { SignaturePolicy } from "./trust.ts";
import { warnUndeclared } from "./undeclared-variables.ts";
import { checkUploaded } from "./uploaded.ts";
import { findWorkflows, type GraphReader } from "./workflow-files.ts";
import { brokenParts } from "./working-parts.ts";
import { checkFileOutput } from "./workspace-tools.ts";

/** The most findings that a record keeps. */
const MAX_DIAGNOSTICS = 100;

/** A skill in the form that the registry stores. */
export interface AssembledSkill {
  digest: string;
  record: SkillRecord;
  /** Canonical JSON of `record`; its SHA-256 is `digest`. */
  recordJson: string;
  /** For KV `pack:<sha256>`. */
  pack: Uint8Array<ArrayBuffer>;
  /** The `serve` file of a static-file skill, for KV `blob:<sha256>`. */
  blob: { sha256: string; bytes: Uint8Array<ArrayBuffer> } | null;
  /** Its hook module and its tools' handler modules, for KV `module:<sha256>`. */
  modules: { sha256: string; bytes: Uint8Array<ArrayBuffer> }[];
  card: Card;
}

export interface Assembly {
  /** `null` if an error stops it. */
  skill: AssembledSkill | null;
  positions: ParsedSkill["positions"];
  /** The parts of the skill that errors leave out or disable (`working-parts.ts`). */
  broken: string[];
  diagnostics: Diagnostic[];
}

interface AssembleOptions extends Omit<ParseSource, "files"> {
  hash?: Hash;
  /** Bundles the skill's hooks into a module. Absent: hooks are not read. */
  hooks?: HookReader;
  /** Reads the graphs of the skill's workflows. Absent: they are not read. */
  workflows?: GraphReader;
  /**
   * Makes the handlers of the skill's tools callable. Absent: they are treated as in an upload, where nothing is
   * bundled.
   */
  handlers?: HandlerMaker;
  /**
   * The tools available in addition to the skill's own. Absent: nothing checks whether a tool that the skill wants
   * exists.
   */
  provided?: ProvidedTools;
  /** What follows from where it was found: its plugin, its namespace, and that it is for a model with workspace tools. */
  location?: Pick<RecordExtras, "plugin" | "namespace" | "wants_workspace_tools">;
  /** The accepted signers. Absent: nothing checks whether the signer is trusted. */
  signatures?: SignaturePolicy;
  /** The tenant that uploaded the skill. Absent: the skill is a folder of the deployment, and trusted. */
  uploadedBy?: string;
  /** A tenant stored the skill, and requests name it by its id. Absent: the skill has an address. */
  stored?: true;
}

/** Checks a skill and makes its bundle. Reports every problem, not only the first. */
export async function assembleSkill(
  files: readonly SourceFile[],
  options: AssembleOptions,
): Promise<Assembly> {
  const { folder, file, hash = sha256, providers = SHIPPED, hooks, uploadedBy } = options;
  const byPath = new Map(files.map(({ path, bytes }) => [path, bytes]));
  const paths = files.map(({ path }) => path);
  const name = skillFileName(paths) ?? "SKILL.md";
  const content = byPath.get(name) ?? new Uint8Array();
  const slug = options.slug;
  const parsed = parseManifest(content, { folder, file, files: byPath, providers, ...defined({ slug }) });
  const { manifest, body, placeInBody, positions } = parsed;
  const findings = new Findings(folder, file, positions);
  const diagnostics = findings.list;
  if (name !== "SKILL.md") reportName(findings, name);
  reportAlike(findings, paths);
  diagnostics.push(...parsed.diagnostics);
  const makers = { make: options.handlers ?? unbundled(files), hash };
  const keyVariables = providers.key_variables;
  if (manifest === null) {
    // Reports faults of the skill's tools together with those of its text.
    await makeTools(findings, files, { keyVariables }, makers);
    return { skill: null, positions, broken: [], diagnostics };
  }
  if (uploadedBy !== undefined) checkUploaded(findings, manifest, files);
  const signature = await checkSignature(findings, files, manifest, options, hash);
  const read = hooks && (await findHooks(findings, files, hooks));
  const taken = manifest.llm?.tools.map(({ name }) => name) ?? [];
  const { tools, started, ...made } = await makeTools(findings, files, { keyVariables, taken }, makers);
  const flows = options.workflows && (await findWorkflows(findings, files, options.workflows, hash));
  const broken = brokenParts(made.broken, flows?.broken ?? []);
  if (options.provided !== undefined) checkNamedTools(findings, manifest, tools ?? [], options.provided);
  checkFileOutput(findings, { manifest, body, files, tools: tools ?? [], ...options.location });
  if (tools !== null) warnUndeclared(findings, { manifest, body, placeInBody, tools, files });
  if (diagnostics.some(blocksServing)) return { skill: null, positions, broken, diagnostics };
  const hookModule = read && { sha256: await hash(read.bytes), bytes: read.bytes };
  const extras: RecordExtras = {
    ...present({
      hooks: read && hookModule && { module: hookModule.sha256, exports: read.exports },
      workflows: flows?.workflows,
      diagnostics: withoutFolder(diagnostics, file, manifest.slug),
      signature,
      uploaded_by: uploadedBy,
      stored: options.stored,
    }),
    // A tools.json without tools counts, too.
    ...(tools === null ? {} : { tools }),
    ...options.location,
  };
  const bundle = await makeRecord(manifest, body, files, hash, extras, started);
  const bytes = manifest.serve === undefined ? undefined : byPath.get(manifest.serve);
  const skill: AssembledSkill = {
    digest: bundle.digest,
    record: bundle.record,
    recordJson: bundle.json,
    pack: bundle.pack,
    blob: bytes === undefined ? null : { sha256: await hash(bytes), bytes },
    modules: hookModule ? [hookModule, ...made.modules] : made.modules,
    card: card(bundle.record, bundle.digest),
  };
  return { skill, positions, broken, diagnostics };
}

/**
 * As in the record, which does not depend on the folder's place: `file` is relative to the skill's folder.
 * @param file SKILL.md relative to the root
 */
export function withoutFolder(diagnostics: readonly Diagnostic[], file: string, slug: string): Diagnostic[] {
  const base = file.slice(0, file.lastIndexOf("/") + 1);
  // The skill is not to blame for its folder's name.
  const own = diagnostics.filter(({ code }) => code !== "name_directory_mismatch");
  return own.slice(0, MAX_DIAGNOSTICS).map((diagnostic) => ({
    ...diagnostic,
    skill: slug,
    file: diagnostic.file.startsWith(base) ? diagnostic.file.slice(base.length) : diagnostic.file,
  }));
}
