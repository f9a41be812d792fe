/** Texts of models, tools and users, whose control characters a terminal would obey. */

/** Every control character except the tab and the line end. */
const CONTROL = /[^\P{Cc}\t\n]/gu;

/**
 * A text for a stream. In a terminal, a control character becomes U+FFFD, since escape sequences could hide or replace
 * other text, such as the call that a person is about to approve. Anywhere else the text stays as it is.
 */
export function terminalText(text: string, stream: { isTTY?: boolean }): string {
  return stream.isTTY === true ? text.replaceAll("\r\n", "\n").replace(CONTROL, "\ufffd") : text;
}

/** Writes a text to stdout, as `terminalText` shows it. */
export const writeOut = (text: string): void => void process.stdout.write(terminalText(text, process.stdout));

/** Writes a text to stderr, as `terminalText` shows it. */
export const writeError = (text: string): void =>
  void process.stderr.write(terminalText(text, process.stderr));
