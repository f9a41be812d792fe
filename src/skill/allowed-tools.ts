/** The field `allowed-tools` (skill-formats.md §1.4 step 10). */

/** Its entries, split on blanks and commas outside parentheses: `Bash(git add:*), Read`. */
export function splitAllowedTools(texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.match(/(?:[^\s,()]|\([^)]*\))+/g) ?? []);
}
