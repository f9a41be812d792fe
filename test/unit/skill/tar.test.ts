import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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

  test("a link names a file of the pack with the same content and mode, else it is a copy", () => {
    const file = (path: string, link?: string, text = "x", mode: TarFile["mode"] = 0o644): TarFile => ({
      path,
      mode,
      bytes: bytes(text),
      ...(link === undefined ? {} : { link }),
    });
    const long = `lib/${"n".repeat(97)}`;
    const links: [path: string, link: string, kept: boolean, text?: string, mode?: TarFile["mode"]][] = [
      ["scripts/a", "lib/a", true],
      ["lib/b", "lib/a", true],
      ["scripts/to-link", "scripts/a", false],
      ["scripts/itself", "scripts/itself", false],
      ["scripts/none", "lib/none", false],
      ["scripts/up", "../lib/a", false],
      ["scripts/root", "/lib/a", false],
      ["scripts/long", long, false],
      ["scripts/other", "lib/a", false, "y"],
      ["scripts/longer", "lib/a", false, "xx"],
      ["scripts/started", "lib/a", false, "x", 0o755],
    ];
    const files = links.map(([path, link, , text, mode]) => file(path, link, text, mode));
    const read = readTar(packTar([file("lib/a"), file(long), ...files]));
    for (const [path, link, kept, text = "x"] of links) {
      const found = read.find((entry) => entry.path === path);
      expect([path, found?.link, found?.bytes]).toEqual([path, kept ? link : undefined, bytes(text)]);
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
        new ReadableStream<Uint8Array<ArrayBuffer>>({
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
  const RUN = "a/run.sh";
  const DEEP = `${"d".repeat(90)}/${"ü".repeat(70)}.sh`;
  test.each<[string, string[]]>([
    ["fox", [RUN, DEEP]],
    ["-C fox .", [RUN, DEEP]],
    ["--format=ustar fox", [RUN]],
    ["--format=posix fox", [RUN, DEEP]],
    ["--format=posix --pax-option=comment=commit -C fox .", [RUN, DEEP]],
  ])("are read: tar cf x.tar %s", (named, paths) => {
    folder = mkdtempSync(join(tmpdir(), "hull-tar-"));
    for (const path of paths) {
      mkdirSync(dirname(join(folder, "fox", path)), { recursive: true });
      writeFileSync(join(folder, "fox", path), "#!/bin/sh\n", { mode: 0o755 });
    }
    execFileSync("tar", ["--sort=name", "-cf", "x.tar", ...named.split(" ")], { cwd: folder });
    const files = readTar(new Uint8Array(readFileSync(join(folder, "x.tar"))), {
      ...LIMITS,
      of_programs: true,
    });
    const root = named.endsWith(".") ? "" : "fox/";
    expect(files).toEqual(
      paths.map((path) => ({ path: `${root}${path}`, mode: 0o755, bytes: bytes("#!/bin/sh\n") })),
    );
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
  /** In a block behind the header, whatever its size says. */
  content?: string;
}): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(512);
  const put = (at: number, text: string) => block.set(bytes(text), at);
  put(0, change.path ?? "file");
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, (change.size ?? 0).toString(8).padStart(11, "0"));
  put(136, "00000000000");
  put(148, "        ");
  put(156, change.type ?? "0");
  put(157, change.link ?? "");
  put(257, change.magic ?? "ustar\u000000");
  const sum = block.reduce((a, b) => a + b, 0) + (change.sum ?? 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\u0000 `);
  const { content } = change;
  const whole = new Uint8Array(512 * (content === undefined ? 3 : 4));
  whole.set(block);
  whole.set(bytes(content ?? ""), 512);
  return whole;
}

/** A header with its content, then a plain file. */
const headed = (type: string, content: string, file: Parameters<typeof forged>[0] = {}, claimed?: number) => {
  const body = new Uint8Array(Math.ceil(bytes(content).length / 512) * 512);
  body.set(bytes(content));
  const header = forged({ type, size: claimed ?? bytes(content).length }).subarray(0, 512);
  return new Uint8Array([...header, ...body, ...forged(file)]);
};
const record = (text: string) => {
  const rest = bytes(` ${text}\n`).length;
  const length = [1, 2, 3, 4, 5].map((n) => rest + n).find((n) => String(n).length + rest === n);
  return `${length} ${text}\n`;
};

const pack = (path: string) => packTar([{ path, mode: 0o644, bytes: bytes("x") }]);
const double = (first: string, second: string) => {
  const a = pack(first);
  return new Uint8Array([...a.subarray(0, a.length - 1024), ...pack(second)]);
};
/** A file below 4000 folders. */
const deep = (n: number): TarFile => ({
  path: `${n}/${"d/".repeat(3999)}f`,
  mode: 0o644,
  bytes: bytes(""),
});

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
    ["GNU long name", headed("L", "long\0")],
    ["global pax header", headed("g", record("comment=x"))],
    ["pax header of more than a path", headed("x", record("mtime=1") + record("path=a"))],
    ["other magic", forged({ magic: "ustar  \0" })],
    ["wrong checksum", forged({ sum: 1 })],
    ["same path twice", double("a", "a")],
    ["file, then below it", double("a", "a/b")],
    ["folder, then file", double("a/b", "a")],
    ["too many folders", packTar(Array.from({ length: 14 }, (_, n) => deep(n)))],
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
    ["a long name outside", headed("L", "../x\0")],
    ["a long name behind the dot", headed("L", "./../x\0")],
    ["an absolute long name", headed("L", "/x\0")],
    ["an empty long name", headed("L", "\0")],
    ["two long names", new Uint8Array([...headed("L", "a\0").subarray(0, 1024), ...headed("L", "b\0")])],
    ["a long name of a symbolic link", headed("L", "a\0", { type: "2", link: "/etc/passwd" })],
    ["a long link", headed("K", "/etc/passwd\0", { type: "2", link: "/etc" })],
    ["a huge long name", headed("L", "a\0", {}, 8 ** 11 - 1)],
    ["a huge pax header", headed("x", record(`comment=${"x".repeat(70_000)}`))],
    ["a huge global header", headed("g", record(`comment=${"x".repeat(70_000)}`))],
    ["a pax path outside", headed("x", record("mtime=1") + record("path=a/../../x"))],
    ["a pax path with NUL", headed("x", record("path=a\0b"))],
    ["an empty pax path", headed("x", record("path="))],
    ["a pax path of thousands of folders", headed("x", record(`path=${"a/".repeat(4500)}b`))],
    ["a negative size", headed("x", record("size=-1"))],
    ["a size that is no number", headed("x", record("size=1e3"))],
    ["a size above the limit", headed("x", record("size=999999999999999"))],
    ["a size of more than is there", headed("x", record("size=5000"))],
    ["a path for all files", headed("g", record("path=a"))],
    ["a size for all files", headed("g", record("size=1"))],
    ["a sparse file", headed("x", record("GNU.sparse.major=1"))],
    ["a sparse file of GNU's own form", forged({ type: "S" })],
    ["a record without a key", headed("x", "5 ab\n")],
    ["a record of no length", headed("x", "0 a=b\n")],
    ["a record longer than its header", headed("x", "99 path=a\n")],
    ["a record without its end", headed("x", "9 path=ab")],
  ];
  const OF_PROGRAMS = [
    "dot segment",
    "folder",
    "other magic",
    "GNU long name",
    "global pax header",
    "pax header of more than a path",
  ];
  const hostile = HOSTILE.filter(([name]) => !OF_PROGRAMS.includes(name));
  test.each([...hostile, ...MORE])("from a tar program too: %s", (_, tar) => {
    expect(() => readTar(tar, { ...LIMITS, of_programs: true })).toThrow(TarError);
  });

  test.each<[string, Uint8Array<ArrayBuffer>, string, string]>([
    ["a long name", headed("L", "long\0"), "long", ""],
    [
      "pax over a long name",
      new Uint8Array([...headed("L", "a\0").subarray(0, 1024), ...headed("x", record("path=b"))]),
      "b",
      "",
    ],
    [
      "a size in pax",
      headed("x", `${record("mtime=1.5")}${record("size=3")}`, { content: "abc" }),
      "file",
      "abc",
    ],
  ])("control: from a tar program %s is read", (_, tar, path, content) => {
    const files = readTar(tar, { ...LIMITS, of_programs: true });
    expect(files).toEqual([{ path, mode: 0o644, bytes: bytes(content) }]);
  });

  test.each([
    [
      forged({ type: "2", path: "a", link: "/etc" }),
      '"a" is a symbolic link; only regular files are allowed',
    ],
    [headed("L", "b\0", { type: "1" }), '"b" is a hard link; only regular files are allowed'],
    [headed("x", record("size=-1")), 'the size "-1" in a pax header is not a number of bytes'],
    [headed("L", "a\0", {}, 70_000), "a header of 70000 bytes; 65536 are allowed"],
    [headed("g", record("path=a")), "a global pax header sets the path of all files"],
  ])("are refused with the reason: %#", (tar, reason) => {
    expect(() => readTar(tar, { ...LIMITS, of_programs: true })).toThrow(reason);
  });

  test("limits on bytes and files", () => {
    const tar = packTar(FILES);
    const total = FILES.reduce((sum, file) => sum + file.bytes.length, 0);
    expect(readTar(tar, { max_bytes: total, max_files: FILES.length })).toHaveLength(FILES.length);
    expect(() => readTar(tar, { max_bytes: total - 1, max_files: 100 })).toThrow(/bytes/);
    expect(() => readTar(tar, { max_bytes: total, max_files: FILES.length - 1 })).toThrow(/files/);
  });
});
