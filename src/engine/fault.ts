/** What is wrong with a value from outside: where, what is accepted, what came. */
import type * as z from "zod/mini";

export interface Fault {
  /** Dotted path, e.g. `tools.0.defer_loading`. */
  path: string;
  message: string;
}

/** @param name what the value is called for whoever reads the message */
export function wrongValue(path: string, name: string, accepted: string, value: unknown): Fault {
  return { path, message: `${name} must be ${accepted}; got ${shown(value)}` };
}

const MAX_SHOWN = 80;

/** A value as JSON text, cut where it is long. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

type Members = Record<string, z.ZodMiniType>;

/**
 * Reads an object whose members are all optional. Only the members that are there are looked at: to go through a shape of
 * fifty members takes fifty times as long as to read one.
 */
export function readPresent<M extends Members>(
  members: M,
  given: Record<string, unknown>,
): { data: z.infer<z.ZodMiniObject<M>> } | { issues: z.core.$ZodIssue[] } {
  const entries: unknown[][] = [];
  const issues: z.core.$ZodIssue[] = [];
  for (const [name, value] of Object.entries(given)) {
    const read = members[name]?.safeParse(value);
    if (read?.success === true) entries.push([name, read.data]);
    for (const issue of read?.error?.issues ?? []) issues.push({ ...issue, path: [name, ...issue.path] });
  }
  return issues.length > 0 ? { issues } : { data: Object.fromEntries(entries) };
}

/** What a shape refuses in a value. A key that nothing knows has a path of its own. */
export function shapeFaults({
  issues,
}: Pick<z.core.$ZodError, "issues">): { path: PropertyKey[]; message: string }[] {
  return issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ path: [...issue.path, key], message: "there is no such field" }))
      : [{ path: issue.path, message: issue.message }],
  );
}

/** The same with dotted paths. */
export const shapeErrors = (error: z.core.$ZodError): Fault[] =>
  shapeFaults(error).map(({ path, message }) => ({ path: path.join("."), message }));
