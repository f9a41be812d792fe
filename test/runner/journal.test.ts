/** The output of processes on the runner's disk: sealed, and whole for the caller that may read it again. */
import { execFileSync } from "node:child_process";
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  rmdir,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { FrameLog } from "../../container/frame-log.ts";
import { Journal } from "../../container/journal.ts";
import { JournalCipher } from "../../container/journal-cipher.ts";
import { FRAME } from "../../src/tool/protocol.ts";
import { replayExecution } from "../../src/tool/runner-client.ts";
import { callScript } from "../support/handler-call.ts";
import {
  type Bundle,
  bundle,
  collect,
  run,
  runOptions,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";

const ENV_CANARY = "canary-env-70d1f2aa";
const CONFIG_CANARY = "canary-config-70d1f2aa";
const CANARIES = [ENV_CANARY, CONFIG_CANARY].flatMap((text) => [text, Buffer.from(text).toString("base64")]);

let files: Bundle;
beforeAll(async () => {
  files = await bundle({
    "tell.py":
      "import os, sys\ndef handler(a):\n    text = os.environ['TOKEN'] + os.environ['HULL_TOOL_CONFIG']\n    print(text, file=sys.stderr)\n    return text * a['times']\n",
  });
});

/** Everything below the runner's journal, as Latin-1. */
async function onDisk(runner: TestRunner): Promise<string> {
  const folder = join(runner.stateDir, "journal");
  const paths = await readdir(folder, { recursive: true });
  const texts = paths.map(async (path) => {
    const file = join(folder, path);
    return (await stat(file)).isFile() ? readFile(file, "latin1") : "";
  });
  return (await Promise.all(texts)).join("");
}

/** The last test restarts it. */
let first: TestRunner;
beforeAll(async () => {
  first = await startRunner({ flags: ["--spawners", "1"] });
});
afterAll(() => first.stop());
/** What is on its disk, once it has so many ends. */
const written = (ends: number): Promise<string> =>
  until(
    () => onDisk(first),
    (text) => endsIn(text) >= ends,
  );
const endsIn = (text: string): number => text.split('"event":"end"').length - 1;

test.each([
  ["short", 1],
  ["long", 20_000],
])("a handler that prints its secrets leaves none in the journal; a %s result", async (_, times) => {
  const before = await onDisk(first);
  const fields = { env: { TOKEN: ENV_CANARY }, config: { key: CONFIG_CANARY } };
  const { value } = await callScript(first, files, "tell.py", { times }, fields);
  // The runner returns it whole: the Worker redacts it.
  expect(String(value)).toContain(ENV_CANARY);
  const disk = await written(endsIn(before) + 1);
  expect(disk.length - before.length).toBeGreaterThan(String(value).length / 2);
  expect(CANARIES.filter((canary) => disk.includes(canary))).toEqual([]);
});

test("after a restart the runner returns it unchanged, with another secret it does not", async () => {
  const before = endsIn(await onDisk(first));
  const print = (size: number) => ({
    argv: ["sh", "-c", `yes '${ENV_CANARY} ' | head -n ${size} | tr -d '\\n'; echo`],
  });
  await run(first, files, { id: "small", ...print(2) });
  await run(first, files, { id: "large", ...print(20_000) });
  await written(before + 2);
  await first.kill("SIGKILL");
  const replay = (runner: TestRunner, id: string) => collect(replayExecution(runner, id, runOptions(files)));
  const same = await startRunner({ from: first });
  expect((await replay(same, "small")).stdout.toString()).toBe(`${`${ENV_CANARY} `.repeat(2)}\n`);
  expect((await replay(same, "large")).stdout.toString()).toBe(`${`${ENV_CANARY} `.repeat(20_000)}\n`);
  await same.kill("SIGKILL");
  const other = await startRunner({ from: { ...first, secret: "another-secret-of-32-characters-0" } });
  for (const id of ["small", "large"])
    await expect(replay(other, id)).rejects.toMatchObject({ code: "execution_lost" });
  await other.stop();
});

test("a process that waits for the disk continues when the disk refuses its output", async () => {
  const cipher = new JournalCipher(() => Buffer.alloc(32));
  const log = new FrameLog({ path: "/dev/full", sealed: cipher.newParams(), cipher });
  const told: string[] = [];
  log.onDrained = () => told.push("goes on");
  log.onFailure = () => told.push("refused");
  while (log.append(FRAME.stdout, new Uint8Array(256 * 1024)));
  await log.settled();
  expect(told).toEqual(["goes on", "refused"]);
  expect(await openFiles()).toContain("/dev/full");
  log.release();
  await expect.poll(openFiles).not.toContain("/dev/full");
});

/** The files that this process has open. */
async function openFiles(): Promise<string[]> {
  const fds = await readdir("/proc/self/fd");
  return Promise.all(fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "closed meanwhile")));
}

/** Sets the longest file that this process may write; a write beyond it is cut, then refused, as on a full disk. */
function limitFiles(bytes: number | "unlimited"): void {
  // The signal of such a write ends a process that ignored it, once a library in it has listened to it for a while.
  if (bytes !== "unlimited") process.on("SIGXFSZ", goOn);
  execFileSync("prlimit", ["--pid", `${process.pid}`, `--fsize=${bytes}:unlimited`]);
  if (bytes === "unlimited") process.off("SIGXFSZ", goOn);
}
const goOn = (): void => {};

test("a record of which the disk takes only a part spoils none after it", async () => {
  const dir = await mkdtemp(join(tmpdir(), "hull-journal-"));
  const cipher = new JournalCipher(() => Buffer.alloc(32));
  const opened = () => Journal.open(dir, { bytes: 1e9, ms: 1e9 }, cipher);
  const journal = await opened();
  try {
    journal.started("before", "spec");
    limitFiles((await stat(join(dir, "1.log"))).size + 10);
    try {
      expect(() => journal.started("refused", "spec")).toThrow("EFBIG");
    } finally {
      limitFiles("unlimited");
    }
    const frames = journal.newFrames();
    frames.append(FRAME.stdout, Buffer.from("whole"));
    frames.finish();
    journal.started("after", "spec");
    journal.ended("after", "spec", frames);
    journal.flush();
    const said = async (of: Journal) => Buffer.from((await of.replay("after"))?.bytes() ?? []).toString();
    expect(await said(journal)).toMatch(/whole$/);
    const next = await opened();
    expect(["before", "refused", "after"].map((id) => next.find(id)?.state)).toEqual([
      "lost",
      undefined,
      "ended",
    ]);
    expect(await said(next)).toMatch(/whole$/);
    next.close();
  } finally {
    journal.close();
    await rm(dir, { recursive: true });
  }
});

test("an execution whose frames the disk refuses is lost, does not run again, and leaves no file", async () => {
  const dir = await mkdtemp(join(tmpdir(), "hull-journal-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const cipher = new JournalCipher(() => Buffer.alloc(32));
  const journal = await Journal.open(dir, { bytes: 1e9, ms: 1e9 }, cipher);
  onTestFinished(() => journal.close());
  for (const bytes of [200_000, 10_000]) {
    const id = `of-${bytes}`;
    const frames = journal.newFrames();
    journal.started(id, "spec");
    limitFiles(5000);
    try {
      frames.append(FRAME.stdout, new Uint8Array(bytes));
      frames.finish();
      await frames.settled();
      journal.ended(id, "spec", frames);
      journal.flush();
    } finally {
      limitFiles("unlimited");
    }
    expect(journal.find(id)).toMatchObject({ state: "lost", spec: "spec" });
    expect(await journal.replay(id)).toBe(null);
  }
  await expect.poll(() => readdir(join(dir, "frames"))).toEqual([]);
});

test("segments follow each other, and go with their last execution", async () => {
  const dir = await mkdtemp(join(tmpdir(), "hull-journal-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const cipher = new JournalCipher(() => Buffer.alloc(32));
  const opened = (ms: number) => Journal.open(dir, { bytes: 1e9, ms }, cipher);
  const journal = await opened(1e9);
  const frames = Buffer.alloc(60_000, "x");
  const end = async (id: string, bytes: Uint8Array): Promise<void> => {
    const log = journal.newFrames();
    log.append(FRAME.stdout, bytes);
    log.finish();
    await log.settled();
    journal.started(id, "spec");
    journal.ended(id, "spec", log);
    journal.flush();
  };
  // It runs through all of them.
  journal.started("runs", "spec");
  // The first ones were there before somebody set back the clock.
  const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 86_400_000);
  await end("e0", frames);
  clock.mockRestore();
  for (let n = 1; n < 300; n += 1) await end(`e${n}`, frames);
  await end("long", Buffer.alloc(64 * 1024, "y"));
  const files = () => readdir(join(dir, "frames"));
  expect(await files()).toHaveLength(1);
  const segments = async () => (await readdir(dir)).filter((name) => name.endsWith(".log")).sort();
  expect(await segments()).toEqual(["1.log", "2.log", "3.log"]);
  journal.close();
  // An earlier runner died before it recorded the end.
  await writeFile(join(dir, "frames", "1-999"), "frames without a record");

  const next = await opened(1e9);
  expect(await files()).toHaveLength(1);
  expect([next.find("runs")?.state, next.find("e0")?.state, next.find("e299")?.state]).toEqual([
    "lost",
    "ended",
    "ended",
  ]);
  expect((await next.replay("e150"))?.bytes().length).toBe(frames.length + 5);
  next.close();

  // All of it has expired.
  const last = await opened(0);
  expect([last.bytes, last.find("e0"), last.find("runs")]).toEqual([0, undefined, undefined]);
  await expect.poll(segments).toEqual(["5.log"]);
  await expect.poll(files).toEqual([]);
  last.close();
});

test("what ran for longer than the journal keeps anything is lost after a restart, and not forgotten", async () => {
  const dir = await mkdtemp(join(tmpdir(), "hull-journal-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const cipher = new JournalCipher(() => Buffer.alloc(32));
  const opened = () => Journal.open(dir, { bytes: 1e9, ms: 600_000 }, cipher);
  const journal = await opened();
  onTestFinished(() => journal.close());
  journal.started("runs", "spec");
  const anHourAgo = Date.now() / 1000 - 3600;
  await utimes(join(dir, "1.log"), anHourAgo, anHourAgo);
  const next = await opened();
  onTestFinished(() => next.close());
  expect(next.lost()).toEqual(["runs"]);
});

test("a journal that gets no further segment goes on with the present one, until it gets one", async () => {
  const dir = await mkdtemp(join(tmpdir(), "hull-journal-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const cipher = new JournalCipher(() => Buffer.alloc(32));
  const journal = await Journal.open(dir, { bytes: 1e9, ms: 1e9 }, cipher);
  onTestFinished(() => journal.close());
  const end = (id: string): void => {
    const log = journal.newFrames();
    log.append(FRAME.stdout, Buffer.alloc(60_000, id));
    log.finish();
    journal.ended(id, "spec", log);
    journal.flush();
  };
  // In the place of the next segment.
  await mkdir(join(dir, "2.log"));
  for (let n = 0; n < 160; n += 1) end(`e${n}`);
  await rmdir(join(dir, "2.log"));
  for (const id of ["last", "next"]) end(id);
  for (const id of ["e0", "e159", "last", "next"])
    expect([id, (await journal.replay(id))?.bytes().subarray(5)]).toEqual([id, Buffer.alloc(60_000, id)]);
  expect((await stat(join(dir, "2.log"))).size).toBeGreaterThan(60_000);
});

test("beyond its limit a journal forgets the oldest execution with its bytes, and no other", async () => {
  const dir = await mkdtemp(join(tmpdir(), "hull-journal-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const cipher = new JournalCipher(() => Buffer.alloc(32));
  const journal = await Journal.open(dir, { bytes: 6e6, ms: 1e9 }, cipher);
  onTestFinished(() => journal.close());
  const end = async (id: string, size: number): Promise<void> => {
    const log = journal.newFrames();
    log.append(FRAME.stdout, Buffer.alloc(size, id));
    log.finish();
    await log.settled();
    journal.ended(id, "spec", log);
    journal.flush();
  };
  const said = async (id: string) => Buffer.from((await journal.replay(id))?.bytes().subarray(5) ?? []);
  const ids: string[] = [];
  // It begins in the first segment, and ends in a later one.
  journal.started("crosses", "spec");
  let oldest = 0;
  for (let n = 0; n < 380; n += 1) {
    const id = n === 145 ? "crosses" : `e${n}`;
    ids.push(id);
    await end(id, 60_000);
    while (journal.find(ids[oldest] ?? "") === undefined) oldest += 1;
    expect([id, (await said(ids[oldest] ?? "")).equals(Buffer.alloc(60_000, ids[oldest]))]).toEqual([
      id,
      true,
    ]);
  }
  expect([oldest > 280, journal.bytes > 5.9e6, journal.bytes <= 6e6]).toEqual([true, true, true]);
  const names = async () => (await readdir(dir)).filter((name) => name.endsWith(".log")).sort();
  await expect.poll(names).toEqual(["3.log"]);
  // Alone longer than the limit: its file goes too.
  await end("long", 7e6);
  expect([journal.find("long"), journal.bytes]).toEqual([undefined, 0]);
  await expect.poll(() => readdir(join(dir, "frames"))).toEqual([]);
});
