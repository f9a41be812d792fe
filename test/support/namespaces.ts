/** Which namespaces of their own executions on this machine can have, as in the runner's image. */
import { spawnSync } from "node:child_process";

const root = process.getuid?.() === 0;

export const canMount = (): boolean => canUnshare("--mount");

/** A network with only a loopback. */
export const canOwnNetwork = (): boolean => canUnshare("--net");

function canUnshare(flag: string): boolean {
  const user = root ? [] : ["--user", "--map-current-user", "--keep-caps"];
  return spawnSync("unshare", [...user, flag, "true"]).status === 0;
}
