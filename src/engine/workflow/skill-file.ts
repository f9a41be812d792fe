/** A workflow in a file of a skill. Pure. */
import { canonicalJson } from "../../skill/canonical.ts";
import { asJson, isObject } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import type { GraphReader } from "../../skill/workflow-files.ts";
import { sha256 } from "../sha256.ts";
import { type Graph, readGraph } from "./graph.ts";
import { validateGraph } from "./validate.ts";

/** SHA-256 (hex) of a graph without its id and audit log, so equal graphs have equal digests. */
export const graphDigest = (graph: Graph): string =>
  sha256(canonicalJson({ ...graph, id: "", audit_log: [] }));

/** Reads and checks the graph of a file, which gets the file's name. The same file makes the same graph with the same id. */
export const readSkillGraph: GraphReader = (given: Json, name: string) => {
  const foreign = foreignShape(given);
  if (!isObject(given) || foreign !== null) {
    const message = `The file has ${foreign}, so Hull does not take it for a workflow.`;
    return { graph: null, findings: [{ level: "info", path: "", message }] };
  }
  const read = readGraph(given, () => "");
  if ("faults" in read) {
    const findings = read.faults.map(({ path, message }) => ({
      level: "error" as const,
      path,
      message: sentence(path, message),
    }));
    return { graph: null, findings };
  }
  const named: Graph = { ...read.graph, name };
  const graph = { ...named, id: named.id === "" ? `wfg_${graphDigest(named).slice(0, 32)}` : named.id };
  const { valid, errors, warnings } = validateGraph(graph);
  const findings = [
    ...errors.map(({ path, message }) => ({ level: "error" as const, path, message })),
    ...warnings.map(({ path, message }) => ({ level: "warning" as const, path, message })),
  ];
  return { graph: valid ? asJson(graph) : null, findings };
};

/** What shows that a file is not a graph; `null`: nothing does. */
function foreignShape(given: Json): string | null {
  if (!isObject(given) || (given.nodes === undefined && given.act === undefined))
    return "neither nodes nor act";
  // Workflows of n8n are common next to skills.
  const other = Array.isArray(given.nodes) && given.connections !== undefined;
  return other ? "a list of nodes and their connections" : null;
}

const sentence = (path: string, message: string): string =>
  `${path === "" ? "The workflow" : path} ${message.replace(/\.$/, "")}.`;
