/** A task in the steps act, verify and repair, with the outcome of each. Pure. */
import type { Stage } from "../../engine/workflow/answers.ts";
import type { Graph } from "../../engine/workflow/graph.ts";
import { asJson } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

/** The answer of `task_run`. @param record of the run as `runDocument` makes it */
export function taskRun(
  record: JsonObject,
  { task, stages, graph }: { task: string; stages: readonly Stage[]; graph: Graph },
): JsonObject {
  const { status = null, artifacts = [], transcript = null } = record;
  const last = (of: (stage: Stage) => boolean): Stage | undefined => stages.findLast(of);
  const act = last(({ node_id }) => node_id === (graph.nodes.act === undefined ? graph.entry : "act"));
  const repair = last(({ node_id }) => node_id === "repair");
  const verified = last(({ kind }) => kind === "verify");
  const answer = [repair, act, last(({ visible_text }) => visible_text !== "")].find(
    (stage) => stage !== undefined && stage.visible_text !== "",
  );
  const attention = repair !== undefined || verified?.status === "failed";
  return asJson({
    task,
    workflow: graph,
    status: attention ? "needs_attention" : status,
    text: answer?.visible_text ?? "",
    result: resultOf(answer),
    act: act ?? null,
    repair: repair ?? null,
    verification: verified?.verification ?? null,
    transcript,
    run: record,
    artifacts,
  });
}

/** A stage's answer: its data if there is any, otherwise its text. */
function resultOf(stage: Stage | undefined): Json {
  if (stage === undefined) return null;
  return stage.artifacts.at(-1)?.data ?? stage.visible_text;
}
