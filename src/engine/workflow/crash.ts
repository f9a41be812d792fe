/**
 * Crash points of a test run: where its process dies, once each, so that the author sees it recover from what is stored.
 * Pure.
 */
import type { AttemptKey, CrashPoint } from "./answers.ts";
import type { WorkflowRecord } from "./records.ts";
import type { WorkflowState } from "./state.ts";

/** The crash point at this place, unless the run has already crashed there; `null`: none. */
export function crashAt(state: WorkflowState, place: CrashPoint): CrashPoint | null {
  const { crashes = [] } = state.spec.test ?? {};
  return crashes.find((point) => isAt(point, place) && !isMet(state, point)) ?? null;
}

/** The crash points that these records reach, as records to store with them. */
export function crashesWith(state: WorkflowState, records: readonly WorkflowRecord[]): WorkflowRecord[] {
  if (state.spec.test?.crashes === undefined) return [];
  return records.flatMap((record): WorkflowRecord[] => {
    if (record.type !== "started" && record.type !== "ended") return [];
    const { node, visit, attempt, at } = record;
    // What begins and ends in one write can only die after it.
    if (record.type === "started" && records.some((other) => other.type === "ended" && isSame(other, record)))
      return [];
    const place = record.type === "started" ? "begun" : "settled";
    const point = crashAt(state, { node, visit, attempt, ...itemOf(record), at: place });
    return point === null ? [] : [{ type: "crashed", at, point }];
  });
}

/** The wanted crashes that the run has not met so far. */
export const unmetCrashes = (state: WorkflowState): CrashPoint[] =>
  (state.spec.test?.crashes ?? []).filter((point) => !isMet(state, point));

/**
 * Whether a crash point is at this place. A point without an item means the map as a whole, or the first of its items
 * that is called or answers.
 */
function isAt(point: CrashPoint, place: CrashPoint): boolean {
  const any = point.item === undefined && (point.at === "called" || point.at === "answered");
  return point.at === place.at && isSame(any ? { ...point, ...itemOf(place) } : point, place);
}

const itemOf = ({ item }: AttemptKey) => (item === undefined ? {} : { item });

const isSame = (a: AttemptKey, b: AttemptKey): boolean =>
  a.node === b.node && a.visit === b.visit && a.attempt === b.attempt && a.item === b.item;

const isMet = ({ crashed }: WorkflowState, point: CrashPoint): boolean =>
  crashed.some((met) => met.at === point.at && isSame(met, point));
