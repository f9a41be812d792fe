import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ArchiveRefused } from "../../../src/skill/archive-paths.ts";
import type { SourceFile } from "../../../src/skill/bundle.ts";
import { insidePath } from "../../../src/skill/path.ts";
import { readZip } from "../../../src/skill/zip.ts";
import { fc } from "../../support/property.ts";
import { makeZip, type ZipEntry } from "../../support/zip.ts";

const LIMITS = { max_bytes: 8_000_000, max_entries: 50 };
const FILES = {
  "SKILL.md": "---\nname: x\n---\n",
  "run.sh": "#!/bin/sh\necho hi\n",
  "größe/ü 天.txt": "long ".repeat(5000),
  "empty.txt": "",
};
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const contents = (files: SourceFile[]) =>
  Object.fromEntries(files.map(({ path, bytes }) => [path.replace(/^s\//, ""), text(bytes)]));

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "hull-zip-"));
  mkdirSync(join(folder, "s/größe"), { recursive: true });
  for (const [path, content] of Object.entries(FILES)) writeFileSync(join(folder, "s", path), content);
  chmodSync(join(folder, "s/run.sh"), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function zipped(program: string, ...args: string[]): Promise<SourceFile[]> {
  execFileSync(program, args, { cwd: folder });
  const bytes = new Uint8Array(readFileSync(join(folder, "out.zip")));
  rmSync(join(folder, "out.zip"));
  return readZip(bytes, LIMITS);
}

/** Without a seekable output: sizes follow the data, in a data descriptor. */
const STREAMED = `
import sys, zipfile, os
class Pipe:
    def __init__(self, f): self.f = f
    def write(self, data): return self.f.write(data)
    def flush(self): self.f.flush()
with open("out.zip", "wb") as f, zipfile.ZipFile(Pipe(f), "w", zipfile.ZIP_DEFLATED) as z:
    for top, _, names in os.walk("s"):
        for name in names: z.write(os.path.join(top, name))
`;

describe("zips of other programs are unpacked unchanged", () => {
  test.each<[string, string[]]>([
    ["zip", ["-qr", "out.zip", "s"]],
    ["zip", ["-qr0", "out.zip", "s"]],
    ["zip", ["-qr9D", "out.zip", "s"]],
    ["python3", ["-m", "zipfile", "-c", "out.zip", "s"]],
    ["python3", ["-c", STREAMED]],
    ["python3", ["-c", "import shutil; shutil.make_archive('out', 'zip', '.', 's')"]],
  ])("%s %j", async (program, args) => {
    const files = await zipped(program, ...args);
    expect(contents(files)).toEqual(FILES);
    expect(files.filter(({ mode }) => mode === 0o755).map(({ path }) => path)).toEqual(["s/run.sh"]);
  });

  test("except links, also dangling ones, and other types of archives", async () => {
    symlinkSync("/etc/passwd", join(folder, "s/link"));
    await expect(zipped("zip", "-qry", "out.zip", "s")).rejects.toThrow(/s\/link is a link/);
    rmSync(join(folder, "s/link"));
    const locked = zipped("zip", "-qrP", "secret", "out.zip", "s");
    await expect(locked).rejects.toThrow(/encrypted/);
    const bzip = "import zipfile; zipfile.ZipFile('out.zip', 'w', zipfile.ZIP_BZIP2).write('s/run.sh')";
    await expect(zipped("python3", "-c", bzip)).rejects.toThrow(/method 12/);
    const large =
      "import zipfile; z = zipfile.ZipFile('out.zip', 'w'); z.open('a', 'w', force_zip64=True).close(); z.close()";
    await expect(zipped("python3", "-c", large)).resolves.toHaveLength(1);
  });
});

const file = (name: string, rest: Partial<ZipEntry> = {}): ZipEntry => ({ name, content: "hi", ...rest });
const zeros = new Uint8Array(2_000_000);

describe("hostile zips are refused, with the entry and the reason", () => {
  test("control: a zip made by this test can be read", async () => {
    const zip = await makeZip([file("a"), file("b/c", { deflate: true }), { name: "d/", mode: 0o040755 }], {
      comment: "PK\u0005\u0006 in a comment",
    });
    expect(contents(await readZip(zip, LIMITS))).toEqual({ a: "hi", "b/c": "hi" });
    expect(await readZip(await makeZip([]), LIMITS)).toEqual([]);
  });

  test.each<[string, ZipEntry[], RegExp, Parameters<typeof makeZip>[1]?]>([
    ["traversal", [file("../a")], /"\.\.\/a" is not a plain relative path inside/],
    ["inner traversal", [file("a/../../b")], /not a plain relative path inside/],
    ["absolute", [file("/etc/passwd")], /not a plain relative path inside/],
    ["backslash", [file("a\\b")], /not a plain relative path inside/],
    ["NUL", [file("a\0b")], /not a plain relative path inside/],
    ["a folder outside", [{ name: "../d/", mode: 0o040755 }], /not a plain relative path inside/],
    ["twice", [file("a"), file("a")], /a appears twice/],
    ["file and folder", [file("a"), file("a/b")], /a is both a file and a folder/],
    ["link", [file("a", { mode: 0o120777 })], /a is a link, a device/],
    ["device", [file("a", { mode: 0o020666 })], /a is a link, a device/],
    ["a folder by its mode only", [file("a", { mode: 0o040755 })], /of another type than its name says/],
    ["a folder with content", [file("a/")], /another type than its name says/],
    ["a folder with content, untyped", [file("a/", { mode: 0 })], /the folder a has content/],
    ["encrypted", [file("a", { lie: { flags: 1 } })], /a is encrypted/],
    ["method", [file("a", { lie: { method: 14 } })], /a is compressed by method 14/],
    ["CRC", [file("a", { lie: { crc: 1 } })], /a is damaged/],
    ["stored with another size", [file("a", { lie: { size: 3 } })], /a has 2 bytes instead of 3/],
    [
      "more than it says",
      [file("a", { deflate: true, lie: { size: 1 } })],
      /a unpacks to more than its 1 byte/,
    ],
    ["less than it says", [file("a", { deflate: true, lie: { size: 3 } })], /a has 2 bytes instead of 3/],
    ["not deflated", [file("a", { content: "\xff\xff\xff", lie: { method: 8 } })], /a cannot be inflated/],
    ["cut deflate", [file("a", { content: zeros, deflate: true, lie: { packed: 9, size: 900 } })], /a /],
    ["zip64 size", [file("a", { lie: { size: 0xffffffff } })], /a is a zip64 entry/],
    ["zip64 end", [file("a")], /it is a zip64/, { entries: 0xffff }],
    ["several parts", [file("a")], /one part of several/, { disk: 1 }],
    ["entry in another part", [file("a", { lie: { disk: 1 } })], /a is in another part/],
    [
      "another name in the local header",
      [file("a", { localName: "b" })],
      /a has a local header that differs from the directory/,
    ],
    ["another method there", [file("a", { localLie: { method: 8 } })], /differs from the directory/],
    ["other flags there", [file("a", { localLie: { flags: 1 } })], /differs from the directory/],
    ["data past the directory", [file("a", { lie: { packed: 60, size: 60 } })], /differs from the directory/],
    ["nowhere", [file("a", { lie: { at: 9999 } })], /differs from the directory/],
    ["more entries than there are", [file("a")], /directory is broken/, { entries: 2 }],
    ["fewer entries than there are", [file("a"), file("b")], /more than its entries/, { entries: 1 }],
    ["directory elsewhere", [file("a")], /does not end where/, { start: 3 }],
    ["too many", Array.from({ length: 51 }, (_, n) => file(`f${n}`)), /more than 50 entries/],
    ["too large", [1, 2, 3, 4, 5].map((n) => file(`f${n}`, { content: zeros })), /more than 8000000 bytes/],
    ["a bomb", [file("a", { content: zeros, deflate: true })], /a unpacks to more than 100 times/],
    [
      "a bomb that lies",
      [file("a", { content: zeros, deflate: true, lie: { size: 100_000 } })],
      /a unpacks to more than its 100000 bytes/,
    ],
  ])("%s", async (_, entries, reason, end) => {
    const refused = readZip(await makeZip(entries, end), LIMITS);
    await expect(refused).rejects.toThrow(ArchiveRefused);
    await expect(refused).rejects.toThrow(reason);
  });

  test("a name in the encoding of Windows, with the way to pack it", async () => {
    const zip = Buffer.from(await makeZip([file("gr?n.txt")]));
    const old = Buffer.from(zip.toString("latin1").replaceAll("gr?n", "gr\x81n"), "latin1");
    const refused = readZip(new Uint8Array(old), LIMITS);
    await expect(refused).rejects.toThrow(
      'the name "gr\ufffdn.txt" is not UTF-8; pack the folder with hull pack',
    );
  });

  test("an entry inside another one's data", async () => {
    const inner = (await makeZip([file("b")])).slice(0, 33);
    const zip = await makeZip([file("a", { content: inner }), file("b", { lie: { at: 31 } })]);
    await expect(readZip(zip, LIMITS)).rejects.toThrow(/b and a share bytes/);
  });

  test("bytes before or after the archive", async () => {
    const zip = await makeZip([file("a")]);
    for (const bytes of [[...zip, 0], [0, ...zip], [...zip].slice(0, -1), [], [0x50, 0x4b, 3, 4]]) {
      await expect(readZip(new Uint8Array(bytes), LIMITS)).rejects.toThrow(ArchiveRefused);
    }
  });
});

test("any bytes: refused with a ArchiveRefused, or plain files that fit the limits", async () => {
  const name = fc.constantFrom("a", "b/c", "d/", "../e", "SKILL.md", "ü");
  const lie = fc.record(
    { size: fc.nat(90), packed: fc.nat(90), at: fc.nat(90), flags: fc.constantFrom(0, 1, 8, 0x800) },
    { requiredKeys: [] },
  );
  const entry = fc.record(
    {
      name,
      content: fc.uint8Array({ maxLength: 200 }),
      deflate: fc.boolean(),
      lie: fc.option(lie, { nil: {}, freq: 2 }),
      mode: fc.constantFrom(0, 0o100644, 0o100755, 0o120777),
    },
    { requiredKeys: ["name", "content"] },
  );
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 2 });
  let read = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 3 }), damage, async (entries, bytes) => {
      const zip = await makeZip(entries);
      for (const [at, byte] of bytes) zip[at % zip.length] = byte;
      const files = await readZip(zip, LIMITS).catch((error: unknown) => {
        if (!(error instanceof ArchiveRefused)) throw error;
        return null;
      });
      if (files === null) return;
      if (files.length > 0) read++;
      expect(files.every(({ path }) => insidePath(path) === path)).toBe(true);
      expect(new Set(files.map(({ path }) => path)).size).toBe(files.length);
    }),
    { numRuns: 400 },
  );
  expect(read).toBeGreaterThan(5);
});
