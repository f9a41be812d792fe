/** Finds the recorded request that is nearest to an unrecorded one, and their first difference. */
import { type CassetteCall, conversationOf } from "../../src/model/cassette.ts";
import { objectOf } from "../../src/skill/json.ts";
import type { Json } from "../../src/skill/manifest.ts";

/** Characters to show before and after the place where two texts differ. */
const BEFORE = 40;
const AFTER = 120;

interface Part {
  name: string;
  /** For comparisons. */
  exact: string;
  /** For people. */
  text: string;
}

/** The nearest call and its first difference, in words; `null` if nothing is recorded. */
export function nearestCall(
  body: Json,
  { provider, path }: { provider: string; path: string },
  calls: readonly CassetteCall[],
): { call: CassetteCall; difference: string } | null {
  const now = partsOf(body);
  let best: { call: CassetteCall; then: Part[]; score: number } | null = null;
  for (const call of calls) {
    const then = partsOf(call.request.body);
    const same = call.provider === provider && call.request.path === path ? 1 : 0;
    const score = same * 1e6 + likeness(now, then);
    if (best === null || score > best.score) best = { call, then, score };
  }
  return best === null ? null : { call: best.call, difference: difference(now, best.then) };
}

function partsOf(body: Json): Part[] {
  const { model, system, messages } = conversationOf(body);
  const part = (name: string, value: Json, text = textOf(value)): Part => ({
    name,
    exact: textOf(value),
    text,
  });
  return [
    part("model", model),
    part("system", system),
    ...messages.map((message, index) => part(`message ${index + 1}`, message, messageText(message))),
  ];
}

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

/** `role: content` for simple messages. */
function messageText(message: Json): string {
  const { role, content = null, ...rest } = objectOf(message);
  const said = onlyText(content);
  if (typeof role !== "string" || said === null || Object.keys(rest).length > 0) return textOf(message);
  return `${role}: ${said}`;
}

/** The text of a content that is a text, or has one part with a text; `null`: it has more. */
function onlyText(content: Json): string | null {
  if (typeof content === "string") return content;
  const [only = null, ...others] = Array.isArray(content) ? content : [];
  const { type: _, text, ...rest } = objectOf(only);
  return typeof text === "string" && others.length === 0 && Object.keys(rest).length === 0 ? text : null;
}

/** Equal parts count 1 each. The first different part counts by the share of it that is equal. */
function likeness(now: readonly Part[], then: readonly Part[]): number {
  let equal = 0;
  let partial = 0;
  for (const [index, part] of now.entries()) {
    const other = then[index];
    if (other === undefined) break;
    if (part.exact === other.exact) equal++;
    else if (partial === 0) partial = sameShare(part.exact, other.exact);
  }
  return equal + partial;
}

/** The share of two texts that is equal at their beginnings and ends, from 0 to 1. */
function sameShare(a: string, b: string): number {
  const front = commonStart(a, b);
  let back = 0;
  const most = Math.min(a.length, b.length) - front;
  while (back < most && a.at(-1 - back) === b.at(-1 - back)) back++;
  return (front + back) / Math.max(a.length, b.length, 1);
}

function commonStart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}

function difference(now: readonly Part[], then: readonly Part[]): string {
  const at = Array.from({ length: Math.max(now.length, then.length) }).findIndex(
    (_, index) => now[index]?.exact !== then[index]?.exact,
  );
  if (at === -1) return "has the same messages, but another path";
  const [mine, theirs] = [now[at], then[at]];
  const { name } = mine ?? theirs ?? { name: "it" };
  if (mine === undefined) return `has a further ${name}: ${shown(theirs?.text ?? "", 0)}`;
  if (theirs === undefined) return `has no ${name}: ${shown(mine.text, 0)}`;
  const form = mine.text === theirs.text ? "exact" : "text";
  const from = commonStart(mine[form], theirs[form]);
  return `differs in ${name}:\n  recorded: ${shown(theirs[form], from)}\n  now:      ${shown(mine[form], from)}`;
}

function shown(text: string, from: number): string {
  const start = Math.max(0, from - BEFORE);
  const end = from + AFTER;
  const piece = JSON.stringify(text.slice(start, end));
  return `${start > 0 ? "…" : ""}${piece}${end < text.length ? "…" : ""}`;
}
