/**
 * Isolates a process before it runs code of an untrusted skill: in a namespace without network, where it can signal no
 * other process, and under a seccomp filter (seccomp(2)) that prevents all kinds of sockets. Neither needs privileges.
 * The process also has Node's permission model, which has no switch for the network.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Time limit of a program that checks the machine, in ms. */
const PROBE_MS = 10_000;

/** Python: forbids itself the calls that make sockets, and becomes the program of its arguments. */
const SECCOMP = `
import ctypes, os, struct, sys
arch, calls, foreign = {
    "x86_64": (0xC000003E, (41, 425), 0x40000000),
    "aarch64": (0xC00000B7, (198, 425), 0x7FFFFFFF),
}[os.uname().machine]
load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
# Of struct seccomp_data: the call's number at 0, the architecture at 4. The calls are socket and io_uring_setup.
program = [
    (load, 0, 0, 4), (equal, 0, 4, arch), (load, 0, 0, 0), (at_least, 2, 0, foreign),
    (equal, 1, 0, calls[0]), (equal, 0, 1, calls[1]), (give, 0, 0, 0x00050000 | 13), (give, 0, 0, 0x7FFF0000),
]
code = b"".join(struct.pack("HBBI", *line) for line in program)
held = ctypes.create_string_buffer(code, len(code))
class Filter(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
given = Filter(len(program), ctypes.addressof(held))
# PR_SET_NO_NEW_PRIVS, without which the kernel takes no filter; PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(given), 0, 0) != 0:
    sys.exit("no seccomp filter")
# Python sets it for itself where the environment has no locale.
os.environ.pop("LC_CTYPE", None)
os.execv(sys.argv[1], sys.argv[1:])
`;

/** Succeeds if no socket can be made. */
const SECCOMP_PROBE = `
import socket, sys
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
except PermissionError:
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

let found: Promise<Sandbox> | undefined;

/** How this machine can isolate a process, as far as it can; determined only once. */
export function findSandbox(): Promise<Sandbox> {
  found ??= find();
  return found;
}

async function find(): Promise<Sandbox> {
  const namespace = await firstThat(NAMESPACES, (prefix) => works([...prefix, "true"]));
  const python = await pythonProgram();
  const wrapped = python === null ? null : [python, "-I", "-S", "-c", SECCOMP];
  const seccomp =
    wrapped !== null && (await works([...wrapped, python ?? "", "-I", "-S", "-c", SECCOMP_PROBE]))
      ? wrapped
      : null;
  return {
    prefix: [...(namespace ?? []), ...(seccomp ?? [])],
    offline: namespace !== null || seccomp !== null,
  };
}

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
