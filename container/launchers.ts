/**
 * The launchers of handlers and commands, by their network: one with the network of every process, one for handlers
 * without network, one for handlers that list hosts, and two for commands, without network or with listed hosts, which
 * have their own loopback. Each consists of spawners and fork servers, and starts with the first call that needs it.
 */
import type { ExecutionSpec } from "../src/tool/protocol.ts";
import type { EgressProxy } from "./egress-proxy.ts";
import type { SpawnerCommands } from "./isolation.ts";
import type { Launcher } from "./launcher.ts";
import { log } from "./log.ts";
import type { SpawnerCommand } from "./spawner.ts";
import { Spawners } from "./spawners.ts";

type Network = NonNullable<ExecutionSpec["handler"]>["network"];

/** A server needs less than a millisecond for a fork, so more servers than this would be idle. */
const MOST_FORK_SERVERS = 2;

interface LauncherParts {
  /** Starts the launcher of all processes. */
  launcher: Launcher;
  /** How spawners are started; null: there are none. */
  spawners: Pick<SpawnerCommands, "usual" | "offline" | "loopback" | "listed"> | null;
  /** Whether processes reach the network. */
  egress: boolean;
  /** The proxy for handlers that list hosts; null: they have the network of every process. */
  egressProxy: EgressProxy | null;
  /** The most spawners of one kind. */
  count: number;
}

interface NetworkLauncher {
  launcher(): Promise<Launcher>;
  /** For Python handlers. */
  forks(): Promise<Launcher>;
}

export class Launchers {
  readonly #parts: LauncherParts;
  readonly #started = new Map<string, Promise<Launcher | null>>();
  readonly #usual: NetworkLauncher;
  readonly #offline: NetworkLauncher;
  readonly #listed: NetworkLauncher;
  readonly #offlineCommands: NetworkLauncher["launcher"];
  readonly #listedCommands: NetworkLauncher["launcher"];

  constructor(parts: LauncherParts) {
    this.#parts = parts;
    const { launcher, spawners, count } = parts;
    this.#usual = this.#launcherFor("forks", spawners?.usual ?? null, async () => launcher);
    const dedicated = (name: string, command: SpawnerCommand): NetworkLauncher =>
      this.#launcherFor(`${name} forks`, command, async () => {
        const started = await this.#start(name, command, count);
        if (started === null) throw new NotStarted(`no ${name} spawner could be started`);
        return started;
      });
    // If the network cannot be withheld from single handlers, all share one launcher.
    this.#offline = spawners?.offline.seccomp === true ? dedicated("offline", spawners.offline) : this.#usual;
    const listed = parts.egressProxy === null ? null : spawners?.listed;
    this.#listed = listed ? dedicated("listed", listed) : this.#usual;
    const own = spawners?.loopback ?? null;
    const commands = (name: string, command: SpawnerCommand | null, otherwise: NetworkLauncher) => async () =>
      (command === null ? null : await this.#start(name, command, count)) ?? otherwise.launcher();
    this.#offlineCommands = commands("commands offline", own, this.#offline);
    const listedOwn = own !== null && listed ? { ...own, gateway: listed.gateway } : null;
    this.#listedCommands = commands("commands listed", listedOwn, this.#listed);
  }

  of(network: Network): NetworkLauncher {
    if (network === null) return this.#offline;
    return network.hosts === null ? this.#usual : this.#listed;
  }

  /**
   * The launcher for texts of commands. Unless they may reach everything, each execution has its own loopback, if the
   * kernel permits it.
   */
  ofCommands(network: Network): Promise<Launcher> {
    if (network === null || !this.#parts.egress) return this.#offlineCommands();
    return network.hosts === null ? this.#usual.launcher() : this.#listedCommands();
  }

  /** Variables that lead a handler to the proxy. @param ms how long it may run */
  variables(network: Network, ms: number): { [name: string]: string } {
    const { egressProxy } = this.#parts;
    return egressProxy === null || !network?.hosts ? {} : egressProxy.variables(network.hosts, ms);
  }

  /** Ends the processes that serve only handlers. */
  async close(): Promise<void> {
    for (const started of this.#started.values()) await (await started)?.close();
    this.#parts.egressProxy?.close();
  }

  #launcherFor(
    name: string,
    command: SpawnerCommand | null,
    launcher: NetworkLauncher["launcher"],
  ): NetworkLauncher {
    if (command === null) return { launcher, forks: launcher };
    const { count } = this.#parts;
    const forking = { ...command, warm: true };
    // If no fork server can be started, each Python handler starts its own interpreter.
    const forks = async () =>
      (await this.#start(name, forking, Math.min(MOST_FORK_SERVERS, count))) ?? (await launcher());
    return { launcher, forks };
  }

  /** Starts them once; null if they do not start. */
  #start(name: string, command: SpawnerCommand, count: number): Promise<Launcher | null> {
    const known = this.#started.get(name);
    if (known !== undefined) return known;
    const starting = Spawners.start(command, count).then((started) => {
      if (started === null) log("warn", "spawners_not_started", { kind: name });
      return started;
    });
    this.#started.set(name, starting);
    return starting;
  }
}

class NotStarted extends Error {
  override name = "NotStarted";
}
