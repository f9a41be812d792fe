// `npm run docs` writes this file from src/client.
/** Streams of events that go on after a cut connection, with nothing lost and nothing twice. */
import type { EventData } from "./api.ts";
import { type Call, type CallSettings, type Transport } from "./transport.ts";
/** One event of a stream. */
export type HullEvent = {
    [name in keyof EventData]: {
        /** `<execution or session id>:<seq>`. */
        id: string;
        event: name;
        data: EventData[name];
    };
}[keyof EventData];
interface StreamSource {
    transport: Transport;
    /** The call whose answer is the stream. */
    call: Call;
    /** The same stream after its connection broke, where another call continues it better. @param execution id of the execution */
    resumed?: (execution: string) => Call;
    /** The id of the event after which the stream begins; without it the call says so. */
    begin?: () => Promise<string>;
    /** Whether the stream ends with `done`; `false`: it goes on until somebody leaves it. */
    ends: boolean;
    /** What to do when the caller leaves before the end. */
    left?: (execution: string) => Promise<unknown>;
    settings: CallSettings;
}
/**
 * The events of a run, to be read once: as events (`for await`), as text, or for the result alone. A broken connection is
 * opened again after the last event that was seen.
 * @typeParam Done what the last event holds beside `ok`
 */
export declare class EventStream<Done> implements AsyncIterable<HullEvent> {
    #private;
    constructor(source: StreamSource);
    /** Each event as it comes. A run that fails says so by the event `error`. Throws HullError where the call is refused. */
    [Symbol.asyncIterator](): AsyncGenerator<HullEvent, void, undefined>;
    /** The whole answer so far, each time that it changes. Throws HullError where the run fails. */
    text(): AsyncGenerator<string, void, undefined>;
    /**
     * The pieces of the answer as bytes, text in UTF-8, e.g. for `new Response(stream.readable())`. The stream fails with HullError
     * where the run fails. After the death of a server the piece of a round that began anew comes again: `text` knows better.
     */
    readable(): ReadableStream<Uint8Array>;
    /** What the last event holds. Throws HullError where the run fails. */
    result(): Promise<Done & {
        ok: boolean;
    }>;
}
export {};
