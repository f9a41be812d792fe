/** Real refusals of the system, in words. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isSystemError, reasonOf, systemError } from "../../../scripts/system-error.ts";
import { NOBODY } from "../../support/fake-provider.ts";
import { folder } from "./folder.ts";

async function listenTwice(): Promise<void> {
  const [first, second] = [createServer(), createServer()];
  try {
    first.listen(0, "127.0.0.1");
    await once(first, "listening");
    const address = first.address();
    second.listen(typeof address === "object" ? address?.port : 0, "127.0.0.1");
    await once(second, "listening");
  } finally {
    first.close();
  }
}

type Refusal = [string, (path: (name: string) => string) => Promise<unknown>, RegExp, number];

/** The system's error does not name the file whose write failed. */
const DISK_FULL: Refusal = [
  "ENOSPC",
  () => writeFile("/dev/full", "text"),
  /^Cannot write: the disk is full\.$/,
  1,
];

test.each<Refusal>([
  ...(process.platform === "linux" ? [DISK_FULL] : []),
  ["ENOENT", (path) => readFile(path("gone")), /^Cannot open \/.*gone: it does not exist\.$/, 3],
  [
    "ENOTDIR",
    (path) => readFile(path("file/below")),
    /^Cannot open .*below: a part of its path is a file/,
    1,
  ],
  ["EISDIR", (path) => readFile(path("full")), /it is a folder, not a file\.$/, 1],
  ["EEXIST", (path) => mkdir(path("file")), /^Cannot make the folder .*file: there is something else/, 1],
  ["ENOENT of a temporary folder", (path) => mkdtemp(path("gone/x")), /^Cannot make the folder \/.*gone/, 3],
  ["ENOTDIR of a folder", (path) => readdir(path("file")), /^Cannot read the folder .*file: a part of/, 1],
  ["ENAMETOOLONG", (path) => readFile(path("x".repeat(300))), /its name is too long\.$/, 1],
  ["EADDRINUSE", listenTwice, /^Cannot listen on 127\.0\.0\.1:\d+: another program listens there\.$/, 4],
  ["spawn", (path) => once(spawn(path("gone")), "exit"), /^Cannot start \/.*gone: it does not exist\.$/, 1],
])("%s", async (_, refused, message, exit) => {
  const dir = folder({ file: "text", "full/file": "text" });
  const error: unknown = await refused((name) => join(dir, name)).catch((thrown: unknown) => thrown);
  expect(isSystemError(error) ? systemError(error) : error).toMatchObject({
    code: "system_error",
    message: expect.stringMatching(message),
    exit,
  });
});

test("a failed request reports its cause", async () => {
  const error: unknown = await fetch(NOBODY).catch((thrown: unknown) => thrown);
  expect(reasonOf(error)).toBe("nothing listens there");
});

test("other errors keep their own message", () => {
  expect([reasonOf(new Error("why")), reasonOf("why"), isSystemError(new Error("why"))]).toEqual([
    "why",
    "why",
    false,
  ]);
});
