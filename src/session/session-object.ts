import { DurableObject } from "cloudflare:workers";
import { deploymentOf } from "../deployment.ts";
import type { Bindings } from "../env.ts";
import { toHullError } from "../errors.ts";
import { lazily } from "../lazily.ts";
import { loggingBackground } from "../log.ts";
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
import { keepingAlarm } from "./keeping-alarm.ts";
import type { Session } from "./session.ts";
import type {
  Begun,
  BegunSkill,
  ExecutionAnswer,
  ExecutionCall,
  ExecutionEvents,
  ExecutionStatus,
  KnownCall,
} from "./unlisted/rpc.ts";

/**
 * The runtime needs the class when the isolate starts. The code behind it is compiled when the first session is called.
 */
const openSession = lazily(async () => (await import("./session.ts")).openSession);

/**
 * A session: a conversation or a daemon, addressed by tenant and id; or a single call that outlives its connection,
 * addressed by its execution id.
 */
export class SessionObject extends DurableObject<Bindings> implements SessionRpc {
  #session: Promise<Session> | null = null;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    const deployment = deploymentOf(env);
    // Answers and stored values pass redactors, which must know all secrets before the first call.
    if (!deployment.isOpen)
      void ctx.blockConcurrencyWhile(() =>
        deployment.open(loggingBackground(deployment.settings.eventRedactor, (work) => ctx.waitUntil(work))),
      );
    // Each call fails instead of the constructor, since an object without an instance cannot keep its alarm.
    this.#opened().catch(() => {});
  }

  /** The session. If it cannot be opened, the next call tries again. */
  #opened(): Promise<Session> {
    this.#session ??= Promise.try(openSession, this.ctx, this.env).catch((error: unknown) => {
      this.#session = null;
      throw error;
    });
    return this.#session;
  }

  async ask(question: LongText): Promise<LongText> {
    return (await this.#opened()).dispatcher.ask(question);
  }

  async start(question: LongText, after: number | null) {
    return (await this.#opened()).dispatcher.start(question, after);
  }

  async events(call: SessionEventsCall): Promise<Streamed> {
    const { conversation } = await this.#opened();
    return streamed(conversation.events(call));
  }

  async document(caller: SessionCaller, what: SessionDocument): Promise<Streamed> {
    const { conversation } = await this.#opened();
    return streamed(conversation.document(caller, what));
  }

  async adopt(step: ForkStep, part: LongText): Promise<Adopted> {
    return (await this.#opened()).conversation.adopt(step, part);
  }

  async begin(call: ExecutionCall): Promise<Begun> {
    return (await this.#opened()).unlisted.begin(call);
  }

  async attach(call: KnownCall): Promise<Begun | null> {
    return (await this.#opened()).unlisted.attach(call);
  }

  async begun(caller: string): Promise<BegunSkill | null> {
    return (await this.#opened()).unlisted.begun(caller);
  }

  async answer(caller: string): Promise<ExecutionAnswer | null> {
    return (await this.#opened()).unlisted.answer(caller);
  }

  async follow(caller: string, after: number, early: boolean): Promise<ExecutionEvents | null> {
    return (await this.#opened()).unlisted.follow(caller, after, early);
  }

  async status(caller: string): Promise<ExecutionStatus | null> {
    return (await this.#opened()).unlisted.status(caller);
  }

  async steps(caller: string, page: { after: number; limit: number }): Promise<string | null> {
    return (await this.#opened()).unlisted.steps(caller, page);
  }

  async input(caller: string): Promise<Uint8Array | ReadableStream<Uint8Array> | null> {
    return (await this.#opened()).unlisted.input(caller);
  }

  async cancel(caller: string, keeps = false): Promise<"cancelled" | "removed" | "ended" | null> {
    return (await this.#opened()).unlisted.cancel(caller, keeps);
  }

  async relist(run: string, listed: string): Promise<boolean> {
    return (await this.#opened()).relist(run, listed);
  }

  override alarm(): Promise<void> {
    return keepingAlarm(this.ctx, this.env, async () => (await this.#opened()).alarm());
  }
}

async function streamed(stream: Promise<ReadableStream<Uint8Array>>): Promise<Streamed> {
  try {
    return { ok: true, body: await stream };
  } catch (error) {
    return { ok: false, error: toHullError(error).data };
  }
}
