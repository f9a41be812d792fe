/** The spawners: started with the runner, replaced when one ends (serving.md §6.2). */
import type { Launch, Launcher } from "./launcher.ts";
import { codeOf, log } from "./log.ts";
import { Spawner, type SpawnerCommand } from "./spawner.ts";
import { killProcessesOf } from "./sweep.ts";

/** A spawner that ended this soon is replaced after a pause of this length. */
const SHORT_LIFE_MS = 1000;

export class Spawners implements Launcher {
  readonly #command: SpawnerCommand;
  readonly #spawners: Spawner[] = [];
  #closed = false;

  private constructor(command: SpawnerCommand) {
    this.#command = command;
  }

  /** Starts `count` spawners and waits until they listen; null when one does not. */
  static async start(command: SpawnerCommand, count: number): Promise<Spawners | null> {
    const spawners = new Spawners(command);
    for (let place = 0; place < count; place += 1) spawners.#fill(place);
    const pids = await Promise.all(spawners.#spawners.map((spawner) => spawner.ready()));
    if (!pids.includes(null)) return spawners;
    spawners.close();
    return null;
  }

  launch(launch: Launch): void {
    const spawner = this.#leastLoaded();
    if (spawner === null) setImmediate(() => launch.onFailed("EAGAIN"));
    else spawner.launch(launch);
  }

  signalGroup(pgid: number, signal: NodeJS.Signals | 0): boolean {
    try {
      process.kill(-pgid, signal);
      return true;
    } catch (error) {
      if (codeOf(error) !== "EPERM") return false;
      // It belongs to another uid, which is the spawner's.
      if (signal !== 0) this.#leastLoaded()?.signalGroup(pgid, signal);
      return true;
    }
  }

  async killProcessesOf(ids: ReadonlySet<string>): Promise<number> {
    if (!this.#command.private) return killProcessesOf(ids);
    return (await this.#leastLoaded()?.killProcessesOf(ids)) ?? 0;
  }

  async openTree(path: string): Promise<void> {
    if (this.#command.private) await this.#leastLoaded()?.openTree(path);
  }

  close(): void {
    this.#closed = true;
    for (const spawner of this.#spawners) spawner.close();
  }

  #fill(place: number): void {
    if (this.#closed) return;
    const since = performance.now();
    this.#spawners[place] = new Spawner(this.#command, () => {
      if (this.#closed) return;
      log("warn", "spawner_ended");
      if (performance.now() - since > SHORT_LIFE_MS) this.#fill(place);
      else setTimeout(() => this.#fill(place), SHORT_LIFE_MS).unref();
    });
  }

  #leastLoaded(): Spawner | null {
    let best: Spawner | null = null;
    for (const spawner of this.#spawners) {
      if (!spawner.gone && (best === null || spawner.load < best.load)) best = spawner;
    }
    return best;
  }
}
