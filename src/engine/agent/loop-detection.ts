/** Detects calls that repeat without effect. Pure. */
import { memo } from "../../memo.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { AgentSpec } from "./spec.ts";
import { repeatBlocked, repeatHint, repeatSkipped } from "./texts.ts";

/**
 * For each call: its last result, and how often in a row it gave that. Serialisable. The calls are in 16 parts, so that
 * adding one copies its part alone.
 */
export interface LoopTable {
  [part: string]: { [call: string]: { count: number; result: string } };
}

/** A call of a turn: see `OpenCall`. */
interface TurnCall {
  call: { name: string; arguments: JsonObject | null };
  shown: string;
  count?: number;
}

type LoopLimits = AgentSpec["loop_detect"];

/** Kept, since each step of a turn asks it of every open call. */
const hashOf = memo((args: JsonObject) => shortHash(canonicalJson(args)));

/** Names a call by tool and arguments. */
const callKey = (tool: string, args: JsonObject): string => `${tool} ${hashOf(args)}`;
const partOf = (key: string): string => key.slice(-1);

/** The text that replaces the result of a call that must not be made; `null`: make it. */
export function skipped(table: LoopTable, limits: LoopLimits, tool: string, args: JsonObject): string | null {
  if (limits.warn === 0) return null;
  const key = callKey(tool, args);
  const next = (table[partOf(key)]?.[key]?.count ?? 0) + 1;
  return next >= limits.skip ? repeatSkipped(tool, next) : null;
}

/** Counts an executed call. `count`: how often in a row it gave this result; `null`: detection is off. */
export function counted(
  table: LoopTable,
  limits: LoopLimits,
  tool: string,
  args: JsonObject,
  result: string,
): { table: LoopTable; count: number | null } {
  if (limits.warn === 0) return { table, count: null };
  const key = callKey(tool, args);
  const hash = shortHash(result);
  const part = partOf(key);
  const known = table[part]?.[key];
  const count = known?.result === hash ? known.count + 1 : 1;
  return { table: { ...table, [part]: { ...table[part], [key]: { count, result: hash } } }, count };
}

/**
 * The results of a turn as the model gets them. Equal calls with equal results are numbered in the order of the calls,
 * whichever of them ended first.
 */
export function remarked<Call extends TurnCall>(calls: readonly Call[], limits: LoopLimits): Call[] {
  const counts = Map.groupBy(calls, groupOf);
  for (const group of counts.values()) group.sort((a, b) => (a.count ?? 0) - (b.count ?? 0));
  return calls.map((open) => {
    if (open.count === undefined) return open;
    const count = counts.get(groupOf(open))?.shift()?.count ?? open.count;
    return { ...open, shown: shownAfter(limits, open.call.name, count, open.shown) };
  });
}

const groupOf = ({ call, shown, count }: TurnCall): string =>
  count === undefined ? "" : `${callKey(call.name, call.arguments ?? {})} ${shortHash(shown)}`;

function shownAfter(limits: LoopLimits, tool: string, count: number, result: string): string {
  if (count >= limits.block) return repeatBlocked(tool, count);
  return count >= limits.warn ? `${result}\n\n${repeatHint(tool, count, result)}` : result;
}

/** 64 bits of FNV-1a over UTF-16 units, in hex. It only needs to distinguish texts of one run. */
function shortHash(text: string): string {
  let low = 0x811c9dc5;
  let high = 0xcbf29ce4;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit ^ (low >>> 16), 0x01000193);
  }
  return (high >>> 0).toString(16).padStart(8, "0") + (low >>> 0).toString(16).padStart(8, "0");
}
