/** Outcomes of nodes that need no model and no process. Pure. */
import { counted } from "../../plural.ts";
import { asJson } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { artifactOf, bodyOf, kindOf, type Made, type WorkflowArtifact } from "./artifacts.ts";
import { type Node, outputKind } from "./graph.ts";
import { NO_USAGE, type Outcome } from "./records.ts";
import { type EarlyEvent, type ItemOutcome, totalOutcomes, type Visit } from "./state.ts";

export type IdSource = () => string;

const PLAIN: Outcome = {
  status: "completed",
  outcome: "success",
  branch: "success",
  text: "",
  reasoning: null,
  artifacts: [],
  usage: NO_USAGE,
  verification: null,
  transcript: null,
  error: null,
  child_run_id: null,
  child_session_id: null,
  metadata: {},
};

/** The outcome of a stage that ended well. */
export const completed = (outcome: string, branch: string, more: Partial<Outcome> = {}): Outcome => ({
  ...PLAIN,
  outcome,
  branch,
  ...more,
});

/** The outcome of a failed stage. @param branch `error` if it could not run, `failed` if it ran and did not succeed */
export const failed = (
  branch: "error" | "failed",
  code: string,
  message: string,
  more: Partial<Outcome> = {},
): Outcome => ({
  ...PLAIN,
  status: "failed",
  outcome: branch === "error" ? "error" : code,
  branch,
  error: { code, message },
  ...more,
});

/** The artifact of a node, of the kind that its contract says. */
export const artifactIn = (node: Node, of: Parameters<typeof artifactOf>[0], made: Made): WorkflowArtifact =>
  artifactOf({ kind: outputKind(node), title: node.task_label ?? node.id, stage: node.id, ...of }, made);

/** The outcome of a condition, fork, join, reduce or escalation. */
export function instantOutcome(node: Node, inputs: readonly WorkflowArtifact[], made: Made): Outcome {
  const lineage = inputs.map(({ id }) => id);
  switch (node.kind) {
    case "fork":
      return completed("forked", "fork");
    case "join":
      return completed("joined", "join");
    case "condition":
      return holds(node, inputs)
        ? completed("condition_true", "true")
        : completed("condition_false", "false");
    case "escalation": {
      const { level = null, queue = null, reason = null } = node.escalation_policy ?? {};
      const data: JsonObject = { queue, level, reason };
      const title = node.task_label ?? "Escalation";
      const artifact = artifactIn(node, { title, data, lineage }, made);
      return completed("escalated", "escalated", { artifacts: [artifact], text: reason ?? "" });
    }
    default: {
      const text = inputs.map(bodyOf).join(node.reduce_policy?.separator ?? "\n\n");
      const artifact = artifactIn(node, { text, lineage }, made);
      return completed("reduced", "reduced", { artifacts: [artifact], text });
    }
  }
}

function holds({ metadata = {} }: Node, inputs: readonly WorkflowArtifact[]): boolean {
  const { contains_text, artifact_kind } = metadata;
  if (typeof contains_text === "string")
    return inputs.some((artifact) => bodyOf(artifact).includes(contains_text));
  if (typeof artifact_kind === "string") return inputs.some(({ kind }) => kind === kindOf(artifact_kind));
  return inputs.length > 0;
}

/** When a wait for time alone is over, Unix ms; `null`: it waits for something else. @param began when the attempt began */
export function waitsUntil({ wait: { sleep_ms, until } = {} }: Node, began: number): number | null {
  if (sleep_ms !== undefined) return began + sleep_ms;
  return until === undefined ? null : Date.parse(until);
}

/** The outcome of a wait node; `null`: it still waits. @param at Unix ms */
export function waitOutcome(
  node: Node,
  { wait, running }: Visit,
  events: readonly EarlyEvent[],
  at: number,
  made: Made,
): Outcome | null {
  if (wait === null) return null;
  const { event, key, approval } = node.wait ?? {};
  if (event !== undefined) {
    const arrived = events.find((one) => one.name === event && (key === undefined || one.key === key));
    if (arrived !== undefined) {
      const kind = node.output_contract?.output_kinds?.[0] ?? "event";
      const artifact = artifactIn(node, { kind, title: event, data: arrived.payload }, made);
      return completed("received", "success", { artifacts: [artifact], metadata: { event_id: arrived.id } });
    }
  }
  if (approval !== undefined && wait.answer !== null) {
    const { granted, by, reason } = wait.answer;
    const metadata = { granted, by, reason };
    return granted
      ? completed("approved", "success", { metadata })
      : failed("failed", "denied", reason ?? "It was denied.", { metadata });
  }
  if (wait.until === null || at < wait.until) return null;
  const due = waitsUntil(node, running?.began ?? 0);
  if (due !== null && at >= due) return completed("waited", "success");
  return failed(
    "failed",
    "timed_out",
    `The node "${node.id}" waited until ${new Date(wait.until).toISOString()}.`,
  );
}

/**
 * The outcome of a map.
 * @param outcomes of its items, by their place; `null`: the map did no work on its items
 */
export function mapOutcome(
  node: Node,
  items: readonly (WorkflowArtifact | { value: unknown })[],
  outcomes: { readonly [item: string]: ItemOutcome } | null,
  made: Made,
): Outcome {
  if (outcomes === null) {
    const artifacts = items.map((item, i) => {
      const given = "value" in item ? item.value : bodyOf(item);
      const text = typeof given === "string" ? { text: given } : { data: asJson<Json>(given ?? null) };
      const lineage = "value" in item ? [] : [item.id];
      return artifactIn(node, { title: `Item ${i + 1}`, ...text, lineage }, made);
    });
    if (artifacts.length === 0) return failed("failed", "no_output", `The map "${node.id}" has no items.`);
    return completed("mapped", "mapped", { artifacts });
  }
  const done = Object.entries(outcomes)
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .map(([, outcome]) => outcome);
  const artifacts = done.flatMap((outcome) => (outcome.status === "failed" ? [] : outcome.artifacts));
  const lost = done.filter(({ status }) => status === "failed").length;
  const metadata = {
    items: items.length,
    completed: done.length - lost,
    failed: lost,
    given_up: items.length - done.length,
  };
  const shared = {
    artifacts,
    usage: totalOutcomes(done),
    metadata,
    text: done.map(({ text }) => text).join("\n\n"),
  };
  if (artifacts.length === 0) {
    const message = `The map "${node.id}" got no artifact from its ${counted(items.length, "item")}.`;
    return failed("failed", "no_output", message, shared);
  }
  return completed("mapped", "mapped", { ...shared, ...(lost > 0 ? { status: "partial" } : {}) });
}
