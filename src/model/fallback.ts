/** Further targets for a call whose first one is down. */
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
  around?: (
    asked: ModelRequest,
    target: ResolvedTarget,
    call: () => Promise<ModelTurn>,
  ) => Promise<ModelTurn>;
  /** Whether another target may answer after this failure of one; default: a retryable one, or a timeout. */
  goesOn?: ((error: unknown) => boolean) | undefined;
}

interface FallbackAnswer {
  turn: ModelTurn;
  /** Which of the targets answered. */
  index: number;
  target: ResolvedTarget;
}

/**
 * Asks the primary, then each fallback in order: after a failure that `goesOn` takes, and only while no text has been
 * streamed. A fallback that is not configured is passed over. Each target has its own `timeout_ms`.
 * @param request what each target is asked
 * @throws the error of `callModel`; the primary's where every target failed, and at once where it is not configured
 */
export async function callWithFallback(
  request: (target: ModelTarget) => ModelRequest,
  primary: ModelTarget,
  fallbacks: readonly ModelTarget[],
  options: FallbackOptions,
): Promise<FallbackAnswer> {
  let spoke = false;
  const call = async (target: ModelTarget, index: number): Promise<FallbackAnswer> => {
    const resolved = options.resolve(target);
    const asked = request(target);
    const ask = (): Promise<ModelTurn> =>
      callModel(asked, resolved, {
        ...options,
        onOutput: () => {
          spoke = true;
        },
      });
    const turn = await (options.around?.(asked, resolved, ask) ?? ask());
    return { turn, index, target: resolved };
  };
  const { goesOn = isRetryable } = options;
  const mayGoOn = (error: unknown): boolean => !spoke && !options.signal.aborted && goesOn(error);
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
