/** The builds of `hull dev`: the first one, and one after each change of the skills. */

import { type BuildResult, buildRoots } from "../build/build.ts";
import type { BuildCache } from "../build/cache.ts";
import type { BuiltSkill } from "../build/skill.ts";
import { buildOptionsOf, type Project } from "../project.ts";
import { reasonOf } from "../system-error.ts";
import { debounced, watchFiles, watchRoots } from "./watch.ts";

/** Builds again and again; a broken skill keeps its last good version. */
export class Builder {
  readonly #project: Project;
  readonly #cache: BuildCache;
  #lastGood = new Map<string, BuiltSkill>();
  #built = "";
  /** `""`: which build is served is not known. */
  #served = "";
  #failed = "";

  constructor(project: Project, cache: BuildCache) {
    this.#project = project;
    this.#cache = cache;
  }

  /** @param onScan see `BuildOptions` */
  async build(onScan?: (folders: number) => void): Promise<BuildResult> {
    const result = await buildRoots(this.#project.roots, {
      ...buildOptionsOf(this.#project),
      cache: this.#cache,
      previous: this.#lastGood,
      keepLastGood: true,
      onScan,
    });
    this.#lastGood = new Map(result.skills.map((skill) => [skill.folder, skill]));
    this.#built = JSON.stringify([result.catalog?.id, result.diagnostics, result.packages]);
    return result;
  }

  /** Whether the last build differs, in its skills or in the findings, from the one that is served. */
  get changed(): boolean {
    return this.#built !== this.#served;
  }

  /** The last build is served now. */
  noteServed(): void {
    this.#served = this.#built;
    this.#failed = "";
  }

  /**
   * The last build could not be served, or its publish has no answer: it may be served all the same. Returns whether that
   * is news, since it is another build than last time, or another reason.
   */
  noteFailed(reason: string): boolean {
    this.#served = "";
    const before = this.#failed;
    this.#failed = `${reason}\n${this.#built}`;
    return this.#failed !== before;
  }
}

/** Calls a function after each change of the skills, or of a file that they import from elsewhere. */
export class SkillWatch {
  /** Folders are watched from the beginning; changes made before `serve` are served after it. */
  readonly #serve = Promise.withResolvers<() => Promise<void>>();
  readonly #rebuild = debounced(async () => (await this.#serve.promise)());
  readonly #imported = watchFiles(this.#rebuild.schedule, false);
  #isOn: boolean;
  #later: NodeJS.Timeout | undefined;
  /** Resolves, with what stops the watchers, when all folders are watched. */
  readonly begun: Promise<() => Promise<void> | void>;

  /** @param roots `null`: watch nothing. @param imported files outside the roots */
  constructor(roots: readonly string[] | null, stateDir: string, imported: BuildResult["imported"]) {
    this.#isOn = roots !== null;
    this.begun =
      roots === null ? Promise.resolve(() => {}) : watchRoots(roots, stateDir, this.#rebuild.schedule);
    this.add(imported);
  }

  /** Whether it calls anything: not if it watches nothing, and not after `stop`. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /**
   * Builds again although nothing changed: the Worker may have been away when a build should have been served.
   * @param afterMs in how many ms; of several calls the last one counts
   */
  again(afterMs = 0): void {
    clearTimeout(this.#later);
    if (this.#isOn) this.#later = setTimeout(this.#rebuild.schedule, afterMs);
  }

  add(imported: BuildResult["imported"]): void {
    if (this.#isOn) this.#imported.add(imported);
  }

  /** @param onFault receives the reason if a call fails */
  serve(changed: () => Promise<void>, onFault: (reason: string) => void): void {
    this.#serve.resolve(async () => {
      await changed().catch((error: unknown) => {
        onFault(reasonOf(error));
      });
    });
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    clearTimeout(this.#later);
    await (await this.begun)();
    await this.#imported.close();
    this.#rebuild.stop();
  }
}
