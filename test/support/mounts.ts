/** Whether executions on this machine can have mounts of their own, as in the runner's image. */
import { execFileSync } from "node:child_process";

export function canMount(): boolean {
  const user = process.getuid?.() === 0 ? [] : ["--user", "--map-current-user"];
  try {
    execFileSync("unshare", [...user, "--mount", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
