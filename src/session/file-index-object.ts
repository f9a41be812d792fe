import { DurableObject } from "cloudflare:workers";
import type { Bindings, FileIndexRpc, IdempotentUpload } from "../env.ts";
import { FileIndex } from "./file-index.ts";

/** A tenant's file index: the R2 keys of its files and when each expires. The tenant is the object's name. */
export class FileIndexObject extends DurableObject<Bindings> implements FileIndexRpc {
  readonly #index: FileIndex;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#index = new FileIndex(ctx.storage, env.FILES);
  }

  keep(key: string, expiresAt: number, uploadId: string | null): Promise<void> {
    return this.#index.keep(key, expiresAt, uploadId);
  }

  async claim(key: string, upload: IdempotentUpload): Promise<IdempotentUpload | null> {
    return this.#index.claim(key, upload);
  }

  drop(keys: string[]): Promise<void> {
    return this.#index.drop(keys);
  }

  override alarm(): Promise<void> {
    return this.#index.sweep(Date.now());
  }
}
