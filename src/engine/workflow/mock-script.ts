/** The option `mock` of a workflow run: one queue of answers for all its stages. Pure. */
import { canonicalJson } from "../../skill/canonical.ts";
import { isObject, own } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { AttemptKey, Stage } from "./answers.ts";
import type { Node } from "./graph.ts";
import type { RunRecord } from "./origin.ts";
import type { Origin, WorkflowSpec } from "./records.ts";
import { visitId } from "./trace.ts";

/** How far the attempts of a run are in the mocks of its options. */
interface MockUse {
  spec: WorkflowSpec;
  /** The mocks that ended attempts used up. Absent: none. */
  mocks_used?: UsedMock[];
  /** What the attempts that run hold. Absent: nothing. */
  mocks_held?: HeldMock[];
}

/** A mock that an attempt of a stage used up, by its place in the options. */
export interface UsedMock {
  place: number;
  /** Id of the stage. */
  stage: string;
}

/** The mock that the first call of a running attempt takes. Attempts that begin later leave it out. */
export interface HeldMock extends Pick<AttemptKey, "node" | "visit" | "item"> {
  /** `null`: no mock without a pattern was left. */
  place: number | null;
  /** Places of the mocks that were used up when it began, and of those that the attempts held that ran then. */
  left_out: number[];
}

/** The mocks that ended attempts did not use up; `null`: the run has none. */
export const mocksLeft = (state: MockUse): Json[] | null => without(state.spec.options, placesGone(state));

/** The mocks that a running attempt may take, in whichever process it runs; `null`: the run has none. */
export const mocksOf = (state: MockUse, key: AttemptKey): Json[] | null =>
  without(state.spec.options, leftOut(state, key));

/**
 * The options for a run that takes over stages of another: without the mocks that these used up, and with those that
 * stages of still earlier runs used up and that it does not take over.
 */
export function optionsFor(record: RunRecord, taken: readonly Stage[]): JsonObject {
  const { options, stages } = record;
  const mock = without(
    options,
    taken.flatMap((stage) => placesIn(record, stage)),
  );
  if (mock === null) return options;
  const kept = new Set(taken.map(({ id }) => id));
  const back = stages.flatMap(({ id, metadata: { mocks_taken: mocks } }) =>
    !kept.has(id) && Array.isArray(mocks) ? mocks : [],
  );
  return { ...options, mock: [...back, ...mock] };
}

/** What another run takes over, with the mocks that its stages used up: that run's own options no longer have them. */
export function withMocks(record: RunRecord, origin: Origin): Origin {
  const { mock } = record.options;
  if (!Array.isArray(mock)) return origin;
  const stages = origin.stages.map((stage) => {
    const places = new Set(placesIn(record, stage));
    if (places.size === 0) return stage;
    const mocks_taken = mock.filter((_, place) => places.has(place));
    return { ...stage, metadata: { ...stage.metadata, mocks_taken } };
  });
  return { ...origin, stages };
}

/** Places of the run's mocks that a stage of its own used up. */
function placesIn({ id: run }: RunRecord, { id, metadata: { mocks_used } }: Stage): number[] {
  const own = id.startsWith(`${run}:`) && Array.isArray(mocks_used) ? mocks_used : [];
  return own.filter((place) => typeof place === "number");
}

const placesGone = ({ mocks_used = [] }: MockUse): number[] => mocks_used.map(({ place }) => place);

function without({ mock }: JsonObject, places: readonly number[]): Json[] | null {
  const gone = new Set(places);
  return Array.isArray(mock) ? mock.filter((_, place) => !gone.has(place)) : null;
}

/** Places of the mocks that a running attempt leaves out. */
const leftOut = (state: MockUse, key: AttemptKey): number[] =>
  state.mocks_held?.find((held) => isOf(held, key))?.left_out ?? placesGone(state);

const isOf = (held: HeldMock, { node, visit, item }: Pick<AttemptKey, "node" | "visit" | "item">): boolean =>
  held.node === node && held.visit === visit && (item === undefined || held.item === item);

/** An attempt begins: of the mocks without a pattern, it holds the first that nobody used and no running one holds. */
export function holdMock(state: MockUse, key: AttemptKey): void {
  const { mock } = state.spec.options;
  if (!Array.isArray(mock) || !takesShared(state.spec, key)) return;
  const { mocks_held = [] } = state;
  const held = mocks_held.flatMap(({ place }) => (place === null ? [] : [place]));
  const left_out = [...placesGone(state), ...held];
  const gone = new Set(left_out);
  const free = mock.findIndex((one, at) => isObject(one) && one.match === undefined && !gone.has(at));
  const { node, visit, item } = key;
  const place = free === -1 ? null : free;
  state.mocks_held = [
    ...mocks_held,
    { node, visit, ...(item === undefined ? {} : { item }), place, left_out },
  ];
}

/** An attempt has ended, or a map with all of its items. @param used places of the mocks that it used up */
export function releaseMock(state: MockUse, key: AttemptKey, used: readonly number[] = []): void {
  const stage = visitId(state.spec.run_id, key);
  if (used.length > 0)
    state.mocks_used = [...(state.mocks_used ?? []), ...used.map((place) => ({ place, stage }))];
  if (state.mocks_held?.some((held) => isOf(held, key)))
    state.mocks_held = state.mocks_held.filter((held) => !isOf(held, key));
}

/** Whether the attempt calls a model that takes mocks of the run's options. */
function takesShared({ graph, test }: WorkflowSpec, { node: id, item }: AttemptKey): boolean {
  const node = own(graph.nodes, id);
  if (node === undefined || node.model_policy?.mock !== undefined) return false;
  return own(test?.mocks ?? {}, id) === undefined && callsModel(node, item);
}

/** @param item of a map: without one, only the map itself is meant */
export function callsModel({ kind, mode, verify }: Node, item?: number): boolean {
  if (kind === "map") return item !== undefined;
  if (kind === "verify") return mode === "agent" && verify?.command === undefined;
  return kind === "stage" || kind === "subagent";
}

/**
 * The places of the mocks that an attempt used up. Of equal mocks, the earlier ones are.
 * @param left those that it did not use, in the order of the script
 */
export function placesUsed(state: MockUse, key: AttemptKey, left: readonly Json[]): number[] {
  const { mock: script } = state.spec.options;
  if (!Array.isArray(script)) return [];
  const others = new Set(leftOut(state, key));
  const seen = Array.from(script.keys()).filter((place) => !others.has(place));
  const rest = left.map((mock) => canonicalJson(mock));
  return seen
    .toReversed()
    .filter((place) => {
      if (canonicalJson(script[place]) !== rest.at(-1)) return true;
      rest.pop();
      return false;
    })
    .toReversed();
}
