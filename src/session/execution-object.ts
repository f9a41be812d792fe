import { DurableObject } from "cloudflare:workers";
import type { Bindings } from "../env.ts";
import { Execution } from "./execution/execution.ts";
import type {
  Begun,
  ExecutionAnswer,
  ExecutionCall,
  ExecutionEvents,
  ExecutionRpc,
  ExecutionStatus,
  KnownCall,
} from "./execution/rpc.ts";

/** One idempotent or asynchronous call with its events and result (design.md §1), addressed by its execution id. */
export class ExecutionObject extends DurableObject<Bindings> implements ExecutionRpc {
  readonly #execution: Execution;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#execution = new Execution({
      storage: ctx.storage,
      env,
      background: (work) => ctx.waitUntil(work),
    });
  }

  async begin(call: ExecutionCall): Promise<Begun> {
    return this.#execution.begin(call);
  }

  async attach(call: KnownCall): Promise<Begun | null> {
    return this.#execution.attach(call);
  }

  answer(caller: string): Promise<ExecutionAnswer | null> {
    return this.#execution.answer(caller);
  }

  events(caller: string, after: number, early: boolean): Promise<ExecutionEvents | null> {
    return this.#execution.events(caller, after, early);
  }

  async status(caller: string): Promise<ExecutionStatus | null> {
    return this.#execution.status(caller);
  }

  cancel(caller: string): Promise<"cancelled" | "removed" | null> {
    return this.#execution.cancel(caller);
  }

  override alarm(): Promise<void> {
    return this.#execution.wake();
  }
}
