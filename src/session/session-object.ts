import { DurableObject } from "cloudflare:workers";
import type { Bindings } from "../env.ts";
import { toHullError } from "../errors.ts";
import { SESSION_PARTS } from "../run/agent/session-parts.ts";
import { Conversation } from "./conversation/conversation.ts";
import { SessionDesk } from "./conversation/operations.ts";
import type {
  Adopted,
  ForkStep,
  LongText,
  SessionCaller,
  SessionDocument,
  SessionEventsCall,
  SessionRpc,
  Streamed,
} from "./conversation/rpc.ts";
import { Daemon } from "./daemon/daemon.ts";
import { keepSnapshots } from "./daemon/keep.ts";

/** One conversation or daemon (design.md §1), addressed by its tenant and its id. */
export class SessionObject extends DurableObject<Bindings> implements SessionRpc {
  readonly #conversation: Conversation;
  readonly #desk: SessionDesk;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    const { storage } = ctx;
    this.#conversation = new Conversation({
      storage,
      env,
      background: (work) => ctx.waitUntil(work),
      parts: SESSION_PARTS,
    });
    const daemon = new Daemon(this.#conversation, storage);
    keepSnapshots(this.#conversation, daemon);
    this.#desk = new SessionDesk(this.#conversation, daemon);
  }

  ask(question: LongText): Promise<LongText> {
    return this.#desk.ask(question);
  }

  start(question: LongText, after: number | null) {
    return this.#desk.start(question, after);
  }

  events(call: SessionEventsCall): Promise<Streamed> {
    return streamed(this.#conversation.events(call));
  }

  document(caller: SessionCaller, what: SessionDocument): Promise<Streamed> {
    return streamed(this.#conversation.document(caller, what));
  }

  adopt(step: string, part: LongText): Promise<Adopted> {
    const fork: ForkStep = JSON.parse(step);
    return this.#conversation.adopt(fork, part);
  }

  override alarm(): Promise<void> {
    return this.#conversation.alarm();
  }
}

async function streamed(stream: Promise<ReadableStream<Uint8Array>>): Promise<Streamed> {
  try {
    return { ok: true, body: await stream };
  } catch (error) {
    return { ok: false, error: JSON.stringify(toHullError(error).data) };
  }
}
