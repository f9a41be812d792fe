/** Commands in a skill's text, whose outputs replace them. Pure. */

/**
 * A mark, a backtick, the command, a backtick; or a fenced block with the mark. Blocks of Markdown and double backticks
 * only show how others write such commands, and texts that do so without them put `KEY=` before the mark.
 */
const COMMAND =
  /^[ \t]*(`{3,}|~{3,})(?:markdown|md)\b.*\n(?:(?![ \t]*\1[ \t]*$).*\n)*|(?<![\w`$\\=]|`` )!`([^`\n]+)`|^[ \t]*```!(?:bash|sh)?[ \t]*\n((?:(?![ \t]*```).*\n)+)[ \t]*```[ \t]*$/gm;

/** What a shell leaves as it is. Other clients fill in the arguments before the shell, also a word in single quotes. */
const QUOTED = /"(?:\\[\s\S]|[^"\\])*"|'(\$ARGUMENTS(?:\[\d+\])?)'|'[^']*'|\\[\s\S]/g;

interface TextCommand {
  /** With `"$ARGUMENTS"` for `'$ARGUMENTS'`. */
  command: string;
  /** Where it begins and ends in the text, with its marks. */
  start: number;
  end: number;
}

export function textCommands(text: string): TextCommand[] {
  return Array.from(text.matchAll(COMMAND), ({ 0: whole, 2: inline, 3: block, index }) => {
    const written = inline ?? block?.trim();
    if (written === undefined) return [];
    const command = written.replace(QUOTED, (found, all?: string) =>
      all === undefined ? found : `"${all}"`,
    );
    return [{ command, start: index, end: index + whole.length }];
  }).flat();
}
