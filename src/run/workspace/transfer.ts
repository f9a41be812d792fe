/**
 * A session's files on their way to the runner and back. The runner gets what it lacks. An execution sends its changes
 * back: contents are stored as they arrive, and the session applies all changes together when the execution has ended.
 */

import { askedAgain } from "../../asked-again.ts";
import { Gathered, sha256, streamFrom, toBase64 } from "../../bytes.ts";
import { RunnerProtocolError } from "../../errors/run.ts";
import { type HullError, Internal } from "../../errors.ts";
import {
  encodeFrame,
  encodeJsonFrame,
  FRAME,
  MAX_FRAME_BYTES,
  type WorkspaceChange,
} from "../../tool/protocol.ts";
import type { WorkspaceSource } from "../../tool/runner-client.ts";
import type { ToolWorkspace } from "../../tool/with-workspace.ts";
import { pathFault } from "../../tool/workspace-path.ts";
import {
  allContents,
  BYTES_AT_ONCE,
  type FileChange,
  SMALL_BYTES,
  type SmallContent,
  type WorkspaceAccess,
} from "./access.ts";
import { ArrivingContent, keyFor, openContent } from "./store.ts";
import { refusedOf } from "./write-rules.ts";

/**
 * The session's files for one call of a tool. Ask the runner that `runnerEndpoint` finds for `id`: then all calls of a
 * session share one folder.
 */
export async function toolWorkspace(bucket: R2Bucket, workspace: WorkspaceAccess): Promise<ToolWorkspace> {
  const { id, version } = await workspace.workspaceVersion();
  const source = workspaceSource(bucket, workspace);
  return { id, version, source, changes: new IncomingChanges(bucket, workspace) };
}

/** What the runner receives if its folder is in another state. */
export function workspaceSource(bucket: R2Bucket, workspace: WorkspaceAccess): WorkspaceSource {
  return {
    manifest: async () => JSON.stringify(await workspace.workspaceManifest()),
    contents: (digests) => streamFrom(contentFrames(bucket, workspace, digests)),
  };
}

async function* contentFrames(
  bucket: R2Bucket,
  workspace: WorkspaceAccess,
  digests: readonly string[],
): AsyncGenerator<Uint8Array, void> {
  for await (const { sha256, content } of allContents(workspace, digests)) {
    const opened = content === null ? null : await askedAgain(() => openContent(bucket, content));
    if (opened === null) throw new Internal({ cause: `a workspace lacks the content ${sha256}` });
    yield encodeJsonFrame(FRAME.file, { filename: sha256, size: opened.size, sha256 });
    for await (const chunk of opened.body) {
      for (let at = 0; at < chunk.length; at += MAX_FRAME_BYTES) {
        yield encodeFrame(FRAME.fileBytes, chunk.subarray(at, at + MAX_FRAME_BYTES));
      }
    }
  }
}

/** A change that the session did not apply, and why. */
interface NotKept {
  path: string;
  why: string;
}

type Refused = Extract<WorkspaceChange, { kind: "refused" }>;

/** Says what is wrong with a path: it may look like one that is fine, as names of macOS in Unicode's form NFD do. */
function whyRefused({ path, reason }: Refused): string {
  if (reason !== "bad_path") return reason;
  return `bad_path: it ${pathFault(path) ?? "is not UTF-8"}; rename it`;
}

/** A change as the runner reports it. `executable`: `null`: the file keeps its flag. */
type Incoming =
  | (Omit<IncomingWrite, "executable"> & { executable: boolean | null })
  | Exclude<WorkspaceChange, IncomingWrite>;
type IncomingWrite = Extract<WorkspaceChange, { kind: "write" }>;
type Write = Extract<FileChange, { kind: "write" }>;

/** A small content that is not stored yet. */
interface Small {
  write: Write;
  content: Gathered;
}

/**
 * Takes the events `change` and `change_bytes` of one execution. Taking them twice, e.g. after a crash, gives the same
 * files. Without `finish`, nothing changes, and the workspace removes what was stored. Small contents are stored many at a
 * time.
 */
export class IncomingChanges {
  readonly #bucket: R2Bucket;
  readonly #workspace: WorkspaceAccess;
  readonly #changes: FileChange[] = [];
  readonly #notKept: NotKept[] = [];
  /** The write whose bytes come next, and where they go; `null`: nowhere. */
  #arriving: { write: Write; content: ArrivingContent | Gathered } | null = null;
  readonly #small: Small[] = [];
  /** Bytes of the small contents. */
  #held = 0;

  constructor(bucket: R2Bucket, workspace: WorkspaceAccess) {
    this.#bucket = bucket;
    this.#workspace = workspace;
  }

  /** @throws RunnerProtocolError if an earlier content does not match its description */
  async change(change: Incoming): Promise<void> {
    await this.#arrived();
    const { path } = change;
    if (change.kind === "refused") this.#notKept.push({ path, why: whyRefused(change) });
    else if (change.kind === "delete") this.#changes.push({ kind: "delete", path, expected: null });
    else await this.#begin({ ...change, key: null, expected: null });
  }

  /** @throws RunnerProtocolError if there are more than the description of the content says */
  async bytes(bytes: Uint8Array): Promise<void> {
    // Otherwise these bytes belong to a content that the workspace already has.
    if (this.#arriving === null) return;
    const { write, content } = this.#arriving;
    if (content instanceof ArrivingContent) return content.write(bytes);
    content.push(bytes);
    this.#held += bytes.length;
    if (content.bytes > write.size) throw isAnother();
  }

  /** Applies the changes to the session; returns those that it refuses. @throws RunnerProtocolError */
  async finish(): Promise<NotKept[]> {
    await this.#arrived();
    await this.#store();
    if (this.#changes.length === 0) return this.#notKept;
    const outcomes = await this.#workspace.changeFiles(this.#changes);
    return [...this.#notKept, ...refusedOf(this.#changes, outcomes)];
  }

  /** Drops the content that was arriving. When this resolves, nothing more is stored. */
  async abandon(): Promise<void> {
    const arriving = this.#arriving;
    this.#arriving = null;
    if (arriving?.content instanceof ArrivingContent) await arriving.content.abandon();
  }

  async #begin(write: Write): Promise<void> {
    this.#changes.push(write);
    if (write.size <= SMALL_BYTES) {
      const small = { write, content: new Gathered() };
      this.#small.push(small);
      this.#arriving = small;
      return;
    }
    const [known] = await this.#workspace.contents([write.sha256]);
    if (known !== null) return;
    write.key = await keyFor(this.#workspace);
    this.#arriving = { write, content: new ArrivingContent(this.#bucket, this.#workspace, write.key) };
  }

  /** Ends the content that was arriving. */
  async #arrived(): Promise<void> {
    const arriving = this.#arriving;
    this.#arriving = null;
    if (arriving?.content instanceof ArrivingContent) {
      const { sha256, size } = await arriving.content.end();
      if (sha256 !== arriving.write.sha256 || size !== arriving.write.size) throw isAnother();
    }
    if (this.#held >= BYTES_AT_ONCE) await this.#store();
  }

  /** Stores the small contents that have arrived. */
  async #store(): Promise<void> {
    const small = this.#small.splice(0);
    this.#held = 0;
    if (small.length === 0) return;
    const contents = await Promise.all(small.map(wholeOf));
    const keys = await this.#workspace.storeSmall(contents);
    for (const [index, { write }] of small.entries()) write.key = keys[index] ?? null;
  }
}

/** @throws RunnerProtocolError if the content does not match its description */
async function wholeOf({ write, content }: Small): Promise<SmallContent> {
  const whole = content.take();
  if ((await sha256(whole)) !== write.sha256) throw isAnother();
  return { sha256: write.sha256, base64: toBase64(whole) };
}

const isAnother = (): HullError =>
  new RunnerProtocolError({ reason: "a changed file is not what it was said to be" });
