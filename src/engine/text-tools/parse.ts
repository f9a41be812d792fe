/** Reads tool calls from a model's text. Pure; time grows with the text's length. */

import { firstOf, firstWords } from "../../cut.ts";
import { exactJson } from "../../skill/exact-json.ts";
import { isObject } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { closingOf } from "../brackets.ts";
import { CLOSE, callEnds, OPEN } from "./call-ends.ts";

/** The most characters to keep of one turn. */
const MAX_TURN_CHARACTERS = 131_072;
/** The most characters behind names that turn out to begin no call: to look for the end of each call reads them all. */
const MAX_IN_VAIN = 16 * MAX_TURN_CHARACTERS;

export interface TextCall {
  name: string;
  arguments: JsonObject;
  /** The arguments as JSON, if a number of theirs has more digits than JavaScript keeps. */
  raw?: string;
}

/** The arguments as JSON, with all digits. */
export const writtenArguments = ({ arguments: args, raw }: TextCall): string => raw ?? JSON.stringify(args);

/** @param text of which the arguments are the part that `pick` finds */
function textCall(
  name: string,
  args: JsonObject,
  text: string,
  pick: (sent: Json) => Json | undefined,
): TextCall {
  const raw = exactJson(args, text, pick);
  return raw === JSON.stringify(args) ? { name, arguments: args } : { name, arguments: args, raw };
}

interface TextTurn {
  calls: TextCall[];
  /** The text without calls and tags. */
  prose: string;
  /** The turn in the contract's form, which the history keeps. */
  canonical: string;
  /** Forms that the parser understood although the contract does not name them. */
  violations: string[];
  /** Calls that could not be read. */
  errors: string[];
  /** Content of the done element. */
  done: string | null;
  /** Content of user_response elements. */
  response: string | null;
}

interface Piece {
  start: number;
  end: number;
  call?: TextCall;
  violation?: string;
  error?: string;
}

/** @param tools names that the model may call; other names in call form are prose */
export function parseTextTurn(text: string, tools: readonly string[]): TextTurn {
  const kept = firstOf(text, MAX_TURN_CHARACTERS);
  const ends = callEnds(kept);
  const body = blankThinking(kept, ends);
  const pieces = [...elements(body, tools, ends), ...looseCalls(body, tools)];
  const taken = withoutOverlaps(pieces);
  const calls = taken.flatMap(({ call }) => (call === undefined ? [] : [call]));
  let rest = "";
  let at = 0;
  for (const { start, end } of taken) {
    rest += body.slice(at, start);
    at = end;
  }
  rest += body.slice(at);
  const done = element(rest, "done");
  const response = element(rest, "user_response");
  const prose = plain(rest);
  return {
    calls,
    prose,
    canonical: canonicalTurn(prose, calls, done, response),
    violations: taken.flatMap(({ violation }) => violation ?? []),
    errors: taken.flatMap(({ error }) => error ?? []),
    done,
    response,
  };
}

/** Blanks out reasoning, so that calls inside it do not count. Positions stay the same. */
function blankThinking(text: string, ends: ReadonlyMap<number, number>): string {
  const tag = /<(think(?:ing)?|tool_call)>/gi;
  let blanked = "";
  let at = 0;
  for (let hit = tag.exec(text); hit !== null; hit = tag.exec(text)) {
    let end = ends.get(hit.index) ?? tag.lastIndex;
    if (hit[0].toLowerCase() !== OPEN) {
      const close = /<\/think(?:ing)?>/gi;
      close.lastIndex = end;
      end = close.exec(text) === null ? text.length : close.lastIndex;
      blanked += text.slice(at, hit.index) + " ".repeat(end - hit.index);
      at = end;
    }
    tag.lastIndex = end;
  }
  return blanked + text.slice(at);
}

/** `<tool_call>` elements: JSON as in the contract, or a call in function form. */
function elements(text: string, tools: readonly string[], ends: ReadonlyMap<number, number>): Piece[] {
  const pieces: Piece[] = [];
  for (let start = text.indexOf(OPEN); start !== -1; ) {
    const known = ends.get(start);
    const close = known === undefined ? text.indexOf(CLOSE, start) : known - CLOSE.length;
    const inner = text.slice(start + OPEN.length, close === -1 ? text.length : close).trim();
    const end = close === -1 ? text.length : close + CLOSE.length;
    const read = readElement(inner, tools);
    const unclosed = close === -1 ? { violation: "a tool_call element was not closed" } : {};
    pieces.push("error" in read ? { start, end, ...read } : { start, end, ...unclosed, ...read });
    start = text.indexOf(OPEN, end);
  }
  return pieces;
}

function readElement(
  inner: string,
  tools: readonly string[],
): { call: TextCall; violation?: string } | { error: string } {
  const unfenced = inner.replace(/^```(?:json)?\s*\n?/, "").replace(/\n?```$/, "");
  const fenced = unfenced === inner ? {} : { violation: "a tool_call element held a code fence" };
  const value = parsedJson(unfenced);
  const call = value === undefined ? null : callOf(value, unfenced);
  if (call !== null) return { call, ...fenced };
  const written = functionForm(unfenced, 0, tools);
  if (written !== null && written.end >= unfenced.length) {
    return { call: written.call, violation: "a tool_call element held a function call in place of JSON" };
  }
  return { error: `This tool call cannot be read: ${firstWords(unfenced, 200)}` };
}

/** Calls outside of elements. */
function looseCalls(text: string, tools: readonly string[]): Piece[] {
  // Most turns contain none of these, so no pattern of the tools' names is needed.
  if (tools.length === 0 || !/[({`]/.test(text)) return [];
  const bare = bareObject(text, tools);
  return bare === null ? [...fencedCalls(text, tools), ...functionCalls(text, tools)] : [bare];
}

/** A turn that is nothing but the JSON of one call. */
function bareObject(text: string, tools: readonly string[]): Piece | null {
  const whole = text.trim();
  const value = whole.startsWith("{") ? parsedJson(whole) : undefined;
  const call = value === undefined ? null : callOf(value, whole);
  if (call === null || !tools.includes(call.name) || !hasArguments(value)) return null;
  const start = text.indexOf(whole);
  const violation = "a call was written bare in place of a tool_call element";
  return { start, end: start + whole.length, call, violation };
}

/** Code fences that hold nothing but one call, as JSON or in function form. */
function fencedCalls(text: string, tools: readonly string[]): Piece[] {
  const violation = "a call stood in a code fence in place of a tool_call element";
  const fences = text.matchAll(/```(?:json|tool_code|tool_call)?[^\S\n]*\n([\s\S]*?)\n?```/g);
  return [...fences].flatMap(({ 0: fence, 1: content = "", index: start }) => {
    const call = fencedCall(content.trim(), tools);
    return call === null ? [] : [{ start, end: start + fence.length, call, violation }];
  });
}

function fencedCall(inner: string, tools: readonly string[]): TextCall | null {
  const value = parsedJson(inner);
  const call = value === undefined ? null : callOf(value, inner);
  if (call !== null) return tools.includes(call.name) ? call : null;
  const written = functionForm(inner, 0, tools);
  return written?.end === inner.length ? written.call : null;
}

/** Calls in function form that begin a line: bare, as `<name({…})>`, or after `tool_code:`. */
function functionCalls(text: string, tools: readonly string[]): Piece[] {
  const pieces: Piece[] = [];
  const names = tools.map(RegExp.escape).join("|");
  const head = new RegExp(`(?:^|\\n)[^\\S\\n]*((?:<|tool_code:[^\\S\\n]*)?)(?:${names})\\(`, "g");
  let inVain = 0;
  for (let hit = head.exec(text); hit !== null && inVain <= MAX_IN_VAIN; hit = head.exec(text)) {
    const prefix = hit[1] ?? "";
    const start = hit.index + hit[0].search(/\S/);
    const written = functionForm(text, start + prefix.length, tools);
    if (written === null) {
      inVain += text.length - start;
      continue;
    }
    const tail = prefix === "<" && text[written.end] === ">" ? 1 : 0;
    const form = prefix === "" ? "bare" : prefix === "<" ? "in angle brackets" : "after tool_code:";
    pieces.push({
      start,
      end: written.end + tail,
      call: written.call,
      violation: `a call was written ${form} in place of a tool_call element`,
    });
    head.lastIndex = Math.max(head.lastIndex, written.end);
  }
  return pieces;
}

/** `name({…})` at a position. The object is JSON, whose keys may also be names without quotes, as in TypeScript. */
function functionForm(
  text: string,
  from: number,
  tools: readonly string[],
): { call: TextCall; end: number } | null {
  const head = /^\s*([\w-]+)\(\s*/.exec(text.slice(from, from + 200));
  const name = head?.[1] ?? "";
  if (head === null || !tools.includes(name)) return null;
  const at = from + head[0].length;
  if (text[at] === ")") return { call: { name, arguments: {} }, end: at + 1 };
  const end = closingOf(text, at);
  const value = end === null ? undefined : parsedLiteral(text.slice(at, end));
  const close = end === null ? null : /^\s*\)/.exec(text.slice(end, end + 20));
  if (end === null || close === null || !isObject(value)) return null;
  const call = textCall(name, value, text.slice(at, end), (sent) => sent);
  return { call, end: end + close[0].length };
}

/** @param text begins with a bracket and ends with the one that closes it, so all of its strings end */
function parsedLiteral(text: string): Json | undefined {
  const stringOrKey = /"[^"\\]*(?:\\.[^"\\]*)*"|([{,]\s*)([A-Za-z_$][\w$]*)(?=\s*:)/gs;
  return (
    parsedJson(text) ??
    parsedJson(
      text.replace(stringOrKey, (whole: string, before?: string, key?: string) =>
        key === undefined ? whole : `${before}"${key}"`,
      ),
    )
  );
}

/** @param text JSON of the value */
function callOf(value: Json, text: string): TextCall | null {
  if (!isObject(value) || typeof value.name !== "string") return null;
  const given = argumentsIn(value);
  const args = typeof given === "string" ? parsedJson(given) : given;
  if (!isObject(args)) return null;
  return typeof given === "string"
    ? textCall(value.name, args, given, (sent) => sent)
    : textCall(value.name, args, text, (sent) => (isObject(sent) ? argumentsIn(sent) : undefined));
}

const argumentsIn = (call: JsonObject): Json => call.arguments ?? call.parameters ?? {};

/** Whether it is clearly a call: an answer may have a name, too. */
const hasArguments = (value: Json | undefined): boolean =>
  isObject(value) && (value.arguments !== undefined || value.parameters !== undefined);

/** Sorts pieces by position. Of two that overlap, the one that begins first stays. */
function withoutOverlaps(pieces: Piece[]): Piece[] {
  const kept: Piece[] = [];
  for (const piece of pieces.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (piece.start >= (kept.at(-1)?.end ?? 0)) kept.push(piece);
  }
  return kept;
}

function element(text: string, name: string): string | null {
  if (!text.includes("<")) return null;
  const found = [...text.matchAll(new RegExp(`<${name}>([\\s\\S]*?)(?:</${name}>|$)`, "gi"))];
  return found.length === 0 ? null : found.map(([, inner = ""]) => inner.trim()).join("\n\n");
}

function plain(text: string): string {
  return text
    .replace(/<done>[\s\S]*?(?:<\/done>|$)/gi, "")
    .replace(/<\/?(?:assistant_prose|user_response)>/gi, "")
    .replace(/(?<![^\S\n])[^\S\n]+$/gm, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

function canonicalTurn(
  prose: string,
  calls: readonly TextCall[],
  done: string | null,
  response: string | null,
): string {
  const said = response !== null ? `<user_response>${response}</user_response>` : prose;
  const parts = [
    ...(said === ""
      ? []
      : [calls.length > 0 && response === null ? `<assistant_prose>${said}</assistant_prose>` : said]),
    ...calls.map(
      (call) => `${OPEN}{"name":${JSON.stringify(call.name)},"arguments":${writtenArguments(call)}}${CLOSE}`,
    ),
    ...(done === null ? [] : [`<done>${done}</done>`]),
  ];
  return parts.join("\n");
}
