// `npm run docs` writes this file from src/client.
/** Daemons: agents that wait, and wake when something comes or is due. */
import type { Daemon, DaemonRequest, DaemonSnapshot, Daemons } from "./api.ts";
import type { Item } from "./route.ts";
import { SessionClient } from "./sessions.ts";
import type { CallSettings, RunSettings, Transport } from "./transport.ts";
export declare class DaemonsClient {
    #private;
    constructor(transport: Transport);
    /** All daemons of the tenant, the newest first, page by page. */
    list(settings?: CallSettings): AsyncGenerator<Daemons["data"][number]>;
    spawn(body: DaemonRequest, settings?: RunSettings): Promise<DaemonClient>;
    /** Starts the daemon again that last had a path. */
    resumeAt(persist_path: string, settings?: RunSettings): Promise<DaemonClient>;
}
/** One daemon. Making this object sends no request. */
export declare class DaemonClient {
    #private;
    readonly id: string;
    /** The daemon's conversation: events, messages, files, approvals. */
    readonly session: SessionClient;
    constructor(transport: Transport, id: string);
    /** The daemon with its snapshot and the beginning of its queue. */
    get(settings?: CallSettings): Promise<DaemonSnapshot>;
    /** Its wakes, the newest first, page by page. */
    wakes(settings?: CallSettings): AsyncGenerator<Item<"GET /daemons/{id}/wakes">>;
    /** Puts an event, which may be any JSON, into its queue. */
    send(payload: unknown, settings?: RunSettings): Promise<Daemon>;
    /** Wakes it once it is idle. */
    wake(settings?: RunSettings): Promise<Daemon>;
    stop(settings?: RunSettings): Promise<Daemon>;
    /** Starts it again after it was stopped or has failed. */
    resume(settings?: RunSettings): Promise<Daemon>;
    /** Stops it and removes all its data, including its session. */
    delete(settings?: CallSettings): Promise<void>;
}
