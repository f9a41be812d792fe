/** Tars of any kind: refused, or files whose paths stay inside. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { unpackTar } from "../../../container/untar.ts";
import { insidePath } from "../../../src/skill/path.ts";
import { packTar, readTar, TarError, type TarFile, TarReader } from "../../../src/skill/tar.ts";
import { cutAt, join } from "../../support/chunks.ts";
import { fc } from "../../support/property.ts";

const GOOD = ["a", "b", "c d", "ü", "~", "-", "x".repeat(60), "y".repeat(120)];
const segment = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(...GOOD) },
  { weight: 1, arbitrary: fc.constantFrom("..", ".", "", "c\\d", "e\0f") },
);
const path = fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => segments.join("/"));
const HEADER = [
  ...["0", "5", "x", "g", "2", "1", "L", "K", "\0", "S"].map((type) => ({ at: 156, text: type })),
  { at: 124, text: "77777777777" },
  { at: 124, text: "00000000010" },
  { at: 0, text: "../../up\0" },
  { at: 0, text: "/root\0" },
  { at: 345, text: "..\0" },
  { at: 157, text: "/etc/passwd\0" },
  ...["a", "../a", "b/../a"].map((text) => ({ at: 157, text: `${text}\0` })),
];
const PAX = [
  "9 path=x\n",
  "12 path=../x\n",
  "-9 aa=b\n\n\n\n\n\n\n\n\n\n",
  " a=b\n",
  "0x9 pa=b\n",
  "11 size=-1\n",
  "13 size=1e99\n",
  "10 size=5\n10 path=q\n",
  "11 mtime=1\n",
];
const LONG = `path=${"n/".repeat(1600)}z\n`;

/** `null` five times out of six. */
const seldom = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });

/** One entry, with a correct checksum whatever it holds, so that the reader looks further. */
const entry = fc
  .record({
    path,
    content: fc.uint8Array({ maxLength: 600 }),
    change: seldom(fc.constantFrom(...HEADER)),
    told: fc.constantFrom("x", "x", "g", "L"),
    pax: seldom(fc.constantFrom(...PAX, `${LONG.length + 5} ${LONG}`)),
  })
  .map(({ path: name, content, change, pax, told }) => {
    const blocks = [sealed(name.slice(0, 100), content, change)];
    if (pax !== null) {
      blocks.unshift(sealed("pax", new TextEncoder().encode(pax), { at: 156, text: told }));
    }
    return join(blocks);
  });

function sealed(name: string, content: Uint8Array, change: { at: number; text: string } | null): Uint8Array {
  const tar = packTar([{ path: "p", mode: 0o644, bytes: content }]).slice(0, -1024);
  const put = (at: number, text: string) => tar.set(new TextEncoder().encode(text), at);
  tar.fill(0, 0, 100);
  tar.set(new TextEncoder().encode(name).subarray(0, 100), 0);
  if (change !== null) put(change.at, change.text);
  put(148, "        ");
  const sum = tar.subarray(0, 512).reduce((a, b) => a + b, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return tar;
}

const whole = fc.array(entry, { maxLength: 4 }).map((entries) => join([...entries, new Uint8Array(1024)]));
const damaged = fc
  .tuple(whole, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }), fc.nat(40))
  .map(([tar, bytes, cut]) => {
    for (const [at, byte] of bytes) tar[at % tar.length] = byte;
    return cut > 35 ? tar.subarray(0, tar.length - cut * 10) : tar;
  });
const tars = fc.oneof(
  { weight: 5, arbitrary: whole },
  { weight: 2, arbitrary: damaged },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 2048 }) },
);

const plain = (name: string): boolean => insidePath(name) === name;
const cuts = fc.array(fc.nat(), { maxLength: 8 });

function outcome<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TarError)) throw error;
    return null;
  }
}

test("the registry's reader: TarError, or plain paths, each once; the same in pieces", () => {
  let read = 0;
  fc.assert(
    fc.property(tars, cuts, fc.boolean(), (tar, points, of_programs) => {
      const terms = { max_bytes: 1_000_000, max_files: 100, of_programs };
      const files = outcome(() => readTar(tar, terms));
      const inPieces = outcome(() => {
        const reader = new TarReader(terms);
        const got = cutAt(tar, points).flatMap((chunk) => reader.push(chunk));
        reader.end();
        return got;
      });
      expect(inPieces).toEqual(files);
      if (files === null) return;
      if (files.length > 0) read++;
      expect(files.every((file) => plain(file.path))).toBe(true);
      expect(new Set(files.map((file) => file.path)).size).toBe(files.length);
      expect(outcome(() => readTar(packTar(files)))).toHaveLength(files.length);
    }),
    { numRuns: 500 },
  );
  expect(read).toBeGreaterThan(5);
});

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(joinPath(tmpdir(), "hull-fuzz-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the runner's unpacking: TarError, or files inside the folder; it takes what the registry takes", async () => {
  let unpacked = 0;
  await fc.assert(
    fc.asyncProperty(tars, async (tar) => {
      const place = mkdtempSync(joinPath(folder, "run-"));
      const target = joinPath(place, "files");
      writeFileSync(joinPath(place, "tar"), tar);
      mkdirSync(target);
      try {
        const made = await unpacking(joinPath(place, "tar"), target);
        const files = outcome(() => readTar(tar));
        if (made === null) {
          if (files !== null) expect(files.some((file) => tooLong(file.path))).toBe(true);
        } else {
          if (made.length > 0) unpacked++;
          if (files !== null) expect(made).toEqual(sortedFiles(files.filter((file) => !isLink(file, files))));
        }
        expect(readdirSync(place).sort()).toEqual(["files", "tar"]);
        expect(readdirSync(folder)).toEqual([place.slice(folder.length + 1)]);
      } finally {
        rmSync(place, { recursive: true, force: true });
      }
    }),
    { numRuns: 300 },
  );
  expect(unpacked).toBeGreaterThan(5);
});

/** What was unpacked; `null` where the tar was refused. */
async function unpacking(tarPath: string, target: string): Promise<[string, string][] | null> {
  try {
    await unpackTar(tarPath, target, 0o555);
  } catch (error) {
    if (!(error instanceof TarError)) throw error;
    return null;
  }
  return filesBelow(target);
}

const isLink = ({ link }: TarFile, files: readonly TarFile[]): boolean =>
  files.some((file) => file.link === undefined && file.path === link);

const tooLong = (name: string): boolean => name.length > 2000;

function filesBelow(target: string): [string, string][] {
  return readdirSync(target, { recursive: true, withFileTypes: true })
    .filter((file) => {
      if (!file.isSymbolicLink()) return file.isFile();
      const real = realpathSync(joinPath(file.parentPath, file.name));
      expect(real.startsWith(`${realpathSync(target)}/`) && statSync(real).isFile()).toBe(true);
      return false;
    })
    .map((file): [string, string] => {
      const full = joinPath(file.parentPath, file.name);
      return [full.slice(target.length + 1), readFileSync(full, "latin1")];
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

const sortedFiles = (files: readonly TarFile[]): [string, string][] =>
  files
    .map((file): [string, string] => [file.path, Buffer.from(file.bytes).toString("latin1")])
    .sort(([a], [b]) => (a < b ? -1 : 1));
