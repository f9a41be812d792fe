/**
 * Small files that an isolate caches: those of static skills by digest, those of workspaces by their key in R2. Neither
 * ever changes.
 */

/** Limit of all files together; an isolate has 128 MB. */
const MAX_BYTES = 8 * 1024 * 1024;
/** A larger file is streamed from the store each time. */
export const MAX_FILE_BYTES = 1024 * 1024;

export class BlobCache {
  /** Ordered by their last use. */
  readonly #files = new Map<string, Uint8Array>();
  #bytes = 0;

  get(name: string): Uint8Array | undefined {
    const file = this.#files.get(name);
    if (file === undefined) return undefined;
    this.#files.delete(name);
    this.#files.set(name, file);
    return file;
  }

  /** Caches a file of at most `MAX_FILE_BYTES`, and drops the least recently used ones. */
  set(name: string, file: Uint8Array): void {
    if (this.#files.has(name)) return;
    this.#files.set(name, file);
    this.#bytes += file.length;
    for (const [oldest, { length }] of this.#files) {
      if (this.#bytes <= MAX_BYTES) return;
      this.#files.delete(oldest);
      this.#bytes -= length;
    }
  }
}
