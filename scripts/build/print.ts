/**
 * Diagnostics for people: one finding per paragraph. It begins as in the output of a C compiler, which editors and problem
 * matchers read.
 */
import { join, relative } from "node:path";
import { styleText } from "node:util";
import { counted } from "../../src/plural.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { placeText } from "../../src/skill/tree.ts";
import { annotations } from "../annotations.ts";
import { terminalText } from "../terminal-text.ts";
import type { RootedDiagnostic } from "./roots.ts";

type Style = Parameters<typeof styleText>[0];
const LEVEL_STYLE: Record<Diagnostic["level"], Style> = { error: "red", warning: "yellow", info: "cyan" };

/** Names and values of a stranger's skill, without what a terminal would obey. */
const printable = (text: string): string => terminalText(text, { isTTY: true });
const oneLine = (text: string): string => printable(text).replace(/[\t\n]/g, "\ufffd");

/** The text of some diagnostics; paths are shown relative to `cwd`. */
export function renderDiagnostics(list: readonly RootedDiagnostic[], cwd: string, colour: boolean): string {
  const paint = (style: Style, text: string) =>
    colour ? styleText(style, text, { validateStream: false }) : text;
  return list
    .map(({ root, diagnostic: d }) => {
      const path = oneLine(relative(cwd, join(root, d.file))) || ".";
      const found = d.value === undefined ? "" : `\n  found: ${printable(d.value)}`;
      const hint = d.hint === undefined ? "" : `\n  ${paint("green", "fix:")} ${printable(d.hint)}`;
      const field = d.field === undefined ? "" : ` ${d.field}:`;
      return `${paint("bold", `${placeText(path, d)}:`)} ${paint(LEVEL_STYLE[d.level], `${d.level}:`)}${field} ${printable(d.message)} [${d.code}]${found}${hint}\n`;
    })
    .join("");
}

/** As `printDiagnostics`, the worst first; if there are many, a count. */
export function printSomeDiagnostics(list: readonly RootedDiagnostic[], max: number): void {
  const of = (level: Diagnostic["level"]) => list.filter(({ diagnostic }) => diagnostic.level === level);
  const sorted = [...of("error"), ...of("warning")];
  printDiagnostics(sorted.slice(0, max));
  const left = sorted.length - max;
  if (left > 0)
    process.stderr.write(`… and ${counted(left, "more finding")}: hull validate prints all of them.\n`);
}

/**
 * Prints to stderr, in colour only on a terminal that wants it.
 * @param infos whether to print findings that are neither errors nor warnings
 */
export function printDiagnostics(list: readonly RootedDiagnostic[], infos = false): void {
  const colour = process.stderr.isTTY === true && process.env.NO_COLOR === undefined;
  const shown = list.filter(({ diagnostic }) => infos || diagnostic.level !== "info");
  process.stderr.write(renderDiagnostics(shown, process.cwd(), colour));
  const found = shown.map(({ root, diagnostic }) => ({ ...diagnostic, file: join(root, diagnostic.file) }));
  process.stderr.write(annotations(found, process.env));
}
