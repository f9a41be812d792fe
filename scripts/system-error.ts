/** Refusals of the system in words: a folder in place of a file, a full disk, a file of another user. */
import { CommandError, EXIT, type ExitCode } from "./command.ts";

/** A certificate of an authority that Node does not know, such as a company's own. */
const UNTRUSTED = {
  reason: "no authority that this machine's Node trusts signed its certificate",
  hint: "Name the file with your company's authority in NODE_EXTRA_CA_CERTS, or set NODE_USE_SYSTEM_CA=1.",
  exit: EXIT.unreachable,
};

/** What the codes mean, and what helps. */
const REASONS: Record<string, { reason: string; hint?: string; exit?: ExitCode }> = {
  ENOENT: { reason: "it does not exist", exit: EXIT.missing },
  ENOTDIR: { reason: "a part of its path is a file, not a folder" },
  EISDIR: { reason: "it is a folder, not a file" },
  EEXIST: { reason: "there is something else of this name", hint: "Choose another name, or move that away." },
  ENOTEMPTY: { reason: "it is a folder with files in it" },
  EACCES: { reason: "its permissions do not allow it", hint: "Change its owner or its permissions." },
  EPERM: { reason: "its permissions do not allow it", hint: "Change its owner or its permissions." },
  EROFS: { reason: "the file system can only be read" },
  ENOSPC: { reason: "the disk is full" },
  EFBIG: { reason: "it would be larger than the system allows" },
  EDQUOT: { reason: "your share of the disk is full" },
  EMFILE: { reason: "too many files are open", hint: "Raise the limit: ulimit -n" },
  ENFILE: { reason: "too many files are open on this machine" },
  ELOOP: { reason: "its symbolic links lead in a circle" },
  ENAMETOOLONG: { reason: "its name is too long" },
  EADDRINUSE: { reason: "another program listens there", exit: EXIT.unreachable },
  EADDRNOTAVAIL: { reason: "this machine has no such address", exit: EXIT.unreachable },
  ENOTFOUND: { reason: "its name has no address", exit: EXIT.unreachable },
  ECONNREFUSED: { reason: "nothing listens there", exit: EXIT.unreachable },
  EAI_AGAIN: { reason: "its name cannot be looked up now", exit: EXIT.unreachable },
  ECONNRESET: { reason: "the connection broke", exit: EXIT.unreachable },
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
};

/** What Hull wanted of the system; any other call uses something. */
const ACTS: Record<string, string> = {
  open: "open",
  read: "read",
  scandir: "read the folder",
  mkdir: "make the folder",
  mkdtemp: "make the folder",
  write: "write",
  rename: "rename",
  unlink: "remove",
  rm: "remove",
  copyfile: "copy",
  listen: "listen on",
  connect: "connect to",
};

const OF_OPEN_FILES: ReadonlySet<string> = new Set(["read", "write"]);

/** Whether the system, and not Hull, refused something. */
export const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "syscall" in error && "code" in error;

/** Why something failed, for a message that says what. A refusal of the system has no path in it. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // `fetch` says that it failed; its cause says why.
  if (error.cause !== undefined) return reasonOf(error.cause);
  const { reason } = known(error) ?? {};
  return reason ?? (isSystemError(error) ? `the system answers ${error.code}` : error.message);
}

/** What helps against the refusal; `undefined`: nothing special. */
export const hintOf = (error: unknown): string | undefined =>
  error instanceof Error ? known(error)?.hint : undefined;

/** The failure of a command for a refusal of the system that the command did not expect. */
export function systemError(error: NodeJS.ErrnoException): CommandError {
  const { syscall = "", path } = error;
  const [name = ""] = syscall.split(" ");
  const program = name.startsWith("spawn");
  const act = program ? "start" : (ACTS[name] ?? "use");
  const { hint, exit = EXIT.failed } = known(error) ?? {};
  // The system's error names no path for an open file, and no address for a connection.
  const object = path ?? (OF_OPEN_FILES.has(name) ? "" : placeOf(error));
  const message = `Cannot ${object === "" ? act : `${act} ${object}`}: ${reasonOf(error)}.`;
  return new CommandError(program ? EXIT.failed : exit, "system_error", message, hint);
}

function known(error: Error): (typeof REASONS)[string] | undefined {
  const code = "code" in error ? String(error.code) : "";
  return Object.hasOwn(REASONS, code) ? REASONS[code] : undefined;
}

/** The address in an error of the network. */
function placeOf(error: Error): string {
  const host = "address" in error ? error.address : "an address";
  return "port" in error ? `${host}:${error.port}` : String(host);
}
