import { DurableObject } from "cloudflare:workers";
import { type Bindings, type MockRpc, settings } from "../env.ts";
import { deploymentMocks } from "../model/mock/deployment.ts";
import { type CallPage, MockScope } from "./mocks/scope.ts";

/** The mocks of a scope, addressed by `<tenant>/<scope>`. There is one only where mocks are used. */
export class MockObject extends DurableObject<Bindings> implements MockRpc {
  readonly #scope: MockScope;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#scope = new MockScope(ctx.storage);
  }

  add(mocks: string): Promise<number> {
    return this.#scope.add(JSON.parse(mocks));
  }

  begun(): boolean {
    return this.#scope.begun();
  }

  async take(call: string, prompt: string | null): Promise<string> {
    const deployment = await deploymentMocks(settings(this.env), this.env);
    return JSON.stringify(await this.#scope.take(JSON.parse(call), prompt, deployment));
  }

  calls(limit: number, after: number): CallPage {
    return this.#scope.calls(limit, after);
  }

  clear(): void {
    this.#scope.clear();
  }

  override alarm(): Promise<void> {
    return this.#scope.sweep(Date.now());
  }
}
