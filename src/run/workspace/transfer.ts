/**
 * A session's files on their way to the runner and back. The runner gets what it lacks, streamed from R2. An execution
 * sends its changes back: contents are stored as they arrive, and the session applies all changes together when the
 * execution has ended.
 */

import { streamFrom } from "../../bytes.ts";
import { RunnerProtocolError } from "../../errors/run.ts";
import { Internal } from "../../errors.ts";
import {
  encodeFrame,
  encodeJsonFrame,
  FRAME,
  MAX_FRAME_BYTES,
  type WorkspaceChange,
} from "../../tool/protocol.ts";
import type { WorkspaceSource } from "../../tool/runner-client.ts";
import type { ToolWorkspace } from "../../tool/with-workspace.ts";
import { openObject } from "../large-body.ts";
import type { FileChange, Refusal, WorkspaceAccess } from "./access.ts";
import { ArrivingContent, keyFor } from "./store.ts";
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
  const keys = new Map((await workspace.contentKeys(digests)).map(({ sha256, key }) => [sha256, key]));
  for (const sha256 of digests) {
    const object = await openObject(bucket, keys.get(sha256) ?? "");
    if (object === null) throw new Internal({ cause: `a workspace lacks the content ${sha256}` });
    yield encodeJsonFrame(FRAME.file, { filename: sha256, size: object.size, sha256 });
    for await (const chunk of object.body) {
      for (let at = 0; at < chunk.length; at += MAX_FRAME_BYTES) {
        yield encodeFrame(FRAME.fileBytes, chunk.subarray(at, at + MAX_FRAME_BYTES));
      }
    }
  }
}

/** A change that the session did not apply, and why. */
interface NotKept {
  path: string;
  why: Extract<WorkspaceChange, { kind: "refused" }>["reason"] | Refusal["refused"];
}

/** Contents up to this many bytes are stored side by side, since storing many small ones takes long. */
const SMALL_BYTES = 256 * 1024;
/** How many of them: a Worker may wait for six subrequests at a time. */
const MOST_STORING = 5;

interface Arriving {
  change: Extract<WorkspaceChange, { kind: "write" }>;
  content: ArrivingContent;
}

/**
 * Takes the events `change` and `change_bytes` of one execution. Taking them twice, e.g. after a crash, gives the same
 * files. Without `finish`, nothing changes, and the workspace removes what was stored.
 */
export class IncomingChanges {
  readonly #bucket: R2Bucket;
  readonly #workspace: WorkspaceAccess;
  readonly #changes: FileChange[] = [];
  readonly #notKept: NotKept[] = [];
  #arriving: Arriving | null = null;
  /** Small contents that have arrived and are not stored yet, the first ones first. */
  readonly #storing: Promise<void>[] = [];

  constructor(bucket: R2Bucket, workspace: WorkspaceAccess) {
    this.#bucket = bucket;
    this.#workspace = workspace;
  }

  /** @throws RunnerProtocolError if an earlier content does not match its description */
  async change(change: WorkspaceChange): Promise<void> {
    await this.#arrived();
    const { path } = change;
    if (change.kind === "refused") this.#notKept.push({ path, why: change.reason });
    else if (change.kind === "delete") this.#changes.push({ kind: "delete", path, expected: null });
    else await this.#begin(change);
  }

  async bytes(bytes: Uint8Array): Promise<void> {
    // Otherwise these bytes belong to a content that the workspace already has.
    await this.#arriving?.content.write(bytes);
  }

  /** Applies the changes to the session; returns those that it refuses. @throws RunnerProtocolError */
  async finish(): Promise<NotKept[]> {
    await this.#arrived();
    await Promise.all(this.#storing);
    if (this.#changes.length === 0) return this.#notKept;
    const outcomes = await this.#workspace.changeFiles(this.#changes);
    return [...this.#notKept, ...refusedOf(this.#changes, outcomes)];
  }

  /** Drops the content that was arriving. When this resolves, nothing more is stored. */
  async abandon(): Promise<void> {
    const arriving = this.#arriving;
    this.#arriving = null;
    await arriving?.content.abandon();
    await Promise.allSettled(this.#storing);
  }

  async #begin(change: Arriving["change"]): Promise<void> {
    const known = (await this.#workspace.contentKeys([change.sha256])).length > 0;
    const key = known ? null : await keyFor(this.#workspace);
    if (key !== null)
      this.#arriving = { change, content: new ArrivingContent(this.#bucket, this.#workspace, key) };
    this.#changes.push({ ...change, key, expected: null });
  }

  /** Ends the content that was arriving. If it is small, it may still have to be stored. */
  async #arrived(): Promise<void> {
    const arriving = this.#arriving;
    if (arriving === null) return;
    this.#arriving = null;
    const stored = whole(arriving);
    if (arriving.change.size > SMALL_BYTES) return stored;
    // A failure is thrown by the call that waits for it.
    stored.catch(() => {});
    this.#storing.push(stored);
    if (this.#storing.length >= MOST_STORING) await this.#storing.shift();
  }
}

/** Stores the rest of a content. @throws RunnerProtocolError if it does not match its description */
async function whole({ change, content }: Arriving): Promise<void> {
  const { sha256, size } = await content.end();
  if (sha256 !== change.sha256 || size !== change.size) {
    throw new RunnerProtocolError({ reason: "a changed file is not what it was said to be" });
  }
}
