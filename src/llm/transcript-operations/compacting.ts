/** The operations that shorten a conversation, with a model's help on request. */
import * as z from "zod/mini";
import { COMPACTION_STRATEGIES } from "../../engine/agent/spec.ts";
import { ModelRefused, ProviderBadResponse } from "../../errors/provider.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { compactionOptions, compactionShapes } from "../compaction-options.ts";
import { seenAlone } from "../transcript-history.ts";
import { autoCompacted, compactedTranscript, type Summarise, summarized } from "./compact.ts";
import { type Operation, type OperationDeps, operation } from "./operation.ts";
import { requiredTranscript, transcriptFields } from "./read-body.ts";

const maybe = z.exactOptional;
const count = () => z.int().check(z.nonnegative());

/** One model call, whose text is the summary. */
function summariser(options: JsonObject, deps: OperationDeps): Summarise {
  return async (prompt) => {
    const result = await deps.call({ prompt, system: null, options });
    if (result.stop_reason === "refusal") throw new ModelRefused({ provider: result.provider });
    const summary = result.visible_text.trim();
    if (summary !== "") return summary;
    throw new ProviderBadResponse({ provider: result.provider, reason: "it holds no summary" });
  };
}

/** The window of the model that the options name; `null`: they name none, or it is unknown. */
async function windowOf(call: JsonObject, deps: OperationDeps): Promise<number | null> {
  const selector = Object.fromEntries(
    ["provider", "model", "model_tier"].flatMap((name) => {
      const value = call[name];
      return typeof value === "string" ? [[name, value]] : [];
    }),
  );
  if (Object.keys(selector).length === 0) return null;
  return (await deps.host()).choose(selector).context_window;
}

export const COMPACTING: Record<string, Operation> = {
  summarize: operation(
    () => ({ ...transcriptFields(), keep_last: maybe(count()), prompt: maybe(z.string()) }),
    ({ keep_last = 6, prompt, ...body }, deps, call) =>
      summarized(requiredTranscript(body, deps.ids), { keep_last, prompt }, summariser(call, deps), deps.ids),
    { calls: true },
  ),
  compact: operation(
    () => ({
      ...transcriptFields(),
      keep_first: maybe(count()),
      keep_last: maybe(count()),
      strategy: maybe(z.enum(COMPACTION_STRATEGIES)),
      target_tokens: maybe(count()),
      summary: maybe(z.string()),
    }),
    (
      { keep_first = 0, keep_last = 12, strategy = "observation_mask", target_tokens, summary, ...body },
      deps,
      call,
    ) => {
      const options = { keep_first, keep_last, strategy, target_tokens, summary };
      const { ids } = deps;
      return compactedTranscript(requiredTranscript(body, ids), options, summariser(call, deps), ids);
    },
    { calls: true },
  ),
  auto_compact: operation(
    () => {
      const { compact_callback, mask_callback, compress_callback, ...own } = compactionShapes();
      return { ...transcriptFields(), ...own };
    },
    async (body, deps, call) => {
      const { messages } = seenAlone(requiredTranscript(body, deps.ids));
      const options = compactionOptions(body);
      const switched = { ...options, auto: options.auto ?? true };
      const window = await windowOf(call, deps);
      return autoCompacted(messages, switched, window, summariser(call, deps));
    },
    { calls: true },
  ),
};
