/**
 * The workflows of a skill: `workflows/*.yaml` (`.yml`, `.json`), each a graph with the file's name. A faulty file
 * causes findings with lines, and is left out; the rest of the skill is served. Pure.
 */

import { utf8 } from "../bytes.ts";
import type { Hash, SourceFile } from "./bundle.ts";
import { canonicalJson } from "./canonical.ts";
import { decodeText } from "./file-text.ts";
import type { Findings } from "./findings.ts";
import type { Diagnostic, Json, JsonObject, SkillWorkflow } from "./manifest.ts";
import { readTree } from "./text-tree.ts";
import { type Node, type Position, positionOf, toJson } from "./tree.ts";

const FOLDER = "workflows/";
const FILE = /^workflows\/([A-Za-z0-9][A-Za-z0-9._-]{0,63}?)\.(ya?ml|json)$/;
/** The endings of files that hold tests of workflows (`hull workflow test`). */
const TEST = ".test";
/** Of one file. A run keeps a copy of its graph. */
const MAX_BYTES = 256 * 1024;
const TOP: Position = { line: 1, column: 1 };

/** A fault or doubt about a graph; `info`: it is not a graph at all. */
interface GraphFinding {
  level: "error" | "warning" | "info";
  /** Dotted, e.g. `nodes.draft.kind`; empty: the whole graph. */
  path: string;
  message: string;
}

/** Reads a graph from a file's content; `null` if it has errors. */
export type GraphReader = (
  given: Json,
  name: string,
) => { graph: JsonObject | null; findings: GraphFinding[] };

interface FoundWorkflows {
  workflows: SkillWorkflow[];
  /** Names of the workflows that an error leaves out. */
  broken: string[];
}

/** The name of the workflow whose file a finding names. */
export const workflowNamed = ({ file }: Diagnostic): string | undefined =>
  FILE.exec(file.slice(file.lastIndexOf(FOLDER)))?.[1];

/** Reads the workflows among a skill's files. */
export async function findWorkflows(
  skill: Findings,
  files: readonly SourceFile[],
  read: GraphReader,
  hash: Hash,
): Promise<FoundWorkflows> {
  const workflows: SkillWorkflow[] = [];
  const broken: string[] = [];
  for (const file of files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const name = FILE.exec(file.path)?.[1];
    if (name === undefined || name.endsWith(TEST)) continue;
    const findings = skill.part(file.path);
    if (workflows.some((one) => one.name === name)) {
      const hint = "Rename one of them.";
      findings.error("workflow_twice", {}, `Another file of ${FOLDER} already has the name ${name}.`, hint);
    } else {
      const graph = graphIn(file, name, findings, read);
      if (graph !== null) workflows.push({ name, digest: await hash(utf8(canonicalJson(graph))), graph });
      else if (findings.failed) broken.push(name);
    }
  }
  return { workflows, broken };
}

function graphIn(
  { path, bytes }: SourceFile,
  name: string,
  findings: Findings,
  read: GraphReader,
): JsonObject | null {
  const tree = treeOf(path, bytes, findings);
  if (tree === null) return null;
  const { graph, findings: found } = read(toJson(tree), name);
  for (const { level, path: place, message } of found) {
    const location = { ...(place === "" ? {} : { path: place }), at: positionOf(tree, place) };
    if (level === "error") findings.error("workflow_invalid", location, message);
    else if (level === "warning") findings.warning("workflow_doubtful", location, message);
    else findings.info("workflow_foreign", location, message);
  }
  return graph;
}

function treeOf(path: string, bytes: Uint8Array, findings: Findings): Node | null {
  const hint =
    "Until it is fixed, the skill goes without this workflow; hull dev keeps the last good version.";
  const refused = (at: Position, message: string): null => {
    findings.error("workflow_unreadable", { at }, `The workflow cannot be read: ${message}.`, hint);
    return null;
  };
  if (bytes.length > MAX_BYTES)
    return refused(TOP, `it has ${bytes.length} bytes, and at most ${MAX_BYTES} (256 KiB) are read`);
  const { text, fault } = decodeText(bytes);
  if (fault !== null) return refused(fault.at, `it ${fault.is}`);
  const tree = readTree(path, text.replace(/^\uFEFF/, ""));
  if ("fault" in tree) return refused(tree.fault.at, tree.fault.message.replace(/\.$/, ""));
  const { node } = tree;
  // The file has only comments, as while it is being written.
  const isEmpty = node.kind === "scalar" && node.value === null && !path.endsWith(".json");
  return isEmpty ? refused(TOP, "it is empty") : node;
}
