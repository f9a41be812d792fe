/** The output files of an execution. */
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import {
  type EndedStatus,
  FRAME,
  type FrameType,
  MAX_OUTPUT_FILES,
  TOO_MANY_FILES,
} from "../src/tool/protocol.ts";
import { pieces } from "./file-content.ts";
import { OUTPUT, OUTPUT_FILE } from "./scratch.ts";
import { type Tree, unlessDenied } from "./tree.ts";

interface OutputFile {
  filename: string;
  size: number;
  handle: FileHandle;
}

/** The most entries to examine, since an execution keeps its place meanwhile. */
const MAX_ENTRIES = 20 * MAX_OUTPUT_FILES;

const TOO_MANY = { cause: "output_too_large", reason: TOO_MANY_FILES } as const;

/**
 * Passes every output file to `send` as frames, sorted by name: the non-empty regular files at the top of `OUTPUT_DIR`,
 * or `OUTPUT_FILE` if there are none. Symlinks are not followed, whether they replaced a file or a folder. `send`
 * returns a promise if the caller must wait. If all files together exceed `limit` bytes, or there are too many, it sends
 * nothing and returns how the execution ends.
 */
export async function sendOutputs(
  tree: Tree,
  limit: number,
  send: (type: FrameType, payload: Uint8Array) => Promise<void> | undefined,
): Promise<Pick<EndedStatus, "cause" | "reason"> | null> {
  const names = (await tree.names(OUTPUT)).sort(Buffer.compare);
  if (names.length > MAX_ENTRIES) return TOO_MANY;
  const files: OutputFile[] = [];
  try {
    for (const name of names) {
      const file = await openOutput(tree, `${OUTPUT}/${name}`, name);
      if (file !== null) files.push(file);
      if (files.length > MAX_OUTPUT_FILES) return TOO_MANY;
    }
    if (files.length === 0) {
      const file = await openOutput(tree, OUTPUT_FILE, Buffer.from(OUTPUT_FILE));
      if (file !== null) files.push(file);
    }
    if (files.reduce((total, { size }) => total + size, 0) > limit) return { cause: "output_too_large" };
    for (const file of files) await sendFile(file, send);
    return null;
  } finally {
    for (const { handle } of files) await handle.close();
  }
}

/** Opens a regular, non-empty file; null for anything else. What is not UTF-8 in its name becomes U+FFFD. */
async function openOutput(tree: Tree, path: string, name: Buffer): Promise<OutputFile | null> {
  const handle = await unlessDenied(() => tree.read(path, name));
  if (handle === null || handle === "denied") return null;
  const { size } = await handle.stat();
  if (size > 0) return { filename: name.toString(), size, handle };
  await handle.close();
  return null;
}

/**
 * Reads the file twice, first for its digest and then for its bytes, because the header with the digest must come first.
 */
async function sendFile(
  { filename, size, handle }: OutputFile,
  send: (type: FrameType, payload: Uint8Array) => Promise<void> | undefined,
): Promise<void> {
  const hash = createHash("sha256");
  for await (const part of pieces(handle, size)) hash.update(part);
  const header = { filename, size, sha256: hash.digest("hex") };
  await send(FRAME.file, Buffer.from(JSON.stringify(header)));
  for await (const part of pieces(handle, size)) await send(FRAME.fileBytes, part);
}
