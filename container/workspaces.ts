/**
 * Sessions' folders by id. The runner makes a folder when an execution needs it, shares it among the session's
 * executions, and removes it after a long time without use.
 */
import { randomUUID } from "node:crypto";
import { statfsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { bytesWithin } from "../src/bytes.ts";
import {
  FRAME,
  FrameDecoder,
  fileFrame,
  type WorkspaceManifest,
  workspaceManifest,
} from "../src/tool/protocol.ts";
import { foldersOf, WORKSPACE_LIMITS } from "../src/tool/workspace-path.ts";
import { log, reasonOf } from "./log.ts";
import { Refused } from "./refusal.ts";
import { makeFolder } from "./scratch.ts";
import { removeTree } from "./tree.ts";
import { Workspace } from "./workspace.ts";

/** A manifest with the longest paths. */
const MAX_MANIFEST_BYTES = 16 * 1024 * 1024;
/** A folder is removed after this long without an execution, even if there is room. */
const IDLE_MS = 1_800_000;
const EXPIRY_INTERVAL_MS = 60_000;
/** How long the end of the runner waits for the removal of its folders. */
const CLOSE_MS = 1000;
/** While the disk has less room, unused folders go too: files that stay behind (`staysBehind`) are not counted. */
const LEAST_FREE_BYTES = 512 * 1024 * 1024;

export class Workspaces {
  readonly #root: string;
  readonly #limit: number;
  readonly #group: number | null;
  readonly #openTree: (path: string) => Promise<void>;
  readonly #workspaces = new Map<string, Promise<Workspace>>();
  /** The folders that are ready, by id. */
  readonly #ready = new Map<string, Workspace>();
  readonly #removals = new Map<string, Promise<void>>();
  #expiry: NodeJS.Timeout | undefined;

  /** `limit`: the most bytes of all folders before unused ones are removed; `group`, `openTree`: as in `ScratchRoot`. */
  constructor(root: string, limit: number, group: number | null, openTree: (path: string) => Promise<void>) {
    this.#root = root;
    this.#limit = limit;
    this.#group = group;
    this.#openTree = openTree;
  }

  /** Makes the root. What an earlier runner left is removed meanwhile: sessions' files are stored elsewhere. */
  async prepare(): Promise<void> {
    const old = `${this.#root}.old`;
    await makeFolder(old, this.#group);
    await rename(this.#root, join(old, randomUUID())).catch(() => {});
    void this.#removeAll(old);
    await makeFolder(this.#root, this.#group);
    this.#expiry = setInterval(() => this.#expire(), EXPIRY_INTERVAL_MS).unref();
  }

  get count(): number {
    return this.#ready.size;
  }

  get bytes(): number {
    let bytes = 0;
    for (const workspace of this.#ready.values()) bytes += workspace.bytes;
    return bytes;
  }

  /** A session's folder, kept until `release`; null if the folder does not have this version. */
  use(id: string, version: number): Workspace | null {
    const workspace = this.#ready.get(id);
    if (workspace === undefined || !workspace.holds(version)) return null;
    workspace.users += 1;
    return workspace;
  }

  release(workspace: Workspace): void {
    workspace.users -= 1;
    workspace.used = performance.now();
  }

  /**
   * Brings a folder to a manifest's state; returns the digests of missing contents.
   * @throws Refused 422 `workspace_invalid`
   */
  async receiveManifest(id: string, body: Readable): Promise<string[]> {
    const manifest = await readManifest(id, body);
    return this.#at(id, (workspace) => workspace.hold(manifest));
  }

  /**
   * Takes missing contents, and brings the folder to the last manifest's state.
   * @throws Refused 422 `workspace_invalid`, 424 `workspace_missing` if more is needed
   */
  async receiveContents(id: string, body: Readable): Promise<void> {
    await this.#at(id, async (workspace) => {
      const { pending } = workspace;
      const sizes = new Map(pending?.files.map(({ sha256, size }) => [sha256, size]));
      for await (const { sha256, size, bytes } of contentsOf(body)) {
        // Calls of one session that begin together upload the same contents; the first one leaves nothing to ask for.
        if (!sizes.has(sha256)) {
          for await (const _ of bytes);
          continue;
        }
        if (sizes.get(sha256) !== size) throw invalid(`The content ${sha256} has another size.`);
        await workspace.receive(sha256, size, bytes).catch((error: unknown) => {
          throw error instanceof RangeError ? invalid(`A frame holds ${error.message}.`) : error;
        });
      }
      const missing = pending === null ? [] : await workspace.hold(pending);
      if (missing.length > 0) throw new Refused("workspace_missing", "More contents are missing.");
    });
  }

  /** Removes what it can within a short time. The next runner removes the rest. */
  async close(): Promise<void> {
    clearInterval(this.#expiry);
    const removed = Promise.all([...this.#removals.values(), this.#removeAll(this.#root)]);
    await Promise.race([removed, setTimeout(CLOSE_MS, undefined, { ref: false })]);
  }

  async #at<T>(id: string, work: (workspace: Workspace) => Promise<T>): Promise<T> {
    await this.#removals.get(id);
    let made = this.#workspaces.get(id);
    if (made === undefined) {
      made = this.#make(id);
      this.#workspaces.set(id, made);
      made.catch(() => this.#workspaces.delete(id));
    }
    const workspace = await made;
    workspace.busy += 1;
    try {
      return await work(workspace);
    } finally {
      workspace.busy -= 1;
      workspace.used = performance.now();
      this.#expire();
    }
  }

  async #make(id: string): Promise<Workspace> {
    const root = join(this.#root, id);
    await makeFolder(root, this.#group);
    const workspace = new Workspace(root, this.#group, this.#openTree);
    await workspace.prepare();
    this.#ready.set(id, workspace);
    return workspace;
  }

  /**
   * Removes folders that were unused too long, and those unused for longest while all take too much or the disk is
   * nearly full; keeps one that was just used.
   */
  #expire(): void {
    const now = performance.now();
    const resting = [...this.#ready]
      .filter(([, { users, busy }]) => users === 0 && busy === 0)
      .sort(([, a], [, b]) => a.used - b.used);
    const { bavail, bsize } = statfsSync(this.#root);
    let isFull = bavail * bsize < LEAST_FREE_BYTES;
    for (const [id, workspace] of resting.slice(0, -1)) {
      if (now - workspace.used <= IDLE_MS && this.bytes <= this.#limit && !isFull) continue;
      this.#drop(id, workspace);
      // Its room is free only when it is removed.
      isFull = false;
    }
    const [last] = resting.slice(-1);
    if (last !== undefined && now - last[1].used > IDLE_MS) this.#drop(...last);
  }

  #drop(id: string, workspace: Workspace): void {
    this.#ready.delete(id);
    this.#workspaces.delete(id);
    const folders = [join(this.#root, id), workspace.temporary].map((path) => this.#removeAll(path));
    const removal = Promise.all(folders).then(() => {
      this.#removals.delete(id);
    });
    this.#removals.set(id, removal);
  }

  /** What another user keeps from the runner stays. */
  async #removeAll(path: string): Promise<void> {
    try {
      if (this.#group !== null) await this.#openTree(path);
      await removeTree(path);
    } catch (error) {
      log("error", "workspace_not_removed", { reason: reasonOf(error) });
    }
  }
}

const invalid = (detail: string): Refused => new Refused("workspace_invalid", detail);

async function readManifest(id: string, body: Readable): Promise<WorkspaceManifest> {
  const whole = await bytesWithin(body, MAX_MANIFEST_BYTES);
  if (whole === null) throw invalid("The manifest is too long.");
  const { success, data } = workspaceManifest.safeParse(parsed(whole));
  if (!success || data.id !== id) throw invalid("The manifest is not valid.");
  const paths = new Set(data.files.map(({ path }) => path));
  const nested = data.files.some(({ path }) => foldersOf(path).some((folder) => paths.has(folder)));
  if (paths.size < data.files.length || nested)
    throw invalid("A path appears twice, or is a file and a folder.");
  const bytes = data.files.reduce((sum, { size }) => sum + size, 0);
  if (bytes > WORKSPACE_LIMITS.bytes) throw invalid(`The files have ${bytes} bytes together.`);
  return data;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return undefined;
  }
}

interface Content {
  sha256: string;
  size: number;
  /** Read it before requesting the next one. */
  bytes: AsyncIterable<Uint8Array>;
}

/** The contents of a body of frames. */
async function* contentsOf(body: Readable): AsyncGenerator<Content, void> {
  const frames = framesOf(body);
  for (let next = await frames.next(); !next.done; ) {
    const header = next.value.type === FRAME.file ? fileFrame.safeParse(parsed(next.value.payload)) : null;
    if (!header?.success) throw invalid("A frame of another type comes where a content should begin.");
    const { sha256, size } = header.data;
    const bytes = async function* (): AsyncGenerator<Uint8Array, void> {
      for (
        next = await frames.next();
        !next.done && next.value.type === FRAME.fileBytes;
        next = await frames.next()
      ) {
        yield next.value.payload;
      }
    };
    yield { sha256, size, bytes: bytes() };
  }
}

async function* framesOf(body: Readable) {
  const decoder = new FrameDecoder();
  for await (const chunk of body) {
    try {
      yield* decoder.push(chunk);
    } catch {
      throw invalid("The frames cannot be read.");
    }
  }
  if (decoder.pending) throw invalid("The last frame is cut.");
}
