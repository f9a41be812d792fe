import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { packTar, readTar, readTarFile, TarError, type TarFile, TarReader } from "../../../src/skill/tar.ts";

const bytes = (text: string) => new Uint8Array(new TextEncoder().encode(text));
const LONG = `${"deep/".repeat(60)}${"n".repeat(120)}.txt`;
const MIDDLE = `${"d".repeat(90)}/${"e".repeat(60)}/file.txt`;
const FILES: TarFile[] = [
  { path: "z.txt", mode: 0o644, bytes: bytes("z".repeat(513)) },
  { path: "a/run.sh", mode: 0o755, bytes: bytes("#!/bin/sh\n") },
  { path: "empty", mode: 0o644, bytes: bytes("") },
  { path: "größe/ü 天.txt", mode: 0o644, bytes: bytes("x".repeat(512)) },
  { path: MIDDLE, mode: 0o644, bytes: bytes("middle") },
  { path: LONG, mode: 0o644, bytes: bytes("long") },
];
const byPath = (a: TarFile, b: TarFile) => (a.path < b.path ? -1 : 1);

let folder: string | null = null;
afterEach(() => {
  if (folder !== null) rmSync(folder, { recursive: true });
  folder = null;
});

describe("packs", () => {
  test("come back unchanged, whatever the chunks and the order", () => {
    const pack = packTar(FILES);
    expect(readTar(pack)).toEqual([...FILES].sort(byPath));
    expect(packTar([...FILES].reverse())).toEqual(pack);
    for (const size of [1, 7, 511, 512, 513, 4096]) {
      const reader = new TarReader();
      const files: TarFile[] = [];
      for (let at = 0; at < pack.length; at += size) files.push(...reader.push(pack.slice(at, at + size)));
      reader.end();
      expect(files).toEqual([...FILES].sort(byPath));
    }
  });

  test("one file alone, whatever the chunks", async () => {
    const long = `${"d".repeat(120)}/${"e".repeat(120)}.md`;
    const files = ["a.md", "big.bin", long, "z"].map((path, i) => ({
      path,
      mode: 0o644 as const,
      bytes: new Uint8Array(i * 700).fill(i),
    }));
    const pack = packTar(files);
    for (const size of [1, 100, 512, 5000, pack.length]) {
      const stream = () =>
        new ReadableStream<Uint8Array>({
          start(controller) {
            for (let at = 0; at < pack.length; at += size) controller.enqueue(pack.slice(at, at + size));
            controller.close();
          },
        });
      for (const { path, bytes } of files) expect(await readTarFile(stream(), path)).toEqual(bytes);
      expect(await readTarFile(stream(), "none")).toBeNull();
    }
    const cut = new Blob([pack.slice(0, 700)]).stream();
    await expect(readTarFile(cut, "z")).rejects.toThrow("cut off");
  });

  test("are read by the system's tar", () => {
    folder = mkdtempSync(join(tmpdir(), "hull-tar-"));
    writeFileSync(join(folder, "pack.tar"), packTar(FILES));
    execFileSync("tar", ["-xf", "pack.tar"], { cwd: folder });
    for (const file of FILES)
      expect(new Uint8Array(readFileSync(join(folder, file.path)))).toEqual(file.bytes);
    expect(statSync(join(folder, "a/run.sh")).mode & 0o111).not.toBe(0);
  });
});

const LIMITS = { max_bytes: 10_000, max_files: 10 };

describe("tars of the system's tar", () => {
  test.each(["fox", "-C fox .", "--format=ustar fox"])("are read: tar cf x.tar %s", (named) => {
    folder = mkdtempSync(join(tmpdir(), "hull-tar-"));
    mkdirSync(join(folder, "fox/a"), { recursive: true });
    writeFileSync(join(folder, "fox/a/run.sh"), "#!/bin/sh\n", { mode: 0o755 });
    execFileSync("tar", ["-cf", "x.tar", ...named.split(" ")], { cwd: folder });
    const files = readTar(new Uint8Array(readFileSync(join(folder, "x.tar"))), {
      ...LIMITS,
      of_programs: true,
    });
    const path = named.endsWith(".") ? "a/run.sh" : "fox/a/run.sh";
    expect(files).toEqual([{ path, mode: 0o755, bytes: bytes("#!/bin/sh\n") }]);
  });
});

/** A tar with one entry, made by hand so that it can hold what `packTar` never writes. */
function forged(change: {
  path?: string;
  type?: string;
  magic?: string;
  sum?: number;
  link?: string;
  size?: number;
}): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(512);
  const put = (at: number, text: string) => block.set(bytes(text), at);
  put(0, change.path ?? "file");
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, `0000000000${change.size ?? 0}`);
  put(136, "00000000000");
  put(148, "        ");
  put(156, change.type ?? "0");
  put(157, change.link ?? "");
  put(257, change.magic ?? "ustar\u000000");
  const sum = block.reduce((a, b) => a + b, 0) + (change.sum ?? 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\u0000 `);
  const whole = new Uint8Array(512 * 3);
  whole.set(block);
  return whole;
}

const pack = (path: string) => packTar([{ path, mode: 0o644, bytes: bytes("x") }]);
const double = (first: string, second: string) => {
  const a = pack(first);
  return new Uint8Array([...a.subarray(0, a.length - 1024), ...pack(second)]);
};

describe("hostile tars are refused", () => {
  test("control: a plain forged entry is read", () => {
    expect(readTar(forged({}))).toEqual([{ path: "file", mode: 0o644, bytes: bytes("") }]);
  });

  const HOSTILE: [string, Uint8Array<ArrayBuffer>][] = [
    ["absolute path", forged({ path: "/etc/passwd" })],
    ["parent", forged({ path: "../x" })],
    ["parent inside", forged({ path: "a/../../x" })],
    ["dot segment", forged({ path: "./x" })],
    ["empty segment", forged({ path: "a//b" })],
    ["no path", forged({ path: "" })],
    ["backslash", forged({ path: "..\\x" })],
    ["long parent path in pax", pack(`${"a/".repeat(200)}../x`)],
    ["NUL in pax", pack(`${"a".repeat(300)}\0b`)],
    ["symbolic link", forged({ type: "2", link: "/etc/passwd" })],
    ["hard link", forged({ type: "1", link: "other" })],
    ["device", forged({ type: "3" })],
    ["fifo", forged({ type: "6" })],
    ["folder", forged({ type: "5", path: "a" })],
    ["GNU long name", forged({ type: "L" })],
    ["global pax header", forged({ type: "g" })],
    ["other magic", forged({ magic: "ustar  \0" })],
    ["wrong checksum", forged({ sum: 1 })],
    ["same path twice", double("a", "a")],
    ["file, then below it", double("a", "a/b")],
    ["folder, then file", double("a/b", "a")],
    ["cut off", pack("a").subarray(0, 700)],
    ["no end", pack("a").subarray(0, 1024)],
    ["data after the end", new Uint8Array([...pack("a"), 1])],
    ["not a tar", bytes("x".repeat(1024))],
  ];
  test.each(HOSTILE)("%s", (_, tar) => {
    expect(() => readTar(tar)).toThrow(TarError);
  });

  const MORE: typeof HOSTILE = [
    ["a folder outside", forged({ type: "5", path: "../a/" })],
    ["an absolute folder", forged({ type: "5", path: "/a/" })],
    ["a folder with content", forged({ type: "5", path: "a/", size: 1 })],
    ["a file named as the folder itself", forged({ path: "./" })],
    ["parent behind the dot", forged({ path: "./../x" })],
  ];
  const OF_PROGRAMS = ["dot segment", "folder", "other magic"];
  const hostile = HOSTILE.filter(([name]) => !OF_PROGRAMS.includes(name));
  test.each([...hostile, ...MORE])("from a tar program too: %s", (_, tar) => {
    expect(() => readTar(tar, { ...LIMITS, of_programs: true })).toThrow(TarError);
  });

  test("limits on bytes and files", () => {
    const tar = packTar(FILES);
    const total = FILES.reduce((sum, file) => sum + file.bytes.length, 0);
    expect(readTar(tar, { max_bytes: total, max_files: FILES.length })).toHaveLength(FILES.length);
    expect(() => readTar(tar, { max_bytes: total - 1, max_files: 100 })).toThrow(/bytes/);
    expect(() => readTar(tar, { max_bytes: total, max_files: FILES.length - 1 })).toThrow(/files/);
  });
});
