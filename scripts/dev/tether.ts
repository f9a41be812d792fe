/**
 * Runs a command for as long as its standard input stays open: when `hull dev` dies, however it dies, the pipe closes
 * and the command's whole process group is ended. Usage: node tether.ts <command> [args…]
 */
import { spawn } from "node:child_process";

/** Time between SIGTERM and SIGKILL, in ms. */
const GRACE_MS = 3000;

const [command = "", ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit"], detached: true });

function end(signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group is gone already.
  }
}

let stopping = false;
function stop(): void {
  if (stopping) return;
  stopping = true;
  end("SIGTERM");
  setTimeout(() => end("SIGKILL"), GRACE_MS).unref();
}

process.stdin.on("end", stop).on("error", stop).resume();
process.on("SIGTERM", stop).on("SIGINT", stop).on("SIGHUP", stop);
child.on("error", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(127);
});
child.on("exit", (code, signal) => {
  end("SIGKILL");
  process.exit(signal === null ? (code ?? 1) : 1);
});
