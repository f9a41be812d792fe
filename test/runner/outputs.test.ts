/** Input files and output files. */
import { createHash } from "node:crypto";
import { readdir, readlink } from "node:fs/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
  type Bundle,
  bundle,
  type Collected,
  run,
  scratchOf,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";

let runner: TestRunner;
let files: Bundle;

beforeAll(async () => {
  files = await bundle({ "noop.sh": "#!/bin/sh\n" });
  runner = await startRunner();
});
afterAll(() => runner.stop());

const produce = (script: string, max_output_bytes = 50_000_000): Promise<Collected> =>
  run(runner, files, { argv: ["bash", "-c", script], output: "file", limits: { max_output_bytes } });

test.each([
  ["OUTPUT_FILE", "printf one > $HULL_OUTPUT_FILE", ["output:one"]],
  [
    "OUTPUT_DIR wins, sorted",
    "cd $HUSK_OUTPUT_DIR; printf B > b; printf A > a; printf x > $HULL_OUTPUT_FILE",
    ["a:A", "b:B"],
  ],
  [
    "only regular, non-empty, top-level",
    "cd $HULL_OUTPUT_DIR; touch empty; mkdir d; echo x > d/x; ln -s /etc/passwd link; mkfifo f; printf y > y",
    ["y:y"],
  ],
  ["a link as OUTPUT_FILE", "ln -s /etc/passwd $HULL_OUTPUT_FILE", []],
  [
    "a name that is not UTF-8",
    "cd $HULL_OUTPUT_DIR; printf y > $'caf\\xe9'; printf x > a",
    ["a:x", "caf\ufffd:y"],
  ],
  ["the whole folder removed", "printf z > $HULL_OUTPUT_FILE; rm -r $TMPDIR", []],
  ["names in any script", "printf z > $HULL_OUTPUT_DIR/отчёт.txt", ["отчёт.txt:z"]],
])("%s", async (_, script, expected) => {
  const { files: found, status, kinds } = await produce(script);
  expect(status).toMatchObject({ cause: "exit", exit_code: 0 });
  expect(found.map(({ filename, bytes }) => `${filename}:${bytes}`)).toEqual(expected);
  expect(kinds.at(-1)).toBe("ended");
});

test("files that their owner may not read arrive too", async () => {
  // Root reads everything.
  const own = await startRunner(process.getuid?.() === 0 ? { uid: 65123 } : {});
  onTestFinished(() => own.stop());
  const script = "cd $HULL_OUTPUT_DIR; printf A > a; printf B > b; chmod 200 a; chmod 0 b .";
  const ended = await run(own, files, { argv: ["bash", "-c", script], output: "file" });
  expect(ended.status).toMatchObject({ cause: "exit", exit_code: 0 });
  expect(ended.files.map(({ filename, bytes }) => `${filename}:${bytes}`)).toEqual(["a:A", "b:B"]);
});

test("S37, S38: large files arrive whole; over the cap nothing does", async () => {
  const script =
    "head -c 30000000 /dev/urandom > $HULL_OUTPUT_DIR/a; head -c 10000000 /dev/urandom > $HULL_OUTPUT_DIR/b";
  const whole = await produce(script);
  expect(whole.files.map(({ size }) => size)).toEqual([30_000_000, 10_000_000]);
  for (const { sha256, bytes } of whole.files) {
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
  }
  const over = await produce(script, 39_999_999);
  expect(over.status.cause).toBe("output_too_large");
  expect(over.files).toEqual([]);
  // It would take minutes to look at them all.
  const many = await produce("cd $HULL_OUTPUT_DIR; seq 20001 | xargs touch; printf x > x");
  expect([many.status.cause, many.files]).toEqual(["output_too_large", []]);
});

test("up to 1000 files arrive; of more none does, and the end says why", async () => {
  const many = (count: number) =>
    produce(`cd $HULL_OUTPUT_DIR; for i in $(seq ${count}); do echo x > f$i; done`);
  expect((await many(1000)).files).toHaveLength(1000);
  const over = await many(1001);
  expect(over.status).toMatchObject({ cause: "output_too_large", reason: "files" });
  expect(over.files).toEqual([]);
});

test("what is not returned is not left open either", async () => {
  await produce("cd $HULL_OUTPUT_DIR; touch empty; mkdir d; mkfifo f; printf y > y");
  const fds = `/proc/${runner.process.pid}/fd`;
  const open = async () => {
    const paths = (await readdir(fds)).map((fd) => readlink(`${fds}/${fd}`).catch(() => ""));
    return (await Promise.all(paths)).filter((path) => path.includes("/scratch/"));
  };
  // The removal of the folder opens it too.
  await expect.poll(open).toEqual([]);
  // Node closes what the code has forgotten, and complains.
  expect(runner.log()).not.toContain("garbage collection");
});

test("a failed script's files are not returned", async () => {
  const { status, files: found } = await produce("echo x > $HULL_OUTPUT_FILE; exit 4");
  expect(status.exit_code).toBe(4);
  expect(found).toEqual([]);
});

test("S60: every uploaded file is in INPUT_DIR, the first one is INPUT_FILE", async () => {
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
  const uploads = ['résumé "1".txt', "../../evil.txt", "same.csv", "same.csv", "..", "."];
  const { stdout } = await run(
    runner,
    files,
    {
      argv: [
        "bash",
        "-c",
        'cat "$HULL_INPUT_FILE"; echo; cat; cd "$HULL_INPUT_DIR"; for f in *; do echo "$f=$(cat "$f")"; done',
      ],
      input: { mode: "file", filename: uploads[0] ?? "", mime: "text/plain" },
    },
    {
      files: uploads.map((filename, index) => ({
        filename,
        mime: "text/plain",
        body: encode(`content ${index}`),
      })),
    },
  );
  expect(stdout.toString().split("\n").filter(Boolean).sort()).toEqual(
    [
      "content 0",
      'résumé "1".txt=content 0',
      ".._.._evil.txt=content 1",
      "same.csv=content 2",
      "same-2.csv=content 3",
      "_=content 4",
      "_-2=content 5",
    ]
      .filter((line) => !line.startsWith("..")) // `*` leaves out names that begin with a dot
      .sort(),
  );
});

test("S41: the runner leaves nothing in scratch folders, whatever a process did to them", async () => {
  await produce("mkdir -p $TMPDIR/a/b; echo x > $TMPDIR/a/b/c; chmod 000 $TMPDIR/a/b; chmod 555 $TMPDIR/a");
  const left = async (): Promise<string[]> =>
    (await scratchOf(runner)).filter((name) => !/^\w+(\/(in|out))?$/.test(name));
  await until(left, (names) => names.length === 0);
});
