/** Further targets for a call whose first target is down. */
import type { ModelRequest, ModelTurn } from "../engine/messages.ts";
import { ProviderMisconfigured, ProviderNotConfigured } from "../errors/provider.ts";
import { HullError } from "../errors.ts";
import type { ModelTarget } from "../skill/manifest.ts";
import { type CallOptions, callModel } from "./call.ts";
import { isRetryable } from "./failure.ts";
import type { ResolvedTarget } from "./providers.ts";

export interface FallbackOptions extends CallOptions {
  /** How to reach a target. @throws ProviderNotConfigured, ProviderMisconfigured */
  resolve: (target: ModelTarget) => ResolvedTarget;
  /** Called with each target that fails. */
  onFailed?: ((target: ModelTarget, error: unknown) => void) | undefined;
  /** Whether another target may answer after this failure; default: after a retryable one, or a timeout. */
  fallsBackAfter?: ((error: unknown) => boolean) | undefined;
}

/**
 * Calls the primary, then each fallback in order, if `fallsBackAfter` accepts the failure. Once a listener has received
 * text, it calls no further target without `onRestart`. It skips a fallback that is not configured. Each target has its own
 * `timeout_ms`.
 * @param request makes the request for each target
 * @throws the error of `callModel`: the primary's if every target failed; immediately if the primary is not configured
 */
export async function callWithFallback(
  request: (target: ModelTarget) => ModelRequest,
  primary: ModelTarget,
  fallbacks: readonly ModelTarget[],
  options: FallbackOptions,
): Promise<ModelTurn> {
  let spoke = false;
  let thought = false;
  const { onText, onReasoning, onRestart } = options;
  const restart =
    onRestart &&
    ((): void => {
      spoke = false;
      thought = false;
      onRestart();
    });
  const call = async (target: ModelTarget): Promise<ModelTurn> => {
    try {
      const resolved = options.resolve(target);
      if (spoke || thought) restart?.();
      return await callModel(request(target), resolved, {
        ...options,
        onText:
          onText &&
          ((text) => {
            spoke = true;
            onText(text);
          }),
        onReasoning:
          onReasoning &&
          ((text) => {
            thought = true;
            onReasoning(text);
          }),
        onRestart: restart,
      });
    } catch (error) {
      options.onFailed?.(target, error);
      throw error;
    }
  };
  const { fallsBackAfter = isRetryable } = options;
  const isFinal = (): boolean => (spoke && restart === undefined) || options.signal.aborted;
  const mayFallBack = (error: unknown): boolean => !isFinal() && fallsBackAfter(error);
  try {
    return await call(primary);
  } catch (failure) {
    if (!mayFallBack(failure)) throw failure;
    for (const target of fallbacks) {
      try {
        return withFallbackWarning(await call(target), primary, failure);
      } catch (error) {
        if (error instanceof ProviderNotConfigured || error instanceof ProviderMisconfigured) continue;
        if (!mayFallBack(error)) throw isFinal() ? error : failure;
      }
    }
    throw failure;
  }
}

function withFallbackWarning(turn: ModelTurn, { provider, model }: ModelTarget, failure: unknown): ModelTurn {
  const asked = model === null ? provider : `${provider}/${model}`;
  const code = failure instanceof HullError ? failure.code : "internal";
  const message = `${turn.provider}/${turn.model} answered in place of ${asked}, which failed: ${code}.`;
  return { ...turn, warnings: [...(turn.warnings ?? []), { code: "fallback_answered", message }] };
}
