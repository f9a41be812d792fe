import { RecentMap } from "../recent.ts";

/** Limit of all files together; an isolate has 128 MB. */
const MAX_BYTES = 8 * 1024 * 1024;
/** A larger file is streamed from the store each time. */
export const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Small files that an isolate caches, without the least recently used ones: those of static skills by digest, those of
 * workspaces by their key in R2. Neither ever changes.
 */
export class BlobCache extends RecentMap<string, Uint8Array> {
  constructor() {
    super(Number.POSITIVE_INFINITY, { most: MAX_BYTES, of: ({ length }) => length });
  }

  override get(name: string): Uint8Array | undefined {
    const file = super.get(name);
    if (file !== undefined) this.set(name, file);
    return file;
  }
}
