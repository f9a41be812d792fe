// `npm run docs` writes this file from src/client.
/** Calls that Hull keeps: those with an idempotency key, and asynchronous ones. */
import type { Execution } from "./api.ts";
import { SkillAnswer } from "./answer.ts";
import { EventStream } from "./event-stream.ts";
import type { Item } from "./route.ts";
import type { Call, CallSettings, RunSettings, Transport } from "./transport.ts";
export declare class ExecutionsClient {
    #private;
    constructor(transport: Transport);
    /** State and result. */
    get(id: string, settings?: CallSettings): Promise<Execution>;
    /** The answer itself, once the call has ended. Throws HullError if it failed. */
    result(id: string, settings?: CallSettings): Promise<SkillAnswer>;
    /** The events so far, then future ones. Leaving the stream does not stop the call. */
    events(id: string, settings?: CallSettings & {
        after?: number;
    }): EventStream<object>;
    /** What each step took. */
    trace(id: string, settings?: CallSettings): AsyncGenerator<Item<"GET /executions/{id}/trace">>;
    /** Stops a call under way, removes one that has ended. */
    delete(id: string, settings?: CallSettings): Promise<void>;
}
/** The whole answer of a skill. */
export declare function skillAnswer(response: Response): Promise<SkillAnswer>;
/** A stream that continues at `/executions/{id}/events`; leaving it stops the execution. */
export declare function executionStream<Done>(transport: Transport, begun: Call, settings: RunSettings): EventStream<Done>;
