/** What a handler's process writes, in whatever pieces it comes. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type HandlerNote, NOTES } from "../../../src/tool/handler/call.ts";
import { MAX_RESULT_BYTES, ResultReader } from "../../../src/tool/handler/process-result.ts";

const message = (value: unknown): string => `\x1e${JSON.stringify(value)}\n`;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Reads a text in pieces of a length. */
function read(text: string, piece = Number.POSITIVE_INFINITY, stderr = "") {
  const notes: HandlerNote[] = [];
  const reader = new ResultReader((note) => notes.push(note));
  reader.result(new Uint8Array(0));
  const feed = (all: Uint8Array, take: (part: Uint8Array) => void) => {
    for (let at = 0; at < all.length; at += Math.min(piece, all.length)) take(all.slice(at, at + piece));
  };
  feed(bytes(stderr), (part) => reader.stderr(part));
  feed(bytes(text), (part) => reader.result(part));
  return { result: reader.end(), notes, tail: reader.stderrTail };
}

test.each([
  ["a value", message({ value: { x: "ü\n" } }), { kind: "value", value: { x: "ü\n" } }],
  ["null", message({ value: null }), { kind: "value", value: null }],
  ["an error", message({ error: "boom" }), { kind: "error", error: "boom" }],
  ["the last word counts", message({ error: "first" }) + message({ value: 1 }), { kind: "value", value: 1 }],
  [
    "an unreadable message",
    `\x1ejunk\n${message({ other: 1 })}${message({ value: 2 })}`,
    { kind: "value", value: 2 },
  ],
  ["a message that is cut", message({ value: 1 }).slice(0, -1), null],
  ["a program's JSON", ' {"a": [1]}\n', { kind: "value", value: { a: [1] } }],
  [
    "integers that no number holds",
    '\x1e{"value": {"id": 1234567890123456789, "list": [-9007199254740993, 9007199254740991, 1e30, 0.1234567890123456789], "text": "1234567890123456789"}}\n',
    {
      kind: "value",
      value: {
        id: "1234567890123456789",
        list: ["-9007199254740993", 9007199254740991, 1e30, 0.12345678901234568],
        text: "1234567890123456789",
      },
    },
  ],
  ["a program's integer", "12345678901234567890\n", { kind: "value", value: "12345678901234567890" }],
  [
    "a number beyond all that a number holds",
    '{"list": [1e400, -1E+999, 1e30]}',
    { kind: "value", value: { list: ["1e400", "-1E+999", 1e30] } },
  ],
  ["a program's text", " hellö\n", { kind: "text", text: "hellö" }],
  ["nothing", "", null],
  ["blanks", " \n", null],
  [
    "a value that nests too deep",
    `\x1e{"value": ${"[".repeat(300)}${"]".repeat(300)}}\n`,
    { kind: "error", error: "The result nests more than 256 levels deep." },
  ],
  [
    "a program's text that nests too deep",
    "[".repeat(5000) + "]".repeat(5000),
    { kind: "text", text: expect.any(String) },
  ],
])("%s", (_, text, expected) => {
  for (const piece of [1, 3, 7, 10_000]) expect(read(text, piece).result).toEqual(expected);
});

test("notes come in order, whatever the pieces", () => {
  const told = [{ emit: "half ü" }, { artifact: { title: "t" } }, { emit: "done" }];
  for (const piece of [1, 5, 1000]) {
    const { notes, result } = read(told.map(message).join("") + message({ value: 1 }), piece);
    expect(result).toEqual({ kind: "value", value: 1 });
    expect(notes).toEqual([
      { kind: "output", stream: "emit", text: "half ü" },
      { kind: "artifact", value: { title: "t" } },
      { kind: "output", stream: "emit", text: "done" },
    ]);
  }
});

test("progress is reported by whole lines; a long one without an end is reported, too", () => {
  const { notes, tail } = read("", 2, "öne\ntwo\nrest");
  expect(notes.map((note) => note.kind === "output" && note.text)).toEqual(["öne\n", "two\n", "rest"]);
  expect(tail).toBe("öne\ntwo\nrest");
  const long = read("", 1000, "x".repeat(50_000));
  expect(long.notes.length).toBeGreaterThan(1);
  expect(long.tail).toHaveLength(2000);
  // A part of a secret could no longer be found.
  expect(read("", 7, `a sk-canary-0123${" end".repeat(498)}`).tail).toBe("end ".repeat(498).trim());
});

test.each([
  ["as a message", (text: string) => message({ value: text })],
  ["as a program's stdout", (text: string) => JSON.stringify(text)],
])("a result of the largest size passes %s, a larger one is reported as too large", (_, form) => {
  const most = "x".repeat(MAX_RESULT_BYTES - 2);
  expect(read(form(most), 65_536).result).toEqual({ kind: "value", value: most });
  expect(read(form(`${most}${"x".repeat(100)}`), 65_536).result).toEqual({ kind: "too_large" });
});

test("the programs that call handlers send only kinds of messages that are read, and JavaScript's every kind", () => {
  const sent = (program: string): Set<string> => {
    const text = readFileSync(new URL(`../../../container/programs/${program}`, import.meta.url), "utf8");
    return new Set(Array.from(text.matchAll(/\b(?:report|answer)\(\s*"(\w+)"/g), ([, kind = ""]) => kind));
  };
  expect([...sent("handler.mjs")].sort()).toEqual([...Object.keys(NOTES), "error", "value"].sort());
  expect([...sent("handler.py")].sort()).toEqual(["error", "value"]);
});
