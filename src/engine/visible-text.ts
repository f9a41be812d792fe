/** The part of a model's text that is meant for people. Pure. */
import { parsedObject } from "../skill/json-depth.ts";

import { callEnds } from "./text-tools/call-ends.ts";

/** Elements that are removed with their content; an unclosed one up to the end of the text. */
const HIDDEN = ["think", "thinking", "tool_call", "tool_result", "tool_response", "done", "hull_feedback"];
/** Elements whose tags alone are removed. */
const UNWRAPPED = ["assistant_prose"];
const ANSWER = "user_response";
const KNOWN = [...HIDDEN, ...UNWRAPPED, ANSWER];

interface VisibleOptions {
  /**
   * Lines that are removed if they stand alone. The first of them, a run's sentinel, is also removed at the very end of
   * the text.
   */
  markers?: readonly string[];
  /** Whether to remove JSON that lays out a plan; not if JSON is the answer. */
  planner?: boolean;
}

/** The visible part of a whole text. */
export function visibleText(text: string, options: VisibleOptions = {}): string {
  const { markers = [], planner = true } = options;
  const { rest, answers } = splitVisible(text);
  const body = answers.length > 0 ? answers.join("\n\n") : rest;
  return withoutMarkers(planner ? withoutPlans(body) : body, markers).trim();
}

interface Parts {
  rest: string;
  /** Content of answer elements. */
  answers: string[];
}

/** Walks the known tags once, from left to right. */
function splitVisible(text: string): Parts {
  const calls = callEnds(text);
  const tag = /<(\/?)([a-z_]+)(?:\s[^<>]*)?(\/?)>/gi;
  const answers: string[] = [];
  let rest = "";
  let at = 0;
  let answerFrom: number | null = null;
  const keep = (until: number): void => {
    if (answerFrom === null) rest += text.slice(at, until);
  };
  for (let hit = tag.exec(text); hit !== null; hit = tag.exec(text)) {
    const [whole, slash, rawName = "", selfClosing] = hit;
    const name = rawName.toLowerCase();
    if (!KNOWN.includes(name)) continue;
    const opens = slash === "";
    if (answerFrom !== null) {
      if (name === ANSWER && !opens) {
        answers.push(text.slice(answerFrom, hit.index).trim());
        answerFrom = null;
        at = tag.lastIndex;
      }
      continue;
    }
    keep(hit.index);
    at = tag.lastIndex;
    if (name === ANSWER && opens) {
      answerFrom = tag.lastIndex;
    } else if (HIDDEN.includes(name) && opens && selfClosing === "") {
      const close = calls.get(hit.index) ?? closing(text, name, hit.index + whole.length);
      at = close;
      tag.lastIndex = close;
    }
  }
  if (answerFrom === null) rest += text.slice(at);
  else answers.push(text.slice(answerFrom).trim());
  return { rest, answers };
}

/** Where an element ends; if it does not end, the text's length. */
function closing(text: string, name: string, from: number): number {
  const close = new RegExp(`</${name}\\s*>`, "ig");
  close.lastIndex = from;
  return close.exec(text) === null ? text.length : close.lastIndex;
}

/** JSON objects that lay out a plan, in a fence or on lines of their own. */
function withoutPlans(text: string): string {
  if (!text.includes("{")) return text;
  // A fence without an end takes the rest of the text, so that nothing is read twice.
  const fence = /^```(?:json)?[ \t]*\n(?:([\s\S]*?)\n```[ \t]*(?:\n|$)|[\s\S]*)/gim;
  const unfenced = text.replace(fence, (whole, body = "") => (isPlan(String(body)) ? "" : whole));
  return unfenced
    .split(/\n{2,}/)
    .filter((paragraph) => !isPlan(paragraph))
    .join("\n\n");
}

const PLAN_KEYS = ["plan", "steps", "tasks", "next_actions"];

/** An object with a mode or phase and a list of steps is what a planner writes for itself. */
function isPlan(text: string): boolean {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{") || !trimmed.endsWith("}")) return false;
  const value = parsedObject(trimmed);
  if (value === null) return false;
  const has = (key: string): boolean => Object.hasOwn(value, key);
  return ["mode", "phase", "next_phase"].some(has) && PLAN_KEYS.some(has);
}

function withoutMarkers(text: string, markers: readonly string[]): string {
  const [sentinel] = markers;
  if (sentinel === undefined) return text;
  const lines = text.split("\n").filter((line) => !markers.includes(line.trim()));
  const joined = lines.join("\n");
  const end = joined.trimEnd();
  return end.endsWith(sentinel) ? end.slice(0, -sentinel.length) : joined;
}
