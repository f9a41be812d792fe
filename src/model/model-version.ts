/** Versions out of model ids (agent-runtime.md §4.1). */

export type Version = readonly [major: number, minor: number];

/** `claude-opus-4-6` is 4.6, `claude-sonnet-4-20250514` is 4.0; `null` for ids without a version after the family. */
export function claudeVersion(model: string): Version | null {
  const id = model.toLowerCase();
  if (!id.startsWith("claude-") && !id.includes("/claude-")) return null;
  const match = /(?:opus|sonnet|haiku)-(\d+)(?:[.-](\d+))?/.exec(id);
  return match === null ? null : [Number(match[1]), minorOf(match[2])];
}

/** A longer minor is a date. */
const minorOf = (digits: string | undefined): number => {
  const minor = Number(digits ?? 0);
  return minor >= 1000 ? 0 : minor;
};

export const isAtLeast = ([major, minor]: Version, [least, lesser]: Version): boolean =>
  major > least || (major === least && minor >= lesser);
