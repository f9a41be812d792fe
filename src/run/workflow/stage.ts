/** Turns a node of a graph, or the node of a task, into the request of a run. Pure. */
import { intersectPolicies } from "../../engine/agent/policy.ts";
import { RUNTIME_TOOLS } from "../../engine/agent/runtime-calls.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Node } from "../../engine/workflow/graph.ts";
import { type StageTexts, stageTexts, type Worded } from "../../engine/workflow/stage-prompt.ts";
import { isListed } from "../../engine/workspace-tools/definitions.ts";
import { defined, isObject } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { hullToolName } from "../../skill/tool-names.ts";

/** The members of a node that determine the request. */
type StageNode = Worded &
  Pick<Node, "mode" | "system" | "done_sentinel" | "tools" | "model_policy" | "auto_compact"> &
  Pick<Node, "capability_policy" | "approval_policy" | "exit_when_verified">;

/** The request of a stage's run. */
export interface Stage {
  texts: StageTexts;
  system: string | null;
  /** Whether the run may have several rounds. */
  agent: boolean;
  /** Options that apply if neither the caller nor the node sets them. */
  defaults: JsonObject;
  /** Options that the node sets. `policy` is the node's own, if it has one. */
  options: JsonObject;
  /** Names of its tools; `null`: all. */
  allowed: string[] | null;
}

const AGENT: JsonObject = {
  persistent: true,
  max_iterations: 16,
  max_nudges: 3,
  llm_retries: 2,
  tool_retries: 0,
  loop_detect_warn: 2,
  loop_detect_block: 3,
  loop_detect_skip: 4,
};
const ONE_CALL: JsonObject = { persistent: false, max_iterations: 1 };

export function stageOf(node: StageNode): Stage {
  const { tools = [], model_policy = {}, output_contract = {}, kind } = node;
  const { done_sentinel, exit_when_verified } = node;
  const declared = tools.filter((tool) => isObject(tool));
  const names = tools.filter((tool) => typeof tool === "string");
  const agent = node.mode === "agent" || tools.length > 0 || (kind === "subagent" && node.mode !== "llm");
  // A stage always has its own session.
  const { session_id: _, ...model } = model_policy;
  const { schema } = output_contract;
  const allowed =
    names.length === 0
      ? null
      : [...names, ...declared.flatMap(({ name }) => (typeof name === "string" ? [name] : []))];
  const policy = policyOf([node.capability_policy, allowed === null ? null : { tools: allowed }]);
  const approvals = plain(node.approval_policy);
  return {
    texts: stageTexts(node),
    system: node.system ?? null,
    agent,
    defaults: agent ? AGENT : ONE_CALL,
    options: {
      ...model,
      ...(declared.length === 0 ? {} : { tools: declared }),
      ...defined({ done_sentinel, exit_when_verified }),
      ...compaction(node.auto_compact ?? {}),
      ...(schema === undefined ? {} : { output_schema: schema, output_validation: "error" }),
      ...(policy === null ? {} : { policy }),
      ...(approvals === null ? {} : { approval_policy: approvals }),
    },
    allowed,
  };
}

/** `auto_compact {enabled?, …}` of a node as options of a run. Members other than `enabled` say how to compact. */
function compaction({ enabled, ...how }: JsonObject): JsonObject {
  return {
    ...(enabled === undefined ? {} : { auto_compact: enabled }),
    ...(Object.keys(how).length === 0 ? {} : { compaction: how }),
  };
}

/** The intersection of the policies; `null`: no policy. Values that are not objects are ignored. */
export const policyOf = (policies: readonly unknown[]): JsonObject | null =>
  policies.map(plain).reduce(intersectPolicies, null);

/** The folder in which the commands of a run begin, and their variables. */
export type CommandEnvironment = Pick<AgentSpec, "cwd" | "variables">;

export const withCommandEnvironment = (
  spec: AgentSpec,
  { cwd, variables }: CommandEnvironment,
): AgentSpec => ({ ...spec, ...defined({ cwd, variables }) });

/** Keeps only the tools that `allowed` names, and warns of names that mean none; `null`: all. */
export function withNamed(spec: AgentSpec, allowed: readonly string[] | null): AgentSpec {
  if (allowed === null) return spec;
  const isAmong = (name: string): boolean =>
    RUNTIME_TOOLS.includes(hullToolName(name)) || spec.tools.some((tool) => isListed(name, tool));
  const unknown = allowed.filter((name) => !isAmong(name));
  const tools = spec.tools.filter((tool) => allowed.some((name) => isListed(name, tool)));
  if (unknown.length === 0) return { ...spec, tools };
  const names = spec.tools.map(({ definition }) => definition.name);
  const there = names.length === 0 ? "its run has no tools" : `its run has ${names.join(", ")}`;
  const message = `The node names tools that it does not get: ${unknown.join(", ")}; ${there}.`;
  const warnings = [...(spec.warnings ?? []), { code: "unknown_tool", message, option: "tools" }];
  return { ...spec, tools, warnings };
}

/** A value that was read from JSON, typed as a JSON object; `null`: it is not an object. */
export function plain(value: unknown): JsonObject | null {
  return isObject(value) ? value : null;
}
