/** Edits of graphs: what the graph's audit log keeps of them. */
import { expect, it } from "vitest";
import { EDIT_OPERATIONS } from "../../../../src/engine/workflow/edit.ts";
import { readGraph } from "../../../../src/engine/workflow/graph.ts";
import { objectOf } from "../../../../src/skill/json.ts";

const newId = () => "wf_1";

it.each<[string, object, object]>([
  ["insert_node", { node: { id: "b", kind: "stage" }, reason: "more" }, { node_id: "b", reason: "more" }],
  ["insert_node", { node_id: "c", node: { kind: "stage" } }, { node_id: "c" }],
  ["replace_node", { node_id: "a", node: { kind: "verify" } }, { node_id: "a" }],
  ["rewire", { from: "a", to: "a" }, { node_id: "a", from: "a", to: "a" }],
  ["clone", {}, {}],
])("%s %j is in the log as %j", (op, input, entry) => {
  const read = readGraph({ entry: "a", nodes: { a: { kind: "stage" } } }, newId);
  if ("faults" in read) expect.fail(JSON.stringify(read.faults));
  const edited = EDIT_OPERATIONS.get(op)?.(read.graph, input, { now: "2026-01-01T00:00:00.000Z", newId });
  if (edited === undefined || "faults" in edited) expect.fail(JSON.stringify(edited));
  expect(objectOf(edited.answer).audit_log).toEqual([{ op, at: "2026-01-01T00:00:00.000Z", ...entry }]);
});
