/**
 * Records which bundle holds the packages of which requirements, in one file each, so that the next runner with this
 * state folder knows it too. A record's bundle becomes the import path of other skills' handlers, so the runner
 * authenticates each record with its own key (HMAC-SHA256): a process that manages to write a file here still cannot
 * choose what a handler imports.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "./log.ts";
import { makeFolder } from "./scratch.ts";

const KEY_FILE = "key";
const KEY_BYTES = 32;
const ARCHIVE = ".tar";

export class PackageRecords {
  readonly #dir: string;
  #key: Promise<Buffer> | null = null;

  /** @param dir accessible only to the runner */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** The path at which the archive for these requirements is stored while it arrives. */
  archive(requirements: string): string {
    return join(this.#dir, `${requirements}${ARCHIVE}`);
  }

  /** The digest of the bundle of these requirements; null if unknown. */
  async find(requirements: string): Promise<string | null> {
    const key = await this.#theKey();
    const text = await readFile(join(this.#dir, requirements), "utf8").catch(() => "");
    const [digest = "", mac = ""] = text.split(" ");
    const genuine = Buffer.from(macOf(key, requirements, digest));
    const given = Buffer.from(mac);
    return given.length === genuine.length && timingSafeEqual(given, genuine) ? digest : null;
  }

  async put(requirements: string, digest: string): Promise<void> {
    const mac = macOf(await this.#theKey(), requirements, digest);
    await writeFile(join(this.#dir, requirements), `${digest} ${mac}`, { mode: 0o600 });
  }

  /** The key; made with the first record, and read once, before any archive is stored. */
  #theKey(): Promise<Buffer> {
    this.#key ??= this.#makeKey();
    this.#key.catch(() => {
      this.#key = null;
    });
    return this.#key;
  }

  async #makeKey(): Promise<Buffer> {
    await makeFolder(this.#dir, null);
    // What an earlier runner left that died during an installation; this one has begun none yet.
    const left = (await readdir(this.#dir)).filter((name) => name.endsWith(ARCHIVE));
    await Promise.all(left.map((name) => rm(join(this.#dir, name))));
    const path = join(this.#dir, KEY_FILE);
    try {
      const file = await open(path, "wx", 0o600);
      try {
        const key = randomBytes(KEY_BYTES);
        await file.writeFile(key);
        return key;
      } finally {
        await file.close();
      }
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    const key = await readFile(path);
    if (key.length === KEY_BYTES) return key;
    // An earlier runner died while writing it.
    const fresh = randomBytes(KEY_BYTES);
    await writeFile(path, fresh);
    return fresh;
  }
}

function macOf(key: Buffer, requirements: string, digest: string): string {
  return createHmac("sha256", key).update(`${requirements} ${digest}`).digest("hex");
}
