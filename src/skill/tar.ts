/**
 * Packs: a deterministic POSIX tar (USTAR, with a pax path record for a path that does not fit). The strict reader
 * accepts what the writer makes, for uploads also what tar programs make, and nothing that could leave the folder into
 * which it is unpacked. A library does neither: modern-tar, even if it is strict, reads sparse files as plain ones,
 * malformed pax records and names that are not UTF-8, and writes a long path in other bytes, which would change digests.
 */
import { concat, join, utf8OrNull } from "../bytes.ts";
import { ArchivePaths, ArchiveRefused } from "./archive-paths.ts";
import { byteOrder } from "./path.ts";

export interface TarFile {
  /** Relative, `/` as separator. */
  path: string;
  mode: 0o644 | 0o755;
  bytes: Uint8Array;
  /** The file to which it is a symbolic link, as a path like `path`; absent: it is none. */
  link?: string;
}

/** A file that was read; its bytes are a view of the tar's. */
interface UnpackedFile extends TarFile {
  bytes: Uint8Array<ArrayBuffer>;
}

interface TarTerms {
  /** The most bytes of one file and of all files together. */
  max_bytes: number;
  max_files: number;
  /**
   * Also reads what tar programs write: entries of folders, which it ignores, paths from `./` on, GNU's headers and long
   * names, pax headers of any records.
   */
  of_programs?: boolean;
}

/** What a runner can unpack. */
export const PACK_LIMITS = {
  /** Files and folders. */
  entries: 50_000,
  /** Systems open paths of at most 4096 bytes, the runner's folder of bundles included. */
  path_bytes: 3072,
} as const;

const DEFAULT_TAR_TERMS: TarTerms = { max_bytes: 512 * 1024 * 1024, max_files: PACK_LIMITS.entries };

export class TarError extends ArchiveRefused {}

const BLOCK = 512;
const USTAR = "ustar\u000000";
/** What GNU tar writes instead, unless an option says otherwise. */
const GNU = "ustar  \u0000";
/** A pax record holds one path; Hull has no longer paths. */
const MAX_PAX_BYTES = 8192;
/** Those of tar programs also hold attributes of the file, which Hull ignores. */
const MAX_PROGRAM_HEADER_BYTES = 65_536;
const encoder = new TextEncoder();
/** The types of entries other than regular files, in words. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ["1", "a hard link"],
  ["2", "a symbolic link"],
  ["3", "a device"],
  ["4", "a device"],
  ["5", "a folder"],
  ["6", "a FIFO"],
  ["S", "a sparse file"],
]);

/**
 * Packs files: sorted by path bytes, times and owners 0, so that equal files give equal bytes. A link is a whole copy that
 * also names its file, so that readers without links have all files, too.
 */
export function packTar(files: readonly TarFile[]): Uint8Array<ArrayBuffer> {
  const sorted = [...files].sort((a, b) => byteOrder(a.path, b.path));
  const whole = new Map(files.filter(({ link }) => link === undefined).map((file) => [file.path, file]));
  const parts: Uint8Array[] = [];
  for (const file of sorted) {
    const location = splitPath(encoder.encode(file.path));
    if (location === null) {
      const record = paxRecord(file.path);
      parts.push(header({ name: encoder.encode("pax") }, "x", 0o644, record.length), ...padded(record));
    }
    const short = location ?? { name: encoder.encode(file.path).subarray(0, 100) };
    const link = linkOf(file, whole);
    parts.push(header({ ...short, link }, "0", file.mode, file.bytes.length), ...padded(file.bytes));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return concat(parts);
}

/**
 * The target of a link for its header. It is empty, so that readers see a copy only, if the path is too long, or if the
 * pack has no such file with the same content and mode that is no link itself.
 */
function linkOf({ link, mode, bytes }: TarFile, whole: ReadonlyMap<string, TarFile>): Uint8Array {
  const file = link === undefined ? undefined : whole.get(link);
  const name = encoder.encode(link);
  const same =
    file?.mode === mode &&
    file.bytes.length === bytes.length &&
    file.bytes.every((byte, at) => byte === bytes[at]);
  return same && name.length <= 100 ? name : new Uint8Array();
}

/** Reads a whole pack. Throws `TarError`. */
export function readTar(bytes: Uint8Array<ArrayBuffer>, terms: TarTerms = DEFAULT_TAR_TERMS): UnpackedFile[] {
  const reader = new TarReader(terms);
  const files = reader.push(bytes);
  reader.end();
  return files;
}

/** The path and the size of a file from headers before its own, which win over its own. */
interface Overrides {
  path?: string;
  size?: number;
}

interface Entry {
  path: string;
  mode: 0o644 | 0o755;
  size: number;
  link?: string;
}

interface Piece {
  /** The same object for all pieces of a file. */
  file: Entry;
  bytes: Uint8Array<ArrayBuffer>;
  /** Whether the file ends with it. An empty file has one empty piece. */
  last: boolean;
}

/** Cuts a pack that arrives in chunks into pieces of its files; holds no content. Both methods throw `TarError`. */
export class TarParser {
  readonly #terms: TarTerms;
  readonly #paths = new ArchivePaths();
  /** The block of a header, or the blocks of a header's content, of which the first bytes are here. */
  #block = new Uint8Array(BLOCK);
  #filled = 0;
  /** The file whose content is next, and how much of it is missing. */
  #file: Entry | null = null;
  #missing = 0;
  #padding = 0;
  /** The header whose content is next. */
  #header: { type: string; size: number } | null = null;
  /** What headers since the last file say about the next one. */
  #next: Overrides = {};
  /** The types of these headers. */
  #types = "";
  #bytes = 0;
  #zeroBlocks = 0;

  constructor(terms: TarTerms = DEFAULT_TAR_TERMS) {
    this.#terms = terms;
  }

  /** The pieces in this chunk, which are views of it. */
  *push(chunk: Uint8Array<ArrayBuffer>): Generator<Piece, void> {
    let rest = chunk;
    const take = (most: number): Uint8Array<ArrayBuffer> => {
      const taken = rest.subarray(0, most);
      rest = rest.subarray(taken.length);
      return taken;
    };
    while (rest.length > 0) {
      if (this.#zeroBlocks === 2) {
        if (take(rest.length).some((byte) => byte !== 0)) throw new TarError("data after the end");
      } else if (this.#padding > 0) {
        this.#padding -= take(this.#padding).length;
      } else if (this.#file !== null) {
        yield this.#piece(this.#file, take(this.#missing));
      } else {
        const part = take(this.#block.length - this.#filled);
        this.#block.set(part, this.#filled);
        this.#filled += part.length;
        if (this.#filled < this.#block.length) return;
        const file = this.#readBlock(this.#block);
        this.#filled = 0;
        this.#block = new Uint8Array(this.#header === null ? BLOCK : blocksOf(this.#header.size));
        if (file?.size === 0) yield { file, bytes: new Uint8Array(0), last: true };
        else if (file !== null) [this.#file, this.#missing] = [file, file.size];
      }
    }
  }

  /** Must be called after the last chunk. */
  end(): void {
    if (this.#zeroBlocks < 2) throw new TarError("it is cut off");
  }

  #piece(file: Entry, bytes: Uint8Array<ArrayBuffer>): Piece {
    this.#missing -= bytes.length;
    const last = this.#missing === 0;
    if (last) {
      this.#file = null;
      this.#padding = blocksOf(file.size) - file.size;
    }
    return { file, bytes, last };
  }

  /** Reads a header, or a header's content; returns the file whose content follows. */
  #readBlock(block: Uint8Array): Entry | null {
    if (this.#header === null) return this.#readHeader(block);
    const { type, size } = this.#header;
    this.#header = null;
    this.#readHeaderContent(type, block.subarray(0, size));
    return null;
  }

  #readHeader(block: Uint8Array): Entry | null {
    if (block.every((byte) => byte === 0)) {
      this.#zeroBlocks++;
      return null;
    }
    if (this.#zeroBlocks > 0) throw new TarError("data after the end");
    const { of_programs = false } = this.#terms;
    checkHeader(block, of_programs ? [USTAR, GNU] : [USTAR]);
    const type = String.fromCharCode(block[156] ?? 0);
    const written = octal(block, 124, 12);
    if ((of_programs ? "xgLK" : "x").includes(type)) {
      const most = of_programs ? MAX_PROGRAM_HEADER_BYTES : MAX_PAX_BYTES;
      if (written > most) throw new TarError(`a header of ${written} bytes; ${most} are allowed`);
      if (this.#types.includes(type)) throw new TarError("two headers of one kind before a file");
      // A global header may come again.
      if (type !== "g") this.#types += type;
      this.#header = { type, size: written };
      return null;
    }
    const { path: named = headerPath(block), size = written } = this.#next;
    this.#next = {};
    this.#types = "";
    const isFolder = type === "5" && of_programs;
    if (type !== "0" && !isFolder) {
      const kind = KINDS.get(type) ?? `an entry of type ${JSON.stringify(type)}`;
      throw new TarError(`${JSON.stringify(named)} is ${kind}; only regular files are allowed`);
    }
    const path = of_programs ? named.replace(/^\.\//, "") : named;
    if (isFolder) {
      checkFolder(path, size);
      return null;
    }
    this.#admit(path, size);
    const mode = (octal(block, 100, 8) & 0o111) === 0 ? 0o644 : 0o755;
    const link = decode(field(block, 157, 100));
    return { path, size, mode, ...(link === "" ? {} : { link }) };
  }

  /** A path of pax counts more than GNU's; the long name of a link counts nothing, because packs have none. */
  #readHeaderContent(type: string, content: Uint8Array): void {
    const { of_programs = false } = this.#terms;
    if (!of_programs) this.#next = { path: readPax(content) };
    else if (type === "L") this.#next = { path: decode(field(content, 0, content.length)), ...this.#next };
    else if (type !== "K") this.#next = { ...this.#next, ...readRecords(content, type === "g") };
  }

  #admit(path: string, size: number): void {
    const refused = this.#paths.enter(path);
    if (refused !== null) throw new TarError(refused);
    this.#bytes += size;
    if (this.#bytes > this.#terms.max_bytes) throw new TarError(`more than ${this.#terms.max_bytes} bytes`);
    if (this.#paths.size > this.#terms.max_files)
      throw new TarError(`more than ${this.#terms.max_files} files`);
  }
}

/** Reads a pack chunk by chunk; holds at most one file. Both methods throw `TarError`. */
export class TarReader {
  readonly #parser: TarParser;
  #pieces: Uint8Array<ArrayBuffer>[] = [];

  constructor(terms?: TarTerms) {
    this.#parser = new TarParser(terms);
  }

  /** The files that this chunk completed. */
  push(chunk: Uint8Array<ArrayBuffer>): UnpackedFile[] {
    const files: UnpackedFile[] = [];
    for (const { file, bytes, last } of this.#parser.push(chunk)) {
      this.#pieces.push(bytes);
      if (!last) continue;
      const { size: _, ...read } = file;
      files.push({ ...read, bytes: join(this.#pieces) });
      this.#pieces = [];
    }
    return files;
  }

  /** Must be called after the last chunk. */
  end(): void {
    this.#parser.end();
  }
}

/**
 * Reads one file of a pack, and holds nothing but that file; `null`: the pack has no such path. The stream is read up to
 * the end of the file. Throws `TarError`.
 */
export async function readTarFile(
  pack: ReadableStream<Uint8Array<ArrayBuffer>>,
  wanted: string,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const parser = new TarParser();
  const pieces: Uint8Array[] = [];
  for await (const chunk of pack) {
    for (const { file, bytes, last } of parser.push(chunk)) {
      if (file.path !== wanted) continue;
      pieces.push(bytes);
      if (last) return concat(pieces);
    }
  }
  parser.end();
  return null;
}

const blocksOf = (size: number): number => Math.ceil(size / BLOCK) * BLOCK;

/** @param path without `./`, so that of the archive's own folder is empty */
function checkFolder(path: string, size: number): void {
  if (size !== 0) throw new TarError(`the folder ${path} has content`);
  const refused = path === "" ? null : new ArchivePaths().enter(path.replace(/\/$/, ""));
  if (refused !== null) throw new TarError(refused);
}

function checkHeader(block: Uint8Array, magics: readonly string[]): void {
  if (!magics.includes(text(block, 257, 8))) throw new TarError("a header is not USTAR");
  let sum = 0;
  for (const [i, byte] of block.entries()) sum += i >= 148 && i < 156 ? 0x20 : byte;
  if (octal(block, 148, 8) !== sum) throw new TarError("a header's checksum is wrong");
}

function headerPath(block: Uint8Array): string {
  const name = decode(field(block, 0, 100));
  // GNU's headers have times there.
  if (text(block, 257, 8) === GNU) return name;
  const prefix = decode(field(block, 345, 155));
  return prefix === "" ? name : `${prefix}/${name}`;
}

function readPax(record: Uint8Array): string {
  const match = /^(\d+) path=([\s\S]*)\n$/.exec(decode(record));
  if (match?.[2] === undefined || Number(match[1]) !== record.length) {
    throw new TarError("a pax header holds more than a path");
  }
  return match[2];
}

/**
 * Reads the records `<length> <key>=<value>\n` of a pax header; most keys mean nothing to Hull.
 * @param global the records apply to all files that follow
 */
function readRecords(content: Uint8Array, global: boolean): Overrides {
  const overrides: Overrides = {};
  for (let rest = content; rest.length > 0; ) {
    const [digits = ""] = /^\d{1,9} /.exec(text(rest, 0, 10)) ?? [];
    const record = rest.subarray(0, Number(digits));
    const equals = record.indexOf(0x3d);
    if (record.length !== Number(digits) || record.at(-1) !== 0x0a || equals < digits.length)
      throw new TarError("a pax header is malformed");
    rest = rest.subarray(record.length);
    const key = text(record, digits.length, equals - digits.length);
    if (key.startsWith("GNU.sparse.")) throw new TarError("a sparse file; only regular files are allowed");
    if (key !== "path" && key !== "size") continue;
    if (global) throw new TarError(`a global pax header sets the ${key} of all files`);
    const value = decode(record.subarray(equals + 1, -1));
    if (key === "path") overrides.path = value;
    else if (/^\d{1,15}$/.test(value)) overrides.size = Number(value);
    else throw new TarError(`the size ${JSON.stringify(value)} in a pax header is not a number of bytes`);
  }
  return overrides;
}

function paxRecord(path: string): Uint8Array {
  const rest = encoder.encode(` path=${path}\n`).length;
  let length = rest + 1;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return encoder.encode(`${length} path=${path}\n`);
}

/** Name and prefix of a path that fits USTAR's 100 and 155 bytes, else `null`. */
function splitPath(path: Uint8Array): { name: Uint8Array; prefix?: Uint8Array } | null {
  if (path.length <= 100) return { name: path };
  for (let i = Math.max(1, path.length - 101); i < path.length - 1 && i <= 155; i++) {
    if (path[i] === 0x2f) return { name: path.subarray(i + 1), prefix: path.subarray(0, i) };
  }
  return null;
}

function header(
  location: { name: Uint8Array; prefix?: Uint8Array; link?: Uint8Array },
  type: "0" | "x",
  mode: number,
  size: number,
): Uint8Array {
  if (size >= 8 ** 11) throw new TarError("a file is larger than 8 GiB");
  const block = new Uint8Array(BLOCK);
  const put = (offset: number, value: string) => block.set(encoder.encode(value), offset);
  const number = (offset: number, width: number, value: number) =>
    put(offset, value.toString(8).padStart(width - 1, "0"));
  block.set(location.name, 0);
  number(100, 8, mode);
  number(108, 8, 0);
  number(116, 8, 0);
  number(124, 12, size);
  number(136, 12, 0);
  put(148, "        ");
  put(156, type);
  if (location.link !== undefined) block.set(location.link, 157);
  put(257, USTAR);
  if (location.prefix !== undefined) block.set(location.prefix, 345);
  put(
    148,
    `${block
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\u0000 `,
  );
  return block;
}

function padded(bytes: Uint8Array): Uint8Array[] {
  const rest = bytes.length % BLOCK;
  return rest === 0 ? [bytes] : [bytes, new Uint8Array(BLOCK - rest)];
}

function octal(block: Uint8Array, offset: number, width: number): number {
  const digits = /^ *([0-7]+)[ \0]*$/.exec(text(block, offset, width))?.[1];
  if (digits === undefined) throw new TarError("a header's number is malformed");
  return Number.parseInt(digits, 8);
}

/** Up to the first NUL. */
function field(block: Uint8Array, offset: number, width: number): Uint8Array {
  const whole = block.subarray(offset, offset + width);
  const end = whole.indexOf(0);
  return end < 0 ? whole : whole.subarray(0, end);
}

function text(block: Uint8Array, offset: number, width: number): string {
  return String.fromCharCode(...block.subarray(offset, offset + width));
}

function decode(bytes: Uint8Array): string {
  const text = utf8OrNull(bytes);
  if (text === null) throw new TarError("a path is not UTF-8");
  return text;
}
