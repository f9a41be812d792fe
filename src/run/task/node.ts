/** A stage as a graph's node has it: its shape, and what its run is asked. */
import * as z from "zod/mini";
import { intersectPolicies } from "../../engine/agent/policy.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { approvalPolicyShape, policyShape } from "../../skill/policy.ts";
import { contextPolicyShape, kindOf } from "./artifacts.ts";
import type { StageTexts } from "./handle.ts";

const maybe = z.exactOptional;
const object = () => z.custom<JsonObject>(isObject, "must be an object");

/** A node that one run carries out. */
export const nodeShape = z.lazy(() => {
  const text = maybe(z.string());
  return z.strictObject({
    id: text,
    kind: maybe(z.enum(["stage", "subagent"])),
    mode: maybe(z.enum(["llm", "agent"])),
    prompt: text,
    system: text,
    task_label: text,
    done_sentinel: maybe(z.string().check(z.minLength(1))),
    tools: maybe(z.array(z.union([z.string(), object()], "must be a tool's name or its definition"))),
    model_policy: maybe(object()),
    auto_compact: maybe(z.strictObject({ enabled: z.boolean() })),
    context_policy: maybe(contextPolicyShape),
    capability_policy: maybe(policyShape),
    approval_policy: maybe(approvalPolicyShape),
    output_contract: maybe(
      z.strictObject({ output_kinds: maybe(z.array(z.string())), schema: maybe(object()) }),
    ),
    metadata: maybe(object()),
  });
});
type StageNode = z.infer<typeof nodeShape>;

/** What a stage's run is asked. */
export interface Stage {
  texts: StageTexts;
  system: string | null;
  /** Of the run, in place of those that the caller gives. */
  options: JsonObject;
  /** Tools by name; `null`: all. */
  allowed: string[] | null;
}

/** What an agent of a stage may do, where its node says nothing. */
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

/** @param policy of the caller, beside the node's own */
export function stageOf(node: StageNode, policy: JsonObject | null): Stage {
  const { tools = [], model_policy = {}, output_contract = {} } = node;
  const declared = tools.filter((tool) => isObject(tool));
  const names = tools.filter((tool) => typeof tool === "string");
  const agent = node.mode === "agent" || tools.length > 0;
  const { session_id: _, ...model } = model_policy;
  const { schema, output_kinds = [] } = output_contract;
  const own: Json = JSON.parse(JSON.stringify(node.capability_policy ?? null));
  const both = intersectPolicies(policy, isObject(own) ? own : null);
  const approvals: Json = JSON.parse(JSON.stringify(node.approval_policy ?? null));
  return {
    texts: {
      label: node.task_label ?? null,
      prompt: node.prompt ?? null,
      contract: schema === undefined ? [] : [`The answer is JSON that fits ${JSON.stringify(schema)}`],
      output_kind: kindOf(output_kinds[0] ?? "artifact"),
    },
    system: node.system ?? null,
    options: {
      ...(agent ? AGENT : { max_iterations: 1 }),
      ...model,
      ...(declared.length === 0 ? {} : { tools: declared }),
      ...(node.done_sentinel === undefined ? {} : { done_sentinel: node.done_sentinel }),
      ...(node.auto_compact === undefined ? {} : { auto_compact: node.auto_compact.enabled }),
      ...(schema === undefined ? {} : { output_schema: schema, output_validation: "error" }),
      ...(both === null ? {} : { policy: both }),
      ...(isObject(approvals) ? { approval_policy: approvals } : {}),
    },
    allowed:
      names.length === 0
        ? null
        : [...names, ...declared.flatMap(({ name }) => (typeof name === "string" ? [name] : []))],
  };
}
