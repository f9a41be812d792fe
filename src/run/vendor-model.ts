/** The model that a request of a vendor's client names. */
import type { ModelRequest } from "../engine/messages.ts";
import type { Exchanged, ExchangeOptions, LlmHost, ModelChoice, Reached } from "../llm/host.ts";
import { exchangeTerms } from "../llm/prepare.ts";
import { WHOLE_ANSWER_MS } from "../llm/vendor-limits.ts";
import type { Sink } from "../model/wire.ts";
import type { RunContext } from "./context.ts";
import { llmHost } from "./llm-host.ts";

/** A chosen model whose provider is configured, with the host that makes its calls. */
export interface VendorModel {
  host: LlmHost;
  choice: ModelChoice;
  reached: Reached;
  /** Whether the provider counts cached tokens separately from `input_tokens`. */
  excludesCached: boolean;
}

/**
 * Looks up a model. A request does so once, and hands the result on.
 * @param account name of the soft ledger
 * @param single whether the request makes one model call; otherwise it is a run of the engine
 * @param choice the model that was looked up in another object; absent: it was not
 * @throws HullError if no model can be chosen, or its provider is not configured
 */
export async function vendorModel(
  context: RunContext,
  model: string,
  {
    signal,
    account,
    single,
    choice: known,
  }: { signal: AbortSignal; account: string; single: boolean; choice?: ModelChoice | undefined },
): Promise<VendorModel> {
  const host = await llmHost(context, { signal, session: null, skill: null, account, single });
  const choice = known ?? host.choose({ model });
  const reached = host.reach(choice.target);
  return { host, choice, reached, excludesCached: reached.protocol === "anthropic" };
}

interface VendorCall {
  request: ModelRequest;
  /** Aborted when nobody wants the answer any more. */
  signal: AbortSignal;
  stream: boolean;
  sink: Sink;
  beforeAttempt?: ExchangeOptions["beforeAttempt"];
}

/** Makes one call of a model. @throws HullError as `LlmHost.exchange` does */
export async function vendorTurn(
  { host, choice }: VendorModel,
  { request, signal, stream, sink, beforeAttempt }: VendorCall,
): Promise<Exchanged> {
  const terms = exchangeTerms({ stream, max_tokens: request.max_tokens }, host, [choice.target]);
  return host.exchange({
    ...terms,
    targets: [choice.target],
    signal,
    request: () => request,
    own: {},
    native_search: false,
    whole: false,
    timeout_ms: stream ? terms.timeout_ms : Math.max(terms.timeout_ms, WHOLE_ANSWER_MS),
    onText: sink.onText,
    onReasoning: sink.onReasoning,
    onEvent: sink.onEvent,
    beforeAttempt,
  });
}

/** A request with members that have no canonical form. */
export const withExtra = (request: ModelRequest, extra: NonNullable<ModelRequest["extra"]>): ModelRequest =>
  Object.keys(extra).length === 0 ? request : { ...request, extra };
