/** Puts mocks between calls and providers: each attempt asks their queue. */

import { sha256, utf8 } from "../../bytes.ts";
import { firstWords } from "../../cut.ts";
import type { ModelRequest } from "../../engine/messages.ts";
import { MockUnmatched } from "../../errors/provider.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import type { Intercept } from "../attempts.ts";
import type { Outcome } from "../exchange.ts";
import { isClaude } from "../model-version.ts";
import type { ResolvedTarget } from "../providers.ts";
import { anthropicSearchTool, chatSearchTool } from "../search-tools.ts";
import { answerOf } from "./answer.ts";
import { type Asker, defaultTurn } from "./default.ts";
import type { MockCall } from "./mock.ts";
import type { TakeMock } from "./queue.ts";

/** @param asker selects the default answers */
export function answering(take: TakeMock, asker: Asker): Intercept {
  return async (request, target, { sink }) => {
    const prompt = request.cache === true ? await promptOf(request) : null;
    const { mock, otherwise, seen } = await take(mockCallOf(request, target.model), prompt);
    if (mock !== null) return later(answerOf(mock, request, target, sink));
    if (typeof otherwise === "object") return unmatched(request, target, otherwise.error);
    if (otherwise === "provider" && target.protocol !== "mock") return null;
    return later({ ok: true, turn: defaultTurn(request, named(target), { asker, seen }, sink) });
  };
}

/**
 * Delays the outcome to a later turn of the event loop, like a provider's answer. Otherwise many runs would leave no
 * turn to others.
 */
const later = (outcome: Outcome): Promise<Outcome> =>
  new Promise((resolve) => setTimeout(resolve, 0, outcome));

const named = ({ provider, model }: ResolvedTarget) => ({ provider, model });

/** A request as readers of mock calls see it. A provider's own tool search comes first, in the form that the model takes. */
export function mockCallOf(request: ModelRequest, model: string): MockCall {
  const { messages, system, tools, tools_in_text = [], tool_search, thinking } = request;
  const offered = tools.length > 0 ? tools : tools_in_text;
  const search =
    tool_search === undefined
      ? []
      : [isClaude(model) ? anthropicSearchTool(tool_search) : chatSearchTool(offered)];
  return {
    messages,
    system,
    tools: [...search, ...offered],
    ...(thinking === undefined ? {} : { thinking }),
  };
}

const promptOf = async ({ system, messages }: ModelRequest): Promise<string> =>
  sha256(utf8(canonicalJson([system, messages])));

/** The most characters of the prompt in an error. */
const MAX_SHOWN = 200;

function unmatched({ messages }: ModelRequest, target: ResolvedTarget, source: string): Outcome {
  const asked = JSON.stringify(messages.at(-1) ?? null);
  const shown = asked.length > MAX_SHOWN ? `${firstWords(asked, MAX_SHOWN)}…` : asked;
  return { ok: false, retry: false, error: new MockUnmatched({ ...named(target), source, asked: shown }) };
}
