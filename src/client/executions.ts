/** Calls that Hull keeps: those with an idempotency key, and asynchronous ones. */
import type { Execution } from "../../typed/client/api.d.ts";
import { SkillAnswer } from "./answer.ts";
import { EventStream } from "./event-stream.ts";
import type { Item } from "./route.ts";
import type { Call, CallSettings, RunSettings, Transport } from "./transport.ts";

export class ExecutionsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** State and result. */
  get(id: string, settings: CallSettings = {}): Promise<Execution> {
    return this.#transport.ask("GET /executions/{id}", { path: { id } }, settings);
  }

  /** The answer itself, once the call has ended. Throws HullError if it failed. */
  result(id: string, settings: CallSettings = {}): Promise<SkillAnswer> {
    const asked = this.#transport.call("GET /executions/{id}/result", { path: { id } });
    return this.#transport.send(asked, settings, skillAnswer);
  }

  /** The events so far, then future ones. Leaving the stream does not stop the call. */
  events(id: string, settings: CallSettings & { after?: number } = {}): EventStream<object> {
    const { after } = settings;
    const asked = this.#transport.call("GET /executions/{id}/events", { path: { id }, query: { after } });
    return new EventStream({ transport: this.#transport, call: asked, ends: true, settings });
  }

  /** What each step took. */
  trace(id: string, settings: CallSettings = {}): AsyncGenerator<Item<"GET /executions/{id}/trace">> {
    return this.#transport.pages("GET /executions/{id}/trace", { path: { id } }, settings);
  }

  /** Stops a call under way, removes one that has ended. */
  delete(id: string, settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove("DELETE /executions/{id}", { path: { id } }, settings);
  }
}

/** The whole answer of a skill. */
export async function skillAnswer(response: Response): Promise<SkillAnswer> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  return new SkillAnswer(bytes, response.headers);
}

/** A stream that continues at `/executions/{id}/events`; leaving it stops the execution. */
export function executionStream<Done>(
  transport: Transport,
  begun: Call,
  settings: RunSettings,
): EventStream<Done> {
  if (settings.idempotencyKey === false) {
    return new EventStream({ transport, call: begun, ends: true, settings });
  }
  return new EventStream({
    transport,
    call: begun,
    resumed: (id) => transport.call("GET /executions/{id}/events", { path: { id } }),
    left: (id) =>
      transport.nothing(transport.call("DELETE /executions/{id}", { path: { id } }, { repeatable: false })),
    ends: true,
    settings,
  });
}
