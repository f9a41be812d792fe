/**
 * Unpacks a bundle's tar. Strict: only regular files and folders, only plain relative paths, no duplicates, a correct
 * checksum on every header. Anything else is refused, because a bundle determines what runs later. Format: POSIX.1-2017
 * pax (ustar headers, optional `x` headers for long paths and sizes).
 */

import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { utf8OrNull } from "../src/bytes.ts";

const BLOCK = 512;
const MAX_ENTRIES = 50_000;
const MAX_PAX_BYTES = 64 * 1024;
/** The longest path that a system can open below the folder of the bundles (PATH_MAX is 4096). */
const MAX_PATH_BYTES = 3072;
const COPY_BYTES = 256 * 1024;

export class BadTar extends Error {
  override name = "BadTar";
}

interface Entry {
  path: string;
  type: string;
  size: number;
  mode: number;
}

/**
 * Unpacks `tarPath` into the folder `target`, which must exist and be empty. Files become 0555 or 0444. Returns the
 * number of unpacked bytes and the new folders, so that the caller can make those unwritable too.
 * @throws BadTar
 */
export async function unpackTar(
  tarPath: string,
  target: string,
): Promise<{ bytes: number; folders: string[] }> {
  const folders = new Set<string>();
  const files = new Set<string>();
  const makeFolder = async (path: string): Promise<void> => {
    if (path === "." || folders.has(path)) return;
    await makeFolder(dirname(path));
    if (files.has(path)) throw new BadTar(`"${path}" is a file and a folder`);
    await mkdir(join(target, path));
    folders.add(path);
  };
  let bytes = 0;
  const tar = await open(tarPath, "r");
  try {
    const total = (await tar.stat()).size;
    let at = 0;
    let pax = new Map<string, string>();
    for (;;) {
      const header = await readExactly(tar, at, BLOCK, total);
      at += BLOCK;
      if (header.every((byte) => byte === 0)) {
        await checkEnd(tar, at, total);
        return { bytes, folders: [...folders] };
      }
      const entry = parseHeader(header);
      if (entry.type === "x" || entry.type === "g") {
        if (entry.size > MAX_PAX_BYTES) throw new BadTar("a pax header is too long");
        const records = parsePax(await readExactly(tar, at, entry.size, total));
        at += padded(entry.size);
        if (entry.type === "x") pax = records;
        continue;
      }
      if (pax.has("linkpath")) throw new BadTar("a link");
      const paxSize = pax.get("size");
      const size = paxSize === undefined ? entry.size : decimal(paxSize);
      const path = plainPath(pax.get("path") ?? entry.path);
      pax = new Map();
      if (size === null) throw new BadTar(`"${path}" has no valid size`);
      if (files.size + folders.size >= MAX_ENTRIES) throw new BadTar(`more than ${MAX_ENTRIES} entries`);
      if (entry.type === "5") {
        await makeFolder(path);
        continue;
      }
      if (entry.type !== "0" && entry.type !== "\0") {
        throw new BadTar(`"${path}" is neither a file nor a folder`);
      }
      if (files.has(path) || folders.has(path)) throw new BadTar(`"${path}" appears twice`);
      await makeFolder(dirname(path));
      files.add(path);
      await copyOut(tar, at, size, total, join(target, path), (entry.mode & 0o111) === 0 ? 0o444 : 0o555);
      bytes += size;
      at += padded(size);
    }
  } finally {
    await tar.close();
  }
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

async function readExactly(tar: FileHandle, at: number, length: number, total: number): Promise<Buffer> {
  if (at + length > total) throw new BadTar("it ends too early");
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await tar.read(buffer, 0, length, at);
  if (bytesRead !== length) throw new BadTar("it ends too early");
  return buffer;
}

/** After the first zero block, a second one must follow, and nothing but zeros after that. */
async function checkEnd(tar: FileHandle, from: number, total: number): Promise<void> {
  if (from + BLOCK > total) throw new BadTar("its end is missing");
  for (let at = from; at < total; ) {
    const block = await readExactly(tar, at, Math.min(COPY_BYTES, total - at), total);
    if (block.some((byte) => byte !== 0)) throw new BadTar("something follows its end");
    at += block.length;
  }
}

async function copyOut(
  tar: FileHandle,
  from: number,
  size: number,
  total: number,
  path: string,
  mode: number,
): Promise<void> {
  if (from + padded(size) > total) throw new BadTar("it ends too early");
  const file = await open(path, "wx", 0o600);
  try {
    for (let done = 0; done < size; ) {
      const part = await readExactly(tar, from + done, Math.min(COPY_BYTES, size - done), total);
      await file.writeFile(part);
      done += part.length;
    }
    await file.chmod(mode);
  } finally {
    await file.close();
  }
}

function parseHeader(header: Buffer): Entry {
  let sum = 0;
  header.forEach((byte, index) => {
    sum += index >= 148 && index < 156 ? 32 : byte;
  });
  if (octal(header, 148, 8) !== sum) throw new BadTar("a header's checksum is wrong");
  const ustar = header.toString("latin1", 257, 262) === "ustar";
  const prefix = ustar ? text(header, 345, 155) : "";
  const name = text(header, 0, 100);
  return {
    path: prefix === "" ? name : `${prefix}/${name}`,
    type: header.toString("latin1", 156, 157),
    size: octal(header, 124, 12),
    mode: octal(header, 100, 8),
  };
}

function text(header: Buffer, at: number, length: number): string {
  const field = header.subarray(at, at + length);
  const end = field.indexOf(0);
  return decode(end < 0 ? field : field.subarray(0, end));
}

function decode(bytes: Uint8Array): string {
  const text = utf8OrNull(bytes);
  if (text === null) throw new BadTar("a name is not UTF-8");
  return text;
}

function octal(header: Buffer, at: number, length: number): number {
  const digits = header
    .toString("latin1", at, at + length)
    .replace(/[\0 ]+$/, "")
    .trimStart();
  if (!/^[0-7]+$/.test(digits)) throw new BadTar("a number in a header is not octal");
  return Number.parseInt(digits, 8);
}

/** Accepts digits only, since `Number` also reads blanks, signs, exponents and hexadecimal; `null` for anything else. */
function decimal(text: string): number | null {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : null;
}

/** Records `<length> <key>=<value>\n`, the length counting the whole record. */
function parsePax(bytes: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf(32, at);
    const length = decimal(blank < 0 ? "" : bytes.toString("latin1", at, blank));
    if (length === null || at + length > bytes.length) throw new BadTar("a pax header is malformed");
    const body = bytes.subarray(blank + 1, at + length);
    const equals = body.indexOf(61);
    if (equals < 1 || body.at(-1) !== 10) throw new BadTar("a pax header is malformed");
    records.set(decode(body.subarray(0, equals)), decode(body.subarray(equals + 1, -1)));
    at += length;
  }
  return records;
}

function plainPath(path: string): string {
  const plain = path.endsWith("/") ? path.slice(0, -1) : path;
  const segments = plain.split("/");
  const bad = segments.some((s) => s === "" || s === "." || s === ".." || Buffer.byteLength(s) > 255);
  if (bad || /[\0\\]/.test(plain) || Buffer.byteLength(plain) > MAX_PATH_BYTES)
    throw new BadTar(`the path "${path}" is not allowed`);
  return plain;
}
