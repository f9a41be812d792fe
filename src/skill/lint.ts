/** Warnings of `hull validate` beyond the rules: things that some tools refuse, or that are probably wrong. */
import { percentDecoded } from "../bytes.ts";
import type { BrokenRule } from "./field-rules.ts";
import { fileFinder } from "./file-lookup.ts";
import { Lines } from "./lines.ts";
import type { Diagnostic } from "./manifest.ts";
import { byteOrder, insidePath } from "./path.ts";
import type { Position } from "./tree.ts";

const SAYS_WHEN = /\b(?:when|whenever|if|for|before|after|while|use[ds]?|asks?|asked|triggers?|triggered)\b/i;
/** A letter of a script in which nobody writes English. */
const NOT_LATIN = /(?!\p{Script=Latin})\p{L}/u;

/** Faults of a description: some packagers refuse it, or it does not help a model to choose. */
export function lintDescription(description: string): BrokenRule[] {
  const found: BrokenRule[] = [];
  const field = "description";
  if (/[<>]/.test(description)) {
    const message = "The description has an angle bracket, which some packagers refuse.";
    found.push({ code: "description_brackets", field, message, hint: "Write it without < and >." });
  }
  if (!NOT_LATIN.test(description) && !SAYS_WHEN.test(description)) {
    const message = "The description does not say when to use the skill.";
    found.push({ code: "description_when", field, message, hint: 'Add a sentence such as "Use when …".' });
  }
  return found;
}

/** A link or a path in a text, as written, and where it begins. */
interface Mention {
  target: string;
  offset: number;
}

/** @param pattern whose match ends with its group, the target */
const mentions = (text: string, pattern: RegExp): Mention[] =>
  Array.from(text.matchAll(pattern), ({ 0: whole, 1: target = "", index }) => {
    return { target, offset: index + whole.length - target.length };
  });

/** The first mention of each target. */
const firstMentions = (all: readonly Mention[]): Mention[] =>
  [...Map.groupBy(all, ({ target }) => target).values()].flatMap(([first]) => first ?? []);

const blank = (code: string): string => code.replace(/[^\n]/g, " ");

/** Relative links and images of a Markdown text outside of code, and the path of each. */
export function relativeLinks(body: string): (Mention & { path: string })[] {
  const prose = body.replace(/^(?:```|~~~)[\s\S]*?^(?:```|~~~)/gm, blank).replace(/`[^`\n]*`/g, blank);
  return mentions(prose, /\]\(\s*<?([^)\s>]+)/g)
    .filter(({ target }) => !/^(?:[a-z][a-z0-9+.-]*:|[#/]|\{|\$)/i.test(target))
    .map((mention) => {
      const encoded = mention.target.replace(/[?#].*$/, "");
      return { ...mention, path: percentDecoded(encoded) ?? encoded };
    });
}

/** Relative links of a Markdown text that match no file or folder among `paths`. */
export function missingReferences(body: string, paths: readonly string[]): Mention[] {
  const fileNamed = fileFinder(paths);
  const folders = new Set(paths.flatMap(foldersAbove));
  const missing = relativeLinks(body).filter(
    ({ path }) => fileNamed(path) === null && !folders.has(insidePath(path) ?? ""),
  );
  return firstMentions(missing);
}

const foldersAbove = (path: string): string[] =>
  Array.from(path.matchAll(/\//g), ({ index }) => path.slice(0, index));

/** Files in the usual folders of a skill, as its text or its code names them: from the skill's folder on. */
const NAMED =
  /(?<![\w/.}>~-])(?:\.\/|(?:\$\{?(?:CLAUDE_|HULL_)?SKILL_DIR\}?|\{(?:baseDir|skill_dir)\}|<path-to-skill>)\/)?((?:scripts|references|assets)(?:\/[\w.-]+)+\.[A-Za-z]\w{0,4})\b/g;

/** Files that a Markdown text names, code included, but that are not among `paths`. */
export function missingFiles(body: string, paths: readonly string[]): Mention[] {
  const fileNamed = fileFinder(paths);
  return firstMentions(mentions(body, NAMED))
    .filter(({ target }) => fileNamed(target) === null)
    .sort((a, b) => byteOrder(a.target, b.target));
}

/** Patterns of keys that well-known services issue. */
const SECRETS: readonly RegExp[] = [
  /\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}/,
  /\bAKIA[0-9A-Z]{16}\b/,
  /\bgh[pousr]_[A-Za-z0-9]{36,}\b/,
  /\bxox[abprs]-[A-Za-z0-9-]{20,}/,
  /\bAIza[0-9A-Za-z_-]{35}\b/,
  /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/,
];

/** Larger files, in bytes, are not searched. */
export const MAX_SCANNED_BYTES = 1024 * 1024;

/** The finding for a file that seems to contain a key; `null`: it does not, or it is not text. */
export function secretIn(path: string, bytes: Uint8Array): (Finding & Position) | null {
  if (bytes.length > MAX_SCANNED_BYTES || bytes.includes(0)) return null;
  const text = new TextDecoder().decode(bytes);
  const [first] = SECRETS.flatMap((pattern) => {
    const hit = pattern.exec(text);
    return hit === null ? [] : [hit];
  }).sort((a, b) => a.index - b.index);
  if (first === undefined) return null;
  return {
    code: "secret_in_file",
    ...new Lines(text).at(first.index),
    message: `${path} holds what looks like a key: ${first[0].slice(0, 7)}…`,
    hint: "Keep keys out of skills; read them from variables that tool_env or x-env names.",
  };
}

type Finding = Pick<Diagnostic, "code" | "message" | "hint">;
