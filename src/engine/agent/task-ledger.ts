/** A run's to-do list. The model keeps it; while items are open, a sentinel does not count. Pure. */
import { objectOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { Message, ToolDefinition } from "../messages.ts";
import { closedObject, text } from "../parameters.ts";

export const LEDGER_TOOL = "task_ledger";

export const LEDGER_STATUSES = ["open", "in_progress", "blocked", "done", "dropped"] as const;
type LedgerStatus = (typeof LEDGER_STATUSES)[number];

export interface LedgerItem {
  id: string;
  title: string;
  status: LedgerStatus;
  /** The model's latest note; absent: none. */
  note?: string;
}

export interface TaskLedger {
  /** The purpose of all items; `null`: not stated. */
  root_task: string | null;
  items: LedgerItem[];
}

/** The part of a run that says whether it keeps a ledger. */
interface LedgerRun {
  ledger: TaskLedger | null;
  spec: { tools: readonly { definition: ToolDefinition }[] };
}

/** Whether the loop keeps a ledger for the run. It does not if the run has its own tool of that name. */
export function keepsLedger<T extends LedgerRun>(run: T): run is T & { ledger: TaskLedger } {
  return run.ledger !== null && run.spec.tools.every(({ definition }) => definition.name !== LEDGER_TOOL);
}

/** Items that are open, so that a sentinel does not count. */
export function openItems(ledger: TaskLedger | null): LedgerItem[] {
  return (ledger?.items ?? []).filter(({ status }) => status !== "done" && status !== "dropped");
}

/** The list after a call of the tool. `error`: nothing changed. */
export function updatedLedger(
  ledger: TaskLedger,
  args: JsonObject | null,
): { ledger: TaskLedger; content: string } | { error: string } {
  const updates = Array.isArray(args?.items) ? args.items : null;
  if (updates === null) return { error: `${LEDGER_TOOL} needs items: a list of {id, status, note?}.` };
  const items = new Map(ledger.items.map((item) => [item.id, item]));
  let number = items.size;
  for (const update of updates) {
    const { id, title, status, note } = objectOf(update);
    const known = LEDGER_STATUSES.find((name) => name === status);
    if (known === undefined) {
      return { error: `The status of an item is one of ${LEDGER_STATUSES.join(", ")}.` };
    }
    const noted = typeof note === "string" && note !== "" ? { note } : {};
    const item = typeof id === "string" ? items.get(id) : undefined;
    if (item !== undefined) {
      items.set(item.id, { ...item, status: known, ...noted });
    } else if (id === undefined && typeof title === "string" && title !== "") {
      do number++;
      while (items.has(String(number)));
      const own = String(number);
      items.set(own, { id: own, title, status: known, ...noted });
    } else {
      const ids = Array.from(items.keys()).join(", ");
      return { error: `There is no item ${JSON.stringify(id ?? null)}. There are: ${ids}.` };
    }
  }
  const changed = { ...ledger, items: [...items.values()] };
  return { ledger: changed, content: listing(changed) };
}

/** The list as a message for one model call; the history does not keep it. */
export function ledgerMessage(ledger: TaskLedger): Message {
  const text = `<hull_task_ledger>\n${listing(ledger)}\n</hull_task_ledger>`;
  return { role: "user", content: [{ type: "text", text }] };
}

function listing({ root_task, items }: TaskLedger): string {
  const lines = items.map(({ id, title, status, note }) =>
    note === undefined ? `- [${status}] ${id}: ${title}` : `- [${status}] ${id}: ${title} (${note})`,
  );
  return [...(root_task === null ? [] : [`Task: ${root_task}`]), ...lines].join("\n");
}

export function ledgerTool(): ToolDefinition {
  const item = {
    id: text("Of an item of the list; leave it out to add one"),
    title: text("Of an item that is added"),
    status: { type: "string", enum: [...LEDGER_STATUSES] },
    note: text("Why, or what came of it"),
  };
  return {
    name: LEDGER_TOOL,
    description:
      "Keeps the to-do list of this run: sets the status of items, or adds one. The task is complete when none is open, in progress or blocked.",
    parameters: closedObject({ items: { type: "array", items: closedObject(item, ["status"]) } }, ["items"]),
  };
}
