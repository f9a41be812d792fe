/** A fault in a value from outside: its path, what is accepted, what came. */
import type * as z from "zod/mini";

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
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
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

/** The first faults that a shape finds in a value. An unknown key has a path of its own. */
function shapeFaults({ issues }: ShapeError): { path: PropertyKey[]; message: string }[] {
  const faults = issues
    .slice(0, MAX_FAULTS)
    .flatMap((issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys
            .slice(0, MAX_FAULTS)
            .map((key) => ({ path: [...issue.path, key], message: "there is no such field" }))
        : [{ path: issue.path, message: messageOf(issue) }],
    );
  return faults.slice(0, MAX_FAULTS);
}

/** Plain words for zod's two most common messages; other messages unchanged. */
function messageOf({ code, message }: z.core.$ZodIssue): string {
  if (code === "invalid_type" && message.endsWith(", received undefined")) return "is required";
  return message === "Too small: expected string to have >=1 characters" ? "must not be empty" : message;
}

/** The first faults that a shape finds in a value, each with what came at its path. @param at the value's position */
export const faultsIn = (error: ShapeError, value: unknown, at: readonly string[] = []): Fault[] =>
  shapeFaults(error).map(({ path, message }) => {
    const place = [...at, ...path].join(".");
    return { path: place, message: `${place}: ${message}; got ${shown(valueAt(value, path))}` };
  });

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (Object.hasOwn(Object(inner), key) ? Object(inner)[key] : undefined),
    value,
  );
}

/** `shapeFaults` with dotted paths. */
export const shapeErrors = (error: ShapeError): Fault[] =>
  shapeFaults(error).map(({ path, message }) => ({ path: path.join("."), message }));
