/** The spawners. The first one starts at once, another one when none is free; each is replaced when it ends. */
import type { Launch, Launched, Launcher } from "./launcher.ts";
import { log } from "./log.ts";
import { Spawner, type SpawnerCommand } from "./spawner.ts";
import { killProcessesOf } from "./sweep.ts";

/** A spawner that ends within this time is replaced only after a pause of the same length. */
const SHORT_LIFE_MS = 1000;

export class Spawners implements Launcher {
  readonly #command: SpawnerCommand;
  readonly #count: number;
  readonly #spawners: Spawner[] = [];
  #closed = false;

  private constructor(command: SpawnerCommand, count: number) {
    this.#command = command;
    this.#count = count;
  }

  /** Starts the first of at most `count` spawners and waits until it listens; null if it does not. */
  static async start(command: SpawnerCommand, count: number): Promise<Spawners | null> {
    const spawners = new Spawners(command, count);
    spawners.#fill(0);
    if ((await spawners.#spawners[0]?.ready()) !== null) return spawners;
    void spawners.close();
    return null;
  }

  launch(launch: Launch): Launched {
    const spawner = this.#leastLoaded();
    // Starting a spawner takes as long as starting many processes, so this call does not wait for it.
    if (spawner !== null && spawner.load > 0 && this.#spawners.length < this.#count)
      this.#fill(this.#spawners.length);
    if (spawner === null) {
      setImmediate(() => launch.onFailed("EAGAIN"));
      return { signal: () => {}, end: () => {} };
    }
    return spawner.launch({
      ...launch,
      onLost: () => {
        // If the keeper was killed with the spawner, the process has no parent that would end it.
        const id = launch.environment.HULL_EXECUTION_ID;
        if (id !== undefined) void this.killProcessesOf(new Set([id]));
        launch.onLost();
      },
    });
  }

  async killProcessesOf(ids: ReadonlySet<string>): Promise<number> {
    if (!this.#command.private) return killProcessesOf(ids);
    return (await this.#leastLoaded()?.killProcessesOf(ids)) ?? 0;
  }

  async openTree(path: string): Promise<void> {
    if (this.#command.private) await this.#leastLoaded()?.openTree(path);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#spawners.map((spawner) => spawner.close()));
  }

  #fill(index: number): void {
    if (this.#closed) return;
    const since = performance.now();
    this.#spawners[index] = new Spawner(this.#command, () => {
      if (this.#closed) return;
      log("warn", "spawner_ended");
      if (performance.now() - since > SHORT_LIFE_MS) this.#fill(index);
      else setTimeout(() => this.#fill(index), SHORT_LIFE_MS).unref();
    });
  }

  /** The spawner with the fewest executions, among those that listen if any does. */
  #leastLoaded(): Spawner | null {
    let best: Spawner | null = null;
    for (const spawner of this.#spawners) {
      if (spawner.gone) continue;
      const better =
        best === null || (spawner.listens === best.listens ? spawner.load < best.load : spawner.listens);
      if (better) best = spawner;
    }
    return best;
  }
}
