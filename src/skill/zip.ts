/**
 * Reads zips of skill folders (APPNOTE 6.3.10): stored and deflated files, as the common programs write them. It is
 * strict where programs differ in what they see: the central directory and each local header must agree, entries may
 * not overlap, and no path may leave the folder. It inflates nothing beyond the size in the directory. No library is as
 * small and as strict: fflate compares no local header and no CRC-32, and gives no modes; zip.js is twenty times as
 * large, and keeps a list of the tasks of all requests.
 */
import { streamFrom, utf8OrNull } from "../bytes.ts";
import { counted } from "../plural.ts";
import { ArchivePaths, ArchiveRefused } from "./archive-paths.ts";
import type { SourceFile } from "./bundle.ts";
import { crc32 } from "./crc32.ts";

interface ZipLimits {
  /** The most bytes of all files together, unpacked. */
  max_bytes: number;
  /** The most entries, including folders. */
  max_entries: number;
}

/** The zip unpacks to more bytes than the caller accepts. */
export class ZipTooLarge extends ArchiveRefused {}

/** A file larger than this may have at most `MAX_RATIO` times the size of its compressed form. */
const RATIO_FROM_BYTES = 1024 * 1024;
const MAX_RATIO = 100;

const END = { signature: 0x06054b50, length: 22, maxComment: 0xffff };
const ENTRY = { signature: 0x02014b50, length: 46 };
const LOCAL = { signature: 0x04034b50, length: 30 };
/** The content of a field whose value is in a zip64 record. */
const IN_ZIP64 = { short: 0xffff, long: 0xffffffff };
/** General purpose bits: encrypted; patch data; strong encryption; masked headers. */
const REFUSED_FLAGS = 0x0001 | 0x0020 | 0x0040 | 0x2000;
const METHOD = { stored: 0, deflated: 8 };
/** Unix file types in the upper 16 bits of the external attributes. */
const TYPE = { mask: 0o170000, none: 0, file: 0o100000, folder: 0o040000 };
/** Deflate makes at most 1032 bytes of one. So this piece inflates to at most 8 MiB. */
const PIECE_BYTES = 8192;

type View = DataView<ArrayBuffer>;

interface Entry {
  name: string;
  rawName: Uint8Array;
  mode: 0o644 | 0o755;
  method: number;
  flags: number;
  crc: number;
  packed: number;
  size: number;
  at: number;
}

/** The files of a zip without folders. Stored files are views of `zip`. @throws ArchiveRefused */
export async function readZip(zip: Uint8Array<ArrayBuffer>, limits: ZipLimits): Promise<SourceFile[]> {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  const directory = findDirectory(view);
  if (directory.entries > limits.max_entries)
    throw new ArchiveRefused(`more than ${limits.max_entries} entries`);
  const entries = readDirectory(view, directory);
  const paths = new ArchivePaths();
  let total = 0;
  for (const { name, size, packed } of entries) {
    const refused = paths.enter(name);
    if (refused !== null) throw new ArchiveRefused(refused);
    total += size;
    if (total > limits.max_bytes) {
      throw new ZipTooLarge(`more than ${limits.max_bytes} bytes unpacked`);
    }
    if (size > RATIO_FROM_BYTES && size > packed * MAX_RATIO) {
      throw new ArchiveRefused(`${name} unpacks to more than ${MAX_RATIO} times its size`);
    }
  }
  const found = entries.map((entry) => locate(view, entry, directory.at));
  checkOverlap(found);
  const files: SourceFile[] = [];
  for (const { entry, data } of found) {
    const { name, size, crc, mode } = entry;
    const bytes = entry.method === METHOD.stored ? data : await inflate(data, size, name);
    if (bytes.length !== size)
      throw new ArchiveRefused(`${name} has ${counted(bytes.length, "byte")} instead of ${size}`);
    if (crc32(bytes) !== crc) throw new ArchiveRefused(`${name} is damaged: its CRC-32 does not match`);
    files.push({ path: name, mode, bytes });
  }
  return files;
}

interface Directory {
  entries: number;
  /** Offset. */
  at: number;
  /** Offset of the end record, which follows directly. */
  end: number;
}

/** The file must end with the end record, whose comment has exactly the stated length. */
function findDirectory(view: View): Directory {
  const last = view.byteLength - END.length;
  for (let at = last; at >= Math.max(0, last - END.maxComment); at--) {
    if (view.getUint32(at, true) !== END.signature) continue;
    if (at + END.length + view.getUint16(at + 20, true) !== view.byteLength) continue;
    const [disk, startDisk, here, entries] = [4, 6, 8, 10].map((offset) => view.getUint16(at + offset, true));
    const size = view.getUint32(at + 12, true);
    const start = view.getUint32(at + 16, true);
    if (entries === IN_ZIP64.short || size === IN_ZIP64.long || start === IN_ZIP64.long) {
      throw new ArchiveRefused("it is a zip64");
    }
    if (disk !== 0 || startDisk !== 0 || here !== entries)
      throw new ArchiveRefused("it is one part of several");
    if (start + size !== at)
      throw new ArchiveRefused("its directory does not end where the end record begins");
    return { entries: entries ?? 0, at: start, end: at };
  }
  throw new ArchiveRefused("it has no end record: it is cut off, or no zip");
}

/** The entries of the directory that are files. */
function readDirectory(view: View, directory: Directory): Entry[] {
  const entries: Entry[] = [];
  let at = directory.at;
  for (let n = 0; n < directory.entries; n++) {
    if (at + ENTRY.length > directory.end || view.getUint32(at, true) !== ENTRY.signature) {
      throw new ArchiveRefused("its directory is broken");
    }
    const [nameLength = 0, extraLength = 0, commentLength = 0] = [28, 30, 32].map((offset) =>
      view.getUint16(at + offset, true),
    );
    const next = at + ENTRY.length + nameLength + extraLength + commentLength;
    if (next > directory.end) throw new ArchiveRefused("its directory is broken");
    const entry = readEntry(view, at, nameLength);
    if (entry !== null) entries.push(entry);
    at = next;
  }
  if (at !== directory.end) throw new ArchiveRefused("its directory holds more than its entries");
  return entries;
}

/** One entry, or `null` for a folder. */
function readEntry(view: View, at: number, nameLength: number): Entry | null {
  const short = (offset: number): number => view.getUint16(at + offset, true);
  const long = (offset: number): number => view.getUint32(at + offset, true);
  const rawName = bytesOf(view, at + ENTRY.length, nameLength);
  const shown = decode(rawName);
  const isFolder = shown.endsWith("/");
  const name = isFolder ? shown.slice(0, -1) : shown;
  const unixMode = long(38) >>> 16;
  const type = unixMode & TYPE.mask;
  const entry: Entry = {
    name,
    rawName,
    mode: (unixMode & 0o111) === 0 ? 0o644 : 0o755,
    flags: short(8),
    method: short(10),
    crc: long(16),
    packed: long(20),
    size: long(24),
    at: long(42),
  };
  if ([entry.packed, entry.size, entry.at].includes(IN_ZIP64.long))
    throw new ArchiveRefused(`${name} is a zip64 entry`);
  if ((entry.flags & REFUSED_FLAGS) !== 0) throw new ArchiveRefused(`${name} is encrypted or a patch`);
  if (entry.method !== METHOD.stored && entry.method !== METHOD.deflated) {
    throw new ArchiveRefused(
      `${name} is compressed by method ${entry.method}; only stored and deflated files are read`,
    );
  }
  if (short(34) !== 0) throw new ArchiveRefused(`${name} is in another part of the zip`);
  if (type !== TYPE.none && type !== (isFolder ? TYPE.folder : TYPE.file)) {
    throw new ArchiveRefused(`${name} is a link, a device, or of another type than its name says`);
  }
  if (!isFolder) return entry;
  if (entry.size !== 0) throw new ArchiveRefused(`the folder ${name} has content`);
  const refused = new ArchivePaths().enter(name);
  if (refused !== null) throw new ArchiveRefused(refused);
  return null;
}

interface EntryData {
  entry: Entry;
  /** Start of its local header and end of its data. */
  from: number;
  to: number;
  data: Uint8Array<ArrayBuffer>;
}

/** Finds an entry's data; its local header must agree with the directory. */
function locate(view: View, entry: Entry, limit: number): EntryData {
  const { at, name } = entry;
  const broken = (): ArchiveRefused =>
    new ArchiveRefused(`${name} has a local header that differs from the directory`);
  if (at + LOCAL.length > limit || view.getUint32(at, true) !== LOCAL.signature) throw broken();
  const short = (offset: number): number => view.getUint16(at + offset, true);
  const nameLength = short(26);
  const start = at + LOCAL.length + nameLength + short(28);
  const to = start + entry.packed;
  if (to > limit) throw broken();
  const localName = bytesOf(view, at + LOCAL.length, nameLength);
  const same = localName.length === entry.rawName.length && localName.every((b, i) => b === entry.rawName[i]);
  if (!same || short(6) !== entry.flags || short(8) !== entry.method) throw broken();
  return { entry, from: at, to, data: bytesOf(view, start, entry.packed) };
}

function checkOverlap(found: readonly EntryData[]): void {
  const sorted = found.toSorted((a, b) => a.from - b.from);
  for (const [i, { entry, from }] of sorted.entries()) {
    const before = sorted[i - 1];
    if (before !== undefined && before.to > from) {
      throw new ArchiveRefused(`${entry.name} and ${before.entry.name} share bytes`);
    }
  }
}

/** Inflates to exactly `size` bytes; stops if there is more. */
async function inflate(
  data: Uint8Array<ArrayBuffer>,
  size: number,
  name: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(size);
  let length = 0;
  try {
    const inflated = streamFrom(piecesOf(data)).pipeThrough(new DecompressionStream("deflate-raw"));
    for await (const piece of inflated) {
      if (length + piece.length > size)
        throw new ArchiveRefused(`${name} unpacks to more than its ${counted(size, "byte")}`);
      bytes.set(piece, length);
      length += piece.length;
    }
  } catch (error) {
    throw error instanceof ArchiveRefused ? error : new ArchiveRefused(`${name} cannot be inflated`);
  }
  return bytes.subarray(0, length);
}

async function* piecesOf(data: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < data.length; at += PIECE_BYTES) yield data.subarray(at, at + PIECE_BYTES);
}

function bytesOf(view: View, at: number, length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(view.buffer, view.byteOffset + at, length);
}

function decode(name: Uint8Array): string {
  const text = utf8OrNull(name);
  if (text === null) {
    const shown = JSON.stringify(new TextDecoder().decode(name));
    throw new ArchiveRefused(
      `the name ${shown} is not UTF-8; pack the folder with hull pack, or rename the file`,
    );
  }
  return text;
}
