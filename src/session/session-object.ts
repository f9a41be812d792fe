import { DurableObject } from "cloudflare:workers";
import { deploymentOf } from "../deployment.ts";
import type { Bindings } from "../env.ts";
import { lazily } from "../lazily.ts";
import type {
  Adopted,
  LongText,
  SessionCaller,
  SessionDocument,
  SessionEventsCall,
  SessionRpc,
  Streamed,
} from "./conversation/rpc.ts";
import type { Session } from "./session.ts";
import type {
  Begun,
  ExecutionAnswer,
  ExecutionCall,
  ExecutionEvents,
  ExecutionStatus,
  KnownCall,
} from "./unlisted/rpc.ts";

/** The runtime wants the class when the isolate starts; what it does is compiled when the first session is asked. */
const sessionOf = lazily(async () => {
  const code = await import("./session.ts");
  return (ctx: DurableObjectState, env: Bindings) => new code.Session(ctx, env);
});

/**
 * A session: a conversation or a daemon, addressed by its tenant and its id, or a single call that outlives its
 * connection, addressed by its execution id.
 */
export class SessionObject extends DurableObject<Bindings> implements SessionRpc {
  readonly #session: Promise<Session>;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    const deployment = deploymentOf(env);
    // Answers and stored values pass redactors, which must know all secrets by then.
    if (!deployment.isOpen)
      void ctx.blockConcurrencyWhile(() => deployment.open((work) => ctx.waitUntil(work)));
    this.#session = Promise.resolve(sessionOf(ctx, env));
  }

  async ask(question: LongText): Promise<LongText> {
    return (await this.#session).ask(question);
  }

  async start(question: LongText, after: number | null) {
    return (await this.#session).start(question, after);
  }

  async events(call: SessionEventsCall): Promise<Streamed> {
    return (await this.#session).events(call);
  }

  async document(caller: SessionCaller, what: SessionDocument): Promise<Streamed> {
    return (await this.#session).document(caller, what);
  }

  async adopt(step: string, part: LongText): Promise<Adopted> {
    return (await this.#session).adopt(step, part);
  }

  async begin(call: ExecutionCall): Promise<Begun> {
    return (await this.#session).begin(call);
  }

  async attach(call: KnownCall): Promise<Begun | null> {
    return (await this.#session).attach(call);
  }

  async answer(caller: string): Promise<ExecutionAnswer | null> {
    return (await this.#session).answer(caller);
  }

  async follow(caller: string, after: number, early: boolean): Promise<ExecutionEvents | null> {
    return (await this.#session).follow(caller, after, early);
  }

  async status(caller: string): Promise<ExecutionStatus | null> {
    return (await this.#session).status(caller);
  }

  async steps(caller: string, page: { after: number; limit: number }): Promise<string | null> {
    return (await this.#session).steps(caller, page);
  }

  async input(caller: string): Promise<Uint8Array | ReadableStream<Uint8Array> | null> {
    return (await this.#session).input(caller);
  }

  async cancel(caller: string, keeps = false): Promise<"cancelled" | "removed" | "ended" | null> {
    return (await this.#session).cancel(caller, keeps);
  }

  override async alarm(): Promise<void> {
    await (await this.#session).alarm();
  }
}
