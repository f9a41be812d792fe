/** Compares the record of a workflow run with what its test expects. Pure. */

import { isDeepStrictEqual } from "node:util";
import { firstOf } from "../../src/cut.ts";
import { asJson, isObject } from "../../src/skill/json.ts";
import type { Json } from "../../src/skill/manifest.ts";
import type { WorkflowRun, WorkflowStage } from "../../typed/client/api.d.ts";
import type { ArtifactExpectation, Expectation, NodeExpectation } from "./test-file.ts";

/** `expected` and `actual` as people read them. */
export interface Difference {
  /** The member of `expect`, e.g. `nodes.draft.attempts`. */
  path: string;
  expected: string;
  actual: string;
}

/** In the order of the test's members; empty: the run is as expected. */
export function differences(wanted: Expectation, run: WorkflowRun): Difference[] {
  const { status, error, nodes, order, compensated, result, artifacts, model_calls } = wanted;
  const unknown = [...Object.keys(nodes), ...(order ?? []), ...(compensated ?? [])].filter(
    (id) => !Object.hasOwn(run.graph.nodes, id),
  );
  const ended = run.stages.map(({ node_id }) => node_id);
  const undone = run.compensations.map(({ node_id }) => node_id);
  return [
    ...(status === run.status
      ? []
      : [{ path: "status", expected: status, actual: `${run.status}. ${run.explanation}` }]),
    ...[...new Set(unknown)].map((id) => ({
      path: `nodes.${id}`,
      expected: "a node",
      actual: "the graph has none of this name",
    })),
    ...equal("error", error, run.error?.code ?? null),
    ...Object.entries(nodes).flatMap(([id, node]) =>
      ofNode(
        `nodes.${id}`,
        node,
        [...run.stages, ...run.compensations].filter(({ node_id }) => node_id === id),
      ),
    ),
    ...(order === undefined || comesIn(order, ended)
      ? []
      : [{ path: "order", expected: order.join(", "), actual: ended.join(", ") || "no node" }]),
    ...equal("compensated", compensated, undone),
    ...equal("result", result, resultOf(run)),
    ...artifacts.flatMap((one, at) => ofArtifact(`artifacts.${at}`, one, run.stages)),
    ...equal("model_calls", model_calls, run.usage.call_count),
    ...ofUnmet(wanted.unmet, run.test?.unmet),
  ];
}

function equal(path: string, expected: Json | undefined, actual: Json): Difference[] {
  if (expected === undefined || isDeepStrictEqual(expected, actual)) return [];
  return [{ path, expected: shown(expected), actual: shown(actual) }];
}

function contains(path: string, expected: string | string[] | undefined, actual: string): Difference[] {
  const missing = [expected ?? []].flat().filter((part) => !actual.includes(part));
  return missing.map((part) => ({ path, expected: `text with ${shown(part)}`, actual: shown(actual) }));
}

/** Everything except `visits` concerns the node's last visit. */
function ofNode(path: string, wanted: NodeExpectation, visits: readonly WorkflowStage[]): Difference[] {
  const count = equal(`${path}.visits`, wanted.visits, visits.length);
  const last = visits.at(-1);
  const { visits: _, ...others } = wanted;
  if (last === undefined) {
    if (Object.keys(others).length === 0) return count;
    return [...count, { path, expected: "a stage", actual: "the run has no stage of this node" }];
  }
  const { status, branch, attempts, error, text, output } = others;
  return [
    ...count,
    ...equal(`${path}.status`, status, last.status),
    ...equal(`${path}.branch`, branch, last.branch),
    ...equal(`${path}.attempts`, attempts, last.attempts.length),
    ...equal(`${path}.error`, error, last.error?.code ?? null),
    ...contains(`${path}.text`, text, last.visible_text),
    ...equal(`${path}.output`, output, outputOf(last)),
  ];
}

/** The data of a stage if it has any, otherwise its text. The data of a verify node is its verdict. */
const outputOf = ({ kind, artifacts, visible_text }: WorkflowStage): Json =>
  kind === "verify" ? visible_text : asJson<Json>(artifacts.at(-1)?.data ?? visible_text);

/** The output of the last stage that produced text. */
function resultOf({ stages }: WorkflowRun): Json {
  const last = stages.findLast((stage) => outputOf(stage) !== "");
  return last === undefined ? null : outputOf(last);
}

/** Whether these occur in this order; others may occur in between. */
function comesIn(order: readonly string[], ended: readonly string[]): boolean {
  let from = 0;
  return order.every((node) => {
    const at = ended.indexOf(node, from);
    from = at + 1;
    return at !== -1;
  });
}

function ofArtifact(
  path: string,
  wanted: ArtifactExpectation,
  stages: readonly WorkflowStage[],
): Difference[] {
  const { node, kind, title, text, data } = wanted;
  const made = stages
    .filter(({ node_id }) => node === undefined || node_id === node)
    .flatMap((stage) => stage.artifacts.map((one) => ({ node: stage.node_id, ...one })));
  const fits = made.some(
    (one) =>
      (kind === undefined || one.kind === kind) &&
      (title === undefined || one.title === title) &&
      contains(path, text, one.text ?? "").length === 0 &&
      (data === undefined || isDeepStrictEqual(data, one.data ?? null)),
  );
  if (fits) return [];
  const there = made.map((one) => shown(asJson({ node: one.node, kind: one.kind, text: one.text ?? null })));
  return [{ path, expected: shown(asJson(wanted)), actual: there.join("; ") || "no artifact" }];
}

type Trial = NonNullable<WorkflowRun["test"]>;

/** Compares the parts of the test that the run did not use with those that the test expects to be unused. */
function ofUnmet(wanted: Expectation["unmet"], unmet: Trial["unmet"] | undefined): Difference[] {
  return (["crashes", "mocks", "approvals", "signals"] as const).flatMap((part) => {
    const path = `unmet.${part}`;
    const left: Json[] = [...(unmet?.[part] ?? [])];
    const missing: Json[] = [];
    for (const one of wanted[part]) {
      const at = left.findIndex((other) => hasAll(other, one));
      if (at === -1) missing.push(one);
      else left.splice(at, 1);
    }
    return [
      ...left.map((one) => ({ path, expected: "none", actual: shown(one) })),
      ...missing.map((one) => ({
        path,
        expected: shown(one),
        actual: "the run used it, or the test does not have it",
      })),
    ];
  });
}

/** Whether a value equals the wanted one, or is an object with all wanted members. */
function hasAll(value: Json, wanted: Json): boolean {
  if (isDeepStrictEqual(value, wanted)) return true;
  if (!isObject(value) || !isObject(wanted)) return false;
  return Object.entries(wanted).every(([name, member]) => isDeepStrictEqual(value[name], member));
}

const MAX_SHOWN = 300;

function shown(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${firstOf(text, MAX_SHOWN)}…` : text;
}
