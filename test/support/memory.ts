/** A folder whose files are in memory, where Linux has one with enough room: containers often give it 64 MB. */
import { statfsSync } from "node:fs";

const FOLDER = "/dev/shm";
/** Bytes that must be free there. */
const ENOUGH = 2 ** 31;

/** `null`: there is none. */
export const MEMORY: string | null = isRoomy() ? FOLDER : null;

function isRoomy(): boolean {
  try {
    const { bavail, bsize } = statfsSync(FOLDER);
    return bavail * bsize >= ENOUGH;
  } catch {
    return false;
  }
}
