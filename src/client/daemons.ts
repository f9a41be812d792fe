/** Daemons: agents that wait, and wake when something comes or is due. */
import type { Daemon, DaemonRequest, DaemonSnapshot, Daemons } from "../../typed/client/api.d.ts";
import type { Item } from "./route.ts";
import { SessionClient } from "./sessions.ts";
import type { CallSettings, RunSettings, Transport } from "./transport.ts";

export class DaemonsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All daemons of the tenant, the newest first, page by page. */
  list(settings: CallSettings = {}): AsyncGenerator<Daemons["data"][number]> {
    return this.#transport.pages("GET /daemons", {}, settings);
  }

  async spawn(body: DaemonRequest, settings: RunSettings = {}): Promise<DaemonClient> {
    const { id } = await this.#transport.post("POST /daemons", { json: body }, settings);
    return new DaemonClient(this.#transport, id);
  }

  /** Starts the daemon again that last had a path. */
  async resumeAt(persist_path: string, settings: RunSettings = {}): Promise<DaemonClient> {
    const { id } = await this.#transport.post("POST /daemons/resume", { json: { persist_path } }, settings);
    return new DaemonClient(this.#transport, id);
  }
}

/** One daemon. Making this object sends no request. */
export class DaemonClient {
  readonly id: string;
  /** The daemon's conversation: events, messages, files, approvals. */
  readonly session: SessionClient;
  readonly #transport: Transport<"id">;

  constructor(transport: Transport, id: string) {
    this.id = id;
    this.session = new SessionClient(transport, id);
    this.#transport = transport.of(id);
  }

  /** The daemon with its snapshot and the beginning of its queue. */
  get(settings: CallSettings = {}): Promise<DaemonSnapshot> {
    return this.#transport.ask("GET /daemons/{id}", {}, settings);
  }

  /** Its wakes, the newest first, page by page. */
  wakes(settings: CallSettings = {}): AsyncGenerator<Item<"GET /daemons/{id}/wakes">> {
    return this.#transport.pages("GET /daemons/{id}/wakes", {}, settings);
  }

  /** Puts an event, which may be any JSON, into its queue. */
  send(payload: unknown, settings: RunSettings = {}): Promise<Daemon> {
    return this.#transport.post("POST /daemons/{id}/events", { json: payload }, settings);
  }

  /** Wakes it once it is idle. */
  wake(settings: RunSettings = {}): Promise<Daemon> {
    return this.#transport.post("POST /daemons/{id}/wake", { json: {} }, settings);
  }

  stop(settings: RunSettings = {}): Promise<Daemon> {
    return this.#transport.post("POST /daemons/{id}/stop", { json: {} }, settings);
  }

  /** Starts it again after it was stopped or has failed. */
  resume(settings: RunSettings = {}): Promise<Daemon> {
    return this.#transport.post("POST /daemons/{id}/resume", { json: {} }, settings);
  }

  /** Stops it and removes all its data, including its session. */
  delete(settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove("DELETE /daemons/{id}", {}, settings);
  }
}
