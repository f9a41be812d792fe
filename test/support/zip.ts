/** Makes valid and invalid zips. It uses only the web's platform, so that tests inside workerd can use it too. */
import { concat } from "../../src/bytes.ts";

export interface ZipEntry {
  name: string;
  content?: string | Uint8Array;
  /** Compressed by deflate; else stored. */
  deflate?: boolean;
  /** Unix mode with type, e.g. `0o100755`; 0: none. */
  mode?: number;
  /** Written instead of the true value: in the directory, in the local header, or in both. */
  lie?: { [field in "flags" | "method" | "crc" | "packed" | "size" | "at" | "disk"]?: number };
  localLie?: { [field in "flags" | "method"]?: number };
  localName?: string;
}

interface ZipEnd {
  comment?: string;
  /** Written instead of the true values. */
  entries?: number;
  size?: number;
  start?: number;
  disk?: number;
}

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text));

export async function makeZip(
  entries: readonly ZipEntry[],
  end: ZipEnd = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const {
    name,
    content = "",
    deflate = false,
    mode = 0o100644,
    lie = {},
    localLie,
    localName,
  } of entries) {
    const bytes = typeof content === "string" ? utf8(content) : new Uint8Array(content);
    const data = deflate ? await deflated(bytes) : bytes;
    const told = {
      flags: 0x0800,
      method: deflate ? 8 : 0,
      crc: crc32(bytes),
      packed: data.length,
      size: bytes.length,
      at,
      disk: 0,
      ...lie,
    };
    const here = { ...told, ...localLie };
    const rawLocal = utf8(localName ?? name);
    const common = (of: typeof told, length: number): number[][] => [
      [20, of.flags, of.method, 0, 33],
      [of.crc, of.packed, of.size],
      [length, 0],
    ];
    const [h = [], i = [], j = []] = common(here, rawLocal.length);
    const local = [...u32(0x04034b50), ...h.flatMap(u16), ...i.flatMap(u32), ...j.flatMap(u16)];
    parts.push(new Uint8Array(local), rawLocal, data);
    const raw = utf8(name);
    const [k = [], l = [], m = []] = common(told, raw.length);
    directory.push(
      new Uint8Array([
        ...u32(0x02014b50),
        ...u16(0x031e),
        ...k.flatMap(u16),
        ...l.flatMap(u32),
        ...m.flatMap(u16),
        ...u16(0),
        ...u16(told.disk),
        ...u16(0),
        ...u32(mode * 0x10000),
        ...u32(told.at),
      ]),
      raw,
    );
    at += local.length + rawLocal.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const comment = utf8(end.comment ?? "");
  const count = end.entries ?? entries.length;
  const last = [
    ...u32(0x06054b50),
    ...[end.disk ?? 0, end.disk ?? 0, count, count].flatMap(u16),
    ...[end.size ?? size, end.start ?? at].flatMap(u32),
    ...u16(comment.length),
  ];
  return concat([...parts, ...directory, new Uint8Array(last), comment]);
}

const u16 = (value: number): number[] => [value & 0xff, (value >>> 8) & 0xff];
const u32 = (value: number): number[] => [...u16(value), ...u16(Math.floor(value / 0x10000))];

async function deflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Response(bytes).body?.pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream ?? null).arrayBuffer());
}

/** Computed bit by bit, unlike the reader's. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return (crc ^ 0xffffffff) >>> 0;
}
