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

/** The faults that a shape finds in a value. An unknown key has a path of its own. */
export function shapeFaults({ issues }: z.core.$ZodError): { path: PropertyKey[]; message: string }[] {
  return issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ path: [...issue.path, key], message: "there is no such field" }))
      : [{ path: issue.path, message: messageOf(issue) }],
  );
}

/** Plain words for zod's two most common messages; other messages unchanged. */
function messageOf({ code, message }: z.core.$ZodIssue): string {
  if (code === "invalid_type" && message.endsWith(", received undefined")) return "is required";
  return message === "Too small: expected string to have >=1 characters" ? "must not be empty" : message;
}

/** `shapeFaults` with dotted paths. */
export const shapeErrors = (error: z.core.$ZodError): Fault[] =>
  shapeFaults(error).map(({ path, message }) => ({ path: path.join("."), message }));
