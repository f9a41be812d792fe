/**
 * A session's workspace, for its routes and its runs, as long as the session exists. Schedules the workspace's cleanup.
 */
import type { Bindings } from "../../env.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { openObject } from "../../run/large-body.ts";
import type {
  FileChange,
  FileIntent,
  Outcome,
  SmallContent,
  StoredContent,
  WorkspaceAccess,
  WorkspaceFile,
} from "../../run/workspace/access.ts";
import { removeObjects, sessionPrefix } from "../r2-objects.ts";
import { Workspace } from "../workspace/workspace.ts";
import type { FileLifecycle } from "./session-lifecycle.ts";
import type { ConversationStore, SessionRow } from "./store.ts";

/** How many contents are copied at once. Each copy uses two connections, and a Worker has six. */
const COPIES = 3;
/** The session notes its last use at most once in this many ms. */
const USE_NOTED_MS = 10_000;

/** A file of another session, with its content there; `from`: the R2 key. */
export interface ForkedFile extends WorkspaceFile, Pick<StoredContent, "base64"> {
  from: string;
}

interface SessionFilesOptions {
  storage: DurableObjectStorage;
  env: Bindings;
  store: ConversationStore;
  /** Unix ms. */
  now: () => number;
  lifecycle: FileLifecycle;
}

export class SessionFiles implements WorkspaceAccess {
  /** The same for the session's run or daemon, whose own changes do not wake the daemon. */
  readonly byRun: WorkspaceAccess;
  readonly #options: SessionFilesOptions;
  readonly #own: boolean;
  #made: { of: SessionRow["id"]; workspace: Workspace } | null = null;

  /** @param own whether the session's run makes the changes */
  constructor(options: SessionFilesOptions, own = false) {
    this.#options = options;
    this.#own = own;
    this.byRun = own ? this : new SessionFiles(options, true);
  }

  async #prepared(): Promise<Workspace> {
    const preparing = this.#options.lifecycle.filesWanted();
    if (preparing !== undefined) await preparing;
    return this.#workspace();
  }

  /** When a path last changed, Unix ms; `null`: unknown. */
  changedAt(path: string): number | null {
    return this.#workspace().changedAt(path);
  }

  /** The files of this moment, for whoever makes the files that `listFiles` waits for. */
  presentFiles(after: string | null, limit: number) {
    return this.#workspace().list(after, limit);
  }

  async listFiles(after: string | null, limit: number) {
    return (await this.#prepared()).list(after, limit);
  }

  async findFile(path: string) {
    await this.#prepared();
    return this.#changed((workspace) => workspace.find(path));
  }

  async beginFile(intent: FileIntent | null) {
    return this.#changed((workspace) => workspace.begin(intent));
  }

  async noteUpload(key: string, uploadId: string): Promise<void> {
    this.#workspace().noteUpload(key, uploadId);
  }

  async storeSmall(contents: readonly SmallContent[]) {
    return this.#changed((workspace) => workspace.store(contents));
  }

  /**
   * Changes files. If the session was removed meanwhile, removes the contents stored for the changes.
   * @throws CallNotFound
   */
  async changeFiles(changes: readonly FileChange[]): Promise<Outcome[]> {
    if (this.#row() === null) await this.#forgo(changes);
    return this.#changed((workspace) => {
      this.#noteUse();
      return workspace.change(changes);
    });
  }

  /** Every command in the workspace asks for its version first. */
  async workspaceVersion() {
    const workspace = await this.#prepared();
    this.#noteUse();
    return workspace.version();
  }

  async workspaceManifest() {
    return (await this.#prepared()).manifest();
  }

  async contents(digests: readonly string[]) {
    return this.#changed((workspace) => workspace.contents(digests));
  }

  /** Removes contents that are no longer needed. */
  async collect(): Promise<void> {
    const { store, now } = this.#options;
    if (this.#row() === null) return;
    const workspace = this.#workspace();
    await workspace.collect(now());
    if (this.#row() !== null) store.due.set({ files: workspace.due() });
  }

  /** Takes files of the parent session and copies their contents. Returns `false` if some contents are gone. */
  async adopt(row: SessionRow, files: readonly ForkedFile[]): Promise<boolean> {
    const { FILES } = this.#options.env;
    const workspace = this.#of(row);
    const keys = new Map<string, string>();
    const small = new Map<string, SmallContent>();
    const wanted = new Map<string, string>();
    for (const { sha256, base64, from } of files) {
      if (base64 === undefined) wanted.set(sha256, from);
      else small.set(sha256, { sha256, base64 });
    }
    const stored = workspace.store([...small.values()]);
    for (const [index, sha256] of [...small.keys()].entries()) {
      const key = stored[index] ?? null;
      if (key !== null) keys.set(sha256, key);
    }
    const there = workspace.contents([...wanted.keys()]);
    for (const [index, sha256] of [...wanted.keys()].entries()) if (there[index]) wanted.delete(sha256);
    const left = wanted.entries();
    const copy = async (): Promise<boolean> => {
      for (const [sha256, from] of left) {
        const begun = workspace.begin(null);
        const object = await openObject(FILES, from);
        if (object === null || "refused" in begun) return false;
        keys.set(sha256, begun.key);
        await FILES.put(begun.key, object.body, { sha256 });
      }
      return true;
    };
    const copied = await Promise.all(Array.from({ length: COPIES }, copy));
    return copied.every(Boolean) && workspace.adopt(files, keys);
  }

  /** Names the workspace at the runner, also while the session is being removed. */
  workspaceId(row: SessionRow): string {
    return this.#of(row).version().id;
  }

  count(row: SessionRow): number {
    return this.#of(row).count();
  }

  /** Removes all files when the session is removed. */
  async destroy(row: SessionRow): Promise<void> {
    await this.#of(row).destroy();
  }

  /** The session's row; `null`: the session was removed. */
  #row(): SessionRow | null {
    const row = this.#options.store.session();
    return row === null || row.state === "deleted" ? null : row;
  }

  /** @throws CallNotFound */
  #workspace(): Workspace {
    const row = this.#row();
    if (row === null) throw new CallNotFound({ what: "session", id: "" });
    return this.#of(row);
  }

  #of({ tenant, id }: SessionRow): Workspace {
    if (this.#made?.of === id) return this.#made.workspace;
    const { storage, env, now, lifecycle } = this.#options;
    const prefix = `${sessionPrefix(tenant, id)}files/`;
    const workspace = new Workspace({
      storage,
      bucket: env.FILES,
      prefix,
      now,
      changed: (changes) => lifecycle.filesChange(changes, this.#own),
    });
    this.#made = { of: id, workspace };
    return workspace;
  }

  /** A container expires some time after its last use. */
  #noteUse(): void {
    const { store, now } = this.#options;
    const at = now();
    if (at - (this.#row()?.updated_at ?? at) >= USE_NOTED_MS) store.touch(at);
  }

  /** Makes a change and schedules the cleanup. A cleanup that comes too early does nothing and is scheduled again. */
  #changed<T>(work: (workspace: Workspace) => T): T {
    const { store } = this.#options;
    const workspace = this.#workspace();
    return store.transaction(() => {
      const done = work(workspace);
      const due = workspace.due();
      if (due !== null && due < (store.due.at("files") ?? Number.POSITIVE_INFINITY)) {
        store.due.set({ files: due });
      }
      return done;
    });
  }

  async #forgo(changes: readonly FileChange[]): Promise<void> {
    const keys = changes.flatMap((change) => ("key" in change && change.key !== null ? [change.key] : []));
    await removeObjects(this.#options.env.FILES, keys);
  }
}
