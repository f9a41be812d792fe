/** Further targets for a call whose first one is down (serving.md §2 `fallback`). */
import type { ModelRequest, ModelTurn } from "../engine/messages.ts";
import { ProviderMisconfigured, ProviderNotConfigured } from "../errors/provider.ts";
import type { ModelTarget } from "../skill/manifest.ts";
import { type CallOptions, callModel } from "./call.ts";
import { isRetryable } from "./failure.ts";
import type { ResolvedTarget } from "./providers.ts";

export interface FallbackOptions extends CallOptions {
  /** How a target is reached. @throws ProviderNotConfigured, ProviderMisconfigured */
  resolve: (target: ModelTarget) => ResolvedTarget;
  /** Makes the call of one target. */
  around?: (target: ResolvedTarget, call: () => Promise<ModelTurn>) => Promise<ModelTurn>;
}

export interface FallbackAnswer {
  turn: ModelTurn;
  /** Which of the targets answered. */
  index: number;
  target: ResolvedTarget;
}

/**
 * Asks the primary, then each fallback in order: after a retryable failure or a timeout, and only while no text has
 * reached `onText`. A fallback that is not configured is passed over. Each target has its own `timeout_ms`.
 * @throws the error of `callModel`; the primary's where every target failed, and at once where it is not configured
 */
export async function callWithFallback(
  request: ModelRequest,
  primary: ModelTarget,
  fallbacks: readonly ModelTarget[],
  options: FallbackOptions,
): Promise<FallbackAnswer> {
  let spoke = false;
  const call = async (target: ModelTarget, index: number): Promise<FallbackAnswer> => {
    const resolved = options.resolve(target);
    const ask = (): Promise<ModelTurn> =>
      callModel(request, resolved, {
        ...options,
        onText: (text) => {
          spoke = true;
          options.onText?.(text);
        },
      });
    const turn = await (options.around?.(resolved, ask) ?? ask());
    return { turn, index, target: resolved };
  };
  const mayGoOn = (error: unknown): boolean => !spoke && !options.signal.aborted && isRetryable(error);
  try {
    return await call(primary, 0);
  } catch (failure) {
    if (!mayGoOn(failure)) throw failure;
    for (const [n, target] of fallbacks.entries()) {
      try {
        return await call(target, n + 1);
      } catch (error) {
        if (error instanceof ProviderNotConfigured || error instanceof ProviderMisconfigured) continue;
        if (!mayGoOn(error)) throw spoke || options.signal.aborted ? error : failure;
      }
    }
    throw failure;
  }
}
