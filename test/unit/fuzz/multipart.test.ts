/** Forms intact and damaged, in any pieces: the reader of the Worker and of the runner (RFC 7578). */
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { BodyCut, MultipartBody } from "../../../container/multipart-body.ts";
import { Refused } from "../../../container/refusal.ts";
import { encodeMultipart } from "../../../src/tool/multipart.ts";
import {
  boundaryOf,
  MAX_HEADER_BYTES,
  MAX_PARTS,
  MultipartReader,
} from "../../../src/tool/multipart-reader.ts";
import { cutAt, join } from "../../support/chunks.ts";
import { anyText, fc } from "../../support/property.ts";

class Malformed extends Error {}

interface Read {
  name: string;
  filename: string | null;
  type: string | null;
  /** `null`: not looked at. */
  content: Uint8Array | null;
}

async function* each(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield chunk;
}

/** Reads all parts; of those in `skipped` only the first piece is looked at. */
async function read(chunks: readonly Uint8Array[], boundary: string, skipped: readonly number[] = []) {
  const reader = new MultipartReader(each(chunks), boundary, (reason) => new Malformed(reason));
  const parts: Read[] = [];
  for (let part = await reader.next(); part !== null; part = await reader.next()) {
    const { name, filename, type, body } = part;
    const pieces: Uint8Array[] = [];
    const skip = skipped.includes(parts.length);
    for await (const piece of body) {
      pieces.push(piece);
      if (skip) break;
    }
    parts.push({ name, filename, type, content: skip ? null : join(pieces) });
  }
  expect(await reader.next()).toBe(null);
  return parts;
}

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const cuts = fc.array(fc.nat(), { maxLength: 30 });
const boundary = fc.stringMatching(/^[0-9A-Za-z'()+_,./:=?-]{1,70}$/);
/** Content that looks like what ends it. */
const contentFor = (mark: string): fc.Arbitrary<Uint8Array<ArrayBuffer>> =>
  fc
    .array(
      fc.oneof(
        fc
          .constantFrom("\r", "\n", "\r\n", "\r\n-", "\r\n--", `--${mark}`, `\r\n--${mark.slice(0, -1)}`)
          .map(utf8),
        fc.uint8Array({ maxLength: 20 }),
      ),
      { maxLength: 8 },
    )
    .map(join)
    .filter((bytes) => !Buffer.from(bytes).includes(`\r\n--${mark}`))
    .filter((bytes) => !Buffer.from(bytes.subarray(0, mark.length + 2)).equals(Buffer.from(`--${mark}`)));
/** Made once: each of them tries, before its first value, which texts it could have made. */
const partName = fc.stringMatching(/^[a-z_ é%]{0,8}$/);
const written = boundary.chain((mark) =>
  fc.record({
    mark: fc.constant(mark),
    preamble: fc.constantFrom("", "\r\n", "a preamble\r\n", "--\r\n"),
    parts: fc.array(
      fc.record({
        name: partName,
        filename: fc.option(fc.constantFrom("a.txt", "", "C:\\new\\b.txt", "файл 1.csv", 'a"b\r\n%41.txt')),
        type: fc.option(fc.constantFrom("text/plain", "text/csv; charset=utf-8", "x")),
        content: contentFor(mark),
      }),
      { maxLength: 4 },
    ),
    padding: fc.constantFrom("", " ", "\t "),
    epilogue: fc.constantFrom("", "\r\n", "\r\nan epilogue", "--"),
  }),
);
const escaped = (text: string): string => text.replace(/["\r\n]/g, (c) => encodeURIComponent(c));

function encode({
  mark,
  preamble,
  parts,
  padding,
  epilogue,
}: typeof written extends fc.Arbitrary<infer T> ? T : never) {
  const pieces: Uint8Array[] = [utf8(preamble)];
  for (const { name, filename, type, content } of parts) {
    const file = filename === null ? "" : `; filename="${escaped(filename)}"`;
    const kind = type === null ? "" : `content-TYPE:  ${type} \r\n`;
    const head = `--${mark}${padding}\r\nContent-Disposition: form-data; name="${escaped(name)}"${file}\r\n${kind}\r\n`;
    pieces.push(utf8(head), content, utf8("\r\n"));
  }
  pieces.push(utf8(`--${mark}--${epilogue}`));
  return join(pieces);
}

describe("a form", () => {
  test("comes out unchanged, however it is cut, whatever is skipped", async () => {
    await fc.assert(
      fc.asyncProperty(
        written,
        cuts,
        fc.array(fc.nat(3), { maxLength: 2 }),
        async (form, points, skipped) => {
          const parts = form.parts.map((part, n) => ({
            ...part,
            content: skipped.includes(n) ? null : part.content,
          }));
          expect(await read(cutAt(encode(form), points), form.mark, skipped)).toEqual(parts);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("comes out unchanged from Node's own encoder", async () => {
    const text = anyText({ maxLength: 12 });
    // What an encoder cannot keep: it makes every line break CR LF, and a lone surrogate U+FFFD.
    const plain = text.map((value) => value.replace(/[\r\n\0-\x08\x0b-\x1f\x7f\\]/g, "").toWellFormed());
    const entry = fc.tuple(
      plain,
      fc.oneof(
        plain,
        fc.tuple(
          plain.filter((name) => name !== ""),
          fc.uint8Array({ maxLength: 40 }),
        ),
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 4 }), cuts, async (entries, points) => {
        const form = new FormData();
        for (const [name, value] of entries) {
          if (typeof value === "string") form.append(name, value);
          else form.append(name, new Blob([value[1]], { type: "a/b" }), value[0]);
        }
        const response = new Response(form);
        const mark = boundaryOf(response.headers.get("content-type") ?? "") ?? "";
        const parts = await read(cutAt(new Uint8Array(await response.arrayBuffer()), points), mark);
        expect(parts).toEqual(
          entries.map(([name, value]) =>
            typeof value === "string"
              ? { name, filename: null, type: null, content: utf8(value) }
              : { name, filename: value[0], type: "a/b", content: value[1] },
          ),
        );
      }),
      { numRuns: 300 },
    );
  });

  test("cut off or damaged is refused or read, and nothing else; cut off is always refused", async () => {
    let refused = 0;
    const damage = fc.array(
      fc.tuple(fc.nat(), fc.oneof(fc.constantFrom(0, 10, 13, 34, 45, 58, 92), fc.nat(255))),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(written, damage, fc.option(fc.nat()), cuts, async (form, hits, end, points) => {
        const bytes = encode(form);
        const last = bytes.length - form.epilogue.length;
        for (const [at, value] of hits) bytes[at % bytes.length] = value;
        const sent = end === null ? bytes : bytes.subarray(0, end % last);
        const reading = read(cutAt(sent, points), form.mark);
        if (end !== null && hits.length === 0) {
          await expect(reading).rejects.toThrow(Malformed);
          return;
        }
        await reading.catch((error: unknown) => {
          expect(error).toBeInstanceOf(Malformed);
          refused += 1;
        });
      }),
      { numRuns: 500 },
    );
    expect(refused).toBeGreaterThan(100);
  });

  const head = (more: string): string => `--b\r\nContent-Disposition: form-data; ${more}\r\n\r\nx\r\n`;
  test.each([
    ["no part", ""],
    ["no part", "--b"],
    ["no part", "--other\r\n\r\n--other--"],
    ["not followed by the end of its line", "--bb\r\n\r\n--b--"],
    ["no Content-Disposition", "--b\r\nContent-Type: a/b\r\n\r\nx\r\n--b--"],
    ["no Content-Disposition", `${head('filename="x"')}--b--`],
    ["no Content-Disposition", `${head('name="x')}--b--`],
    ["no Content-Disposition", `${head('name="x"; name="y"')}--b--`],
    ["the header content-type twice", `${head('name="x"\r\nContent-Type: a/b\r\nContent-Type: a/b')}--b--`],
    ["has no name", `${head('name="x"\r\n folded: x')}--b--`],
    ["control characters", `${head('name="\0"')}--b--`],
    ["CR LF", `${head('name="x"\nA: b')}--b--`],
    ["before its last boundary", head('name="x"')],
    [`longer than ${MAX_HEADER_BYTES} bytes`, `${head(`name="${"x".repeat(MAX_HEADER_BYTES)}"`)}--b--`],
    [`more than ${MAX_PARTS} parts`, `${head('name="x"').repeat(MAX_PARTS + 1)}--b--`],
  ])("is refused if there is %s: %.40j", async (reason, text) => {
    await expect(read([utf8(text)], "b")).rejects.toThrow(reason);
  });

  test.each([
    ["multipart/form-data; boundary=abc", "abc"],
    ['Multipart/Form-Data; charset=x; BOUNDARY="a b;c"', "a b;c"],
    ["multipart/form-data", null],
    ["multipart/form-data; boundary=", null],
    ['multipart/form-data; boundary="a', null],
    ["multipart/form-data; boundary=a; boundary=b", null],
    [`multipart/form-data; boundary=${"a".repeat(201)}`, null],
    ["multipart/mixed; boundary=a", null],
    ["", null],
  ])("boundary of %j", (type, expected) => {
    expect(boundaryOf(type)).toBe(expected);
  });

  test("names files by filename*, escaped quotes and paths", async () => {
    for (const [sent, name] of [
      ["filename*=UTF-8''%D1%84%20.txt; filename=\"x\"", "ф .txt"],
      ["filename*=UTF-8''%ff; filename=plain", "plain"],
      ["filename*=UTF-8''100%2522.txt", "100%22.txt"],
      ['filename="100%22.txt"', '100".txt'],
      ['filename="a\\"b.txt"', 'a"b.txt'],
      ['filename="C:\\new\\a.txt"', "C:\\new\\a.txt"],
    ]) {
      expect((await read([utf8(`${head(`name=x; ${sent}`)}--b--`)], "b"))[0]?.filename).toBe(name);
    }
  });
});

describe("the runner's body", () => {
  /** A request whose body comes in these chunks; `cut`: its client then breaks off. */
  function request(contentType: string, chunks: readonly Uint8Array[], cut: boolean): IncomingMessage {
    const message = new IncomingMessage(new Socket());
    message.headers["content-type"] = contentType;
    message.on("error", () => {});
    message.complete = !cut;
    for (const chunk of chunks) message.push(chunk);
    if (cut) setImmediate(() => message.destroy());
    else message.push(null);
    return message;
  }

  async function received(message: IncomingMessage): Promise<[string, string, Uint8Array][]> {
    const body = new MultipartBody(message, new ServerResponse(message));
    const parts: [string, string, Uint8Array][] = [["spec", "", utf8(await body.spec())]];
    for (let part = await body.next(); part !== null; part = await body.next()) {
      const pieces: Uint8Array[] = [];
      for await (const piece of part.body) pieces.push(piece);
      parts.push([part.name, part.filename, join(pieces)]);
    }
    return parts;
  }

  const sent = fc.record({
    spec: fc.string({ unit: "grapheme" }),
    files: fc.array(fc.record({ filename: fc.string(), mime: fc.string(), body: fc.uint8Array() }), {
      maxLength: 3,
    }),
    stdin: fc.option(fc.uint8Array(), { nil: undefined }),
  });

  test("is the Worker's bytes, a refusal, or a cut", async () => {
    const seen = new Set<string>();
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 2 });
    await fc.assert(
      fc.asyncProperty(
        sent,
        damage,
        fc.option(fc.nat(), { freq: 3 }),
        cuts,
        async (input, hits, end, points) => {
          const { spec, files, stdin } = input;
          const { contentType, body } = encodeMultipart(
            spec,
            { files, ...(stdin === undefined ? {} : { stdin }) },
            Promise.resolve(),
          );
          const bytes = new Uint8Array(await new Response(body).arrayBuffer());
          for (const [at, value] of hits) bytes[at % bytes.length] = value;
          const cut = end !== null;
          const chunks = cutAt(cut ? bytes.subarray(0, end % (bytes.length - 4)) : bytes, points);
          const receiving = received(request(contentType, chunks, cut));
          if (hits.length === 0 && !cut) {
            const names = files.map(({ filename, body: content }) => ["file", plain(filename), content]);
            const last = stdin === undefined ? [] : [["stdin", "stdin", stdin]];
            expect(await receiving).toEqual([["spec", "", utf8(spec.toWellFormed())], ...names, ...last]);
            seen.add("whole");
            return;
          }
          await receiving.catch((error: unknown) => {
            expect(error instanceof Refused ? error.refusal.code : "bad_request").toBe("bad_request");
            expect(error instanceof Refused || error instanceof BodyCut).toBe(true);
            seen.add(error instanceof Refused ? "refused" : "cut");
          });
        },
      ),
      { numRuns: 800 },
    );
    expect([...seen].sort()).toEqual(["cut", "refused", "whole"]);
  });
});

const plain = (name: string): string => name.replace(/\\/g, "_").toWellFormed();
