/** How the runner treats names of files that one system writes and another one reads. */
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Bundle, bundle, startRunner, type TestRunner, until } from "../support/runner.ts";
import { Session, told } from "../support/runner-session.ts";

let runner: TestRunner;
let files: Bundle;
beforeAll(async () => {
  files = await bundle({ "noop.sh": "#!/bin/sh\n" });
  runner = await startRunner();
});
afterAll(() => runner.stop());

test("names get Unicode's form NFC; of two files of one name the one written last stays", async () => {
  const session = new Session(() => runner, files);
  const made = (path: string, text: string): string =>
    `mkdir -p "$(dirname ${path})"; printf ${text} > ${path}`;
  const first = await session.run(
    `${made("U\u0308/e\u0301", "old")}; ${made("U\u0308/e/a\u0308/f", "kept")}`,
  );
  expect(told(first)).toEqual(["write \u00dc/e/\u00e4/f", "write \u00dc/\u00e9"]);
  // As by a program that unpacks the same archive again.
  const again = [
    made("U\u0308/e\u0301", "new"),
    made("U\u0308/e/a\u0308/g", "added"),
    made("o\u0308", "first"),
    "sleep 0.1",
    made("\u00f6", "last"),
  ];
  expect(told(await session.run(again.join("; ")))).toEqual([
    "write \u00dc/\u00e9",
    "write \u00dc/e/\u00e4/g",
    "write \u00f6",
    "refused o\u0308 bad_path",
  ]);
  expect(session.plain()).toEqual({
    "\u00dc/e/\u00e4/f": "kept",
    "\u00dc/e/\u00e4/g": "added",
    "\u00dc/\u00e9": "new",
    "\u00f6": "last",
  });
  const found = await session.run("cat \u00dc/\u00e9; find . | wc -l");
  expect([found.stdout, told(found)]).toEqual(["new8\n", []]);
});

test("a name changes its form only while no other command could look for it", async () => {
  const session = new Session(() => runner, files);
  const go = join(runner.stateDir, "go-on");
  // A generated folder is no file of the session: it only shows that the command runs.
  const waits = "mkdir node_modules; until [ -e $0 ]; do sleep 0.05; done; cat e\u0301; rm e\u0301";
  const other = session.run(["sh", "-c", waits, go]);
  await until(
    () => readdir(session.folder).catch(() => null),
    (names) => names?.includes("node_modules") === true,
  );
  expect(told(await session.run("printf x > e\u0301"))).toEqual(["refused e\u0301 bad_path"]);
  await writeFile(go, "");
  expect(await other).toMatchObject({ stdout: "x", exitCode: 0, changes: [] });
});
