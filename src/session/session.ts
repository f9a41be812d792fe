import { deploymentOf } from "../deployment.ts";
import type { Bindings } from "../env.ts";
import { toHullError } from "../errors.ts";
import { SESSION_PARTS } from "../run/agent/session-parts.ts";
import { Conversation } from "./conversation/conversation.ts";
import { SessionDispatcher } from "./conversation/operations.ts";
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
import { Delegates } from "./task/delegates.ts";
import { Task } from "./task/task.ts";
import type {
  Begun,
  ExecutionAnswer,
  ExecutionCall,
  ExecutionEvents,
  ExecutionStatus,
  KnownCall,
} from "./unlisted/rpc.ts";
import { UnlistedSession } from "./unlisted/unlisted-session.ts";
import { Workflow } from "./workflow/workflow.ts";

/** What a session's Durable Object does: the parts of a session, and which part answers which call. */
export class Session implements Omit<SessionRpc, keyof Rpc.DurableObjectBranded> {
  readonly #conversation: Conversation;
  readonly #dispatcher: SessionDispatcher;
  readonly #unlisted: UnlistedSession;

  constructor(ctx: DurableObjectState, env: Bindings) {
    const { storage } = ctx;
    const background = (work: Promise<unknown>): void => ctx.waitUntil(work);
    const deployment = deploymentOf(env);
    const die = async (): Promise<void> => {
      await storage.sync();
      ctx.abort("The workflow run that lives here dies where its author wants it to.");
    };
    this.#conversation = new Conversation({ storage, deployment, background, parts: SESSION_PARTS, die });
    this.#unlisted = new UnlistedSession({ storage, deployment, background, log: this.#conversation.log });
    const daemon = new Daemon(this.#conversation, storage);
    keepSnapshots(this.#conversation, daemon);
    const delegates = new Delegates(this.#conversation, storage.sql);
    const workflow = new Workflow(this.#conversation, storage, delegates);
    this.#dispatcher = new SessionDispatcher(this.#conversation, {
      daemon,
      task: new Task(this.#conversation, storage, workflow),
      delegates,
      workflow,
    });
  }

  ask(question: LongText): Promise<LongText> {
    return this.#dispatcher.ask(question);
  }

  start(question: LongText, after: number | null) {
    return this.#dispatcher.start(question, after);
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

  async begin(call: ExecutionCall): Promise<Begun> {
    return this.#unlisted.begin(call);
  }

  async attach(call: KnownCall): Promise<Begun | null> {
    return this.#unlisted.attach(call);
  }

  answer(caller: string): Promise<ExecutionAnswer | null> {
    return this.#unlisted.answer(caller);
  }

  follow(caller: string, after: number, early: boolean): Promise<ExecutionEvents | null> {
    return this.#unlisted.follow(caller, after, early);
  }

  async status(caller: string): Promise<ExecutionStatus | null> {
    return this.#unlisted.status(caller);
  }

  async steps(caller: string, page: { after: number; limit: number }): Promise<string | null> {
    return this.#unlisted.steps(caller, page);
  }

  async input(caller: string): Promise<Uint8Array | ReadableStream<Uint8Array> | null> {
    return this.#unlisted.input(caller);
  }

  cancel(caller: string, keeps = false): Promise<"cancelled" | "removed" | "ended" | null> {
    return this.#unlisted.cancel(caller, keeps);
  }

  async alarm(): Promise<void> {
    if (this.#unlisted.here) this.#unlisted.alarm();
    else await this.#conversation.alarm();
  }
}

async function streamed(stream: Promise<ReadableStream<Uint8Array>>): Promise<Streamed> {
  try {
    return { ok: true, body: await stream };
  } catch (error) {
    return { ok: false, error: JSON.stringify(toHullError(error).data) };
  }
}
