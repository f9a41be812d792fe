/** The model that a request of a vendor's client names. */
import type { LlmHost, ModelChoice, Reached } from "../llm/host.ts";
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
 * @throws HullError if no model can be chosen, or its provider is not configured
 */
export async function vendorModel(
  context: RunContext,
  model: string,
  { signal, account, single }: { signal: AbortSignal; account: string; single: boolean },
): Promise<VendorModel> {
  const host = await llmHost(context, { signal, session: null, skill: null, account, single });
  const choice = host.choose({ model });
  const reached = host.reach(choice.target);
  return { host, choice, reached, excludesCached: reached.protocol === "anthropic" };
}
