/**
 * Commands and agents of Claude Code: a Markdown file of a plugin's `commands` or `agents`, or of such a folder in
 * `.claude`, is a skill without a folder.
 */
import { dirname } from "node:path";
import { decodeText } from "../../src/skill/file-text.ts";
import { Findings } from "../../src/skill/findings.ts";
import { readFrontmatter } from "../../src/skill/frontmatter/read.ts";
import { globMatchesAny } from "../../src/skill/glob.ts";
import { slugify } from "../../src/skill/slug.ts";
import { textOf } from "../../src/skill/tree.ts";
import { orNull, readRegular } from "./file-system.ts";
import { type Plugin, SINGLES, type Single, singlePlaces } from "./plugins.ts";
import type { SingleChoices, SkillFolder } from "./skill-folder.ts";

/** Texts of a folder that are no skills. */
const NO_SINGLE = /^(?:readme|claude|skill)$/i;

/** What the name of a file calls the skill in it; `null`: it holds none. */
export function singleName(file: string): string | null {
  const [, name = ""] = /^(.+)\.md$/i.exec(file) ?? [];
  return name === "" || NO_SINGLE.test(name) ? null : slugify(name) || name;
}

/** The word for one of a kind: `command` or `agent`. */
export const wordFor = (kind: Single): string => kind.slice(0, -1);

/** The kinds that a project serves, all or some of them. */
export const wantedKinds = (choices: SingleChoices): Single[] =>
  SINGLES.filter((kind) => (choices[kind] ?? false) !== false);

export const isChosen = (choices: SingleChoices, folder: SkillFolder): boolean => {
  const choice = folder.single === undefined || (choices[folder.single] ?? false);
  return typeof choice === "boolean" ? choice : choice.some((glob) => namesSingle(glob, folder));
};

/** Whether a glob matches its name, or its name after that of its plugin and a slash. */
export const namesSingle = (
  glob: string,
  { name, namespace = "" }: Pick<SkillFolder, "name" | "namespace">,
): boolean => globMatchesAny(glob, [name, `${namespace}/${name}`]);

/**
 * The name of the agent in a file: that in its frontmatter if a folder can have it. A text with neither a name nor a
 * description is no agent (`null`). One that cannot be read may be one, and the build says what is wrong with it.
 */
export function agentName(path: string, ofFile: string): string | null {
  const bytes = orNull(() => readRegular(path));
  if (bytes === null) return ofFile;
  const findings = new Findings("", "");
  const { root } = readFrontmatter(decodeText(Uint8Array.from(bytes)).text, findings);
  if (root === null) return findings.list.some(({ code }) => NO_FRONTMATTER.includes(code)) ? null : ofFile;
  if (!root.entries.has("name") && !root.entries.has("description")) return null;
  const name = textOf(root.entries.get("name")?.value ?? root)?.trim() ?? "";
  return /^[^\p{C}./\\][^\p{C}/\\]*$/u.test(name) ? name : ofFile;
}

const NO_FRONTMATTER = ["frontmatter_missing", "link_as_text"];

/** The files and folders in which plugins, and `.claude`, have such skills of one kind. */
export class SinglePlaces {
  readonly #kind: Single;
  readonly #usual: RegExp;
  /** Whether a plugin lists the place. */
  readonly #places = new Map<string, boolean>();
  /** Folders of plugins that list theirs: the usual folder does not count there. */
  readonly #listing = new Set<string>();

  constructor(kind: Single) {
    this.#kind = kind;
    this.#usual = new RegExp(`[/\\\\]\\.claude[/\\\\]${kind}[/\\\\]`);
  }

  /** @returns the places of the plugin */
  add(plugin: Plugin): string[] {
    const isListed = plugin[this.#kind] !== null;
    if (isListed) this.#listing.add(plugin.path);
    const places = singlePlaces(plugin, this.#kind);
    for (const place of places) this.#places.set(place, isListed || this.#places.get(place) === true);
    return places;
  }

  holds(path: string): boolean {
    if (this.#usual.test(path)) return true;
    for (let place = path; place !== dirname(place); place = dirname(place)) {
      const isListed = this.#places.get(place);
      if (isListed === true || (isListed === false && !this.#listing.has(dirname(place)))) return true;
    }
    return false;
  }
}
