/** The to-do list of a run. */
import { expect, it } from "vitest";
import type { TaskLedger } from "../../../../src/engine/agent/task-ledger.ts";
import type { Json, JsonObject } from "../../../../src/skill/manifest.ts";
import { play, toolTexts, userTexts } from "./harness.ts";

const task_ledger: TaskLedger = {
  root_task: "ship",
  items: [
    { id: "1", title: "build", status: "open" },
    { id: "2", title: "test", status: "blocked" },
  ],
};
const update = (...items: Json[]): { calls: [string, JsonObject][] } => ({
  calls: [["task_ledger", { items }]],
});

it("no sentinel counts while items are open; the model keeps the list by a tool", async () => {
  const played = await play({
    spec: { persistent: true, task_ledger },
    replies: [
      "##DONE##",
      update({ id: "1", status: "done" }, { title: "publish", status: "in_progress" }),
      "##DONE##",
      update({ id: "2", status: "dropped", note: "not needed" }, { id: "3", status: "done" }),
      "##DONE##",
    ],
  });
  expect([played.run.status, played.run.iterations]).toEqual(["done", 5]);
  expect(played.run.ledger?.items).toEqual([
    { id: "1", title: "build", status: "done" },
    { id: "2", title: "test", status: "dropped", note: "not needed" },
    { id: "3", title: "publish", status: "done" },
  ]);
  expect(played.run.feedback.map(({ kind }) => kind)).toEqual([
    "ledger_not_satisfied",
    "ledger_not_satisfied",
  ]);
  expect(played.run.feedback[1]?.content).toContain("2: test\n- 3: publish");
  const [first, second] = played.requests;
  expect(first?.tools.map(({ name }) => name)).toContain("task_ledger");
  const shown = (request: typeof first) =>
    request === undefined ? [] : userTexts(request).filter((text) => text.startsWith("<hull_task_ledger>"));
  expect(shown(first)).toEqual([
    "<hull_task_ledger>\nTask: ship\n- [open] 1: build\n- [blocked] 2: test\n</hull_task_ledger>",
  ]);
  // For one call only.
  expect(shown(second)).toHaveLength(1);
  expect(JSON.stringify(played.state.visible)).not.toContain("hull_task_ledger>");
});

it.each<[JsonObject, string]>([
  [{}, "needs items"],
  [{ items: [{ id: "9", status: "done" }] }, 'no item "9"'],
  [{ items: [{ id: "1", status: "finished" }] }, "in_progress"],
  [{ items: [{ status: "open" }] }, "no item null"],
])("%j changes nothing and says why", async (args, told) => {
  const { requests, run } = await play({
    spec: { persistent: true, task_ledger, max_nudges: 0 },
    replies: [{ calls: [["task_ledger", args]] }, "stop"],
  });
  expect(requests[1] && toolTexts(requests[1]).at(-1)).toContain(told);
  expect(run.ledger).toEqual(task_ledger);
});
