/**
 * Splits SKILL.md into frontmatter and body, as far as possible. It reports what it corrected, and the caller decides
 * how much that matters: an Agent Skill loads anyway, a manifest with Hull's own fields does not.
 */
import { utf8Length } from "../../bytes.ts";
import type { Findings } from "../findings.ts";
import type { MapNode, Position } from "../tree.ts";
import { conflictMarker, MUST_BEGIN, reportConflict, reportMissing } from "./faults.ts";
import { type Split, splitAtLines, splitStrictly, withLineFeeds } from "./fences.ts";
import { MOST_REPAIRED, repairFields } from "./repair.ts";
import { readYaml, type YamlFault, type YamlReading } from "./yaml.ts";

/** Largest SKILL.md, in bytes. */
const MAX_FILE_BYTES = 1024 * 1024;
/** Largest frontmatter, in bytes; it bounds the time that hostile YAML can take. */
const MAX_FRONTMATTER_BYTES = 64 * 1024;

type Finding = readonly [level: "error" | "warning" | "info", ...Parameters<Findings["error"]>];

/** A correction. */
interface Remedy {
  /** The finding for an Agent Skill, which loads; absent: nothing to report. */
  tolerated?: Finding;
  /** The error for a skill with fields of Hull; absent: it is accepted. */
  refused?: Finding;
}

export type PlaceInBody = (offset: number) => Position;

interface Frontmatter {
  /** `null` if the file has no usable frontmatter; the findings say why. */
  root: MapNode | null;
  /** Trimmed. */
  body: string;
  /** The position in the file of an offset into the body. */
  placeInBody: PlaceInBody;
  remedies: Remedy[];
}

const TOP: { at: Position } = { at: { line: 1, column: 1 } };
const YAML_HINT =
  'Put a value in quotes when it contains ": " or " #" or begins with a special character; indent with spaces.';
const CLOSE_HINT = "Close the frontmatter with a line ---.";
const NO_FIELDS = "there is no field: a key ends with a colon and a space";
const NOT_CLOSED = "The frontmatter begins here, but no later line holds only ---.";

/** Splits and parses a SKILL.md. If nothing can be read, `findings` has an error. */
export function readFrontmatter(given: string, findings: Findings): Frontmatter {
  const none: Frontmatter = { root: null, body: "", placeInBody: () => TOP.at, remedies: [] };
  if (utf8Length(given) > MAX_FILE_BYTES) {
    findings.error(
      "file_too_large",
      {},
      `SKILL.md is larger than ${MAX_FILE_BYTES} bytes (1 MiB).`,
      "Move long reference material into separate files of the skill.",
    );
    return none;
  }
  const remedies: Remedy[] = [];
  const text = normalised(given, remedies);
  const split = splitText(text, remedies);
  if (typeof split === "string") {
    if (split === "frontmatter_missing") reportMissing(findings, text);
    else findings.error("frontmatter_unclosed", TOP, NOT_CLOSED, CLOSE_HINT);
    return none;
  }
  const conflict = conflictMarker(split.frontmatter);
  if (conflict !== null) {
    reportConflict(findings, positionIn(text, split.from, given).line + conflict - 1);
    return none;
  }
  if (utf8Length(split.frontmatter) > MAX_FRONTMATTER_BYTES) {
    findings.error(
      "frontmatter_too_large",
      TOP,
      `The frontmatter is larger than ${MAX_FRONTMATTER_BYTES} bytes (64 KiB).`,
      "Keep long text in the body or in separate files.",
    );
    return none;
  }
  const start = positionIn(text, split.from, given);
  const { node, fault } = readRetrying(split.frontmatter, start, remedies);
  if (node === null) {
    if (fault !== null) report(findings, yamlFinding(fault, hintFor(fault, split.frontmatter, start)));
    return none;
  }
  if (node.kind !== "map") {
    findings.error(
      "frontmatter_not_mapping",
      { at: node.source === "" ? TOP.at : node.at },
      "The frontmatter must be a mapping of fields, such as name: Hello.",
      "Write one field to a line: its name, a colon, a space and its value.",
    );
    return none;
  }
  const { body } = split;
  const placeInBody = (offset: number) =>
    positionIn(text, text.trimEnd().length - body.length + offset, given);
  return { root: node, body, placeInBody, remedies };
}

/** Reports the corrections that are worth it. @param serving whether the skill has fields of Hull */
export function reportRemedies(findings: Findings, remedies: readonly Remedy[], serving: boolean): void {
  for (const { tolerated, refused } of remedies) {
    const found = serving ? refused : tolerated;
    if (found !== undefined) report(findings, found);
  }
}

const report = (findings: Findings, [level, ...found]: Finding): void => findings[level](...found);

function normalised(given: string, remedies: Remedy[]): string {
  let text = given;
  if (text.startsWith("\uFEFF")) {
    text = text.slice(1);
    const message = "SKILL.md begins with a byte order mark, which stricter readers do not accept.";
    const hint = "Save the file as UTF-8 without a byte order mark.";
    remedies.push({ tolerated: ["info", "bom", TOP, message, hint] });
  }
  if (text.includes("\r")) {
    text = withLineFeeds(text);
    const message = "Lines of SKILL.md end with carriage returns; Hull reads them as line feeds.";
    remedies.push({ tolerated: ["info", "line_endings", {}, message] });
  }
  const leave = (before: string, tolerated: Finding): void => {
    if (before === "") return;
    text = text.slice(before.length);
    remedies.push({ tolerated, refused: ["error", "frontmatter_missing", ...MUST_BEGIN] });
  };
  const comment = "There is a comment before the frontmatter, which stricter readers do not accept.";
  const move = "Put it below the frontmatter.";
  leave(text.slice(0, commentEnd(text)), ["warning", "leading_comment", TOP, comment, move]);
  const blank = "There are blank lines before the frontmatter, which stricter readers do not accept.";
  const blanks = /^(?:[ \t]*\n)+(?=---)/.exec(text)?.[0] ?? "";
  leave(blanks, ["warning", "leading_blank_lines", TOP, blank, "Remove them."]);
  return text;
}

/** The end of HTML comments before the opening fence; 0: there are none, or no fence follows. */
function commentEnd(text: string): number {
  let at = 0;
  while (text.startsWith("<!--", at)) {
    const end = text.indexOf("-->", at);
    if (end < 0) return 0;
    at = end + 3;
    while (/\s/.test(text[at] ?? "")) at += 1;
  }
  return text.startsWith("---", at) ? at : 0;
}

function splitText(text: string, remedies: Remedy[]): Split | "frontmatter_missing" | "frontmatter_unclosed" {
  const strict = splitStrictly(text);
  const split = splitAtLines(text);
  if (split === null) {
    if (typeof strict === "string") return strict;
    const message = "The frontmatter is not between two lines that hold only ---.";
    const code = /^---[ \t]*\n/.test(text) ? "frontmatter_unclosed" : "frontmatter_missing";
    remedies.push({
      tolerated: ["warning", "loose_fence", TOP, message, CLOSE_HINT],
      refused: ["error", code, TOP, message, CLOSE_HINT],
    });
    return strict;
  }
  if (typeof strict !== "string" && strict.frontmatter.trim() !== split.frontmatter.trim()) {
    const message =
      "A value in the frontmatter contains ---, which stricter readers take for the end of the frontmatter.";
    const hint = "Write the value without ---.";
    remedies.push({ tolerated: ["warning", "fence_ambiguous", TOP, message, hint] });
  }
  return split;
}

/** The position in the file (line and column) of an offset into the text without its prefix. */
function positionIn(text: string, offset: number, given: string): Position {
  const file = withLineFeeds(given);
  const before = file.slice(0, file.length - text.length + offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Parses; if unquoted values are the fault, parses again with quotes. */
function readRetrying(source: string, start: Position, remedies: Remedy[]): YamlReading {
  const first = readYaml(source, start);
  // YAML reads fields without a blank after the colon as one text.
  const isText = first.node?.kind === "scalar" && first.node.source !== "";
  if (first.fault === null && !isText) return withRemedies(first, remedies);
  const ways = [
    () => quoteValues(source, UNQUOTED),
    () => quoteValues(source, UNQUOTED_OR_FLOW),
    () => repairFields(source, isReadable) ?? source,
  ];
  const fault: YamlFault = first.fault ?? { at: first.node?.at ?? start, message: NO_FIELDS };
  const hint = hintFor(fault, source, start);
  for (const way of fault.final === true ? [] : ways) {
    const quoted = way();
    const again = quoted === source ? first : readYaml(quoted, start);
    if (again.fault !== null || again.node?.kind !== "map") continue;
    const message = `The frontmatter is not valid YAML (${fault.message}); Hull read it again with its values in quotes.`;
    remedies.push({
      tolerated: ["warning", "yaml_quoted_retry", { at: fault.at }, message, hint],
      refused: yamlFinding(fault, hint),
    });
    return withRemedies(again, remedies);
  }
  return first;
}

/**
 * `key: value` at the margin, if the value is not a quoted text, a block or, in the first attempt, a flow collection.
 */
const UNQUOTED = /^([^\s#:'"[{&*!|>%@`-][^:\n]*):[ \t]+(?!["'|>[{])(\S.*)$/gm;
const UNQUOTED_OR_FLOW = /^([^\s#:'"[{&*!|>%@`-][^:\n]*):[ \t]+(?!["'|>])(\S.*)$/gm;

/** Readable lists and mappings in brackets stay unchanged. */
const quoteValues = (source: string, pattern: RegExp): string =>
  source.replace(pattern, (line: string, key: string, value: string) =>
    source.length <= MOST_REPAIRED && /^[[{]/.test(value) && isReadable(line)
      ? line
      : `${key}: ${JSON.stringify(value.trim())}`,
  );

function isReadable(lines: string): boolean {
  const { node, fault } = readYaml(lines, TOP.at);
  return fault === null && node?.kind === "map";
}

function withRemedies(reading: YamlReading, remedies: Remedy[]): YamlReading {
  const { warning, duplicates } = reading;
  if (warning !== null) remedies.push({ refused: yamlFinding(warning) });
  for (const { key, at, line } of duplicates) {
    const location = { path: key, at };
    const hint = "Remove one of them.";
    const message = `The key ${key} appears twice; the first is on line ${line}.`;
    remedies.push({
      tolerated: ["warning", "duplicate_key", location, `${message} The last one counts.`, hint],
      refused: ["error", "duplicate_key", location, message, hint],
    });
  }
  return reading;
}

function yamlFinding({ at, message }: YamlFault, hint = YAML_HINT): Finding {
  const whole = `The frontmatter is not valid YAML: ${message.replace(/\.$/, "")}.`;
  return ["error", "frontmatter_yaml", { at }, whole, hint];
}

/** Blanks that are no spaces, and the colon of Chinese and Japanese keyboards. */
const LOOKALIKE = /[\u00a0\u2000-\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\uff1a]/;

/** What to do about a fault in a source that begins at `start`. */
function hintFor({ at }: YamlFault, source: string, start: Position): string {
  const [found] = LOOKALIKE.exec(source.split("\n")[at.line - start.line] ?? "") ?? [];
  if (found === undefined) return YAML_HINT;
  const code = found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return `The line has the character U+${code}, which only looks like one that YAML knows: type a plain colon, and plain spaces.`;
}
