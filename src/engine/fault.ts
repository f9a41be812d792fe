/** A fault in a value from outside: its path, what is accepted, what came. */

import type * as z from "zod/mini";
import { firstOf } from "../cut.ts";

export interface Fault {
  /** Dotted path, e.g. `tools.0.defer_loading`. */
  path: string;
  message: string;
}

/** @param name how the message names the value */
export function wrongValue(path: string, name: string, accepted: string, value: unknown): Fault {
  return { path, message: `${name} must be ${accepted}; got ${shown(value)}` };
}

const MAX_SHOWN = 80;

/** A value as JSON text, cut if long. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > MAX_SHOWN ? `${firstOf(text, MAX_SHOWN)}…` : text;
}

/** A text about options, for a body with the options at its top: they lose `options.`, while quoted values stay. */
export const withoutPrefix = (text: string): string =>
  // `shown` cuts a long value before its closing quote.
  text.replace(/"[^"…]*["…]|(?<![\w."])options\./g, (found) => (found === "options." ? "" : found));

/** What a shape finds in a value. */
type ShapeError = Pick<z.core.$ZodError, "issues">;
type Checked<T> = { success: true; data: T } | { success: false; error: ShapeError };

/**
 * Like `schema.safeParse`, which throws if a value has more faults than a function takes arguments: such a value has one
 * fault here.
 */
export function checked<T>(schema: z.ZodMiniType<T>, value: unknown): Checked<T> {
  try {
    return schema.safeParse(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const issue = { code: "custom" as const, path: [], message: "has too many faults", input: value };
    return { success: false, error: { issues: [issue] } };
  }
}

/** The most faults of one value that Hull reports. */
export const MAX_FAULTS = 50;

interface ShapeFault {
  path: PropertyKey[];
  message: string;
}

/** The first faults that a shape finds in a value. An unknown key has a path of its own. */
function shapeFaults({ issues }: ShapeError): ShapeFault[] {
  return issues.slice(0, MAX_FAULTS).flatMap(faultsOf).slice(0, MAX_FAULTS);
}

function faultsOf(issue: z.core.$ZodIssue): ShapeFault[] {
  const { code, path } = issue;
  if (code === "unrecognized_keys")
    return issue.keys
      .slice(0, MAX_FAULTS)
      .map((key) => ({ path: [...path, key], message: "there is no such field" }));
  const within = code === "invalid_union" && issue.message === "Invalid input" ? nearest(issue.errors) : null;
  if (within === null) return [{ path, message: messageOf(issue) }];
  return shapeFaults({ issues: [...within] }).map((fault) => ({ ...fault, path: [...path, ...fault.path] }));
}

/** The faults of the one form that the value has on the outside; `null`: it has none of them, or several. */
function nearest(forms: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | null {
  const [near, other] = forms.filter((issues) => issues.every(({ path }) => path.length > 0));
  return other === undefined ? (near ?? null) : null;
}

/** Plain words for zod's most common messages, and the fault of a key; messages of a shape's own stay. */
export function messageOf(issue: z.core.$ZodIssue): string {
  const { code, message } = issue;
  if (code === "invalid_key") return issue.issues[0]?.message ?? message;
  if (code === "invalid_type" && message.endsWith(", received undefined")) return "is required";
  if (message === "Too small: expected string to have >=1 characters") return "must not be empty";
  return ofNumber(issue, unitOf(issue.path)) ?? message;
}

/** What zod says of numbers, which begins like this, in Hull's words; `null`: it is about something else. */
function ofNumber(issue: z.core.$ZodIssue, unit: string): string | null {
  const { code, message } = issue;
  if (!/^(?:Too (?:small|big)|Invalid input): expected (?:number|int)\b/.test(message)) return null;
  if (code === "too_small")
    return `must be ${issue.inclusive === false ? "more than" : "at least"} ${amount(issue.minimum, unit)}`;
  if (code === "too_big")
    return `must be ${issue.inclusive === false ? "less than" : "at most"} ${amount(issue.maximum, unit)}`;
  const what = message.includes("expected int") ? "a whole number" : "a number";
  return unit === "" ? `must be ${what}` : `must be ${what}, in${unit}`;
}

const amount = (value: number | bigint, unit: string): string =>
  `${value}${value === 1 && /(?:byte|token)s$/.test(unit) ? unit.slice(0, -1) : unit}`;

const UNITS: readonly [end: RegExp, unit: string][] = [
  [/_ms$/, "ms"],
  [/_s$|^(?:idle_)?timeout$/, "s"],
  [/bytes$/, "bytes"],
  [/_usd$/, "USD"],
  [/tokens$/, "tokens"],
];

/** The unit in the name of a field, after a blank. */
function unitOf(path: readonly PropertyKey[]): string {
  const unit = UNITS.find(([end]) => end.test(String(path.at(-1))))?.[1];
  return unit === undefined ? "" : ` ${unit}`;
}

/** The first faults that a shape finds in a value, each with what came at its path. @param at the value's position */
export const faultsIn = (error: ShapeError, value: unknown, at: readonly string[] = []): Fault[] =>
  shapeFaults(error).map(({ path, message }) => {
    const place = [...at, ...path].join(".");
    return { path: place, message: `${place}: ${message}; got ${shown(valueAt(value, path))}` };
  });

/** What a value has at a path; `undefined`: nothing. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (Object.hasOwn(Object(inner), key) ? Object(inner)[key] : undefined),
    value,
  );
}

/** `shapeFaults` with dotted paths. */
export const shapeErrors = (error: ShapeError): Fault[] =>
  shapeFaults(error).map(({ path, message }) => ({ path: path.join("."), message }));

/** Faults of a part, by their places in the whole. @param at the part's place */
export const faultsBelow = (at: string, faults: readonly Fault[]): Fault[] =>
  faults.map(({ path, message }) => ({ path: path === "" ? at : `${at}.${path}`, message }));
