/** Sends a delegated run's events to the session above it: each event once, even if a process dies on the way. */
import type { ReturnedShare } from "../../engine/shares.ts";
import { CallNotFound } from "../../errors/llm.ts";
import type { RunEvent } from "../../run/events.ts";
import { type SessionClient, sessionClient } from "../../run/session-client.ts";
import { type ChildRun, parentEvents } from "../../run/task/parent-event.ts";
import type { Conversation } from "../conversation/conversation.ts";

/** How long a failed relay waits before another attempt, in ms, if no run of the session has a watch. */
const RETRY_MS = 15_000;
/** Pause between two messages to the session above, in ms, in which pieces of text gather. */
const PACE_MS = 40;

/** The task whose events the relay sends. */
interface Relayed {
  /** The session above; `null`: none. */
  parent(): { session_id: string; run_id: string | null } | null;
  progress(): "running" | "resting" | "over";
  facts(): ChildRun;
  /** Its last run, once it has ended; `null`: it has not, or it belongs to no task. */
  lastRun(): ReturnedShare | null;
  close(): void;
}

export class Relay {
  readonly #conversation: Conversation;
  readonly #task: Relayed;
  #pumping: Promise<void> | null = null;
  /** Number of the last event that the session above has; `null`: not asked yet. */
  #known: number | null = null;
  /** Each resolves what the pump waits for: the next event, or the end of its pause. */
  #onEvent: () => void = () => {};
  #endPause: () => void = () => {};

  constructor(conversation: Conversation, task: Relayed) {
    this.#conversation = conversation;
    this.#task = task;
  }

  /** A workflow run continues: sends its events now, or after `RETRY_MS` if that fails. Call it in a transaction. */
  due(): void {
    this.#conversation.dueAt("relay", this.#conversation.log.now() + RETRY_MS);
    this.ensure();
  }

  /**
   * A run of the session continues: sends its events now; if that fails, the run's watch sends them.
   * @param fresh the session above has no event of this session yet
   */
  follow(fresh = false): void {
    if (fresh) this.#known = 0;
    this.ensure();
  }

  /** Makes sure that all events so far are sent. */
  ensure(): void {
    this.#onEvent();
    this.#endPause();
    if (this.#pumping !== null) return;
    this.#pumping = Promise.resolve()
      .then(() => this.#pump())
      .catch(this.#conversation.log.faults({ event: "relay_failed" }))
      .finally(() => {
        this.#pumping = null;
      });
    this.#conversation.background(this.#pumping);
  }

  /** Resolves when all events so far were sent, or cannot be sent now. */
  async flushed(): Promise<void> {
    this.ensure();
    await this.#pumping;
  }

  async #pump(): Promise<void> {
    const { log } = this.#conversation;
    const session = log.store.session();
    const parent = this.#task.parent();
    if (session === null) return;
    if (parent === null) return this.#over();
    const above = sessionClient(this.#conversation.context(), parent.session_id);
    const stop = log.events.watch(() => this.#onEvent());
    try {
      await this.#sendAll(above, session.id);
      this.#over();
    } catch (error) {
      if (!CallNotFound.matches(error)) throw error;
      this.#over();
      // The session above is gone, and nobody else wants the answer.
      if (parent.run_id !== null) this.#task.close();
    } finally {
      stop();
    }
  }

  #over(): void {
    this.#conversation.dueAt("relay", null);
    this.#conversation.reported();
  }

  /** Sends events until the run has ended or rests. */
  async #sendAll(above: SessionClient, child: string): Promise<void> {
    const { log } = this.#conversation;
    const send = async (after: number, events: RunEvent[], last: number, over: boolean): Promise<void> => {
      const ended = over ? this.#task.lastRun() : null;
      // Until it answers, nobody knows what the session above has stored: whoever sends after a failure asks first.
      this.#known = null;
      const { known, goes_on } = await above.ask("relay", {
        child,
        after,
        events,
        last,
        over,
        ...(ended === null ? {} : { ended }),
      });
      this.#known = known;
      if (!goes_on) this.#task.close();
    };
    // Asks what the session above has, or waits a little, so that a short run sends everything in one message.
    if (this.#known === null) await send(-1, [], 0, false);
    else await this.#pause();
    for (;;) {
      const after = this.#known ?? 0;
      const found = log.store.events(after);
      const last = found.at(-1)?.seq ?? after;
      const state = this.#task.progress();
      const whole = last >= log.store.lastEvent();
      const over = whole && state === "over";
      if (found.length > 0 || over) {
        const shown = found.flatMap((event) => parentEvents(event, this.#task.facts()));
        await send(after, shown, last, over);
        if (over && log.store.lastEvent() <= last) return;
        if (whole) await this.#pause();
      } else if (state === "resting") return;
      else
        await new Promise<void>((resolve) => {
          this.#onEvent = resolve;
        });
    }
  }

  /** Lets text gather, unless the run is over. */
  async #pause(): Promise<void> {
    if (this.#task.progress() === "over") return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#endPause = resolve;
    const timer = setTimeout(resolve, PACE_MS);
    await promise.finally(() => clearTimeout(timer));
  }
}
