/**
 * A record of events on local disk: that an execution began, and later all its frames. It answers a caller that comes
 * back, and after a restart it prevents a second run of an execution.
 *
 * `<dir>/<n>.log` are segments of records, each a line of JSON, an `end` record followed by `bytes` bytes of frames.
 * Longer frame logs are files of their own in `<dir>/frames`. Environment values are never written, and frames are
 * encrypted (journal-cipher.ts). A record is one write without fsync: the journal guards against the death of the runner, not
 * of the machine.
 */
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { mkdir, open, readdir, readFile, stat, unlink } from "node:fs/promises";
import { basename, join } from "node:path";
import * as z from "zod/mini";
import { type FrameFile, FrameLog } from "./frame-log.ts";
import type { EncryptionParams, JournalCipher } from "./journal-cipher.ts";
import { codeOf, log, reasonOf } from "./log.ts";

const SEGMENT_BYTES = 8 * 1024 * 1024;
/** Ended executions are recorded together after this time, so that their answers do not wait for the disk. */
const FLUSH_MS = 20;
/** Bytes that an entry counts in addition to its frames; this also limits the index in memory. */
const ENTRY_BYTES = 4096;
const EXPIRY_INTERVAL_MS = 10_000;

const record = z.discriminatedUnion("event", [
  z.object({ event: z.literal("start"), id: z.string(), spec: z.string() }),
  z.object({
    event: z.literal("end"),
    id: z.string(),
    spec: z.string(),
    at: z.number(),
    bytes: z.int(),
    file: z.nullable(z.string()),
    /** How the frames are encrypted; absent: they are not, as in earlier versions. */
    sealed: z.optional(z.object({ nonce: z.string(), key: z.string() })),
  }),
]);
type JournalRecord = z.infer<typeof record>;

interface Recorded {
  /** SHA-256 of the spec JSON. */
  spec: string;
  /** By `performance.now`, which nobody sets back. */
  at: number;
  cost: number;
  segment: number;
}
interface Ended extends Recorded {
  state: "ended";
  /** Where the frames are: still in memory, in the segment, or in their own file. */
  frames:
    | FrameLog
    | (({ offset: number; bytes: number } | { file: string }) & { sealed: EncryptionParams | null });
}
interface Unfinished extends Recorded {
  state: "running" | "lost";
}
type Entry = Ended | Unfinished;

interface JournalLimits {
  bytes: number;
  ms: number;
}

export class Journal {
  readonly #dir: string;
  readonly #limits: JournalLimits;
  readonly #cipher: JournalCipher;
  readonly #entries = new Map<string, Entry>();
  /** Entries per segment; a segment without entries is deleted. */
  readonly #live = new Map<number, number>();
  #bytes = 0;
  #segment = 0;
  #segmentSize = 0;
  #fd = -1;
  #frameFiles = 0;
  #pending: { id: string; entry: Ended; frames: FrameLog }[] = [];
  #flushTimer: NodeJS.Timeout | undefined;
  readonly #expiry: NodeJS.Timeout;

  private constructor(dir: string, limits: JournalLimits, atRest: JournalCipher) {
    this.#dir = dir;
    this.#limits = limits;
    this.#cipher = atRest;
    this.#expiry = setInterval(() => this.#expire(), EXPIRY_INTERVAL_MS).unref();
  }

  /** Opens the journal in `dir` and reads what an earlier runner wrote; executions that it did not finish are lost. */
  static async open(dir: string, limits: JournalLimits, atRest: JournalCipher): Promise<Journal> {
    await mkdir(join(dir, "frames"), { recursive: true, mode: 0o700 });
    const journal = new Journal(dir, limits, atRest);
    const numbers = (await readdir(dir))
      .map((name) => Number(/^(\d+)\.log$/.exec(name)?.[1] ?? Number.NaN))
      .filter((number) => Number.isInteger(number))
      .sort((a, b) => a - b);
    for (const number of numbers) await journal.#load(number);
    await journal.#removeStrays(numbers);
    journal.#openSegment((numbers.at(-1) ?? 0) + 1);
    journal.#expire();
    return journal;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The digest of an id's spec, and whether the execution is running, ended or lost. */
  find(id: string): { state: Entry["state"]; spec: string } | undefined {
    return this.#entries.get(id);
  }

  /** Ids whose frames nobody can have: an earlier runner did not finish them, or the disk refused them. */
  lost(): string[] {
    return [...this.#entries].filter(([, entry]) => entry.state === "lost").map(([id]) => id);
  }

  /** A file for the frames of a new execution. */
  newFrames(): FrameLog {
    this.#frameFiles += 1;
    // No earlier runner used this name: every runner begins with a new segment.
    return new FrameLog(this.#file(`${this.#segment}-${this.#frameFiles}`, this.#cipher.newParams()));
  }

  #file(name: string, sealed: EncryptionParams | null): FrameFile {
    return { path: join(this.#dir, "frames", name), sealed, cipher: this.#cipher };
  }

  /**
   * Records that an execution begins. The record is on disk before this returns, so the execution never begins again.
   */
  started(id: string, spec: string): void {
    this.#append({ event: "start", id, spec }, null);
    this.#put(id, {
      state: "running",
      spec,
      at: performance.now(),
      cost: ENTRY_BYTES,
      segment: this.#segment,
    });
  }

  /**
   * Records that an execution ended with these frames, which must be complete and settled. It is written soon, or by
   * `flush`.
   */
  ended(id: string, spec: string, frames: FrameLog): void {
    const cost = ENTRY_BYTES + frames.size;
    const segment = this.#entries.get(id)?.segment ?? this.#segment;
    const entry: Ended = { state: "ended", spec, at: performance.now(), cost, segment, frames };
    this.#put(id, entry);
    this.#pending.push({ id, entry, frames });
    this.#flushTimer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  /** The frames of an ended execution; the caller must release them. */
  async replay(id: string): Promise<FrameLog | null> {
    const entry = this.#entries.get(id);
    if (entry?.state !== "ended") return null;
    if (entry.frames instanceof FrameLog) {
      entry.frames.retain();
      return entry.frames;
    }
    const { sealed } = entry.frames;
    // If another secret encrypted them, they cannot be read.
    if (sealed !== null && !this.#cipher.canDecrypt(sealed)) return null;
    if ("file" in entry.frames) {
      return FrameLog.fromFile(this.#file(entry.frames.file, sealed)).catch((error: unknown) => {
        // An earlier runner removed the file, but not yet the segment with its record.
        if (codeOf(error) === "ENOENT") return null;
        throw error;
      });
    }
    const file = await open(this.#segmentPath(entry.segment), "r");
    try {
      const bytes = Buffer.alloc(entry.frames.bytes);
      await file.read(bytes, 0, bytes.length, entry.frames.offset);
      return FrameLog.fromBytes(sealed === null ? bytes : this.#cipher.transform(sealed, 0, bytes));
    } finally {
      await file.close();
    }
  }

  /** Writes everything pending. */
  flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    for (const { id, entry, frames } of this.#pending.splice(0)) {
      const sealed = frames.file?.sealed ?? this.#cipher.newParams();
      const file = frames.spilled && frames.file !== null ? basename(frames.file.path) : null;
      const bytes = file === null ? this.#cipher.transform(sealed, 0, frames.bytes()) : null;
      const written: JournalRecord = {
        event: "end",
        id,
        spec: entry.spec,
        at: Math.round(Date.now() - (performance.now() - entry.at)),
        bytes: bytes?.length ?? 0,
        file,
        sealed,
      };
      const offset = frames.failed ? null : this.#tryAppend(written, bytes);
      frames.release();
      if (this.#entries.get(id) !== entry) continue;
      if (offset === null) {
        const { spec, at, segment } = entry;
        this.#put(id, { state: "lost", spec, at, cost: ENTRY_BYTES, segment });
        void frames.discard();
        continue;
      }
      this.#move(entry, this.#segment);
      entry.frames = { ...(file === null ? { offset, bytes: bytes?.length ?? 0 } : { file }), sealed };
    }
    try {
      if (this.#segmentSize > SEGMENT_BYTES) this.#openSegment(this.#segment + 1);
    } catch (error) {
      // Without a descriptor or room for the next segment, the present one grows.
      log("error", "journal_write_failed", { reason: reasonOf(error) });
    }
  }

  close(): void {
    this.flush();
    clearInterval(this.#expiry);
    closeSync(this.#fd);
  }

  /** Appends a record; returns the position of its frame bytes. If the disk refuses a part, no part of it stays. */
  #append(value: JournalRecord, frames: Uint8Array | null): number {
    const line = Buffer.from(`${JSON.stringify(value)}\n`);
    const offset = this.#segmentSize + line.length;
    const bytes = frames === null ? line : Buffer.concat([line, frames]);
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
    } catch (error) {
      ftruncateSync(this.#fd, this.#segmentSize);
      throw error;
    }
    this.#segmentSize += bytes.length;
    return offset;
  }

  /** If the disk is full, ended executions cannot be replayed and count as lost, but the runner continues. */
  #tryAppend(value: JournalRecord, frames: Uint8Array | null): number | null {
    try {
      return this.#append(value, frames);
    } catch (error) {
      log("error", "journal_write_failed", { id: value.id, reason: reasonOf(error) });
      return null;
    }
  }

  /** Moves an entry to the end of the order of expiry. */
  #put(id: string, entry: Entry): void {
    this.#live.set(entry.segment, (this.#live.get(entry.segment) ?? 0) + 1);
    const old = this.#entries.get(id);
    if (old !== undefined) this.#drop(id, old);
    this.#entries.set(id, entry);
    this.#bytes += entry.cost;
    if (this.#bytes > this.#limits.bytes) this.#expire();
  }

  #move(entry: Entry, segment: number): void {
    if (entry.segment === segment) return;
    const old = entry.segment;
    this.#live.set(segment, (this.#live.get(segment) ?? 0) + 1);
    entry.segment = segment;
    this.#leave(old);
  }

  #drop(id: string, entry: Entry): void {
    this.#entries.delete(id);
    this.#bytes -= entry.cost;
    this.#leave(entry.segment);
  }

  #leave(segment: number): void {
    const left = (this.#live.get(segment) ?? 1) - 1;
    this.#live.set(segment, left);
    if (left === 0 && segment !== this.#segment) this.#removeSegment(segment);
  }

  #removeSegment(segment: number): void {
    this.#live.delete(segment);
    void unlink(this.#segmentPath(segment)).catch(() => {});
  }

  /** Removes expired entries, and the oldest ones while there are too many. Running executions stay. */
  #expire(): void {
    const oldest = performance.now() - this.#limits.ms;
    for (const [id, entry] of this.#entries) {
      if (entry.state === "running") continue;
      if (entry.at > oldest && this.#bytes <= this.#limits.bytes) break;
      this.#drop(id, entry);
      if (entry.state !== "ended") continue;
      if (entry.frames instanceof FrameLog) void entry.frames.discard();
      else if ("file" in entry.frames) {
        void unlink(join(this.#dir, "frames", entry.frames.file)).catch(() => {});
      }
    }
  }

  #segmentPath(number: number): string {
    return join(this.#dir, `${number}.log`);
  }

  #openSegment(number: number): void {
    const fd = openSync(this.#segmentPath(number), "a", 0o600);
    if (this.#fd >= 0) closeSync(this.#fd);
    const previous = this.#segment;
    this.#fd = fd;
    this.#segment = number;
    this.#segmentSize = 0;
    if (previous > 0 && (this.#live.get(previous) ?? 0) === 0) this.#removeSegment(previous);
  }

  async #load(number: number): Promise<void> {
    const bytes = await readFile(this.#segmentPath(number));
    for (let at = 0; at < bytes.length; ) {
      const newline = bytes.indexOf(10, at);
      const parsed = newline < 0 ? null : parseRecord(bytes.toString("utf8", at, newline));
      const end = newline + 1 + (parsed?.event === "end" ? parsed.bytes : 0);
      if (parsed === null || end > bytes.length) {
        log("warn", "journal_cut", { segment: number, offset: at });
        return;
      }
      const common = { spec: parsed.spec, segment: number };
      if (parsed.event === "start") {
        // Nobody knows when it ended: at the latest now.
        this.#put(parsed.id, { ...common, state: "lost", at: performance.now(), cost: ENTRY_BYTES });
      } else {
        const cost = ENTRY_BYTES + parsed.bytes;
        const { bytes, file, sealed = null } = parsed;
        const frames = { ...(file === null ? { offset: newline + 1, bytes } : { file }), sealed };
        this.#put(parsed.id, { ...common, state: "ended", at: agoBy(parsed.at), cost, frames });
      }
      at = end;
    }
  }

  /** Removes frame files without an entry and empty segments, and counts the remaining files. */
  async #removeStrays(segments: number[]): Promise<void> {
    const named = new Map<string, Ended>();
    for (const entry of this.#entries.values()) {
      if (entry.state === "ended" && "file" in entry.frames && typeof entry.frames.file === "string")
        named.set(entry.frames.file, entry);
    }
    for (const name of await readdir(join(this.#dir, "frames"))) {
      const path = join(this.#dir, "frames", name);
      const entry = named.get(name);
      if (entry === undefined) {
        await unlink(path);
        continue;
      }
      const { size } = await stat(path);
      entry.cost += size;
      this.#bytes += size;
    }
    for (const number of segments) {
      if ((this.#live.get(number) ?? 0) === 0) await unlink(this.#segmentPath(number)).catch(() => {});
    }
  }
}

function parseRecord(line: string): JournalRecord | null {
  try {
    return record.parse(JSON.parse(line));
  } catch (error) {
    log("warn", "journal_record_unreadable", { reason: reasonOf(error) });
    return null;
  }
}

/** A time in Unix ms by `performance.now`. Somebody has set back the clock if it is in the future: then it is now. */
const agoBy = (time: number): number => performance.now() - Math.max(0, Date.now() - time);
