/** What `hull dev` prints about builds: at the start the served skills, later the changes. */

import { counted } from "../../src/plural.ts";
import type { Manifest } from "../../src/skill/manifest.ts";
import type { BuildResult } from "../build/build.ts";
import { printSomeDiagnostics } from "../build/print.ts";
import type { RootedDiagnostic } from "../build/roots.ts";
import type { BuiltSkill } from "../build/skill.ts";
import { fitting } from "../terminal-columns.ts";

/** The most skills, and findings, to list; if there are more, a count follows. */
const MAX_LISTED = 30;
/** Width without a terminal. */
const USUAL_WIDTH = 100;

/** Reports builds, one after the other. */
export class BuildReport {
  #known = new Set<string>();
  #versions: ReadonlyMap<string, string> = new Map();

  /** Prints the findings, after the first build only new ones, and the changes. */
  print({ diagnostics, skills }: BuildResult, first: boolean): void {
    const keyed = diagnostics.map((found): [string, RootedDiagnostic] => [JSON.stringify(found), found]);
    const fresh = keyed.filter(([key]) => !this.#known.has(key)).map(([, found]) => found);
    printSomeDiagnostics(fresh, MAX_LISTED);
    const seen = new Set(keyed.map(([key]) => key));
    const gone = [...this.#known].filter((key) => !seen.has(key)).length;
    const versions = new Map(skills.map(({ card }) => [card.slug, card.version]));
    if (!first) process.stdout.write(changesLine(this.#versions, versions, skills, gone));
    this.#known = seen;
    this.#versions = versions;
  }
}

function changesLine(
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
  skills: readonly BuiltSkill[],
  fixed: number,
): string {
  const slugs = [...now.keys()];
  const parts: [string, string[]][] = [
    ["added", slugs.filter((slug) => !before.has(slug))],
    ["changed", slugs.filter((slug) => before.has(slug) && before.get(slug) !== now.get(slug))],
    ["removed", [...before.keys()].filter((slug) => !now.has(slug))],
    ["last good version kept of", skills.filter(({ card }) => card.stale).map(({ card }) => card.slug)],
  ];
  const changes = parts
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `; ${what} ${listed(names)}`);
  const solved = fixed === 0 ? "" : `; ${counted(fixed, "finding")} gone`;
  return `Reloaded: ${counted(now.size, "skill")}${changes.join("")}${solved}\n`;
}

const MAX_NAMES = 8;

/** Up to 8 names; if there are more, a count follows. */
export function listed(names: readonly string[]): string {
  const left = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(", ") + (left > 0 ? ` and ${left} more` : "");
}

/** Skills for people, one line each that fits the terminal; `more` ends a long list. */
export function skillLines(
  skills: readonly Pick<BuiltSkill, "card">[],
  more: string,
  columns: number | undefined,
): string[] {
  const shown = skills.slice(0, MAX_LISTED);
  const width = Math.max(...shown.map(({ card }) => card.slug.length), 8);
  const rows = shown.map(({ card }) =>
    oneLine(`  ${card.slug.padEnd(width)}  ${card.mode.padEnd(11)}  ${card.description}`, columns),
  );
  const left = skills.length - shown.length;
  return left > 0 ? [...rows, `  … and ${left} more: ${more}`] : rows;
}

/** A text as one line that fits into a terminal. */
export function oneLine(text: string, columns: number | undefined): string {
  const line = text.trimEnd().replace(/(?<!\s)\s*\n\s*/g, " ");
  const width = Math.max(columns || USUAL_WIDTH, 20);
  return fitting(line, width);
}

/**
 * What to do after a line in which workerd says that it trusts no authority which signed a server's certificate; `null`: it
 * says something else. The answer that follows says only that the server cannot be reached.
 */
export function certificateLine(line: string): string | null {
  const why = /invalid peer certificate: (.*)/.exec(line)?.[1];
  if (why === undefined) return null;
  return `A server that the Worker asked has a certificate that it does not trust (${why}). If your company's proxy signs certificates: name the file of its authority in NODE_EXTRA_CA_CERTS, and restart hull dev.`;
}

/**
 * Whether a log line with this event says that something went wrong: a setting that Hull cannot read, or an event with
 * one of the words with which such names end.
 */
export const reportsProblem = (event: unknown): boolean =>
  typeof event === "string" &&
  /^settings$|_(?:failed|failure|lost|broke_off|unreadable|not_\w+)$/.test(event);

/** A curl command that calls a skill, for people to copy. @param url origin of the server, e.g. `http://localhost:3000` */
export function curlFor(manifest: Manifest, url: string): string {
  const target = `${url}${manifest.route}`;
  if (manifest.method === "GET") {
    return manifest.input === "none" ? `curl ${target}` : `curl -G ${target} --data-urlencode 'input=world'`;
  }
  const method = manifest.method === "POST" ? "" : ` -X ${manifest.method}`;
  if (manifest.input === "none") return `curl -X ${manifest.method} ${target}`;
  if (manifest.input === "file") return `curl${method} ${target} -F file=@FILE`;
  return `curl${method} ${target} --data 'world'`;
}
