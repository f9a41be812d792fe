/**
 * The folder of one session. The runner brings it to the state of a manifest before an execution, and compares it
 * afterwards.
 *
 * `#files` is the session's state as this folder knows it: from the manifest, and from later reports. `#seen` has the
 * files on disk with known content, recognised by inode, size and times; any other file must be read.
 */

import { createHash, randomBytes } from "node:crypto";
import {
  type BigIntStats,
  chmodSync,
  chownSync,
  copyFileSync,
  fstatSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { chmod, chown, copyFile, mkdir, open, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { firstOf } from "../src/cut.ts";
import {
  FRAME,
  type FrameType,
  MAX_FRAME_BYTES,
  type WorkspaceChange,
  type WorkspaceManifest,
} from "../src/tool/protocol.ts";
import { pathFault, staysBehind, WORKSPACE_LIMITS } from "../src/tool/workspace-path.ts";
import { isExecutable, markOf, pieces, readOnce } from "./file-content.ts";
import { Tree, unlessDenied } from "./tree.ts";

type ManifestFile = WorkspaceManifest["files"][number];
type Refused = Extract<WorkspaceChange, { kind: "refused" }>;
/** Sends a frame; returns a promise if the caller must wait. */
type SendFrame = (type: FrameType, payload: Uint8Array) => Promise<void> | undefined;

/** The most entries of a folder to examine: the permitted files, and as many folders and other entries. */
const MAX_ENTRIES = 2 * WORKSPACE_LIMITS.files;
/** The unit of `blocks` in the stats of a file. */
const BLOCK_BYTES = 512;
/** File times are coarse: a recently written file may be written again without a visible change. */
const RECENT_MS = 50;
/** The runner sets the times of its files back by this much, so that a later write is visible. */
const BACKDATED_MS = 1000;

/** Whether a file is so short that a thread would take longer to handle it than handling it takes. */
const isShort = (size: number | bigint): boolean => size <= MAX_FRAME_BYTES;

interface Seen {
  sha256: string;
  mark: string;
}
interface Found {
  path: string;
  stats: BigIntStats;
  /** The digest; null: the file must be read. */
  sha256: string | null;
}

export class Workspace {
  /** The folder as the process sees it. */
  readonly dir: string;
  /** The `TMPDIR` of the session's commands: what one writes there, a later one finds. It is next to `root`. */
  readonly temporary: string;
  /** Time of the last use, by the clock of `performance.now`. */
  used = performance.now();
  bytes = 0;
  /** Number of executions that use the folder. */
  users = 0;
  /** Number of requests that work on the folder. */
  busy = 0;
  /** The manifest for which `hold` found that contents are missing. */
  pending: WorkspaceManifest | null = null;
  readonly #incoming: string;
  readonly #tree: Tree;
  readonly #group: number | null;
  readonly #openTree: (path: string) => Promise<void>;
  #manifest: WorkspaceManifest | null = null;
  /** Whether nothing has changed here since the folder was brought to the manifest's state. */
  #exact = false;
  #files = new Map<string, ManifestFile>();
  readonly #seen = new Map<string, Seen>();
  #queue: Promise<unknown> = Promise.resolve();

  /** `group`: the group of processes that run with another uid; `openTree` gives the runner access to what they left. */
  constructor(root: string, group: number | null, openTree: (path: string) => Promise<void>) {
    this.dir = join(root, "files");
    // A short path: those of sockets in it have at most 107 bytes.
    this.temporary = join(dirname(root), randomBytes(4).toString("hex"));
    this.#incoming = join(root, "incoming");
    this.#tree = new Tree(this.dir, group);
    this.#group = group;
    this.#openTree = openTree;
  }

  /** Makes its folders; `root` exists. */
  async prepare(): Promise<void> {
    await mkdir(this.#incoming, { recursive: true, mode: 0o700 });
    for (const folder of [this.dir, this.temporary]) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      if (this.#group === null) continue;
      await chown(folder, -1, this.#group);
      await chmod(folder, 0o2770);
    }
  }

  /** Whether an execution that wants this version, or a later one, can begin. Executions in it share its state. */
  holds(version: number): boolean {
    const has = this.#manifest !== null && this.#manifest.version >= version;
    return has && (this.users > 0 || this.#exact);
  }

  /** The changes of a cancelled execution are not reported; they are undone before the next execution. */
  spoil(): void {
    this.#exact = false;
  }

  /** Brings the folder to the manifest's state, or returns the digests of missing contents. */
  async hold(manifest: WorkspaceManifest): Promise<string[]> {
    return this.#alone(async () => {
      const missing = await this.#apply(manifest);
      this.pending = missing.length === 0 ? null : manifest;
      if (missing.length === 0) await this.#dropIncoming();
      return missing;
    });
  }

  /** Takes a content. Its bytes are counted and hashed as they arrive. @throws RangeError if the content differs */
  async receive(sha256: string, size: number, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const part = this.#temporary();
    const file = await open(part, "wx", 0o600);
    const hash = createHash("sha256");
    let count = 0;
    try {
      for await (const chunk of bytes) {
        count += chunk.length;
        if (count > size) break;
        hash.update(chunk);
        if (isShort(size)) writeFileSync(file.fd, chunk);
        else await file.writeFile(chunk);
      }
      if (count !== size || hash.digest("hex") !== sha256) throw new RangeError(`not the content ${sha256}`);
      renameSync(part, join(this.#incoming, sha256));
    } finally {
      await file.close();
      rmSync(part, { force: true });
    }
  }

  /** Reports changes: deletions first, then written files, then refusals. */
  async report(send: SendFrame): Promise<void> {
    await this.#alone(async () => {
      // While no other execution could look for a name that changes.
      const { files, refused, bytes, isClosed } = await this.#scan(() => this.users <= 1);
      const there = new Set(files.map(({ path }) => path));
      const gone = [...this.#files.keys()].filter((path) => !there.has(path) && !isClosed(path)).sort();
      const report = (change: WorkspaceChange) => send(FRAME.change, Buffer.from(JSON.stringify(change)));
      for (const path of gone) {
        this.#files.delete(path);
        this.#seen.delete(path);
        this.#exact = false;
        await report({ kind: "delete", path });
      }
      for (const file of files)
        if (this.#files.get(file.path)?.size === Number(file.stats.size)) await this.#identify(file);
      const room = new Room();
      const changed = files.filter((file) => !this.#isKnown(file) || !room.take(Number(file.stats.size)));
      // New files take only the room that the session's own leave.
      const isOwn = ({ path }: Found): boolean => this.#files.has(path);
      changed.sort((a, b) => Number(isOwn(b)) - Number(isOwn(a)));
      for (const file of changed) {
        const fault = await this.#reportFile(file, room, report, send);
        if (fault !== null) refused.push({ kind: "refused", path: file.path, reason: fault });
      }
      for (const refusal of refused.slice(0, WORKSPACE_LIMITS.files)) {
        this.#exact = false;
        await report({ ...refusal, path: firstOf(refusal.path, WORKSPACE_LIMITS.path_bytes).toWellFormed() });
      }
      this.bytes = bytes;
    });
  }

  /** Whether the file is as last reported. */
  #isKnown({ path, stats, sha256 }: Found): boolean {
    const file = this.#files.get(path);
    return file !== undefined && file.sha256 === sha256 && file.executable === isExecutable(stats);
  }

  /** Copies a file to a place that no process reaches, and sends the copy. */
  async #reportFile(
    { path, stats }: Found,
    room: Room,
    report: (change: WorkspaceChange) => Promise<void> | undefined,
    send: SendFrame,
  ): Promise<Refused["reason"] | null> {
    if (!room.has(Number(stats.size))) return room.full ? "too_many" : "too_large";
    const handle = await unlessDenied(() => this.#tree.read(path));
    if (handle === "denied") return "special";
    // The file is gone since; the end of the next execution reports that.
    if (handle === null) return null;
    const part = this.#temporary();
    const short: Uint8Array[] = [];
    const copy = isShort(stats.size) ? null : await open(part, "wx+", 0o600);
    const keep = (bytes: Uint8Array) =>
      copy === null ? short.push(Buffer.from(bytes)) : copy.writeFile(bytes);
    try {
      const before = fstatSync(handle.fd, { bigint: true });
      const content = await readOnce(handle, room.left, keep);
      if (content === null) return "too_large";
      const { sha256, size } = content;
      const after = fstatSync(handle.fd, { bigint: true });
      const file = { path, sha256, size, executable: isExecutable(after) };
      const old = this.#files.get(path);
      room.take(size);
      if (markOf(before) === markOf(after)) this.#see(path, sha256, after);
      else this.#seen.delete(path);
      if (old?.sha256 === sha256 && old.executable === file.executable) return null;
      this.#files.set(path, file);
      this.#exact = false;
      await report({ kind: "write", ...file, modified_at: Math.max(0, Math.floor(Number(after.mtimeMs))) });
      for await (const bytes of copy === null ? short : pieces(copy, size))
        await send(FRAME.changeBytes, bytes);
      return null;
    } finally {
      await handle.close();
      if (copy !== null) {
        await copy.close();
        await rm(part, { force: true });
      }
    }
  }

  /**
   * While executions use the folder, this changes only files in their last reported state: what the executions write
   * belongs to them, and is reported later. A manifest older than the one that they share changes nothing.
   */
  async #apply(manifest: WorkspaceManifest): Promise<string[]> {
    const shared = this.users > 0;
    if (this.holds(manifest.version)) return [];
    // No execution may begin in the folder while it changes.
    this.#exact = false;
    const { files, strays, isClosed } = await this.#scan(() => false);
    for (const file of files) await this.#identify(file);
    const wanted = new Map(manifest.files.map((file) => [file.path, file]));
    const there = new Map(files.map((file) => [file.path, file]));
    const mine = (path: string): boolean => {
      const file = there.get(path);
      return !shared || (file === undefined ? !this.#files.has(path) : this.#isKnown(file));
    };
    const write = manifest.files.filter(({ path, sha256, executable }) => {
      const file = there.get(path);
      const same = file !== undefined && file.sha256 === sha256 && isExecutable(file.stats) === executable;
      return !same && mine(path) && !isClosed(path);
    });
    const arrived = new Set(await readdir(this.#incoming));
    const missing = new Set(write.map(({ sha256 }) => sha256).filter((sha256) => !arrived.has(sha256)));
    if (missing.size > 0) return [...missing];
    for (const { path } of files) if (!wanted.has(path) && mine(path)) await this.#remove(path);
    if (!shared && strays) {
      await this.#tree.removeStrays(
        staysBehind,
        (path, stats) => !stats.isFile() || path === null || !wanted.has(path),
      );
    }
    for (const file of write) await this.#write(file);
    this.#files = new Map(wanted);
    this.#manifest = manifest;
    this.#exact = !shared;
    this.bytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
    return [];
  }

  async #remove(path: string): Promise<void> {
    this.#seen.delete(path);
    await this.#tree.remove(path);
  }

  async #write({ path, sha256, size, executable, modified_at }: ManifestFile): Promise<void> {
    const part = this.#temporary();
    const from = join(this.#incoming, sha256);
    if (isShort(size)) copyFileSync(from, part);
    else await copyFile(from, part);
    // No process reaches the copy by this path.
    if (this.#group !== null) chownSync(part, -1, this.#group);
    const latest = Date.now() - BACKDATED_MS;
    const time = Math.min(modified_at ?? latest, latest) / 1000;
    utimesSync(part, time, time);
    chmodSync(part, (this.#group === null ? 0o600 : 0o660) | (executable ? 0o110 : 0));
    const before = statSync(part, { bigint: true });
    const after = await this.#tree.put(path, part);
    this.#seen.delete(path);
    // Not if a process that shares the folder has changed the file meanwhile.
    if (after !== null && after.ino === before.ino && after.mtimeNs === before.mtimeNs)
      this.#see(path, sha256, after);
  }

  /**
   * The files on disk. `strays`: there are entries that cannot be files of a session. `bytes`: what all take, without
   * what stays behind. `isClosed`: a path is below a folder into which the runner cannot look, or which stays there whole.
   * @param composes as in `Tree.entries`
   */
  async #scan(composes: () => boolean): Promise<{
    files: Found[];
    refused: Refused[];
    strays: boolean;
    bytes: number;
    isClosed: (path: string) => boolean;
  }> {
    await this.#openTree(this.dir);
    const files: Found[] = [];
    const refused: Refused[] = [];
    const links = new Map<bigint, number>();
    const closed: string[] = [];
    let blocks = 0n;
    const refuse = (path: string, reason: Refused["reason"]) =>
      refused.push({ kind: "refused", path, reason });
    const keep = (path: string, stats: BigIntStats): void => {
      if (stats.nlink > 1n) links.set(stats.ino, (links.get(stats.ino) ?? 0) + 1);
      const seen = this.#seen.get(path);
      files.push({ path, stats, sha256: seen?.mark === markOf(stats) ? seen.sha256 : null });
    };
    for await (const entry of this.#tree.entries(MAX_ENTRIES, staysBehind, composes)) {
      if (entry === null) {
        refuse("", "too_many");
        // The session's own files are not missing because others come before them.
        const found = new Set(files.map(({ path }) => path));
        for (const path of this.#files.keys()) {
          const stats = found.has(path) ? null : await this.#tree.stats(path);
          if (stats?.isFile()) keep(path, stats);
        }
        break;
      }
      const { path, shown, stats, staysWhole } = entry;
      blocks += stats.blocks;
      if (stats.isDirectory() && path !== null) closed.push(`${path}/`);
      if (staysWhole) continue;
      if (stats.isSymbolicLink()) refuse(shown, "symlink");
      else if (!stats.isFile()) refuse(shown, "special");
      else if (path === null || pathFault(path) !== null) refuse(shown, "bad_path");
      else keep(path, stats);
    }
    // A file with a second name outside the folder may belong to anybody.
    const inside = files.filter(({ path, stats }) => {
      const whole = stats.nlink <= 1n || BigInt(links.get(stats.ino) ?? 0) >= stats.nlink;
      if (!whole) refuse(path, "hard_link");
      return whole;
    });
    inside.sort((a, b) => (a.path < b.path ? -1 : 1));
    return {
      files: inside,
      refused,
      strays: refused.length > 0,
      bytes: Number(blocks) * BLOCK_BYTES,
      isClosed: (path) => closed.some((folder) => path.startsWith(folder)),
    };
  }

  /** Reads a file with unknown content. */
  async #identify(file: Found): Promise<void> {
    if (file.sha256 !== null) return;
    const handle = await unlessDenied(() => this.#tree.read(file.path));
    if (handle === null || handle === "denied") return;
    try {
      const content = await readOnce(handle, WORKSPACE_LIMITS.bytes, () => {});
      const same = markOf(fstatSync(handle.fd, { bigint: true })) === markOf(file.stats);
      if (content === null || !same) return;
      file.sha256 = content.sha256;
      this.#see(file.path, content.sha256, file.stats);
    } finally {
      await handle.close();
    }
  }

  #see(path: string, sha256: string, stats: BigIntStats): void {
    if (Date.now() - Number(stats.mtimeMs) < RECENT_MS) this.#seen.delete(path);
    else this.#seen.set(path, { sha256, mark: markOf(stats) });
  }

  async #dropIncoming(): Promise<void> {
    for (const name of await readdir(this.#incoming)) {
      if (/^[0-9a-f]{64}$/.test(name)) await rm(join(this.#incoming, name), { force: true });
    }
  }

  #temporary(): string {
    return join(this.#incoming, `.${randomBytes(8).toString("hex")}`);
  }

  /** Runs one piece of work at a time. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work);
    this.#queue = turn.catch(() => {});
    return turn;
  }
}

/** The limit of a session's files together. */
class Room {
  bytes = 0;
  #files = 0;

  get left(): number {
    return WORKSPACE_LIMITS.bytes - this.bytes;
  }

  get full(): boolean {
    return this.#files >= WORKSPACE_LIMITS.files;
  }

  has(size: number): boolean {
    return !this.full && size <= this.left;
  }

  take(size: number): boolean {
    if (!this.has(size)) return false;
    this.#files += 1;
    this.bytes += size;
    return true;
  }
}
