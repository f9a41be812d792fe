/**
 * The files of a run without a session: the manifest and small contents are in memory, other contents in R2. All are
 * gone when the run ends. If its process dies, the tenant's file index removes the rest.
 */

import { sha256 as digestOf, fromBase64 } from "../../bytes.ts";
import { foldersOf, WORKSPACE_LIMITS } from "../../tool/workspace-path.ts";
import type { RunContext } from "../context.ts";
import { dropInput, keepTemporary } from "../files.ts";
import { HELD_BYTES } from "../large-body.ts";
import {
  type FileChange,
  type FileIntent,
  firstContents,
  type Manifest,
  type Outcome,
  type Refusal,
  type SmallContent,
  type StoredContent,
  type WorkspaceAccess,
  type WorkspaceFile,
} from "./access.ts";
import { keyFor, storeContent } from "./store.ts";
import { madeBy, writeRefusal } from "./write-rules.ts";

export class TemporaryWorkspace implements WorkspaceAccess {
  readonly #context: RunContext;
  readonly #run: string;
  readonly #files = new Map<string, WorkspaceFile>();
  /** How many files are below each folder. */
  readonly #folders = new Map<string, number>();
  /** Size of all files together. */
  #bytes = 0;
  /** Keys of contents by digest: of `#small`, else of R2. */
  readonly #contents = new Map<string, string>();
  /** Small contents, in Base64. */
  readonly #small = new Map<string, string>();
  /** Their length together. */
  #held = 0;
  readonly #keys: string[] = [];
  #id: string | null = null;
  #version = 0;

  /** @param run names it: the same run has the same folder in the runner */
  constructor(context: RunContext, run: string) {
    this.#context = context;
    this.#run = run;
  }

  async listFiles(after: string | null, limit: number): Promise<WorkspaceFile[]> {
    return this.#sorted()
      .filter(({ path }) => after === null || path > after)
      .slice(0, limit);
  }

  async findFile(path: string): Promise<(WorkspaceFile & StoredContent) | null> {
    const file = this.#files.get(path);
    const content = file === undefined ? null : this.#find(file.sha256);
    return file === undefined || content === null ? null : { ...file, ...content };
  }

  async beginFile(intent: FileIntent | null): Promise<{ key: string } | Refusal> {
    const refusal = intent === null ? null : this.#refusal(intent);
    if (refusal !== null) return refusal;
    const key = `temporary/${this.#context.tenant}/${crypto.randomUUID()}`;
    this.#keys.push(key);
    await keepTemporary(this.#context, key, null);
    return { key };
  }

  async storeSmall(contents: readonly SmallContent[]): Promise<(string | null)[]> {
    // When this fails, nothing may be on its way to R2: `destroy` removes what is there.
    const stored = await Promise.allSettled(contents.map((content) => this.#store(content)));
    return stored.map((one) => {
      if (one.status === "rejected") throw one.reason;
      return one.value;
    });
  }

  async noteUpload(key: string, uploadId: string): Promise<void> {
    await keepTemporary(this.#context, key, uploadId);
  }

  async changeFiles(changes: readonly FileChange[]): Promise<Outcome[]> {
    return changes.map((change) => this.#make(change));
  }

  async workspaceVersion(): Promise<Pick<Manifest, "id" | "version">> {
    this.#id ??= (await digestOf(`${this.#context.tenant} ${this.#run}`)).slice(0, 32);
    return { id: this.#id, version: this.#version };
  }

  async workspaceManifest(): Promise<Manifest> {
    const files = this.#sorted().map(({ version: _, ...file }) => file);
    return { ...(await this.workspaceVersion()), files };
  }

  async contents(digests: readonly string[]): Promise<(StoredContent | null)[]> {
    return firstContents(digests, (sha256) => this.#find(sha256));
  }

  /** Removes its contents from R2. */
  async destroy(): Promise<void> {
    if (this.#keys.length === 0) return;
    await dropInput(this.#context, this.#keys.splice(0));
  }

  #sorted(): WorkspaceFile[] {
    return [...this.#files.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  #find(sha256: string): StoredContent | null {
    const key = this.#contents.get(sha256);
    if (key === undefined) return null;
    const base64 = this.#small.get(key);
    return base64 === undefined ? { key } : { key, base64 };
  }

  /** Keeps a small content in memory while there is room. */
  async #store({ sha256, base64 }: SmallContent): Promise<string | null> {
    if (this.#contents.has(sha256)) return null;
    if (this.#held + base64.length > HELD_BYTES) {
      const key = await keyFor(this);
      await storeContent(this.#context.env.FILES, this, key, [fromBase64(base64)]);
      return key;
    }
    const key = crypto.randomUUID();
    this.#held += base64.length;
    this.#small.set(key, base64);
    return key;
  }

  #make(change: FileChange): Outcome {
    const { path } = change;
    if (change.kind === "write") {
      const { key, sha256 } = change;
      const refusal = this.#refusal(change);
      if (refusal !== null) return refusal;
      if (!this.#contents.has(sha256)) {
        if (key === null) return { refused: "content" };
        this.#contents.set(sha256, key);
      }
    }
    const old = this.#files.get(path) ?? null;
    const { outcome, file } = madeBy(change, old, { version: this.#version + 1, now: Date.now() });
    if (file === undefined) return outcome;
    this.#version += 1;
    if (file === null) this.#files.delete(path);
    else this.#files.set(path, file);
    this.#bytes += (file?.size ?? 0) - (old?.size ?? 0);
    const more = Number(file !== null) - Number(old !== null);
    if (more !== 0)
      for (const folder of foldersOf(path))
        this.#folders.set(folder, (this.#folders.get(folder) ?? 0) + more);
    return outcome;
  }

  #refusal(intent: FileIntent): Refusal | null {
    return writeRefusal(intent, {
      files: this.#files.size,
      bytes: this.#bytes,
      limits: WORKSPACE_LIMITS,
      find: (path) => this.#files.get(path) ?? null,
      isFolder: (path) => (this.#folders.get(path) ?? 0) > 0,
    });
  }
}
