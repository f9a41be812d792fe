import { DurableObject } from "cloudflare:workers";
import { deploymentOf } from "../deployment.ts";
import type { Bindings, MockRpc } from "../env.ts";
import { once } from "../memo.ts";
import type { Mock, MockCall } from "../model/mock/mock.ts";
import { keepingAlarm } from "./keeping-alarm.ts";
import { type CallPage, MockScope } from "./mocks/scope.ts";

/** The mocks of a scope, addressed by `<tenant>/<scope>`. The object exists only if mocks are used. */
export class MockObject extends DurableObject<Bindings> implements MockRpc {
  /** @throws StorageUnreadable */
  readonly #scope = once(() => new MockScope(this.ctx.storage));

  add(mocks: Mock[]): Promise<number> {
    return this.#scope().add(mocks);
  }

  begun(): boolean {
    return this.#scope().begun();
  }

  async take(call: MockCall, prompt: string | null): Promise<string> {
    const configured = await deploymentOf(this.env).mocks.load();
    return JSON.stringify(await this.#scope().take(call, prompt, configured));
  }

  calls(limit: number, after: number): CallPage {
    return this.#scope().calls(limit, after);
  }

  clear(): void {
    this.#scope().clear();
  }

  override alarm(): Promise<void> {
    return keepingAlarm(this.ctx, this.env, () => this.#scope().sweep(Date.now()));
  }
}
