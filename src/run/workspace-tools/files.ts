/** `Read`, `Write`, `Edit`, `Glob` and `Grep` on the run's workspace and its skills' folders, without a process. */

import { toBase64, utf8, utf8OrNull } from "../../bytes.ts";
import type { Part } from "../../engine/messages.ts";
import { MAX_READ_LINES } from "../../engine/workspace-tools/definitions.ts";
import { type Edited, edited } from "../../engine/workspace-tools/edit.ts";
import { changedLines, viewedLines } from "../../engine/workspace-tools/editor-tool.ts";
import {
  astray,
  type FileLocation,
  locateFile,
  type RunFolders,
} from "../../engine/workspace-tools/file-location.ts";
import { numberedLines } from "../../engine/workspace-tools/lines.ts";
import {
  type GrepMode,
  GrepSearch,
  globbed,
  globFilter,
  globOfType,
} from "../../engine/workspace-tools/listing.ts";
import { counted } from "../../plural.ts";
import type { Redactor } from "../../redact.ts";
import { type BlobCache, MAX_FILE_BYTES } from "../../registry/blob-cache.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { nearest } from "../../skill/match.ts";
import { mediaTypeOf } from "../../skill/media.ts";
import { fileText, IMAGE_TYPES, MAX_IMAGE_BYTES, MAX_TEXT_BYTES, mediaParts } from "../shown-file.ts";
import {
  allFiles,
  type Refusal,
  type StoredContent,
  type WorkspaceAccess,
  type WorkspaceFile,
} from "../workspace/access.ts";
import { readContent, writeFile } from "../workspace/store.ts";
import type { SkillFolders } from "./skill-folders.ts";

const MAX_PDF_BYTES = 4 * 1024 * 1024;
const PDF_TYPE = "application/pdf";
/** Bytes that one search reads. */
const MAX_SEARCHED_BYTES = 64 * 1024 * 1024;
/** Files that a search reads at a time: a Worker has six connections. */
const SEARCHED_AT_ONCE = 4;
/** Files that an answer names as too large, or as those that a path may mean. */
const MOST_NAMED = 10;

/** The result of a call of a file tool. */
export interface FileAnswer {
  ok: boolean;
  content: string;
  parts?: Part[];
  /** The result as data; of a failure, its code. */
  value?: JsonObject;
}

/** The content of a file to show. */
type Content =
  | { kind: "text"; text: string }
  | { kind: "media"; file: Readable; type: string }
  | { kind: "fault"; fault: string; missing: boolean };

interface FileToolsOptions {
  bucket: R2Bucket;
  /** What the isolate has read before. */
  contents: BlobCache;
  redactor: Redactor;
  workspace: WorkspaceAccess;
  skills: SkillFolders;
  folders: RunFolders;
  /** The folder to which relative paths refer. */
  cwd: string;
  /** What the run's model can see. */
  sees: { images: boolean; pdf: boolean };
}

/** A readable file of the workspace or of a skill. */
interface Readable {
  shown: string;
  path: string;
  size: number;
  read(): Promise<Uint8Array | null>;
}

export class FileTools {
  readonly #options: FileToolsOptions;

  constructor(options: FileToolsOptions) {
    this.#options = options;
  }

  async read({ file_path, offset = 1, limit = MAX_READ_LINES }: JsonObject): Promise<FileAnswer> {
    const found = await this.#contentOf(String(file_path));
    if (found.kind === "fault") return failed(found.fault);
    if (found.kind === "media") return this.#media(found.file, found.type);
    return done(numberedLines(found.text, Number(offset), Number(limit)));
  }

  /** Executes a call of the text editor. `value` is the vendor's result without its `type`. */
  async editor(args: JsonObject, since: number | null): Promise<FileAnswer> {
    switch (args.command) {
      case "view":
        return this.#view(args);
      case "create": {
        if (typeof args.file_text !== "string") return invalid("file_text is required.");
        const { created, ...written } = await this.#written(String(args.path), args.file_text);
        const value = written.ok
          ? { is_file_update: created !== true }
          : { error_code: "invalid_tool_input" };
        return { ...written, value };
      }
      default:
        if (typeof args.old_str !== "string") return invalid("old_str is required.");
        return this.#replaced(args, since);
    }
  }

  async #view({ path, view_range }: JsonObject): Promise<FileAnswer> {
    const given = String(path);
    const location = this.#location(given);
    const folder = "fault" in location ? [] : await this.#below(location);
    const all = () => true;
    if (folder.length > 0) return viewed(globbed(folder, all), null);
    const found = await this.#contentOf(given);
    if (found.kind === "fault") {
      return {
        ...failed(found.fault),
        value: { error_code: found.missing ? NO_FILE : "invalid_tool_input" },
      };
    }
    if (found.kind === "text")
      return viewed(found.text, Array.isArray(view_range) ? view_range.map(Number) : null);
    const shown = await this.#media(found.file, found.type);
    if (!shown.ok) return { ...shown, value: { error_code: "invalid_tool_input" } };
    const file_type = found.type === PDF_TYPE ? "pdf" : "image";
    const content = toBase64(await this.#bytes(found.file));
    const none = { num_lines: null, start_line: null, total_lines: null };
    return { ...shown, value: { file_type, content, ...none } };
  }

  async #replaced({ path, old_str, new_str = "" }: JsonObject, since: number | null): Promise<FileAnswer> {
    const given = String(path);
    let before = "";
    const { ok, content, missing, text } = await this.#changed(given, since, (found) => {
      before = found;
      return edited(found, String(old_str), String(new_str), false, EDITOR_NAMES);
    });
    const { redactor } = this.#options;
    if (ok)
      return {
        ok,
        content,
        value: { ...changedLines(redactor.text(before), redactor.text(text ?? before)) },
      };
    return { ok, content, value: { error_code: missing === true ? NO_FILE : "invalid_tool_input" } };
  }

  /** The content of a file, or why it cannot be shown. */
  async #contentOf(given: string): Promise<Content> {
    const fault = (text: string, missing = false): Content => ({ kind: "fault", fault: text, missing });
    const location = this.#location(given);
    if ("fault" in location) return fault(`${given} ${location.fault}.`, true);
    const file = await this.#find(location);
    if (file === null) return fault(await this.#missing(given, location), true);
    const type = mediaTypeOf(file.path);
    if (IMAGE_TYPES.includes(type) || type === PDF_TYPE) return { kind: "media", file, type };
    if (file.size > MAX_TEXT_BYTES)
      return fault(
        `${given} has ${file.size} bytes, more than ${MAX_TEXT_BYTES}. Use Grep, or Bash with head, tail or sed.`,
      );
    const text = this.#shownText(await this.#bytes(file), type);
    if (text !== null) return { kind: "text", text };
    return fault(
      `${given} is a binary file (${type}, ${counted(file.size, "byte")}). Use a program that knows the format, with Bash.`,
    );
  }

  /**
   * The text of a file as models may read it; `null`: it is binary. The redactor would not recognise a secret whose lines
   * have numbers, or half of one in a line that was cut.
   */
  #shownText(bytes: Uint8Array, type: string): string | null {
    const text = fileText(bytes, type);
    return text === null ? null : this.#options.redactor.text(text);
  }

  write({ file_path, content }: JsonObject): Promise<FileAnswer> {
    return this.#written(String(file_path), String(content));
  }

  /** Writes a file. `created`: the file is new. */
  async #written(given: string, content: string): Promise<FileAnswer & { created?: true }> {
    const location = this.#writable(given);
    if ("fault" in location) return failed(`${given} ${location.fault}.`);
    const bytes = utf8(content);
    const outcome = await this.#store(location.path, bytes, null);
    if ("refused" in outcome) return failed(refusalText(given, outcome));
    const created = outcome.done === "created";
    const size = counted(bytes.length, "byte");
    const said = done(`${created ? "Created" : "Replaced"} ${given} (${size}).`);
    return created ? { ...said, created } : said;
  }

  /**
   * @param since when an earlier run attempt began the call, in Unix ms: a file changed after that already has the
   *   edit; `null`: none did
   */
  edit(
    { file_path, old_string, new_string, replace_all = false }: JsonObject,
    since: number | null,
  ): Promise<FileAnswer> {
    return this.#changed(String(file_path), since, (text) =>
      edited(text, String(old_string), String(new_string), replace_all === true),
    );
  }

  /** Changes a file's text. `missing`: there is no such file; `text`: the new text, if it was changed. */
  async #changed(
    given: string,
    since: number | null,
    changed: (text: string) => Edited,
  ): Promise<FileAnswer & { missing?: true; text?: string }> {
    const location = this.#writable(given);
    if ("fault" in location) return failed(`${given} ${location.fault}.`);
    const { workspace } = this.#options;
    const file = await workspace.findFile(location.path);
    if (file === null) return { ...failed(await this.#missing(given, location)), missing: true };
    if (since !== null && file.modified_at >= since)
      return done(`${given} was changed when the call was interrupted, and was not changed again.`);
    if (file.size > MAX_TEXT_BYTES)
      return failed(`${given} has ${file.size} bytes, more than Edit takes. Use Bash with sed.`);
    const bytes = await this.#bytes(this.#readable(file));
    // Everything but the replaced text stays as it is, bytes of another encoding and a byte order mark among it.
    const text = bytes.includes(0) ? null : utf8OrNull(bytes);
    if (text === null) return failed(`${given} is not UTF-8 text. Use a program, with Bash.`);
    const change = changed(text);
    if ("fault" in change) return failed(`${given}: ${change.fault}`);
    const outcome = await this.#store(location.path, utf8(change.text), file.sha256);
    if ("refused" in outcome) return failed(refusalText(given, outcome));
    return { ...done(`Edited ${given}: ${counted(change.count, "place")}.`), text: change.text };
  }

  async glob({ pattern, path }: JsonObject): Promise<FileAnswer> {
    const { base, glob } = divided(String(pattern), String(path ?? ""));
    const filter = globFilter(glob, false);
    if (!filter.ok) return failed(`The glob is refused: ${filter.reason}.`);
    const location = this.#location(base);
    if ("fault" in location) return failed(`${base || "."} ${location.fault}.`);
    const files = await this.#below(location);
    if (files.length === 0 && (await this.#find(location)) !== null)
      return failed(`${base} is a file; path is a folder.`);
    if (files.length === 0 && location.path !== "") return done(noFiles(base || location.path));
    return done(globbed(files, filter.matches));
  }

  async grep(args: JsonObject): Promise<FileAnswer> {
    const { pattern, path, glob, type, output_mode, context, head_limit, offset } = args;
    const around = args["-C"] ?? context ?? 0;
    const made = GrepSearch.of(String(pattern), {
      mode: modeOf(output_mode),
      ignoreCase: args["-i"] === true,
      before: Number(args["-B"] ?? around),
      after: Number(args["-A"] ?? around),
      limit: Number(head_limit ?? 0),
      offset: Number(offset ?? 0),
    });
    if (!made.ok) return failed(`The regular expression is refused: ${made.reason}.`);
    const filters: ((path: string) => boolean)[] = [];
    for (const one of [glob, type && globOfType(String(type))]) {
      if (!one) continue;
      const filter = globFilter(String(one), true);
      if (!filter.ok) return failed(`The glob is refused: ${filter.reason}.`);
      filters.push(filter.matches);
    }
    const given = String(path ?? "");
    const location = this.#location(given);
    if ("fault" in location) return failed(`${given || "."} ${location.fault}.`);
    const one = location.path === "" ? null : await this.#find(location);
    const files = one === null ? await this.#below(location) : [one];
    if (files.length === 0 && location.path !== "") {
      // The folder in which the last command ended exists, though it holds no file.
      return given === "" ? done(noFiles(location.path)) : failed(await this.#missing(given, location));
    }
    const wanted = files.filter((file) => filters.every((matches) => matches(file.path)));
    return done(await this.#searched(made.search, wanted));
  }

  async #searched(search: GrepSearch, wanted: readonly Readable[]): Promise<string> {
    const files = wanted.filter(({ size }) => size <= MAX_TEXT_BYTES);
    const large = wanted.filter(({ size }) => size > MAX_TEXT_BYTES).map(({ shown }) => shown);
    let left = MAX_SEARCHED_BYTES;
    for (let at = 0; at < files.length && !search.full && left > 0; at += SEARCHED_AT_ONCE) {
      const some = files.slice(at, at + SEARCHED_AT_ONCE);
      const contents = await Promise.all(some.map((file) => this.#bytes(file)));
      for (const [index, file] of some.entries()) {
        left -= file.size;
        const text = this.#shownText(contents[index] ?? new Uint8Array(), mediaTypeOf(file.path));
        if (text !== null && !search.full) search.look(file.shown, text);
      }
    }
    const notes = [
      ...(left > 0 ? [] : ["[hull: the search was ended: look in fewer files]"]),
      ...(large.length === 0 ? [] : [largeFiles(large)]),
    ];
    return [search.text(), ...notes].join("\n");
  }

  #location(given: string): FileLocation | { fault: string } {
    const { folders, cwd } = this.#options;
    return locateFile(given, folders, cwd);
  }

  #astray(given: string): string {
    const { folders, cwd } = this.#options;
    return astray(given, folders, cwd);
  }

  #writable(given: string): Extract<FileLocation, { in: "work" }> | { fault: string } {
    const location = this.#location(given);
    if ("fault" in location) return location;
    if (location.in === "skills") {
      const where = this.#astray(given);
      const what = where === "" ? "a file of a skill, and those" : "in a skill's folder, whose files";
      return { fault: `is ${what} cannot be changed${where}` };
    }
    return location.path === "" ? { fault: "is the work folder" } : location;
  }

  async #find(location: FileLocation): Promise<Readable | null> {
    if (location.path === "") return null;
    const { workspace, skills, folders } = this.#options;
    if (location.in === "work") {
      const file = await workspace.findFile(location.path);
      return file === null ? null : this.#readable(file);
    }
    const file = location.skill === null ? null : await skills.find(location.skill, location.path);
    return file === null ? null : { ...file, shown: `${folders.skills}/${file.path}` };
  }

  #readable(file: WorkspaceFile & StoredContent): Readable {
    const read = (): Promise<Uint8Array | null> => this.#content(file.sha256, file);
    return { shown: this.#shown(file.path), path: file.path, size: file.size, read };
  }

  /** A content; `null`: it is gone. @param found where it is, if that is known */
  async #content(sha256: string, found: StoredContent | null = null): Promise<Uint8Array | null> {
    const { bucket, contents, workspace } = this.#options;
    const known = contents.get(sha256);
    if (known !== undefined) return known;
    const content = found ?? (await workspace.contents([sha256]))[0] ?? null;
    const bytes = content === null ? null : await readContent(bucket, content);
    if (bytes !== null && bytes.length <= MAX_FILE_BYTES) contents.set(sha256, bytes);
    return bytes;
  }

  /** All files of a folder; `path` is relative to it. */
  async #below(location: FileLocation): Promise<(Readable & { modified_at: number })[]> {
    const { workspace, skills, folders } = this.#options;
    if (location.in === "skills") {
      const folder = [location.skill, location.path].filter(Boolean).join("/");
      return (await skills.below(folder)).map((file) => ({
        ...file,
        shown: `${folders.skills}/${file.path}`,
        path: file.path.normalize("NFC").slice(folder === "" ? 0 : folder.length + 1),
        modified_at: 0,
      }));
    }
    const inside = location.path === "" ? "" : `${location.path}/`;
    const files = await filesBelow(workspace, inside);
    return files.map((file) => ({
      shown: this.#shown(file.path),
      path: file.path.slice(inside.length),
      size: file.size,
      modified_at: file.modified_at,
      read: () => this.#content(file.sha256),
    }));
  }

  /**
   * The path as the model may use it: relative to the folder in which commands begin, if the file is inside that folder.
   */
  #shown(path: string): string {
    const { cwd, folders } = this.#options;
    if (cwd === "") return path;
    return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : `${folders.work}/${path}`;
  }

  async #bytes(file: Readable): Promise<Uint8Array> {
    return (await file.read()) ?? new Uint8Array();
  }

  async #media(file: Readable, type: string): Promise<FileAnswer> {
    const facts = `${file.shown}: ${type}, ${counted(file.size, "byte")}`;
    const pdf = type === PDF_TYPE;
    const { images, pdf: pdfs } = this.#options.sees;
    const [sees, limit] = pdf ? [pdfs, MAX_PDF_BYTES] : [images, MAX_IMAGE_BYTES];
    if (!sees) {
      const how = pdf ? "take its text or make images of its pages" : "look at it";
      return failed(`${facts}. You cannot see files of this type; use a program to ${how}, with Bash.`);
    }
    if (file.size > limit)
      return failed(`${facts}, more than the ${limit} that can be shown. Make it smaller with Bash.`);
    const what = `The ${pdf ? "PDF file" : "image"} ${file.shown}:`;
    const parts = mediaParts("file", what, type, await this.#bytes(file));
    return { ...done(`${facts}. It is shown below.`), parts };
  }

  async #store(path: string, bytes: Uint8Array, expected: string | null) {
    const { bucket, workspace } = this.#options;
    const intent = {
      path,
      expected: expected === null ? null : { sha256: [expected] },
      size: bytes.length,
    };
    return writeFile(bucket, workspace, intent, [bytes]);
  }

  /** The hint for a path without a file. */
  async #missing(given: string, location: FileLocation): Promise<string> {
    const inside = await this.#below(location);
    if (inside.length > 0 || location.path === "")
      return `${given === "" ? "." : given} is a folder. Use Glob with this path to list it.`;
    const { skills, folders } = this.#options;
    // Texts of skills name their files from the skill's folder on.
    const meant = location.in === "work" ? await skills.named(location.path) : [];
    if (meant.length > 0) {
      const paths = meant.slice(0, MOST_NAMED).map(({ path }) => `${folders.skills}/${path}`);
      return `There is no file ${given}. In the folder of a skill there is: ${paths.join(", ")}.`;
    }
    const folder = location.path.split("/").slice(0, -1).join("/");
    const siblings = await this.#below({ ...location, path: folder });
    const near = nearest(
      location.path.slice(folder === "" ? 0 : folder.length + 1),
      siblings.map((file) => file.path),
      3,
    );
    const hint = near.length === 0 ? "" : ` There are: ${near.join(", ")}.`;
    return `There is no file ${given}${this.#astray(given)}.${hint}`;
  }
}

const noFiles = (folder: string): string => `[hull: there are no files in ${folder}]`;

/** The note about files that were too large to search. */
function largeFiles(paths: readonly string[]): string {
  const named = paths.slice(0, MOST_NAMED).join(", ");
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : "";
  return `[hull: not searched, of more than ${MAX_TEXT_BYTES} bytes: ${named}${more}; use Bash with grep]`;
}

async function filesBelow(workspace: WorkspaceAccess, inside: string): Promise<WorkspaceFile[]> {
  // `/` is the character before `0`, so whatever sorts between the folder's name with `/` and with `0` is inside.
  const files = await allFiles(workspace, inside === "" ? null : inside);
  return files.filter(({ path }) => path.startsWith(inside));
}

/** Splits off the folder with which a glob begins, if it is absolute or leads upwards. */
function divided(pattern: string, path: string): { base: string; glob: string } {
  const segments = pattern.split("/");
  const first = segments.findIndex((segment) => /[*?{[]/.test(segment));
  const until = first === -1 ? segments.length - 1 : first;
  const absolute = pattern.startsWith("/");
  const folder = segments.slice(0, until);
  if (!absolute && !folder.includes("..")) return { base: path, glob: pattern };
  const base = absolute || path === "" ? folder : [path, ...folder];
  return { base: base.join("/") || "/", glob: segments.slice(until).join("/") };
}

const MODES: readonly GrepMode[] = ["content", "files_with_matches", "count"];
const modeOf = (given: unknown): GrepMode => MODES.find((mode) => mode === given) ?? "files_with_matches";

function refusalText(given: string, refusal: Refusal): string {
  switch (refusal.refused) {
    case "path":
      return `${given} ${refusal.reason}.`;
    case "expected":
      return `${given} was changed meanwhile. Read it again.`;
    case "full":
      return `${given} was not written: the work folder may hold ${refusal.limit} ${refusal.what}.`;
    default:
      return `${given} was not written.`;
  }
}

/** The text editor's names of its parameters. */
const EDITOR_NAMES = { from: "old_str", to: "new_str", all: null };
const NO_FILE = "file_not_found";

/** A view: numbered lines for the model, plain lines for the client. */
function viewed(text: string, range: readonly number[] | null): FileAnswer {
  const lines = viewedLines(text, range);
  if ("fault" in lines) return invalid(lines.fault);
  const shown = numberedLines(text, lines.start_line, lines.num_lines);
  return { ...done(shown), value: { file_type: "text", ...lines } };
}

const invalid = (content: string): FileAnswer => ({
  ...failed(content),
  value: { error_code: "invalid_tool_input" },
});
const done = (content: string): FileAnswer => ({ ok: true, content });
const failed = (content: string): FileAnswer => ({ ok: false, content });
