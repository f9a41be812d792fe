/** A folder whose files are in memory, if Linux has one with enough room; containers often give it only 64 MB. */
import { readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const FOLDER = "/dev/shm";
/** Bytes that must be free in it. */
const ENOUGH = 2 ** 31;

/** `null`: there is none. */
export const MEMORY: string | null = isRoomy() ? FOLDER : null;

/** Where test servers store their files, including the programs of skills: in memory if programs may run from there. */
export const SERVERS: string = MEMORY !== null && mayRunPrograms() ? MEMORY : tmpdir();

function isRoomy(): boolean {
  try {
    const { bavail, bsize } = statfsSync(FOLDER);
    return bavail * bsize >= ENOUGH;
  } catch {
    return false;
  }
}

/** A line of the list of mounts: device, folder, type, options. */
function mayRunPrograms(): boolean {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  const own = mounts.map((line) => line.split(" ")).findLast(([, folder]) => folder === FOLDER);
  return own !== undefined && own[3]?.split(",").includes("noexec") === false;
}
