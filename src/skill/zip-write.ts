/** Makes zips with the same bytes on every machine: without compression and times. */

import { concat } from "../bytes.ts";
import { crc32 } from "./crc32.ts";
import { byteOrder } from "./path.ts";
import type { TarFile } from "./tar.ts";

/** Names are UTF-8. */
const UTF8_FLAG = 0x0800;
const VERSION = 20;
/** Made by Unix, so that modes count. */
const MADE_BY = 0x031e;
/** 1 January 1980, the earliest there is. */
const DATE = 33;
const REGULAR = 0o100000;

/** A zip of these files, sorted by their paths. Its size and that of each file stay below 4 GiB. */
export function packZip(files: readonly TarFile[]): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  const sorted = [...files].sort((a, b) => byteOrder(a.path, b.path));
  for (const { path, mode, bytes } of sorted) {
    const name = new TextEncoder().encode(path);
    const common = [
      ...u16(VERSION),
      ...u16(UTF8_FLAG),
      ...u16(0),
      ...u16(0),
      ...u16(DATE),
      ...u32(crc32(bytes)),
      ...u32(bytes.length),
      ...u32(bytes.length),
      ...u16(name.length),
      ...u16(0),
    ];
    const head = Uint8Array.from([...u32(0x04034b50), ...common]);
    parts.push(head, name, bytes);
    const entry = [...u32(0x02014b50), ...u16(MADE_BY), ...common, ...u16(0), ...u16(0), ...u16(0)];
    directory.push(Uint8Array.from([...entry, ...u32((REGULAR | mode) * 0x10000), ...u32(at)]), name);
    at += head.length + name.length + bytes.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const count = u16(sorted.length);
  const end = [...u32(0x06054b50), ...u32(0), ...count, ...count, ...u32(size), ...u32(at), ...u16(0)];
  return concat([...parts, ...directory, Uint8Array.from(end)]);
}

const u16 = (value: number): number[] => [value & 0xff, (value >>> 8) & 0xff];
const u32 = (value: number): number[] => [...u16(value & 0xffff), ...u16(Math.floor(value / 0x10000))];
