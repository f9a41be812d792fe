/** The to-do list with which a run begins. */
import type { LedgerItem, TaskLedger } from "../../engine/agent/task-ledger.ts";
import { refused } from "../../llm/prepare.ts";
import type { RunOptions } from "./option-shapes.ts";

/**
 * An item without an id gets its position as id, unless another item has that number.
 * @throws InputInvalid for two items with one id: the model could close only one of them
 */
export function taskLedger({ root_task, task_ledger, deliverables }: RunOptions): TaskLedger | null {
  const asked = task_ledger ?? deliverables;
  if (asked === undefined) return null;
  const given = asked.map((item) => (typeof item === "string" ? { title: item } : item));
  const ids = new Set<string>();
  for (const [n, { id }] of given.entries()) {
    if (id === undefined) continue;
    const path = `options.task_ledger.${n}.id`;
    if (ids.has(id))
      throw refused([{ path, message: `${path}: another item has the id ${JSON.stringify(id)}` }]);
    ids.add(id);
  }
  const items = given.map(({ id, title, status = "open", note }, n): LedgerItem => {
    let number = n + 1;
    while (id === undefined && ids.has(String(number))) number++;
    const own = id ?? String(number);
    ids.add(own);
    return { id: own, title, status, ...(note === undefined ? {} : { note }) };
  });
  return { root_task: root_task ?? null, items };
}
