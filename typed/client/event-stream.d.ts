// `npm run docs` writes this file from src/client.
/** Streams of events that continue after a cut connection, without gaps and duplicates. */
import type { EventData, HullEvent } from "./api.ts";
import { type Call, type CallSettings, type Transport } from "./transport.ts";
/** The content of the last event: a result, and how long it took. */
type Ended<Done> = Done & Pick<EventData["done"], "ok" | "duration_ms" | "llm_ms" | "tools_ms" | "queue_ms" | "run_ms">;
interface StreamSource {
    transport: Transport;
    /** The call whose answer is the stream. */
    call: Call;
    /**
     * The call that continues the stream after its connection broke, if not the original one. @param execution id of the
     * execution
     */
    resumed?: (execution: string) => Call;
    /** The id of the event after which the stream begins; absent: the call determines it. */
    begin?: () => Promise<string>;
    /** Whether the stream ends with `done`; `false`: it continues until the caller leaves it. */
    ends: boolean;
    /** What to do when the caller leaves before the end. */
    left?: (execution: string) => Promise<unknown>;
    settings: CallSettings;
}
/**
 * The events of a run, to be read once: as events (`for await`), as text, or only the result. After a broken connection
 * the stream continues after the last event that was seen.
 * @typeParam Done content of the last event in addition to `ok`
 */
export declare class EventStream<Done> implements AsyncIterable<HullEvent> {
    #private;
    constructor(source: StreamSource);
    /** Each event as it arrives. A failed run sends the event `error`. Throws HullError if the call is refused. */
    [Symbol.asyncIterator](): AsyncGenerator<HullEvent, void, undefined>;
    /** The whole answer so far, each time that it changes. Throws HullError if the run fails. */
    text(): AsyncGenerator<string, void, undefined>;
    /**
     * The pieces of the answer as bytes, text in UTF-8, e.g. for `new Response(stream.readable())`. The stream fails with
     * HullError if the run fails. The text of a round that restarts comes twice; `text` handles that.
     */
    readable(): ReadableStream<Uint8Array>;
    /** The content of the last event. Throws HullError if the run fails. */
    result(): Promise<Ended<Done>>;
}
export {};
