/** Unpacks a bundle's tar, which may be as large as the disk permits, so that no file of it is held in memory. */

import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, symlink, unlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { PACK_LIMITS, TarError, TarParser } from "../src/skill/tar.ts";

/** The longest name that file systems accept. */
const MAX_NAME_BYTES = 255;
const CHUNK_BYTES = 256 * 1024;

/**
 * Unpacks `tarPath` into the folder `target`, which must exist and be empty. Files become 0755 or 0644, less what `mask`
 * leaves out. A link leads to a file of the tar that is no link itself; one that names anything else is a file. Returns
 * the number of unpacked bytes and the new folders, so that the caller can set their modes too.
 * @throws TarError
 */
export async function unpackTar(
  tarPath: string,
  target: string,
  mask: number,
): Promise<{ bytes: number; folders: string[] }> {
  const folders = new Set<string>();
  const makeFolder = async (path: string): Promise<void> => {
    if (path === "." || folders.has(path)) return;
    await makeFolder(dirname(path));
    await mkdir(join(target, path));
    folders.add(path);
  };
  const terms = { max_bytes: Number.POSITIVE_INFINITY, max_files: PACK_LIMITS.entries, of_programs: true };
  const parser = new TarParser(terms);
  const files = new Set<string>();
  const links = new Map<string, string>();
  let total = 0;
  let writing: FileHandle | null = null;
  try {
    for await (const chunk of createReadStream(tarPath, { highWaterMark: CHUNK_BYTES })) {
      for (const { file, bytes, last } of parser.push(chunk)) {
        if (writing === null) {
          if (file.link === undefined) files.add(file.path);
          else links.set(file.path, file.link);
          if (files.size + links.size + folders.size > PACK_LIMITS.entries)
            throw new TarError(`more than ${PACK_LIMITS.entries} entries`);
          checkLength(file.path);
          await makeFolder(dirname(file.path));
          writing = await open(join(target, file.path), "wx", 0o600);
        }
        await writing.writeFile(bytes);
        total += bytes.length;
        if (!last) continue;
        await writing.chmod(file.mode & mask);
        await writing.close();
        writing = null;
      }
    }
    parser.end();
    for (const [path, link] of links) {
      if (!files.has(link)) continue;
      await unlink(join(target, path));
      await symlink(relative(dirname(path), link), join(target, path));
    }
    return { bytes: total, folders: [...folders] };
  } finally {
    await writing?.close();
  }
}

function checkLength(path: string): void {
  const isLong = path.split("/").some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES);
  if (isLong || Buffer.byteLength(path) > PACK_LIMITS.path_bytes)
    throw new TarError(`the path "${path}" is too long`);
}
