/**
 * The Python packages of handlers: those in the script's inline metadata (PEP 723), else those in the requirements.txt
 * at the root of the skill. Hull installs them once for each bundle, requirements text and interpreter, before the first
 * call, in a process like a handler's own. The installer's output, a tar, is unpacked and kept like a bundle.
 */

import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { lastOf, lastWords } from "../src/cut.ts";
import { type Bundles, MAX_TAR_BYTES } from "./bundles.ts";
import type { Cgroups } from "./cgroup.ts";
import type { Command } from "./commands.ts";
import type { Environment } from "./environment.ts";
import type { Launcher } from "./launcher.ts";
import { codeOf, log, reasonOf } from "./log.ts";
import { PackageRecords } from "./package-records.ts";
import type { Pipes } from "./pipes.ts";
import { GroupProcess, type ProcessOutcome } from "./process.ts";
import { programSource } from "./program-source.ts";
import type { ScratchRoot } from "./scratch.ts";
import type { SpawnerCommand } from "./spawner.ts";
import { Spawners } from "./spawners.ts";

/** The packages could not be installed; the message is the end of the installer's output. */
export class DependenciesFailed extends Error {
  override name = "DependenciesFailed";
}

interface DependencyParts {
  bundles: Bundles;
  /** Limits the memory and processes of an installation; null: there are no limits. */
  cgroups: Cgroups | null;
  launcher: Launcher;
  pipes: Pipes;
  scratch: ScratchRoot;
  /** Folder of the records (package-records.ts). */
  dir: string;
  /** The interpreter; null: there is no Python, so there is nothing to install for. */
  python: Command | null;
  /** Inherited by the installer's process. */
  environment: Environment;
  /** A spawner with network, if the launcher's have none and packages may be fetched; else null. */
  networked: SpawnerCommand | null;
  /** Whether packages may be fetched. */
  network: boolean;
  limitMs: number;
}

/** The requirements of a handler: `file` is a requirements file of its skill, `metadata` the TOML of its script. */
interface Requirements {
  file: string | null;
  metadata: string | null;
  /** A hash of the bundle, the interpreter and the requirements text. */
  key: string;
}

const INSTALLER = programSource("install.py");
/** Characters of the installer's output to keep. */
const TAIL_CHARACTERS = 2000;
/** For this long, a failed installation is not repeated: a model that tries again immediately gets the same failure. */
const FAILED_MS = 10_000;
/** The number of handlers whose requirements are kept in memory. */
const MOST_KNOWN = 10_000;
const GRACE_MS = 500;

export class Dependencies {
  readonly #parts: DependencyParts;
  readonly #records: PackageRecords;
  readonly #known = new Map<string, Promise<Requirements | null>>();
  /** Installations under way, and recent failures. */
  readonly #installing = new Map<string, Promise<string>>();
  #outside: Promise<Spawners | null> | null = null;

  constructor(parts: DependencyParts) {
    this.#parts = parts;
    this.#records = new PackageRecords(parts.dir);
  }

  /** Ends the running installations. */
  async close(): Promise<void> {
    await (await this.#outside)?.close();
  }

  /**
   * The folder of a script's packages, kept until its digest is released from the bundles; null if it needs none.
   * @param script null means any script of the bundle that has no metadata of its own
   * @throws DependenciesFailed
   */
  async use(
    digest: string,
    bundle: string,
    script: string | null,
  ): Promise<{ digest: string; dir: string } | null> {
    const needed = await this.#requirements(digest, bundle, script);
    if (needed === null) return null;
    const { bundles } = this.#parts;
    const installed = await this.#records.find(needed.key);
    const found = installed === null ? null : bundles.use(installed);
    if (installed !== null && found !== null) return { digest: installed, dir: found };
    const fresh = await this.#install(needed, bundle);
    const folder = bundles.use(fresh);
    if (folder === null)
      throw new DependenciesFailed("The packages do not fit into the runner's disk space.");
    return { digest: fresh, dir: folder };
  }

  #requirements(digest: string, bundle: string, script: string | null): Promise<Requirements | null> {
    const name = `${digest}:${script ?? ""}`;
    let known = this.#known.get(name);
    if (known === undefined) {
      if (this.#known.size >= MOST_KNOWN) this.#known.clear();
      known = this.#read(digest, bundle, script);
      this.#known.set(name, known);
      known.catch(() => this.#known.delete(name));
    }
    return known;
  }

  async #read(digest: string, bundle: string, script: string | null): Promise<Requirements | null> {
    const metadata = script === null ? null : inlineMetadata(await readFile(script, "utf8"));
    const file = join(bundle, "requirements.txt");
    const text = metadata ?? (await requirementsIn(file));
    if (metadata === null && !/^[ \t]*[^#\s]/m.test(text)) return null;
    const python = this.#python();
    const hash = createHash("sha256").update(JSON.stringify([digest, python.file, text]));
    return { file: metadata === null ? file : null, metadata, key: hash.digest("hex") };
  }

  #python(): Command {
    const { python } = this.#parts;
    if (python === null) throw new DependenciesFailed("There is no Python in this runner.");
    return python;
  }

  /** Installs packages, one installation at a time; returns the bundle's digest. */
  #install(needed: Requirements, bundle: string): Promise<string> {
    let installing = this.#installing.get(needed.key);
    if (installing === undefined) {
      installing = this.#run(needed, bundle);
      this.#installing.set(needed.key, installing);
      const forget = (): void => void this.#installing.delete(needed.key);
      installing.then(forget, () => setTimeout(forget, FAILED_MS).unref());
    }
    return installing;
  }

  async #run(needed: Requirements, bundle: string): Promise<string> {
    const { bundles, scratch } = this.#parts;
    const since = performance.now();
    const work = scratch.create();
    // The process cannot reach this folder.
    const tar = this.#records.archive(needed.key);
    try {
      const said = new Tail();
      const outcome = await this.#installer(needed, bundle, work.dir, tar, said);
      const fault = this.#faultOf(outcome);
      if (fault !== null) throw new DependenciesFailed([said.text, fault].filter(Boolean).join("\n"));
      const hash = createHash("sha256");
      for await (const chunk of createReadStream(tar)) hash.update(chunk);
      const digest = hash.digest("hex");
      await bundles.receive(digest, createReadStream(tar));
      await this.#records.put(needed.key, digest);
      log("info", "packages_installed", { digest, duration_ms: Math.round(performance.now() - since) });
      return digest;
    } finally {
      scratch.release(work, true);
      await rm(tar, { force: true });
    }
  }

  #faultOf({ exitCode, signal, stopped, startError, outOfMemory }: ProcessOutcome): string | null {
    if (stopped === "output_too_large") {
      const limit = this.#parts.bundles.largest;
      return `The packages have more than ${limit} bytes, which is all that this runner takes of them (--bundle-bytes, and ${MAX_TAR_BYTES} at most).`;
    }
    if (stopped === "timed_out") return `It was stopped after ${this.#parts.limitMs} ms.`;
    if (startError !== null) return `The installer could not be started (${startError}).`;
    if (outOfMemory) return "It exceeded its memory limit.";
    if (signal !== null) return `It was terminated by ${signal}.`;
    return exitCode === 0 ? null : `The installer ended with status ${exitCode}.`;
  }

  async #launcher(): Promise<Launcher> {
    const { launcher, networked } = this.#parts;
    if (networked === null) return launcher;
    this.#outside ??= Spawners.start(networked, 1);
    const outside = await this.#outside;
    if (outside === null) throw new DependenciesFailed("Nothing can be started with the network.");
    return outside;
  }

  async #installer(
    { file, metadata }: Requirements,
    cwd: string,
    folder: string,
    tar: string,
    said: Tail,
  ): Promise<ProcessOutcome> {
    const { bundles, cgroups, environment, pipes, network, limitMs } = this.#parts;
    const python = this.#python();
    const launcher = await this.#launcher();
    while (!pipes.ready) await pipes.more();
    let room = bundles.largest;
    const out = createWriteStream(tar, { mode: 0o600 });
    /** Why the archive could not be stored; `null`: it was. */
    const unstored = finished(out).then(() => null, reasonOf);
    const cgroup = cgroups?.create() ?? null;
    const executionId = `install-${randomBytes(12).toString("hex")}`;
    const outcome = await new Promise<ProcessOutcome>((resolve) => {
      const process = new GroupProcess(
        {
          ...python,
          cwd,
          graceMs: GRACE_MS,
          timeoutMs: limitMs,
          separateResultFd: true,
          args: ["-I", "-c", INSTALLER],
          allowedPaths: [folder, cwd],
          skills: null,
          environment: {
            ...environment,
            HOME: folder,
            TMPDIR: folder,
            PWD: cwd,
            HULL_EXECUTION_ID: executionId,
          },
          stdin: Buffer.from(JSON.stringify({ file, metadata, network })),
          onStdout: (chunk) => {
            room -= chunk.length;
            if (room < 0) {
              process.stop("output_too_large");
              return;
            }
            // Nobody wants what comes after a failed write, and no `drain` follows one.
            if (out.destroyed || out.write(chunk)) return;
            process.pauseOutput();
            out.once("drain", () => process.resumeOutput());
          },
          onStderr: (chunk) => said.push(chunk),
          onEnd: (ended) => void process.gone.then(() => resolve(ended)),
        },
        { launcher, pipes, cgroup },
      );
      void unstored.then((reason) => {
        if (reason === null) return;
        process.resumeOutput();
        process.stop("lost");
      });
    });
    void cgroup?.remove();
    out.end();
    const reason = await unstored;
    if (reason !== null) throw new DependenciesFailed(`The packages could not be stored (${reason}).`);
    return outcome;
  }
}

/** The text of a requirements file; empty if there is none. */
async function requirementsIn(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    // A skill may have something else of this name.
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(codeOf(error) ?? "")) return "";
    throw error;
  }
}

/** The last characters of a text in UTF-8. */
class Tail {
  readonly #decoder = new TextDecoder();
  #text = "";

  push(chunk: Uint8Array): void {
    this.#text = lastOf(this.#text + this.#decoder.decode(chunk, { stream: true }), TAIL_CHARACTERS + 1);
  }

  get text(): string {
    return lastWords(this.#text, TAIL_CHARACTERS).trim();
  }
}

/** The TOML of a script's block `# /// script` (PEP 723); null if there is none. */
function inlineMetadata(source: string): string | null {
  let block: string[] | null = null;
  for (const line of source.split(/\r?\n/)) {
    if (block === null) {
      if (line === "# /// script") block = [];
    } else if (line === "# ///" && block.length > 0) return block.join("");
    else if (/^#(?: |$)/.test(line)) block.push(`${line.slice(2)}\n`);
    else block = null;
  }
  return null;
}
