/** What the kernel of this machine does for executions, as for those in the runner's image. */
import { spawnSync } from "node:child_process";

const root = process.getuid?.() === 0;

export const canMount = (): boolean => canUnshare("--mount");

/** A network with only a loopback. */
export const canUnshareNetwork = (): boolean => canUnshare("--net");

/** Executions of one uid, without signals to each other: a runner that changes the uid is root's, and has Landlock 6. */
export function hasLandlock(): boolean {
  const version = "import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 6)";
  return root && spawnSync("/usr/bin/python3", ["-c", version]).status === 0;
}

function canUnshare(flag: string): boolean {
  const user = root ? [] : ["--user", "--map-current-user", "--keep-caps"];
  return spawnSync("unshare", [...user, flag, "true"]).status === 0;
}
