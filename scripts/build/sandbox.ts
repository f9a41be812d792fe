/**
 * Isolates a process before it runs code of an untrusted skill: in a namespace without network, where it can signal no
 * other process, and under a seccomp filter (seccomp(2)) that prevents all kinds of sockets. Neither needs privileges.
 * The process also has Node's permission model, which has no switch for the network.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { programSource } from "../../container/program-source.ts";
import { once } from "../../src/memo.ts";

const run = promisify(execFile);
/** Time limit of a program that checks the machine, in ms. */
const PROBE_MS = 10_000;

/** Python: forbids itself the calls that make sockets, and becomes the program of its arguments. */
const seccompProgram = (): string => `${programSource("seccomp.py")}
import os, sys
install_seccomp_filter(families=())
# Python sets it for itself where the environment has no locale.
os.environ.pop("LC_CTYPE", None)
os.execv(sys.argv[1], sys.argv[1:])
`;

/** Succeeds if no socket can be made. */
const SECCOMP_PROBE = `
import socket, sys
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
except OSError:
    sys.exit(0)
sys.exit(1)
`;

const UNSHARE_FLAGS = ["--net", "--pid", "--ipc", "--fork", "--kill-child"];
const NAMESPACES = [
  ["unshare", "--map-current-user", ...UNSHARE_FLAGS],
  ["unshare", ...UNSHARE_FLAGS],
  ["unshare", "--map-root-user", "--net"],
  ["unshare", "--net"],
];

export interface Sandbox {
  /** The words before the program and its arguments. */
  prefix: string[];
  /** Whether the process cannot reach the network. */
  offline: boolean;
}

/** How this machine can isolate a process, as far as it can; determined only once. */
export const findSandbox = once(async (): Promise<Sandbox> => {
  const namespace = await firstThat(NAMESPACES, (prefix) => works([...prefix, "true"]));
  const python = await pythonProgram();
  const wrapped = python === null ? null : [python, "-I", "-S", "-c", seccompProgram()];
  const seccomp =
    wrapped !== null && (await works([...wrapped, python ?? "", "-I", "-S", "-c", SECCOMP_PROBE]))
      ? wrapped
      : null;
  return {
    prefix: [...(namespace ?? []), ...(seccomp ?? [])],
    offline: namespace !== null || seccomp !== null,
  };
});

/** The interpreter itself, since a wrapper (pyenv) would need its own files and folders. */
async function pythonProgram(): Promise<string | null> {
  const { stdout } = await run("python3", ["-I", "-S", "-c", "import sys; print(sys.executable)"], {
    timeout: PROBE_MS,
  }).catch(() => ({ stdout: "" }));
  return stdout.trim() || null;
}

async function firstThat<T>(list: readonly T[], holds: (item: T) => Promise<boolean>): Promise<T | null> {
  for (const item of list) if (await holds(item)) return item;
  return null;
}

async function works([program = "", ...args]: readonly string[]): Promise<boolean> {
  return run(program, args, { timeout: PROBE_MS }).then(
    () => true,
    () => false,
  );
}
