/** Detects calls that repeat without effect. Pure. */
import { canonicalJson } from "../../skill/canonical.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { repeatBlocked, repeatHint, repeatSkipped } from "./texts.ts";

/** For each call: its last result, and how often in a row it gave that. Serialisable. */
export interface LoopTable {
  [call: string]: { count: number; result: string };
}

interface LoopLimits {
  /** 0 switches detection off. */
  warn: number;
  block: number;
  skip: number;
}

/** Names a call by tool and arguments. */
function callKey(tool: string, args: JsonObject): string {
  return `${tool} ${shortHash(canonicalJson(args))}`;
}

/** The text that replaces the result of a call that must not be made; `null`: make it. */
export function skipped(table: LoopTable, limits: LoopLimits, tool: string, args: JsonObject): string | null {
  if (limits.warn === 0) return null;
  const next = (table[callKey(tool, args)]?.count ?? 0) + 1;
  return next >= limits.skip ? repeatSkipped(tool, next) : null;
}

/** Counts an executed call; returns its result as the model gets it. */
export function counted(
  table: LoopTable,
  limits: LoopLimits,
  tool: string,
  args: JsonObject,
  result: string,
): { table: LoopTable; shown: string } {
  if (limits.warn === 0) return { table, shown: result };
  const key = callKey(tool, args);
  const hash = shortHash(result);
  const known = table[key];
  const count = known?.result === hash ? known.count + 1 : 1;
  const next = { ...table, [key]: { count, result: hash } };
  if (count >= limits.block) return { table: next, shown: repeatBlocked(tool, count) };
  if (count >= limits.warn) return { table: next, shown: `${result}\n\n${repeatHint(tool, count, result)}` };
  return { table: next, shown: result };
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
