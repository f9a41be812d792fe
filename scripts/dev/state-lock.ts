/**
 * Only one server at a time may use a folder of state: two servers on the same objects would fire every alarm twice and
 * undo each other's writes. The lock is a file that names a process; it means nothing once that process is gone.
 */
import { access, chmod, link, readdir, readFile, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { STATE_MARK } from "../build/skill-folder.ts";
import { CommandError, EXIT } from "../command.ts";
import { makeFolder } from "../make-folder.ts";
import { isSystemError } from "../system-error.ts";
import { LOOPBACK } from "./local-addresses.ts";
import { SECRET_KEY_FILE } from "./secret-key.ts";

const LOCK_FILE = "server.lock";
const ADDRESS_FILE = "server.url";
/** If several find the lock of a dead process, some must try again. */
const TRIES = 10;
const PAUSE_MS = 20;

interface Holder {
  pid: number;
  /** Distinguishes a process from a later one with the same number, if the system knows when it began. */
  began: string | null;
}

/**
 * Reserves the folder for one server, and makes it if missing; returns a function that releases it.
 * @throws CommandError (exit 4) if another running server has it
 */
export async function lockState(stateDir: string): Promise<() => Promise<void>> {
  await privateFolder(stateDir);
  await writeFile(
    join(stateDir, STATE_MARK),
    "hull dev keeps its state here; no command takes it for skills.\n",
  );
  const file = join(stateDir, LOCK_FILE);
  const own = `${file}.${process.pid}`;
  const holder: Holder = { pid: process.pid, began: await beginOf(process.pid) };
  await writeFile(own, JSON.stringify(holder));
  let isAfterDeath = false;
  try {
    for (let left = TRIES; left > 0; left -= 1) {
      // The name appears with its whole content, and only if it is not taken.
      if (await made(file, own)) {
        if (isAfterDeath) await endWorkerd(stateDir);
        return () => rm(file, { force: true });
      }
      const found = await checkUnlocked(stateDir);
      isAfterDeath = true;
      await removeOld(file, found, own);
    }
  } finally {
    await rm(own, { force: true });
  }
  throw inUse(stateDir, null);
}

/**
 * Ends what a killed server left: workerd outlives its parents, and would use the same objects as the one of this server. It
 * keeps the folders of its objects open, which only a system with `/proc` shows.
 */
async function endWorkerd(stateDir: string): Promise<void> {
  const objects = `${join(await realpath(stateDir), "worker")}/`;
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const command = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
    if (command.trim() !== "workerd") continue;
    const open = `/proc/${pid}/fd`;
    const descriptors = await readdir(open).catch(() => []);
    const paths = await Promise.all(descriptors.map((name) => readlink(join(open, name)).catch(() => "")));
    if (!paths.some((path) => path.startsWith(objects))) continue;
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Makes a folder that only its owner may use; an existing folder with a server's state becomes such a folder. */
async function privateFolder(path: string): Promise<void> {
  await makeFolder(path, 0o700);
  const isState = await access(join(path, SECRET_KEY_FILE)).then(
    () => true,
    () => false,
  );
  // A folder that the user chose for the state may have other users.
  if (isState) await chmod(path, 0o700);
}

/** Returns the content of a dead server's lock, `null` if there is none. @throws CommandError (exit 4) */
export async function checkUnlocked(stateDir: string): Promise<string | null> {
  const text = await readFile(join(stateDir, LOCK_FILE), "utf8").catch(() => null);
  if (text === null) return null;
  const holder = holderOf(text);
  if (await lives(holder)) throw inUse(stateDir, holder.pid);
  return text;
}

/**
 * Records where the server that holds the folder listens; returns a function that removes the record. @param url origin
 */
export async function noteAddress(stateDir: string, url: string): Promise<() => Promise<void>> {
  const file = join(stateDir, ADDRESS_FILE);
  await writeFile(file, url, { mode: 0o600 });
  return () => rm(file, { force: true });
}

/**
 * The address of the running server of a folder; `null` if there is none. An address of another machine counts as none,
 * since commands send keys there and the folder may come from somebody else.
 */
export async function addressOf(stateDir: string): Promise<string | null> {
  const [lock, url] = await Promise.all(
    [LOCK_FILE, ADDRESS_FILE].map((name) => readFile(join(stateDir, name), "utf8").catch(() => null)),
  );
  if (lock == null || url == null || !URL.canParse(url)) return null;
  const { hostname, origin } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const own = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
  if (!LOOPBACK.has(host) && !own.includes(host)) return null;
  return (await lives(holderOf(lock))) ? origin : null;
}

/** The process named in a lock; a malformed file names a process that never exists. */
function holderOf(text: string): Holder {
  try {
    const { pid, began }: Holder = JSON.parse(text);
    return { pid: Number.isInteger(pid) ? pid : NO_PROCESS, began };
  } catch {
    return { pid: NO_PROCESS, began: null };
  }
}

const NO_PROCESS = 2 ** 31 - 1;

async function made(file: string, from: string): Promise<boolean> {
  try {
    await link(from, file);
    return true;
  } catch (error) {
    if (isSystemError(error) && error.code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes the lock of a dead server. Only one process does so at a time: another one, which has read the old lock too, could
 * otherwise remove the lock that a third has just made.
 * @param own a file that names this process
 */
async function removeOld(file: string, old: string | null, own: string): Promise<void> {
  const guard = `${file}.removal`;
  if (!(await made(guard, own))) {
    const remover = holderOf(await readFile(guard, "utf8").catch(() => ""));
    if (await lives(remover)) await setTimeout(PAUSE_MS);
    else await rm(guard, { force: true });
    return;
  }
  try {
    if ((await readFile(file, "utf8").catch(() => null)) === old) await rm(file, { force: true });
  } finally {
    await rm(guard, { force: true });
  }
}

async function lives({ pid, began }: Holder): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // A process of another user also counts.
    if (!isSystemError(error) || error.code !== "EPERM") return false;
  }
  const now = await beginOf(pid);
  return now !== GONE && (now === null || began === null || now === began);
}

const GONE = "gone";

/** In ticks since the machine began; `null` if unknown. */
async function beginOf(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (stat === null) return null;
  // The second field, the command in brackets, may contain anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? GONE : (fields[19] ?? null);
}

function inUse(stateDir: string, pid: number | null): CommandError {
  const who = pid === null ? "Another hull dev" : `Another hull dev (process ${pid})`;
  const hint = "Stop it, or give this one a folder of its own: --state DIR.";
  return new CommandError(EXIT.unreachable, "state_in_use", `${who} uses the state in ${stateDir}.`, hint);
}
